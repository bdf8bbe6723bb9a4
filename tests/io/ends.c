/* SPDX-License-Identifier: Apache-2.0 */
/* A blocked call ends early at a deadline, by cancellation, and when another thread
 * closes its fd. A table lists the blocked calls; each is tried with each of these. */
#include "iotest.h"

#include <pthread.h>
#include <pty.h>
#include <sys/syscall.h>

#include "tasks.h"

#define BIG ((size_t)4 << 20)

static char big[BIG];

struct blocked {
	const char *name;
	int (*setup)(int s[2]);  /* 0: not available here */
	ssize_t (*call)(int fd); /* blocks on s[0] */
	ssize_t partial;         /* at least so many bytes pass before it blocks */
};

static int pipe_in(int s[2])
{
	make_pipe(s, 0);
	return 1;
}

static int pipe_out(int s[2])
{
	int p[2];

	make_pipe(p, 4096);
	s[0] = p[1];
	s[1] = p[0];
	return 1;
}

static int pipe_full(int s[2])
{
	pipe_out(s);
	CHECK_EQ(write(s[0], big, 4096), 4096);
	return 1;
}

static int tcp(int s[2])
{
	make_tcp(s, 8192);
	return 1;
}

static int unix_stream(int s[2])
{
	make_unix(s, SOCK_STREAM);
	return 1;
}

static int unix_full(int s[2])
{
	make_unix(s, SOCK_STREAM);
	while (send(s[0], big, 4096, MSG_DONTWAIT) > 0)
		;
	return 1;
}

static int udp(int s[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET };

	s[0] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	s[1] = -1;
	CHECK_EQ(bind(s[0], (struct sockaddr *)&a, sizeof(a)), 0);
	return 1;
}

static int listener(int s[2])
{
	struct sockaddr_in a;

	s[0] = make_listener(&a, 8);
	s[1] = -1;
	return 1;
}

static int tty(int s[2])
{
	return openpty(&s[1], &s[0], NULL, NULL, NULL) == 0;
}

static ssize_t c_read(int fd)
{
	char b[100];

	return uk_read(fd, b, sizeof(b));
}

static ssize_t c_readv(int fd)
{
	char b[100];
	struct iovec v[2] = { { b, 50 }, { b + 50, 50 } };

	return uk_readv(fd, v, 2);
}

static ssize_t c_read_all(int fd)
{
	char b[100];

	return uk_read_all(fd, b, sizeof(b));
}

static ssize_t c_write(int fd)
{
	return uk_write(fd, big, BIG);
}

static ssize_t c_write_all(int fd)
{
	return uk_write_all(fd, big, BIG);
}

static ssize_t c_writev(int fd)
{
	struct iovec v[2] = { { big, 100 }, { big, BIG / 2 } };

	return uk_writev(fd, v, 2);
}

static ssize_t c_recv(int fd)
{
	char b[100];

	return uk_recv(fd, b, sizeof(b), 0);
}

static ssize_t c_peekall(int fd)
{
	char b[100];

	return uk_recv(fd, b, sizeof(b), MSG_PEEK | MSG_WAITALL);
}

static ssize_t c_recvfrom(int fd)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);
	char b[100];

	return uk_recvfrom(fd, b, sizeof(b), 0, (struct sockaddr *)&a, &len);
}

