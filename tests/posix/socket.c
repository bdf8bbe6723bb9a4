/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets: streams and datagrams, partial transfers, time limits, O_NONBLOCK, errors,
 * and a server with one thread for each of 2000 connections. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "posix.h"

#define BIG (4 << 20)
#define CONNS 2000

static void *volatile bad_place = (void *)8; /* hidden from the compiler */
static char big[BIG], back[BIG];
static int s[2]; /* a pair of streams */

static void *send_later(void *arg)
{
	usleep(20000);
	CHECK(send(s[1], "hello", 5, 0) == 5);
	return arg;
}

static void *send_in_two(void *arg)
{
	usleep(10000);
	CHECK(send(s[1], "abc", 3, 0) == 3);
	usleep(10000);
	CHECK(send(s[1], "def", 3, 0) == 3);
	return arg;
}

static void *waits(void *arg)
{
	struct iovec v[2] = { { back, 2 }, { back + 8, 4 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);
	char buf[16];
	pthread_t t = start(send_later, NULL);

	errno = 77;
	CHECK(recv(s[0], buf, sizeof(buf), 0) == 5 && !memcmp(buf, "hello", 5));
	CHECK(errno == 77);
	finish(t);
	t = start(send_later, NULL);
	CHECK(recvmsg(s[0], &m, 0) == 5 && back[8] == 'l' && m.msg_namelen == 0);
	finish(t);
	t = start(send_later, NULL);
	CHECK(recvfrom(s[0], buf, sizeof(buf), 0, (void *)&a, &len) == 5 && len == 0);
	finish(t);
	t = start(send_in_two, NULL);
	CHECK(recv(s[0], buf, 6, MSG_WAITALL) == 6 && !memcmp(buf, "abcdef", 6));
	finish(t);
	t = start(send_later, NULL);
	CHECK(recv(s[0], buf, 16, MSG_PEEK) == 5 && recv(s[0], buf, 16, 0) == 5);
	finish(t);
	t = start(send_later, NULL);
	CHECK(read(s[0], buf, 2) == 2 && read(s[0], buf, 16) == 3);
	finish(t);
	return arg;
}

static void *send_big(void *arg)
{
	struct iovec v[2] = { { big, 1000 }, { big + 1000, BIG - 1000 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };

	switch ((long)arg) {
	case 0:
		CHECK(send(s[1], big, BIG, 0) == BIG);
		break;
	case 1:
		CHECK(sendmsg(s[1], &m, 0) == BIG);
		break;
	case 2:
		CHECK(writev(s[1], v, 2) == BIG);
		break;
	default:
		CHECK(write(s[1], big, BIG) == BIG);
	}
	return NULL;
}

static void *parts(void *arg)
{
	for (int i = 0; i < BIG; i++)
		big[i] = (char)(i * 13 + i / 1000);
	for (long how = 0; how < 4; how++) {
		pthread_t t = start(send_big, (void *)how);
		ssize_t done = 0, r;

		memset(back, 0, BIG);
		while (done < BIG) {
			r = recv(s[0], back + done, (size_t)(BIG - done), 0);
			CHECK(r > 0);
			done += r;
		}
		finish(t);
		CHECK(!memcmp(big, back, BIG));
	}
	return arg;
}

static void *limits(void *arg)
{
	struct timeval tv = { 0, 30000 };
	long was = ms_now(), tick = 10; /* counted in jiffies; the first is partial */
	char c;

	CHECK(!setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	FAILS(recv(s[0], &c, 1, 0), EAGAIN);
	CHECK(ms_now() - was >= 30 - tick);
	FAILS(read(s[0], &c, 1), EAGAIN);
	FAILS(recvfrom(s[0], &c, 1, 0, NULL, NULL), EAGAIN);
	CHECK(ms_now() - was >= 3 * (30 - tick));
	CHECK(!setsockopt(s[1], SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)));
	CHECK(send(s[1], big, BIG, 0) > 0);
	FAILS(send(s[1], big, BIG, 0), EAGAIN);
	tv.tv_usec = 0;
	CHECK(!setsockopt(s[1], SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)));
	CHECK(!fcntl(s[1], F_SETFL, O_NONBLOCK));
	FAILS(send(s[1], big, BIG, 0), EAGAIN);
	FAILS(recv(s[1], &c, 1, 0), EAGAIN);
	FAILS(recv(s[0], &c, 1, MSG_DONTWAIT | MSG_OOB), EINVAL);
	return arg;
}

static void *refused(void *arg)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "/nowhere/s" };
	socklen_t len = sizeof(a);
	int p[2], held, u = socket(AF_UNIX, SOCK_STREAM, 0),
			t = socket(AF_INET, SOCK_STREAM, 0);
	char c = 0;

	CHECK(!pipe(p));
	FAILS(recv(p[0], &c, 1, 0), ENOTSOCK);
	FAILS(send(p[1], &c, 1, 0), ENOTSOCK);
	FAILS(recv(-1, &c, 1, 0), EBADF);
	FAILS(send(9999, &c, 1, 0), EBADF);
	FAILS(accept(p[0], NULL, NULL), ENOTSOCK);
	FAILS(accept(u, NULL, NULL), EINVAL);
	FAILS(accept(s[0], NULL, NULL), EINVAL);
	FAILS(accept(-1, NULL, NULL), EBADF);
	FAILS(accept4(u, NULL, NULL, 12345), EINVAL);
	FAILS(connect(p[0], (void *)&a, len), ENOTSOCK);
	FAILS(connect(-1, (void *)&a, len), EBADF);
	FAILS(connect(u, (void *)&un, sizeof(un)), ENOENT);
	FAILS(connect(u, bad_place, 16), EFAULT);
	FAILS(recv(t, &c, 1, 0), ENOTCONN);
	FAILS(send(t, &c, 1, MSG_NOSIGNAL), EPIPE);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(!bind(t, (void *)&a, sizeof(a)));
	CHECK(!getsockname(t, (void *)&a, &len));
	held = t; /* bound, but not listening */
	t = socket(AF_INET, SOCK_STREAM, 0);
	FAILS(connect(t, (void *)&a, len), ECONNREFUSED);
	close(t);
	close(held);
	FAILS(recvmsg(s[0], bad_place, 0), EFAULT);
	FAILS(sendmsg(s[1], bad_place, 0), EFAULT);
	FAILS(send(s[1], bad_place, 1, 0), EFAULT);
	FAILS(sendto(u, &c, 1, MSG_NOSIGNAL, bad_place, 16), EFAULT);
	close(u);
	close(p[0]);
	close(p[1]);
	return arg;
}

