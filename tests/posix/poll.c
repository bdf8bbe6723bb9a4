/* SPDX-License-Identifier: Apache-2.0 */
/* poll, select and epoll_wait: results, timeouts, errors, and thousands of threads in
 * poll. */
#undef _FORTIFY_SOURCE /* its poll() aborts for far_too_many */
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <unistd.h>

#include "posix.h"

#define MANY 2000

static void *volatile bad_place = (void *)8; /* hidden from the compiler */
static volatile nfds_t far_too_many = 1 << 30;
static int p[2], q[2];

static void *write_later(void *arg)
{
	usleep(20000);
	CHECK(write(*(int *)arg, "x", 1) == 1);
	return NULL;
}

static void drain(int fd)
{
	char c;

	CHECK(read(fd, &c, 1) == 1);
}

static void *polls(void *arg)
{
	struct pollfd f[3] = { { .fd = p[0], .events = POLLIN },
			       { .fd = -1, .events = POLLIN },
			       { .fd = q[0], .events = POLLIN } };
	struct timespec span = { 0, 20000000 }, bad = { 0, -1 };
	long was = ms_now();
	pthread_t t;

	errno = 77;
	CHECK(poll(f, 3, 0) == 0 && poll(f, 3, 20) == 0 && ms_now() - was >= 20);
	CHECK(ppoll(f, 3, &span, NULL) == 0 && ms_now() - was >= 40);
	CHECK(poll(NULL, 0, 20) == 0 && ms_now() - was >= 60);
	t = start(write_later, &q[1]);
	CHECK(poll(f, 3, -1) == 1 && !f[0].revents && f[2].revents == POLLIN);
	CHECK(errno == 77);
	finish(t);
	drain(q[0]);
	f[1] = (struct pollfd){ .fd = p[1], .events = POLLIN | POLLOUT };
	CHECK(poll(f, 3, -1) == 1 && f[1].revents == POLLOUT);
	f[1].fd = 9999;
	CHECK(poll(f, 3, -1) == 1 && f[1].revents == POLLNVAL);
	FAILS(ppoll(f, 1, &bad, NULL), EINVAL);
	FAILS(poll(bad_place, 1, -1), EFAULT);
	FAILS(poll(f, far_too_many, -1), EINVAL);
	return arg;
}

static void *many_fds(void *arg)
{
	struct pollfd f[100];
	pthread_t t;

	for (int i = 0; i < 100; i++)
		f[i] = (struct pollfd){ .fd = i == 63 ? q[0] : p[0], .events = POLLIN };
	t = start(write_later, &q[1]);
	CHECK(poll(f, 100, 10000) == 1 && f[63].revents == POLLIN);
	finish(t);
	drain(q[0]);
	return arg;
}

static void *selects(void *arg)
{
	struct timeval tv = { 0, 20000 };
	struct timespec span = { 0, 20000000 };
	fd_set in, out, ex;
	int closed, n = (p[1] > q[1] ? p[1] : q[1]) + 1;
	long was = ms_now();
	pthread_t t;

	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_ZERO(&ex);
	FD_SET(p[0], &in);
	FD_SET(q[0], &in);
	FD_SET(q[0], &ex);
	CHECK(select(n, &in, NULL, &ex, &tv) == 0 && ms_now() - was >= 20);
	CHECK(!FD_ISSET(p[0], &in) && !FD_ISSET(q[0], &ex) && !tv.tv_sec &&
	      !tv.tv_usec);
	CHECK(select(0, NULL, NULL, NULL, &(struct timeval){ 0, 20000 }) == 0);
	CHECK(pselect(0, NULL, NULL, NULL, &span, NULL) == 0 && ms_now() - was >= 60);
	FD_SET(p[0], &in);
	FD_SET(q[0], &in);
	t = start(write_later, &q[1]);
	tv.tv_sec = 100;
	CHECK(select(n, &in, &out, NULL, &tv) == 1);
	CHECK(FD_ISSET(q[0], &in) && !FD_ISSET(p[0], &in));
	CHECK(tv.tv_sec == 99);
	finish(t);
	FD_SET(p[1], &out);
	CHECK(pselect(n, &in, &out, &ex, NULL, NULL) == 2 && FD_ISSET(p[1], &out));
	drain(q[0]);
	closed = dup(p[0]);
	close(closed);
	FD_SET(closed, &in);
	FAILS(select(closed + 1, &in, NULL, NULL, NULL), EBADF);
	FAILS(select(-1, &in, NULL, NULL, NULL), EINVAL);
	tv.tv_sec = -1;
	FAILS(select(n, &in, NULL, NULL, &tv), EINVAL);
	return arg;
}

static void *epolls(void *arg)
{
	int e = epoll_create1(0);
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = 42 }, got[4];
	struct timespec span = { 0, 20000000 };
	long was = ms_now();
	pthread_t t;

	CHECK(e >= 0 && !epoll_ctl(e, EPOLL_CTL_ADD, q[0], &ev));
	CHECK(epoll_wait(e, got, 4, 0) == 0 && epoll_wait(e, got, 4, 20) == 0);
	CHECK(epoll_pwait2(e, got, 4, &span, NULL) == 0 && ms_now() - was >= 40);
	t = start(write_later, &q[1]);
	CHECK(epoll_wait(e, got, 4, -1) == 1 && got[0].data.u64 == 42);
	finish(t);
	CHECK(epoll_pwait(e, got, 4, -1, NULL) == 1 && got[0].events == EPOLLIN);
	drain(q[0]);
	ev.events = EPOLLIN | EPOLLET;
	CHECK(!epoll_ctl(e, EPOLL_CTL_MOD, q[0], &ev));
	t = start(write_later, &q[1]);
	CHECK(epoll_wait(e, got, 4, -1) == 1 && epoll_wait(e, got, 4, 10) == 0);
	finish(t);
	drain(q[0]);
	FAILS(epoll_wait(e, got, 0, -1), EINVAL);
	FAILS(epoll_wait(p[0], got, 4, -1), EINVAL);
	FAILS(epoll_wait(-1, got, 4, -1), EBADF);
	close(e);
	return arg;
}

/* ---- many threads ---- */

static int word[2], waiting, woken;

static void *in_poll(void *arg)
{
	struct pollfd f[3] = { { .fd = p[0], .events = POLLIN },
			       { .fd = q[0], .events = POLLIN },
			       { .fd = word[0], .events = POLLIN } };

	__atomic_fetch_add(&waiting, 1, __ATOMIC_RELAXED);
	CHECK(poll(f, 3, -1) == 1 && f[2].revents & POLLHUP);
	__atomic_fetch_add(&woken, 1, __ATOMIC_RELAXED);
	return arg;
}

static void *crowd(void *arg)
{
	static pthread_t t[MANY];

	CHECK(!pipe(word));
	for (long i = 0; i < MANY; i++)
		t[i] = start(in_poll, NULL);
	while (__atomic_load_n(&waiting, __ATOMIC_RELAXED) < MANY)
		usleep(1000);
	usleep(20000);
	CHECK(!woken);
	close(word[1]);
	for (int i = 0; i < MANY; i++)
		finish(t[i]);
	close(word[0]);
	printf("woken %d\n", woken);
	return arg;
}

int main(void)
{
	CHECK(!pipe(p) && !pipe(q));
	run_in_thread(polls);
	run_in_thread(many_fds);
	run_in_thread(selects);
	run_in_thread(epolls);
	run_in_thread(crowd);
	printf("ok\n");
	return 0;
}