static ssize_t c_recvmsg(int fd)
{
	char b[100];
	struct iovec v = { b, 100 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	return uk_recvmsg(fd, &m, 0);
}

static ssize_t c_send(int fd)
{
	return uk_send(fd, big, BIG, MSG_NOSIGNAL);
}

static ssize_t c_sendmsg(int fd)
{
	struct iovec v[3] = { { big, 100 }, { big, BIG / 2 }, { big, BIG / 2 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 3 };

	return uk_sendmsg(fd, &m, MSG_NOSIGNAL);
}

static ssize_t c_accept(int fd)
{
	return uk_accept(fd, NULL, NULL);
}

static ssize_t c_wait(int fd)
{
	return uk_wait_fd(fd, POLLIN, UK_FOREVER);
}

static int sparse = -1; /* a file of BIG zeros */

static ssize_t c_sendfile(int fd)
{
	off_t off = 0;

	return uk_sendfile(fd, sparse, &off, BIG);
}

static ssize_t c_sendfile_small(int fd)
{
	off_t off = 0;

	return uk_sendfile(fd, sparse, &off, 10000);
}

static ssize_t c_splice_in(int fd)
{
	int p[2];
	ssize_t r;

	make_pipe(p, 0);
	r = uk_splice(fd, NULL, p[1], NULL, 1000, 0);
	uk_close(p[0]);
	uk_close(p[1]);
	return r;
}

static ssize_t c_splice_out(int fd)
{
	int p[2];
	ssize_t r;

	make_pipe(p, 0);
	CHECK_EQ(write(p[1], big, 1000), 1000);
	r = uk_splice(p[0], NULL, fd, NULL, 1000, 0);
	uk_close(p[0]);
	uk_close(p[1]);
	return r;
}

static const struct blocked table[] = {
	{ "read of a pipe", pipe_in, c_read, 0 },
	{ "readv of a pipe", pipe_in, c_readv, 0 },
	{ "read_all of a pipe", pipe_in, c_read_all, 0 },
	{ "read of a tty", tty, c_read, 0 },
	{ "read of a socket", tcp, c_read, 0 },
	{ "write to a full pipe", pipe_full, c_write, 0 },
	{ "write to a pipe", pipe_out, c_write, 4096 },
	{ "write_all to a pipe", pipe_out, c_write_all, 0 },
	{ "writev to a pipe", pipe_out, c_writev, 4096 },
	{ "write to a full socket", unix_full, c_write, 0 },
	{ "recv", tcp, c_recv, 0 },
	{ "recv, unix", unix_stream, c_recv, 0 },
	{ "recv, udp", udp, c_recv, 0 },
	{ "recv, peek all", unix_stream, c_peekall, 0 },
	{ "recvfrom, udp", udp, c_recvfrom, 0 },
	{ "recvmsg", tcp, c_recvmsg, 0 },
	{ "send", tcp, c_send, 4096 },
	{ "send to a full socket", unix_full, c_send, 0 },
	{ "sendmsg", tcp, c_sendmsg, 4096 },
	{ "sendmsg, unix", unix_full, c_sendmsg, 0 },
	{ "accept", listener, c_accept, 0 },
	{ "wait", tcp, c_wait, 0 },
	{ "wait, pipe", pipe_in, c_wait, 0 },
	{ "sendfile", tcp, c_sendfile, 4096 },
	{ "sendfile to a full socket", unix_full, c_sendfile, 0 },
	{ "small sendfile to a full socket", unix_full, c_sendfile_small, 0 },
	{ "sendfile to a full pipe", pipe_full, c_sendfile, 0 },
	{ "splice from a socket", tcp, c_splice_in, 0 },
	{ "splice from a pipe", pipe_in, c_splice_in, 0 },
	{ "splice to a full pipe", pipe_full, c_splice_out, 0 },
	{ "splice to a full socket", unix_full, c_splice_out, 0 },
};
#define ROWS (sizeof(table) / sizeof(table[0]))

static void check_end(const struct blocked *b, ssize_t r, ssize_t err)
{
	if (r == err && !b->partial)
		return;
	if (b->partial && r >= b->partial && r < (ssize_t)BIG)
		return;
	fprintf(stderr, "%s: %zd instead of %zd\n", b->name, r, err);
	exit(1);
}

static void close_both(const int s[2])
{
	CHECK(flags_untouched(s[0]));
	uk_close(s[0]);
	if (s[1] >= 0)
		uk_close(s[1]);
}

static void deadlines_end_calls(void)
{
	for (size_t i = 0; i < ROWS; i++) {
		uk_time start = uk_now(), took;
		ssize_t r;
		int s[2];

		if (!table[i].setup(s))
			continue;
		CHECK_EQ(uk_thread_set_deadline(start + 15 * MS), UK_FOREVER);
		r = table[i].call(s[0]);
		took = uk_now() - start;
		check_end(&table[i], r, -ETIMEDOUT);
		CHECK(took >= 15 * MS);
		/* the deadline stays in the past */
		check_end(&(struct blocked){ table[i].name, 0, 0, 0 },
			  table[i].call(s[0]), -ETIMEDOUT);
		uk_thread_set_deadline(UK_FOREVER);
		close_both(s);
	}
}

struct victim {
	const struct blocked *b;
	int fd;
	int tid; /* the kernel thread of the victim */
	ssize_t r, again;
};

static void *victim(void *arg)
{
	struct victim *v = arg;

	__atomic_store_n(&v->tid, gettid(), __ATOMIC_SEQ_CST);
	v->r = v->b->call(v->fd);
	if (v->again) {
		v->again = v->b->call(v->fd); /* it stays cancelled */
		CHECK_EQ(uk_thread_is_cancelled(), 1);
		CHECK_EQ(uk_thread_cancel_clear(), 1);
	}
	return NULL;
}

struct look {
	uint64_t id;
	bool rests;
};

static int look_at(const uk_thread_info *i, void *arg)
{
	struct look *l = arg;

	if (i->id != l->id)
		return 0;
	l->rests = !strcmp(i->state, "parked") && uk_now() - i->since > 2 * MS;
	return 1;
}

/* True if t has been parked for a while, so it waits in its call and nothing else is
 * left to do. */
static bool rests(const uk_thread *t)
{
	struct look l = { .id = uk_thread_id(t) };

	uk_thread_each(look_at, &l, sizeof(uk_thread_info));
	return l.rests;
}

static void cancellation_ends_calls(void)
{
	for (size_t i = 0; i < ROWS; i++) {
		struct victim v = { .b = &table[i], .again = 1 };
		uk_thread *t;
		int s[2];

		if (!table[i].setup(s))
			continue;
		v.fd = s[0];
		t = spawn(victim, &v);
		UNTIL(rests(t));
		CHECK_EQ(uk_thread_cancel(t), 0);
		join(t);
		check_end(&table[i], v.r, -ECANCELED);
		CHECK_EQ(v.again, -ECANCELED);
		close_both(s);
	}
}

static void close_ends_calls(void)
{
	for (size_t i = 0; i < ROWS; i++) {
		struct victim v[3];
		uk_thread *t[3];
		int s[2];

		if (!table[i].setup(s))
			continue;
		for (int k = 0; k < 3; k++) {
			v[k] = (struct victim){ .b = &table[i], .fd = s[0] };
			t[k] = spawn(victim, &v[k]);
		}
		/* a thread that is late may open a pipe that reuses the fd */
		for (int k = 0; k < 3; k++)
			UNTIL(rests(t[k]));
		CHECK_EQ(uk_close(s[0]), 0);
		for (int k = 0; k < 3; k++) {
			join(t[k]);
			if (v[k].r != -EBADF && !(table[i].partial && v[k].r >= 0))
				check_end(&table[i], v[k].r, -EBADF);
		}
		if (s[1] >= 0)
			uk_close(s[1]);
	}
}

/* True if the kernel thread of v sleeps, so it is in its call. */
static bool sleeps(const struct victim *v)
{
	char path[64], text[512], *p;
	int tid = __atomic_load_n(&v->tid, __ATOMIC_SEQ_CST);
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	fd = tid ? open(path, O_RDONLY) : -1;
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	p = strrchr(text, ')');
	return p && p[2] == 'S';
}

/* The same for kernel threads. A user thread and main close the fd. */
static void close_ends_calls_of_kernel_threads(void)
{
	for (size_t i = 0; i < ROWS; i++) {
		struct victim v[3];
		pthread_t t[3];
		int s[2];

		if (!table[i].setup(s))
			continue;
		for (int k = 0; k < 3; k++) {
			v[k] = (struct victim){ .b = &table[i], .fd = s[0] };
			CHECK_EQ(pthread_create(&t[k], NULL, victim, &v[k]), 0);
		}
		for (int k = 0; k < 3; k++)
			UNTIL(sleeps(&v[k]));
		CHECK_EQ(uk_close(s[0]), 0);
		for (int k = 0; k < 3; k++) {
			CHECK_EQ(pthread_join(t[k], NULL), 0);
			if (v[k].r != -EBADF && !(table[i].partial && v[k].r >= 0))
				check_end(&table[i], v[k].r, -EBADF);
		}
		if (s[1] >= 0)
			uk_close(s[1]);
	}
}

/* The program changes the handler of SIGURG all the time. A signal that comes at the
 * wrong moment is discarded, and the close still completes. */
static uint32_t enough;

static void on_sigurg(int sig)
{
	(void)sig;
}

static void *flips_sigurg(void *arg)
{
	while (!__atomic_load_n(&enough, __ATOMIC_RELAXED)) {
		signal(SIGURG, on_sigurg);
		signal(SIGURG, SIG_DFL);
	}
	return arg;
}

static void *accepts_until_closed(void *arg)
{
	return (void *)(intptr_t)uk_accept(*(int *)arg, NULL, NULL);
}

static void close_works_while_the_handler_of_sigurg_changes(void)
{
	struct sockaddr_in a;
	pthread_t flip, th;

	CHECK_EQ(pthread_create(&flip, NULL, flips_sigurg, NULL), 0);
	for (int i = 0; i < 300; i++) {
		int l = make_listener(&a, 8);
		void *r;

		CHECK_EQ(pthread_create(&th, NULL, accepts_until_closed, &l), 0);
		usleep(300);
		CHECK_EQ(uk_close(l), 0);
		CHECK_EQ(pthread_join(th, &r), 0);
		CHECK_EQ((intptr_t)r, -EBADF);
	}
	__atomic_store_n(&enough, 1, __ATOMIC_RELAXED);
	CHECK_EQ(pthread_join(flip, NULL), 0);
	signal(SIGURG, SIG_DFL);
}

/* No byte that would still come to the closed socket is received, and the peer sees the
 * end. The fd refers to another file at the next moment, which loses nothing. */
static void a_closed_fd_can_be_reused_at_once(void)
{
	for (int round = 0; round < 200; round++) {
		struct victim v = { .b = &table[10] };
		char b[10];
		int s[2], n[2], fd;
		uk_thread *t;

		make_tcp(s, 0);
		make_unix(n, SOCK_STREAM);
		v.fd = fd = s[0];
		t = spawn(victim, &v);
		if (round % 3)
			uk_yield();
		else
			uk_sleep(MS / 2);
		CHECK_EQ(uk_close(fd), 0);
		CHECK_EQ(dup2(n[0], fd), fd); /* the fd gets its new file */
		CHECK_EQ(send(n[1], "fresh", 5, 0), 5);
		CHECK_EQ(uk_recv(s[1], b, 10, 0), 0); /* FIN */
		/* a victim that had not begun may read from the new file */
		join(t);
		if (v.r == -EBADF) {
			CHECK_EQ(recv_k(fd, b, 10, 5), 5);
			CHECK(!memcmp(b, "fresh", 5));
		} else {
			CHECK(UK_HOSTILE ? v.r > 0 : v.r == 5);
		}
		uk_close(fd);
		uk_close(n[0]);
		uk_close(n[1]);
		uk_close(s[1]);
	}
}

struct looper {
	int fd, got;
	int rounds; /* atomics */
};

static void *looper(void *arg)
{
	struct looper *l = arg;

	for (;;) {
		int fd = uk_accept(l->fd, NULL, NULL);

		if (fd < 0)
			return (void *)(intptr_t)fd;
		__atomic_fetch_add(&l->rounds, 1, __ATOMIC_RELAXED);
		uk_close(fd);
	}
}

/* A thread that calls accept again while its listener is being closed must not wait
 * without end. */
static void no_thread_begins_to_wait_during_a_close(void)
{
	for (int round = 0; round < 100; round++) {
		struct looper l = { 0 };
		struct sockaddr_in a;
		uk_thread *t[4];
		int c[6];

		l.fd = make_listener(&a, 16);
		for (int k = 0; k < 4; k++)
			t[k] = spawn(looper, &l);
		for (int k = 0; k < 6; k++) {
			c[k] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
			CHECK_EQ(uk_connect(c[k], (struct sockaddr *)&a, sizeof(a)), 0);
		}
		CHECK_EQ(uk_close(l.fd), 0);
		for (int k = 0; k < 4; k++)
			CHECK_EQ((intptr_t)join(t[k]), -EBADF);
		for (int k = 0; k < 6; k++)
			uk_close(c[k]);
	}
}

static void a_deadline_that_is_not_reached_changes_nothing(void)
{
	char b[10];
	int s[2];

	make_unix(s, SOCK_STREAM);
	for (int i = 0; i < 200; i++) {
		CHECK_EQ(uk_send(s[1], "x", 1, 0), 1);
		uk_thread_set_deadline(uk_after(HANG_NS));
		CHECK_EQ(uk_recv(s[0], b, 10, 0), 1);
		uk_thread_set_deadline(UK_FOREVER);
	}
	uk_close(s[0]);
	uk_close(s[1]);
}

/* -- close, while an operation is on its way to a reactive vp that does not run -- */

static uint32_t go, frozen;
static pid_t reader_tid;
static int late_fd;

static void freezes(int sig)
{
	struct timespec ts = { 0, 200 * MS };

	(void)sig;
	__atomic_fetch_add(&frozen, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_nanosleep, &ts, NULL);
}

static void *receives_when_told(void *arg)
{
	char b;

	__atomic_store_n(&reader_tid, (pid_t)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&go, __ATOMIC_SEQ_CST))
		uk_yield();
	__atomic_store_n((uint32_t *)arg, 1, __ATOMIC_SEQ_CST);
	return (void *)(intptr_t)uk_recv(late_fd, &b, 1, 0);
}

static void freeze_all_but_the_reader(void)
{
	pid_t tid[64], mine = __atomic_load_n(&reader_tid, __ATOMIC_SEQ_CST);
	int n = tasks_named("uk-carrier", tid, 64), asked = 0;

	for (int i = 0; i < n; i++)
		if (tid[i] != mine)
			asked += !syscall(SYS_tgkill, getpid(), tid[i], SIGURG);
	while (__atomic_load_n(&frozen, __ATOMIC_SEQ_CST) < (uint32_t)asked)
		usleep(100);
}

/* Runs on main, a kernel thread. */
static void a_close_waits_for_an_operation_on_its_way_to_a_reactor(void)
{
	struct sigaction sa = { .sa_handler = freezes, .sa_flags = SA_RESTART }, old;
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	int s[2], fresh[2];
	uint32_t calls = 0;
	uk_thread *t;
	char b = 0;

	if (SANITIZED) /* it delays signals, so no thread would freeze */
		return;
	CHECK_EQ(uk_vpset_create(&a.set, "reactive", 1, NULL, UK_VPSET_NET), 0);
	CHECK_EQ(sigaction(SIGURG, &sa, &old), 0);
	make_unix(s, SOCK_STREAM);
	late_fd = s[0];
	CHECK_EQ(uk_thread_create(&t, &a, receives_when_told, &calls), 0);
	while (!__atomic_load_n(&reader_tid, __ATOMIC_SEQ_CST))
		usleep(100);
	usleep(20000); /* until the spares exist and have their names */
	freeze_all_but_the_reader();
	__atomic_store_n(&go, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&calls,
				__ATOMIC_SEQ_CST)) /* at once, unless it has moved */
		usleep(100);
	usleep(20000);
	CHECK_EQ(uk_close(s[0]), 0);
	make_unix(fresh, SOCK_STREAM);
	if (fresh[0] != s[0]) {
		CHECK_EQ(dup2(fresh[0], s[0]), s[0]);
		close(fresh[0]);
	}
	CHECK_EQ(write(fresh[1], "x", 1), 1);
	CHECK_EQ((intptr_t)join(t), -EBADF);
	CHECK_EQ(uk_recv(s[0], &b, 1, MSG_DONTWAIT), 1);
	CHECK_EQ(b, 'x');
	close(s[0]);
	close(s[1]);
	close(fresh[1]);
	CHECK_EQ(sigaction(SIGURG, &old, NULL), 0);
}