static void *gone(void *arg)
{
	CHECK(!shutdown(s[1], SHUT_WR));
	while (recv(s[0], back, BIG, 0) > 0)
		;
	CHECK(recv(s[0], back, 1, 0) == 0);
	close(s[1]);
	FAILS(send(s[0], "x", 1, MSG_NOSIGNAL), EPIPE);
	close(s[0]);
	return arg;
}

/* Lists of writev that the kernel refuses, or takes in part. Once a write has made it
 * known, such a socket is tried before the library reads the list. */
static void *lists(void *arg)
{
	struct iovec bad[2] = { { big, 4 }, { bad_place, 4 } }, none = { big, 0 };
	struct iovec much[2] = { { big, 1 }, { big, BIG } };
	volatile int minus_one = -1, too_many = IOV_MAX + 1;
	int d[2];
	long n;

	CHECK(!socketpair(AF_UNIX, SOCK_DGRAM, 0, d));
	for (int i = 0; i < 3; i++) {
		CHECK(write(d[1], "x", 1) == 1 && recv(d[0], back, 16, 0) == 1);
		FAILS(writev(d[1], bad, 2), EFAULT);
		FAILS(writev(d[1], bad_place, 1), EFAULT);
		FAILS(writev(d[1], &none, minus_one), EINVAL);
		FAILS(writev(d[1], much, too_many), EINVAL);
		CHECK(writev(d[1], &none, 1) == 0 && writev(d[1], bad_place, 0) == 0);
		FAILS(recv(d[0], back, 16, MSG_DONTWAIT), EAGAIN);
	}
	close(d[0]);
	close(d[1]);
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, d));
	CHECK(!fcntl(d[1], F_SETFL, O_NONBLOCK));
	CHECK(writev(d[1], much, 1) == 1);
	n = writev(d[1], much, 2);
	CHECK(n > 0 && n < BIG);
	while (write(d[1], "x", 1) == 1)
		;
	FAILS(writev(d[1], much, 2), EAGAIN);
	CHECK(!close(d[0]));
	signal(SIGPIPE, SIG_IGN);
	FAILS(writev(d[1], much, 2), EPIPE);
	close(d[1]);
	return arg;
}

/* ---- shutdown wakes a reader ---- */

static int shut[2];

static void *read_until_end(void *arg)
{
	char c;

	CHECK(recv(*(int *)arg, &c, 1, 0) == 0);
	return arg;
}

static void *shuts(void *arg)
{
	pthread_t t;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, shut));
	t = start(read_until_end, &shut[0]);
	usleep(20000);
	CHECK(!shutdown(shut[0], SHUT_RDWR));
	finish(t);
	close(shut[0]);
	close(shut[1]);
	return arg;
}

/* ---- datagrams ---- */

static int u[2];
static struct sockaddr_in at;

static void *echo_datagrams(void *arg)
{
	struct sockaddr_in from;
	char buf[64];

	for (int i = 0; i < 100; i++) {
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(u[0], buf, sizeof(buf), 0, (void *)&from, &len);

		CHECK(n > 0 && len == sizeof(from));
		CHECK(sendto(u[0], buf, (size_t)n, 0, (void *)&from, len) == n);
	}
	return arg;
}

