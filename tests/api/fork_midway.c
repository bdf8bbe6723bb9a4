/* SPDX-License-Identifier: Apache-2.0 */
/* fork while other threads are in the middle of an I/O call or a wait. The child's
 * calls on fds that shared state with theirs succeed. The child undoes the waits of
 * threads that it does not have. It does so for objects that still exist, and for no
 * others. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uk/uk.h>

#include "test.h"

#define FORKS 150
#define PATIENCE HANG_NS
#define SIZE ((size_t)1 << 20)
#define SAME_SLOT 256 /* fds that are equal modulo this share a slot */

static uint32_t stop, turns;
static int file;
static int s[2];
static struct sockaddr_in there;
static int listener;

/* Forks in a user thread. The child ends with the result of child(). Sanitizers do not
 * support the child (fork.c). */
static void check_in_a_child(int (*child)(void))
{
	pid_t pid = fork(), got;
	int st;

	CHECK(pid >= 0);
	if (!pid)
		_exit(SANITIZED ? 0 : child());
	uk_blocking_begin();
	do
		got = waitpid(pid, &st, 0);
	while (got < 0 && errno == EINTR);
	uk_blocking_end();
	CHECK_EQ(got, pid);
	CHECK_EQ(st, 0);
}

/* Forks FORKS times. */
static void fork_often(int (*child)(void))
{
	uint32_t was = LOAD(&turns);

	while (LOAD(&turns) < was + 3)
		uk_sleep(UK_MS / 10);
	for (int i = 0; i < FORKS; i++) {
		check_in_a_child(child);
		uk_sleep((i % 7) * UK_MS / 20);
	}
}

/* ---- sendfile ---- */

static void *drains(void *arg)
{
	static char b[65536];

	while (uk_recv(s[1], b, sizeof(b), 0) > 0)
		;
	return arg;
}

static void *sends(void *arg)
{
	while (!LOAD(&stop)) {
		off_t off = 0;

		CHECK_EQ(uk_sendfile(s[0], file, &off, SIZE), SIZE);
		ADD(&turns, 1);
	}
	CHECK_EQ(shutdown(s[0], SHUT_WR), 0);
	return arg;
}

static int child_sends(void)
{
	int p[2], fd = s[0] + SAME_SLOT;
	off_t off = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, p) || dup2(p[0], fd) != fd)
		return 1;
	uk_thread_set_deadline(uk_after(PATIENCE));
	/* more than goes through a buffer, and no more than the socket takes */
	return uk_sendfile(fd, file, &off, 70000) == 70000 ? 0 : 2;
}

static void a_child_sends_files(void)
{
	uk_thread *t, *u;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	STORE(&stop, 0);
	CHECK_EQ(uk_thread_create(&u, NULL, drains, NULL), 0);
	CHECK_EQ(uk_thread_create(&t, NULL, sends, NULL), 0);
	fork_often(child_sends);
	STORE(&stop, 1);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK_EQ(uk_thread_join(u, NULL), 0);
	close(s[0]);
	close(s[1]);
}

/* ---- connect, accept, close ---- */

static void *connects(void *arg)
{
	while (!LOAD(&stop)) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		struct linger now = { 1, 0 };

		CHECK(fd >= 0);
		CHECK_EQ(dup2(fd, s[0]), s[0]);
		close(fd);
		setsockopt(s[0], SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		CHECK_EQ(uk_connect(s[0], (struct sockaddr *)&there, sizeof(there)), 0);
		ADD(&turns, 1);
	}
	return arg;
}

/* Runs until it is cancelled. If it stopped by itself, it could leave a full queue, and
 * the last connect would wait without end. */
static void *accepts(void *arg)
{
	int fd;

	while ((fd = uk_accept(listener, NULL, NULL)) >= 0)
		close(fd);
	CHECK_EQ(fd, -ECANCELED);
	return arg;
}