#ifndef __SANITIZE_THREAD__ /* under TSan, close does open one */
/* A thread that blocks SIGURG stays in its call. uk_close finds that out without
 * opening a file descriptor. */
static void *deaf_victim(void *arg)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return victim(arg);
}

static void *dups(void *arg)
{
	int next = *(int *)arg, n = 0;

	while (!__atomic_load_n(&enough, __ATOMIC_RELAXED)) {
		int fd = dup(next - 1);

		n += fd > next;
		close(fd);
	}
	return (void *)(intptr_t)n;
}

static int many_are_deaf(void)
{
	static const struct blocked row = { "recv, unix", unix_stream, c_recv, 0 };
	pthread_t looks, deaf[30];
	struct victim v[30];
	int s[2], next;
	void *others;

	make_unix(s, SOCK_STREAM);
	for (int i = 0; i < 30; i++) {
		v[i] = (struct victim){ .b = &row, .fd = s[0] };
		CHECK_EQ(pthread_create(&deaf[i], NULL, deaf_victim, &v[i]), 0);
	}
	for (int i = 0; i < 30; i++)
		UNTIL(sleeps(&v[i]));
	next = dup(s[1]);
	close(next);
	__atomic_store_n(&enough, 0, __ATOMIC_RELAXED);
	CHECK_EQ(pthread_create(&looks, NULL, dups, &next), 0);
	CHECK_EQ(uk_close(s[0]), 0); /* s[0] is now free, and below next */
	__atomic_store_n(&enough, 1, __ATOMIC_RELAXED);
	CHECK_EQ(pthread_join(looks, &others), 0);
	close(s[1]); /* ends all the calls */
	for (int i = 0; i < 30; i++)
		CHECK_EQ(pthread_join(deaf[i], NULL), 0);
	return (int)(intptr_t)others;
}

static void a_close_opens_no_fd(void)
{
	for (int i = 0; i < 20; i++)
		CHECK_EQ(many_are_deaf(), 0);
}
#endif

int main(void)
{
	io_test_init(HANG_SEC);
	sparse = temp_file();
	CHECK_EQ(ftruncate(sparse, BIG), 0);
	BOTH(deadlines_end_calls);
	USER(cancellation_ends_calls);
	BOTH(close_ends_calls);
	BOTH(close_ends_calls_of_kernel_threads);
	RUN(close_works_while_the_handler_of_sigurg_changes);
	USER(a_closed_fd_can_be_reused_at_once);
	BOTH(no_thread_begins_to_wait_during_a_close);
	BOTH(a_deadline_that_is_not_reached_changes_nothing);
	RUN(a_close_waits_for_an_operation_on_its_way_to_a_reactor);
#ifndef __SANITIZE_THREAD__
	RUN(a_close_opens_no_fd);
#endif
	return 0;
}
