/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of I/O: running a test from a user thread and from a foreign
 * thread, helper threads, sockets, pipes and files. */
#ifndef TESTS_IO_IOTEST_H
#define TESTS_IO_IOTEST_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/env.h"
#include "test.h"
#include "uk/uk.h"

#define MS UK_MS

/* The hostile build transfers less than is there. Tests that count bytes check it. */
#ifndef UK_HOSTILE
#define UK_HOSTILE 0
#endif

static bool is_user; /* the test runs in a user thread */

static void *call_void(void *fn)
{
	(*(void (**)(void))fn)();
	return NULL;
}

static inline uk_thread *spawn(void *(*fn)(void *), void *arg)
{
	uk_thread *t = NULL;

	CHECK_EQ(uk_thread_create(&t, NULL, fn, arg), 0);
	return t;
}

static inline void *join(uk_thread *t)
{
	void *ret = NULL;

	CHECK_EQ(uk_thread_join(t, &ret), 0);
	return ret;
}

static inline void run_user(void (*fn)(void))
{
	is_user = true;
	join(spawn(call_void, &fn));
}

static inline void run_foreign(void (*fn)(void))
{
	is_user = false;
	fn();
}

/* Runs a test that holds for user threads. */
#define USER(fn) RUN_AS(fn, run_user(fn))
/* Runs a test that holds for user threads and foreign threads. */
#define BOTH(fn) RUN_AS(fn, (run_user(fn), run_foreign(fn)))

/* For every program: a time limit, and a count of SIGPIPE. */
static volatile sig_atomic_t sigpipes;

static void on_sigpipe(int sig)
{
	(void)sig;
	sigpipes = sigpipes + 1;
}

static inline void io_test_init(unsigned seconds)
{
	const char *limit = getenv("UK_TEST_SECONDS");
	struct rlimit lim;

	alarm(limit ? (unsigned)atoi(limit) : seconds);
	signal(SIGPIPE, on_sigpipe);
	getrlimit(RLIMIT_NOFILE, &lim);
	lim.rlim_cur = lim.rlim_max;
	setrlimit(RLIMIT_NOFILE, &lim);
}

/* -- file descriptors -- */

static inline void make_pipe(int p[2], int size)
{
	CHECK_EQ(pipe2(p, O_CLOEXEC), 0);
	if (size)
		CHECK(fcntl(p[1], F_SETPIPE_SZ, size) >= size);
}

static inline void make_unix(int s[2], int type)
{
	CHECK_EQ(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, s), 0);
}

/* Binds a port, so that no other socket gets it, and does not listen. */
static inline int make_deaf(struct sockaddr_in *a)
{
	int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*a);

	memset(a, 0, sizeof(*a));
	a->sin_family = AF_INET;
	a->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_EQ(bind(l, (struct sockaddr *)a, sizeof(*a)), 0);
	CHECK_EQ(getsockname(l, (struct sockaddr *)a, &len), 0);
	return l;
}

static inline int make_listener(struct sockaddr_in *a, int backlog)
{
	int l = make_deaf(a);

	CHECK_EQ(listen(l, backlog), 0);
	return l;
}

/* Makes the two ends of a TCP connection, with small buffers if buf > 0. */
static inline void make_tcp(int s[2], int buf)
{
	struct sockaddr_in a;
	int l = make_listener(&a, 8);

	if (buf)
		setsockopt(l, SOL_SOCKET, SO_RCVBUF, &buf, sizeof(buf));
	s[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (buf) {
		setsockopt(s[0], SOL_SOCKET, SO_RCVBUF, &buf, sizeof(buf));
		setsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &buf, sizeof(buf));
	}
	CHECK_EQ(connect(s[0], (struct sockaddr *)&a, sizeof(a)), 0);
	s[1] = accept4(l, NULL, NULL, SOCK_CLOEXEC);
	CHECK(s[1] >= 0);
	if (buf)
		setsockopt(s[1], SOL_SOCKET, SO_SNDBUF, &buf, sizeof(buf));
	close(l);
}

/* Closing fd resets its connection. */
static inline void reset_on_close(int fd)
{
	struct linger l = { .l_onoff = 1, .l_linger = 0 };

	CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)), 0);
}

static inline void set_nonblock(int fd)
{
	CHECK_EQ(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

static inline bool flags_untouched(int fd)
{
	return !(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

static inline int temp_file(void)
{
	char name[] = "/tmp/uk-io-XXXXXX";
	int fd = mkostemp(name, O_CLOEXEC);

	CHECK(fd >= 0);
	unlink(name);
	return fd;
}

/* Asks for up to n bytes of a stream that has or gets k bytes, and returns k. Only the
 * hostile build may need several calls. */
static inline ssize_t recv_k(int fd, void *b, size_t n, ssize_t k)
{
	ssize_t r = uk_recv(fd, b, n, 0);

	while (UK_HOSTILE && r > 0 && r < k) {
		ssize_t more = uk_recv(fd, (char *)b + r, n - (size_t)r, 0);

		if (more <= 0)
			return more;
		r += more;
	}
	return r;
}

static inline ssize_t read_k(int fd, void *b, size_t n, ssize_t k)
{
	ssize_t r = uk_read(fd, b, n);

	while (UK_HOSTILE && r > 0 && r < k) {
		ssize_t more = uk_read(fd, (char *)b + r, n - (size_t)r);

		if (more <= 0)
			return more;
		r += more;
	}
	return r;
}

/* Byte i of the test pattern. */
static inline unsigned char pattern(size_t i)
{
	return (unsigned char)(i * 2654435761u >> 13);
}

static inline void fill(unsigned char *b, size_t n, size_t from)
{
	for (size_t i = 0; i < n; i++)
		b[i] = pattern(from + i);
}

static inline void check_fill(const unsigned char *b, size_t n, size_t from)
{
	for (size_t i = 0; i < n; i++)
		if (b[i] != pattern(from + i))
			CHECK_EQ(b[i] + 1000 * (long long)(from + i),
				 pattern(from + i) + 1000 * (long long)(from + i));
}

/* A small random generator for sizes and choices. */
static inline uint64_t rnd(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static inline uint64_t test_seed(void)
{
	uint64_t v = env_key_number(ENV_SEED, 88172645463325252ull);

	return v ? v : 1;
}

#endif
