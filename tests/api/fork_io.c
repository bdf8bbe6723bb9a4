/* SPDX-License-Identifier: Apache-2.0 */
/* fork while other threads are in the middle of an I/O call. The child's calls on fds
 * that shared state with theirs succeed. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uk/uk.h>

#include "test.h"

#define LOAD(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define STORE(p, v) __atomic_store_n((p), (v), __ATOMIC_SEQ_CST)
#define ADD(p, v) __atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST)

#define FORKS 150
#define PATIENCE HANG_NS
#define SIZE ((size_t)1 << 20)
#define SAME_SLOT 256 /* fds that are equal modulo this share a slot */

static uint32_t stop, turns;
static int file;
static int s[2];
static struct sockaddr_in there;
static int listener;

/* Forks FORKS times in a user thread. The child's result is its exit status. Sanitizers
 * do not support the child (fork.c). */
static void fork_often(int (*child)(void))
{
	uint32_t was = LOAD(&turns);

	while (LOAD(&turns) < was + 3)
		uk_sleep(UK_MS / 10);
	for (int i = 0; i < FORKS; i++) {
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

static void *all(void *arg)
{
	RUN(a_child_sends_files);
	RUN(a_child_connects_and_accepts);
	RUN(a_child_closes_what_others_read);
	return arg;
}

int main(void)
{
	char name[] = "/tmp/uk-fork-XXXXXX";
	uk_thread *t;

	file = mkostemp(name, O_CLOEXEC);
	CHECK(file >= 0);
	unlink(name);
	CHECK_EQ(ftruncate(file, SIZE), 0);
	CHECK_EQ(uk_thread_create(&t, NULL, all, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	return 0;
}
