/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for readiness. */
#include "iotest.h"

#include <sys/timerfd.h>

static void ready_at_once(void)
{
	int p[2], s[2], f = temp_file();

	make_pipe(p, 0);
	make_unix(s, SOCK_STREAM);
	CHECK_EQ(uk_wait(p[1], POLLOUT, UK_FOREVER), POLLOUT);
	CHECK_EQ(uk_wait(s[0], POLLIN | POLLOUT, UK_FOREVER), POLLOUT);
	CHECK_EQ(uk_wait(f, POLLIN | POLLOUT, UK_FOREVER), POLLIN | POLLOUT);
	CHECK_EQ(write(p[1], "x", 1), 1);
	CHECK_EQ(uk_wait(p[0], POLLIN, UK_FOREVER), POLLIN);
	CHECK_EQ(uk_wait(p[0], POLLIN, 0), POLLIN);
	CHECK_EQ(uk_wait(p[0], POLLIN, uk_now() - 1), POLLIN);
	close(p[1]);
	CHECK_EQ(uk_wait(p[0], POLLIN, UK_FOREVER), POLLIN | POLLHUP);
	close(s[1]);
	CHECK_EQ(uk_wait(s[0], POLLIN | POLLRDHUP, UK_FOREVER),
		 POLLIN | POLLRDHUP | POLLHUP);
	CHECK_EQ(uk_wait(s[0], 0, UK_FOREVER), POLLHUP);
	uk_close(p[0]);
	uk_close(s[0]);
	uk_close(f);
}

static void nothing_by_the_deadline(void)
{
	uk_time start = uk_now();
	int p[2];

	make_pipe(p, 0);
	CHECK_EQ(uk_wait(p[0], POLLIN, 0), -ETIMEDOUT);
	CHECK_EQ(uk_wait(p[0], POLLIN, start - 5), -ETIMEDOUT);
	CHECK_EQ(uk_wait(p[0], POLLIN, start + 10 * MS), -ETIMEDOUT);
	CHECK(uk_now() >= start + 10 * MS);
	uk_thread_set_deadline(uk_now() + 5 * MS);
	CHECK_EQ(uk_wait(p[0], POLLIN, UK_FOREVER), -ETIMEDOUT);
	CHECK_EQ(uk_wait(p[1], POLLOUT, UK_FOREVER), POLLOUT); /* a look is free */
	uk_thread_set_deadline(UK_FOREVER);
	CHECK_EQ(uk_wait(-1, POLLIN, 0), -EBADF);
	CHECK_EQ(uk_wait(-1, POLLIN, UK_FOREVER), -EBADF);
	CHECK_EQ(uk_wait(900000, POLLIN, UK_FOREVER), -EBADF);
	CHECK_EQ(uk_wait(900000, POLLIN, 0), -EBADF);
	uk_close(p[0]);
	uk_close(p[1]);
}

static void a_timer_descriptor_wakes(void)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	struct itimerspec it = { .it_value = { .tv_nsec = 5000000 } };
	uint64_t n = 0;

	CHECK_EQ(timerfd_settime(fd, 0, &it, NULL), 0);
	CHECK_EQ(uk_wait(fd, POLLIN, uk_after(10 * UK_SEC)), POLLIN);
	CHECK_EQ(read_k(fd, &n, 8, 8), 8);
	CHECK_EQ(n, 1);
	CHECK_EQ(timerfd_settime(fd, 0, &it, NULL), 0);
	CHECK_EQ(read_k(fd, &n, 8, 8), 8);
	uk_close(fd);
}

struct watch {
	int fd, events, got;
};

static void *watcher(void *arg)
{
	struct watch *w = arg;

	__atomic_store_n(&w->got, uk_wait(w->fd, w->events, uk_after(10 * UK_SEC)),
			 __ATOMIC_SEQ_CST);
	return NULL;
}

static int got(struct watch *w)
{
	return __atomic_load_n(&w->got, __ATOMIC_SEQ_CST);
}

/* Readers and a writer wait on one socket, each for his own event. */
static void each_waiter_gets_his_event(void)
{
	char b[1000] = { 0 };
	struct watch in[4], out, bell;
	uk_thread *t[4], *u, *v;
	int s[2];

	make_unix(s, SOCK_STREAM);
	while (send(s[0], b, sizeof(b), MSG_DONTWAIT) > 0)
		;
	for (int i = 0; i < 4; i++) {
		in[i] = (struct watch){ s[0], POLLIN, 0 };
		t[i] = spawn(watcher, &in[i]);
	}
	out = (struct watch){ s[0], POLLOUT, 0 };
	bell = (struct watch){ s[0], POLLRDHUP, 0 };
	u = spawn(watcher, &out);
	v = spawn(watcher, &bell);
	uk_sleep(3 * MS);
	CHECK(got(&in[0]) == 0 && got(&out) == 0 && got(&bell) == 0);
	CHECK_EQ(send(s[1], "x", 1, 0), 1);
	for (int i = 0; i < 4; i++) {
		join(t[i]);
		CHECK_EQ(got(&in[i]), POLLIN);
	}
	CHECK(got(&out) == 0 && got(&bell) == 0);
	while (recv(s[1], b, sizeof(b), MSG_DONTWAIT) > 0)
		usleep(100);
	join(u);
	CHECK_EQ(got(&out), POLLOUT);
	CHECK_EQ(got(&bell), 0);
	shutdown(s[1], SHUT_WR);
	join(v);
	CHECK_EQ(got(&bell), POLLRDHUP);
	uk_close(s[0]);
	uk_close(s[1]);
}

int main(void)
{
	io_test_init(50);
	BOTH(ready_at_once);
	BOTH(nothing_by_the_deadline);
	BOTH(a_timer_descriptor_wakes);
	BOTH(each_waiter_gets_his_event);
	return 0;
}