/* Connects, accepts and closes on fds that the parent's loops use. */
static int child_connects(void)
{
	uk_time until = uk_after(PATIENCE);
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (dup2(l, listener) < 0 || dup2(c, s[0]) < 0)
		return 1;
	if (bind(listener, (struct sockaddr *)&a, sizeof(a)) || listen(listener, 4) ||
	    getsockname(listener, (struct sockaddr *)&a, &len))
		return 2;
	uk_thread_set_deadline(until);
	if (uk_connect(s[0], (struct sockaddr *)&a, sizeof(a)))
		return 3;
	if (uk_accept(listener, NULL, NULL) < 0)
		return 4;
	uk_thread_set_deadline(UK_FOREVER);
	alarm(HANG_SEC);
	return uk_close(s[0]) || uk_close(listener) ? 5 : 0;
}

static void a_child_connects_and_accepts(void)
{
	socklen_t len = sizeof(there);
	uk_thread *t, *u;

	there.sin_family = AF_INET;
	there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_EQ(bind(listener, (struct sockaddr *)&there, sizeof(there)), 0);
	CHECK_EQ(listen(listener, 64), 0);
	CHECK_EQ(getsockname(listener, (struct sockaddr *)&there, &len), 0);
	s[0] = dup(listener);
	STORE(&stop, 0);
	CHECK_EQ(uk_thread_create(&u, NULL, accepts, NULL), 0);
	CHECK_EQ(uk_thread_create(&t, NULL, connects, NULL), 0);
	fork_often(child_connects);
	STORE(&stop, 1);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK_EQ(uk_thread_cancel(u), 0);
	CHECK_EQ(uk_thread_join(u, NULL), 0);
	close(s[0]);
	close(listener);
}

/* ---- kernel threads in a call ---- */

static void *reads_on(void *arg)
{
	char b;

	while (uk_read(s[0], &b, 1) == 1)
		ADD(&turns, 1);
	return arg;
}

static void *writes_on(void *arg)
{
	while (!LOAD(&stop)) {
		CHECK_EQ(uk_write(s[1], "x", 1), 1);
		uk_yield();
	}
	return arg;
}

/* Closes what a thread that the child does not have was reading. */
static int child_closes(void)
{
	alarm(HANG_SEC);
	return uk_close(s[0]) || uk_close(s[1]);
}

static void a_child_closes_what_others_read(void)
{
	pthread_t th[3];
	uk_thread *t;

	CHECK_EQ(pipe(s), 0);
	STORE(&stop, 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&th[i], NULL, reads_on, NULL), 0);
	CHECK_EQ(uk_thread_create(&t, NULL, writes_on, NULL), 0);
	fork_often(child_closes);
	STORE(&stop, 1);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	close(s[1]);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(pthread_join(th[i], NULL), 0);
	close(s[0]);
}

/* ---- waits ---- */

#define PATTERN 0xa5
#define ROUNDS 20

static union {
	uk_barrier barrier;
	uk_cond cond;
	unsigned char bytes[64];
} o; /* used by one test after another */
static uk_mutex m = UK_MUTEX_INIT;
static uint32_t waiting;

static bool is_pattern(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != PATTERN)
			return false;
	return true;
}

static int child_finds_pattern(void)
{
	return !is_pattern(o.bytes, sizeof(o));
}

static void *waits_at_barrier(void *arg)
{
	waiting++;
	CHECK(uk_barrier_wait(&o.barrier) >= 0);
	return arg;
}

static void *waits_on_cond(void *arg)
{
	CHECK_EQ(uk_mutex_lock(&m), 0);
	waiting++;
	CHECK_EQ(uk_cond_wait(&o.cond, &m), 0);
	CHECK_EQ(uk_mutex_unlock(&m), 0);
	return arg;
}

/* Starts n threads that run fn, and waits until they sleep. */
static void start_all(uk_thread **t, int n, void *(*fn)(void *))
{
	waiting = 0;
	for (int i = 0; i < n; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, fn, NULL), 0);
	while (waiting < (uint32_t)n)
		uk_yield();
	uk_sleep(UK_MS / 10);
}

