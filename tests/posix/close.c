/* SPDX-License-Identifier: Apache-2.0 */
/* A file descriptor is closed while threads wait on it. They go on waiting on the old
 * file, whatever the descriptor refers to by then, and only events of the old file end
 * their wait. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "asleep.h"
#include "posix.h"

static int s[2];       /* the reader reads from s[0] */
static char got[1000]; /* by the reader */

/* From here on the thread sleeps only in the tested call. */
static void about_to(void)
{
	CHECK(!pthread_setname_np(pthread_self(), "waits"));
}

static void *by_recv(void *arg)
{
	(void)arg;
	about_to();
	return (void *)recv(s[0], got, 5, 0);
}

static void *by_all(void *arg)
{
	(void)arg;
	about_to();
	return (void *)recv(s[0], got, 5, MSG_WAITALL);
}

/* Reads into untouched memory: the runtime waits first, then the thread reads. */
static void *by_read(void *arg)
{
	static char untouched[1 << 20];
	ssize_t n;

	(void)arg;
	about_to();
	n = read(s[0], untouched, sizeof(untouched));
	memcpy(got, untouched, 5);
	return (void *)n;
}

static void *by_recvfrom(void *arg)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);

	(void)arg;
	about_to();
	return (void *)recvfrom(s[0], got, 5, 0, (void *)&a, &len);
}

static void *by_poll(void *arg)
{
	struct pollfd f[2] = { { .fd = s[0], .events = POLLIN }, { .fd = -1 } };

	(void)arg;
	about_to();
	CHECK(poll(f, 2, -1) == 1 && f[0].revents); /* poll may see the new file */
	return (void *)5l;
}

static void *by_epoll(void *arg)
{
	int e = *(int *)arg;
	struct epoll_event ev;

	about_to();
	CHECK(epoll_wait(e, &ev, 1, -1) == 1);
	return (void *)5l;
}

/* Waits until the thread sleeps in its call. If it called later it would find the
 * descriptor closed. */
static void until_it_waits(void)
{
	while (!thread_sleeps("waits"))
		sched_yield();
}

static void writes_after_close(void *(*reader)(void *), const char *what)
{
	int new[2];
	pthread_t t;
	char c;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	t = start(reader, NULL);
	until_it_waits();
	CHECK(!close(s[0]));
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, new));
	CHECK(new[0] == s[0]); /* the same descriptor */
	CHECK(write(new[1], "wrong", 5) == 5);
	usleep(20000);
	CHECK(write(s[1], "right", 5) == 5); /* the old file is still open */
	CHECK(finish(t) == (void *)5l);
	CHECK(reader == by_poll || !memcmp(got, "right", 5));
	CHECK(read(new[0], got, 5) == 5 && !memcmp(got, "wrong", 5));
	/* the old file is closed once its reader has returned */
	if (reader != by_poll)
		CHECK(read(s[1], &c, 1) == 0);
	close(s[1]);
	close(new[0]);
	close(new[1]);
	printf("%s\n", what);
}

static void shut_and_closed(void *(*reader)(void *), const char *what)
{
	pthread_t t;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	t = start(reader, NULL);
	until_it_waits();
	CHECK(!shutdown(s[0], SHUT_RDWR));
	CHECK(!close(s[0]));
	CHECK(finish(t) == (void *)(reader == by_poll ? 5l : 0l));
	close(s[1]);
	printf("shut: %s\n", what);
}

static void *accepts(void *arg)
{
	int r;

	about_to();
	while ((r = accept(*(int *)arg, NULL, NULL)) >= 0)
		close(r);
	return (void *)(long)errno;
}

static void shutdown_ends_accept(void)
{
	for (int i = 0; i < 20; i++) {
		struct sockaddr_in a = { .sin_family = AF_INET };
		int l = socket(AF_INET, SOCK_STREAM, 0);
		pthread_t t;

		CHECK(!bind(l, (void *)&a, sizeof(a)) && !listen(l, 5));
		t = start(accepts, &l);
		until_it_waits();
		shutdown(l, SHUT_RDWR);
		close(l);
		CHECK(finish(t) == (void *)(long)EINVAL);
	}
	printf("listener\n");
}

static void replaced(void)
{
	int p[2];
	pthread_t t;
	char c;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, s) && !pipe(p));
	t = start(by_recv, NULL);
	until_it_waits();
	CHECK(dup2(p[0], s[0]) == s[0]);
	CHECK(write(p[1], "x", 1) == 1 && write(s[1], "right", 5) == 5);
	CHECK(finish(t) == (void *)5l && !memcmp(got, "right", 5));
	CHECK(read(s[0], &c, 1) == 1 && c == 'x');
	FAILS(dup2(9999, s[0]), EBADF);
	CHECK(write(p[1], "y", 1) == 1 && read(s[0], &c, 1) == 1 && c == 'y');
	close(s[0]);
	close(s[1]);
	close(p[0]);
	close(p[1]);
	printf("replaced\n");
}

static void instance(void)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int e = epoll_create1(0), p[2];
	pthread_t t;

	CHECK(!pipe(p) && !epoll_ctl(e, EPOLL_CTL_ADD, p[0], &ev));
	t = start(by_epoll, &e);
	until_it_waits();
	close(e);
	CHECK(write(p[1], "x", 1) == 1);
	finish(t);
	close(p[0]);
	close(p[1]);
	printf("instance\n");
}

/* The number of open file descriptors, to find leaks. */
static int open_now(void)
{
	int n = 0;

	for (int i = 0; i < 20000; i++)
		n += fcntl(i, F_GETFD) >= 0;
	return n;
}

static void *all(void *arg)
{
	int before;

	writes_after_close(by_recv, "recv");
	before = open_now();
	for (int i = 0; i < 3; i++) {
		writes_after_close(by_recv, "recv");
		writes_after_close(by_all, "recv all");
		writes_after_close(by_read, "read");
		writes_after_close(by_recvfrom, "recvfrom");
		writes_after_close(by_poll, "poll");
		shut_and_closed(by_recv, "recv");
		shut_and_closed(by_read, "read");
		shut_and_closed(by_recvfrom, "recvfrom");
		shut_and_closed(by_poll, "poll");
	}
	shutdown_ends_accept();
	replaced();
	instance();
	CHECK(open_now() == before);
	FAILS(close(9999), EBADF);
	FAILS(close(-1), EBADF);
	return arg;
}

int main(void)
{
	struct rlimit lim;

	/* the usual limit; the runtime's own file descriptors must fit, too */
	CHECK(!getrlimit(RLIMIT_NOFILE, &lim));
	lim.rlim_cur = 1024;
	CHECK(!setrlimit(RLIMIT_NOFILE, &lim));
	run_in_thread(all);
	/* main is a kernel thread; the waiting threads are not */
	writes_after_close(by_recv, "recv");
	writes_after_close(by_read, "read");
	shut_and_closed(by_read, "read");
	RUN(shutdown_ends_accept);
	printf("ok\n");
	return 0;
}