static void batch(void)
{
	char b[3][8] = { "one", "two", "three" }, c[3][8];
	struct iovec v[3], w[3];
	struct mmsghdr m[3] = { 0 }, n[3] = { 0 };
	struct timespec limit = { 5, 0 };

	for (int i = 0; i < 3; i++) {
		v[i] = (struct iovec){ b[i], strlen(b[i]) };
		w[i] = (struct iovec){ c[i], 8 };
		m[i].msg_hdr = (struct msghdr){ .msg_name = &at,
						.msg_namelen = sizeof(at),
						.msg_iov = &v[i],
						.msg_iovlen = 1 };
		n[i].msg_hdr = (struct msghdr){ .msg_iov = &w[i], .msg_iovlen = 1 };
	}
	CHECK(sendmmsg(u[1], m, 3, 0) == 3 && m[2].msg_len == 5);
	CHECK(recvmmsg(u[0], n, 3, 0, &limit) == 3 && n[2].msg_len == 5);
	CHECK(!memcmp(c[2], "three", 5));
	FAILS(recvmmsg(u[0], n, 3, MSG_DONTWAIT, NULL), EAGAIN);
	/* a limit beyond the end of time, then a negative one */
	limit.tv_sec = LONG_MAX;
	CHECK(sendmmsg(u[1], m, 3, 0) == 3);
	CHECK(recvmmsg(u[0], n, 3, 0, &limit) == 3);
	limit = (struct timespec){ -1, 0 };
	FAILS(recvmmsg(u[0], n, 3, 0, &limit), EINVAL);
}

static void *datagrams(void *arg)
{
	socklen_t len = sizeof(at);
	char buf[64];
	pthread_t t;

	for (int i = 0; i < 2; i++)
		CHECK((u[i] = socket(AF_INET, SOCK_DGRAM, 0)) >= 0);
	at.sin_family = AF_INET;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(!bind(u[0], (void *)&at, len) && !getsockname(u[0], (void *)&at, &len));
	t = start(echo_datagrams, NULL);
	for (int i = 0; i < 100; i++) {
		CHECK(sendto(u[1], "ping", 4, 0, (void *)&at, len) == 4);
		CHECK(recvfrom(u[1], buf, sizeof(buf), 0, NULL, NULL) == 4);
	}
	finish(t);
	batch();
	close(u[0]);
	close(u[1]);
	return arg;
}

/* ---- a thread for each connection ---- */

static void *serve(void *arg)
{
	int fd = (int)(long)arg;
	char buf[128];
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		CHECK(send(fd, buf, (size_t)n, 0) == n);
	close(fd);
	return NULL;
}

static int listener, served;

static void *accepts(void *arg)
{
	for (int i = 0; i < CONNS; i++) {
		struct sockaddr_in peer;
		socklen_t len = sizeof(peer);
		int fd = accept(listener, (void *)&peer, &len);
		pthread_t t;

		CHECK(fd >= 0 && len == sizeof(peer) && peer.sin_family == AF_INET);
		t = start(serve, (void *)(long)fd);
		pthread_detach(t);
		served++;
	}
	return arg;
}

static void *client(void *arg)
{
	char out[64], in[64];
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(fd >= 0 && !connect(fd, (void *)&at, sizeof(at)));
	for (int i = 0; i < 5; i++) {
		snprintf(out, sizeof(out), "%ld: %d", (long)arg, i);
		CHECK(send(fd, out, sizeof(out), 0) == sizeof(out));
		CHECK(recv(fd, in, sizeof(in), MSG_WAITALL) == sizeof(in));
		CHECK(!strcmp(in, out));
	}
	close(fd);
	return NULL;
}

static void *many(void *arg)
{
	static pthread_t t[CONNS];
	struct rlimit r;
	socklen_t len = sizeof(at);
	pthread_t a;

	CHECK(!getrlimit(RLIMIT_NOFILE, &r));
	r.rlim_cur = r.rlim_max;
	CHECK(!setrlimit(RLIMIT_NOFILE, &r));
	listener = socket(AF_INET, SOCK_STREAM, 0);
	at.sin_port = 0;
	CHECK(!bind(listener, (void *)&at, len) && !listen(listener, CONNS));
	CHECK(!getsockname(listener, (void *)&at, &len));
	a = start(accepts, NULL);
	for (long i = 0; i < CONNS; i++)
		t[i] = start(client, (void *)i);
	for (int i = 0; i < CONNS; i++)
		finish(t[i]);
	finish(a);
	close(listener);
	printf("served %d\n", served);
	return arg;
}

static void *names(void *arg)
{
	struct addrinfo hint = { .ai_flags = AI_NUMERICHOST }, *ai;

	CHECK(!getaddrinfo("127.0.0.1", "80", &hint, &ai) && ai->ai_family == AF_INET);
	freeaddrinfo(ai);
	CHECK(gethostbyname("127.0.0.1"));
	return arg;
}

int main(void)
{
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	run_in_thread(waits);
	run_in_thread(parts);
	run_in_thread(refused);
	run_in_thread(limits);
	run_in_thread(gone);
	run_in_thread(lists);
	run_in_thread(shuts);
	run_in_thread(datagrams);
	run_in_thread(many);
	run_in_thread(names);
	printf("ok\n");
	return 0;
}