static void join_all(uk_thread **t, int n)
{
	for (int i = 0; i < n; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
}

static void a_barrier_that_has_opened_is_not_touched(void)
{
	uk_thread *t[2];

	for (int i = 0; i < ROUNDS; i++) {
		CHECK_EQ(uk_barrier_init(&o.barrier, 3), 0);
		start_all(t, 2, waits_at_barrier);
		CHECK_EQ(uk_barrier_wait(&o.barrier), 1);
		memset(&o, PATTERN, sizeof(o)); /* as reuse after a free would */
		check_in_a_child(child_finds_pattern);
		join_all(t, 2);
	}
}

static void a_condition_that_was_broadcast_is_not_touched(void)
{
	uk_thread *t[2];

	for (int i = 0; i < ROUNDS; i++) {
		o.cond = (uk_cond)UK_COND_INIT;
		start_all(t, 2, waits_on_cond);
		CHECK_EQ(uk_mutex_lock(&m), 0);
		CHECK_EQ(uk_cond_broadcast(&o.cond), 0);
		memset(&o, PATTERN, sizeof(o));
		check_in_a_child(child_finds_pattern);
		CHECK_EQ(uk_mutex_unlock(&m), 0);
		join_all(t, 2);
	}
}

static uk_chan *chan;
static unsigned char *reused; /* the memory of the destroyed channel */
static size_t chan_size;

static int child_finds_pattern_in_chan(void)
{
	return !is_pattern(reused, chan_size);
}

static void *receives(void *arg)
{
	waiting++;
	CHECK_EQ(uk_chan_recv(chan, NULL), -EPIPE);
	return arg;
}

/* Two receivers wait. The last one that the close wakes may destroy the channel. */
static void a_channel_that_was_closed_is_not_touched(void)
{
	uk_thread *t[2];
	uintptr_t was;

	for (int i = 0; i < ROUNDS; i++) {
		CHECK_EQ(uk_chan_create(&chan, 0, 0), 0);
		chan_size = malloc_usable_size(chan);
		start_all(t, 2, receives);
		CHECK_EQ(uk_chan_close(chan), 0);
		was = (uintptr_t)chan;
		uk_chan_destroy(chan);
		reused = malloc(chan_size);
		CHECK(SANITIZED || (uintptr_t)reused == was);
		memset(reused, PATTERN, chan_size);
		check_in_a_child(child_finds_pattern_in_chan);
		free(reused);
		join_all(t, 2);
	}
}

static void *arrives(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)uk_barrier_wait(&o.barrier);
}

/* Three threads arrive, and exactly one is told that it is the last. */
static int child_meets(void)
{
	uk_thread *t[2];
	int last;

	for (int i = 0; i < 2; i++)
		if (uk_thread_create(&t[i], NULL, arrives, NULL))
			return 1;
	last = uk_barrier_wait(&o.barrier);
	for (int i = 0; i < 2; i++) {
		void *r;

		if (uk_thread_join(t[i], &r))
			return 2;
		last += (int)(intptr_t)r;
	}
	return last != 1;
}

static void a_barrier_where_threads_wait_is_reset(void)
{
	uk_thread *t[2];

	CHECK_EQ(uk_barrier_init(&o.barrier, 3), 0);
	start_all(t, 2, waits_at_barrier);
	check_in_a_child(child_meets);
	CHECK_EQ(uk_barrier_wait(&o.barrier), 1);
	join_all(t, 2);
}

static void *io(void *arg)
{
	RUN(a_child_sends_files);
	RUN(a_child_connects_and_accepts);
	RUN(a_child_closes_what_others_read);
	return arg;
}

static void *waits(void *arg)
{
	RUN(a_barrier_that_has_opened_is_not_touched);
	RUN(a_condition_that_was_broadcast_is_not_touched);
	RUN(a_barrier_where_threads_wait_is_reset);
	RUN(a_channel_that_was_closed_is_not_touched);
	return arg;
}

int main(void)
{
	char name[] = "/tmp/uk-fork-XXXXXX";
	uk_thread_attr one = UK_THREAD_ATTR_INIT;
	uk_thread *t;

	file = mkostemp(name, O_CLOEXEC);
	CHECK(file >= 0);
	unlink(name);
	CHECK_EQ(ftruncate(file, SIZE), 0);
	CHECK_EQ(uk_thread_create(&t, NULL, io, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	/* one vp, so a woken thread has not run when we fork */
	CHECK_EQ(uk_vpset_create(&one.set, "one vp", 1, NULL, 0), 0);
	CHECK_EQ(uk_thread_create(&t, &one, waits, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	return 0;
}
