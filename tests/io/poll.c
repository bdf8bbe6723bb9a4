/* SPDX-License-Identifier: Apache-2.0 */
/* uk_wait_fd and uk_poll. */
#include "iotest.h"

#include <sys/timerfd.h>

static void ready_fds_are_reported_at_once(void)
{
	int p[2], s[2], f = temp_file();

	make_pipe(p, 0);
	make_unix(s, SOCK_STREAM);
	CHECK_EQ(uk_wait_fd(p[1], POLLOUT, UK_FOREVER), POLLOUT);
	CHECK_EQ(uk_wait_fd(s[0], POLLIN | POLLOUT, UK_FOREVER), POLLOUT);
	CHECK_EQ(uk_wait_fd(f, POLLIN | POLLOUT, UK_FOREVER), POLLIN | POLLOUT);
	CHECK_EQ(write(p[1], "x", 1), 1);
	CHECK_EQ(uk_wait_fd(p[0], POLLIN, UK_FOREVER), POLLIN);
	CHECK_EQ(uk_wait_fd(p[0], POLLIN, 0), POLLIN);
	CHECK_EQ(uk_wait_fd(p[0], POLLIN, uk_now() - 1), POLLIN);
	close(p[1]);
	CHECK_EQ(uk_wait_fd(p[0], POLLIN, UK_FOREVER), POLLIN | POLLHUP);
	close(s[1]);
	CHECK_EQ(uk_wait_fd(s[0], POLLIN | POLLRDHUP, UK_FOREVER),
		 POLLIN | POLLRDHUP | POLLHUP);
	CHECK_EQ(uk_wait_fd(s[0], 0, UK_FOREVER), POLLHUP);
	uk_close(p[0]);
	uk_close(s[0]);
	uk_close(f);
}

static void a_deadline_ends_the_wait(void)
{
	uk_time start = uk_now();
	int p[2];

	make_pipe(p, 0);
	CHECK_EQ(uk_wait_fd(p[0], POLLIN, 0), -ETIMEDOUT);
	CHECK_EQ(uk_wait_fd(p[0], POLLIN, start - 5), -ETIMEDOUT);
	CHECK_EQ(uk_wait_fd(p[0], POLLIN, start + 10 * MS), -ETIMEDOUT);
	CHECK(uk_now() >= start + 10 * MS);
	uk_thread_set_deadline(uk_now() + 5 * MS);
	CHECK_EQ(uk_wait_fd(p[0], POLLIN, UK_FOREVER), -ETIMEDOUT);
	CHECK_EQ(uk_wait_fd(p[1], POLLOUT, UK_FOREVER), POLLOUT); /* ready: no wait */
	uk_thread_set_deadline(UK_FOREVER);
	CHECK_EQ(uk_wait_fd(-1, POLLIN, 0), -EBADF);
	CHECK_EQ(uk_wait_fd(-1, POLLIN, UK_FOREVER), -EBADF);
	CHECK_EQ(uk_wait_fd(900000, POLLIN, UK_FOREVER), -EBADF);
	CHECK_EQ(uk_wait_fd(900000, POLLIN, 0), -EBADF);
	uk_close(p[0]);
	uk_close(p[1]);
}

static void a_timerfd_wakes_its_waiter(void)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	struct itimerspec it = { .it_value = { .tv_nsec = 5000000 } };
	uint64_t n = 0;

	CHECK_EQ(timerfd_settime(fd, 0, &it, NULL), 0);
	CHECK_EQ(uk_wait_fd(fd, POLLIN, uk_after(HANG_NS)), POLLIN);
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

	__atomic_store_n(&w->got, uk_wait_fd(w->fd, w->events, uk_after(HANG_NS)),
			 __ATOMIC_SEQ_CST);
	return NULL;
}

static int got(struct watch *w)
{
	return __atomic_load_n(&w->got, __ATOMIC_SEQ_CST);
}

/* Readers and a writer wait on one socket, each for its own event. */
static void each_waiter_gets_its_event(void)
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

/* -- several file descriptors -- */

static void a_poll_waits_for_several_fds(void)
{
	int a[2], b[2];
	struct pollfd f[4];

	make_pipe(a, 0);
	make_pipe(b, 0);
	f[0] = (struct pollfd){ a[0], POLLIN, -1 };
	f[1] = (struct pollfd){ -1, POLLIN, -1 }; /* ignored */
	f[2] = (struct pollfd){ b[1], POLLOUT, -1 };
	f[3] = (struct pollfd){ b[0], POLLIN, -1 };
	CHECK_EQ(uk_poll(f, 4, UK_FOREVER), 1);
	CHECK(f[0].revents == 0 && f[1].revents == 0 && f[3].revents == 0);
	CHECK_EQ(f[2].revents, POLLOUT);
	f[2].fd = -1;
	CHECK_EQ(uk_poll(f, 4, 0), -ETIMEDOUT);
	CHECK_EQ(uk_poll(f, 4, uk_after(5 * MS)), -ETIMEDOUT);
	uk_thread_set_deadline(uk_after(5 * MS));
	CHECK_EQ(uk_poll(f, 4, UK_FOREVER), -ETIMEDOUT);
	CHECK_EQ(uk_poll(f, 0, UK_FOREVER), -ETIMEDOUT); /* a sleep */
	uk_thread_set_deadline(UK_FOREVER);
	CHECK_EQ(write(a[1], "x", 1), 1);
	close(b[1]);
	CHECK_EQ(uk_poll(f, 4, UK_FOREVER), 2);
	CHECK(f[0].revents == POLLIN && f[3].revents == POLLHUP);
	close(b[0]);
	CHECK_EQ(uk_poll(f, 4, UK_FOREVER), 2);
	CHECK_EQ(f[3].revents, POLLNVAL);
	CHECK_EQ(uk_poll((void *)8, 4, 0), -EFAULT);
	CHECK_EQ(uk_poll(f, 100000000, 0), -EINVAL);
	uk_close(a[0]);
	uk_close(a[1]);
}

#define POLLERS 300
#define EACH 12

struct poller {
	int in[EACH], out[EACH];
	int rounds; /* atomic: bytes read */
	int got;
};

/* Polls and reads until the byte 'q' comes. */
static void *poller(void *arg)
{
	struct poller *p = arg;
	struct pollfd f[EACH];
	char c = 0;

	for (int i = 0; i < EACH; i++)
		f[i] = (struct pollfd){ p->in[i], POLLIN, 0 };
	while (c != 'q') {
		CHECK(uk_poll(f, EACH, UK_FOREVER) > 0);
		for (int i = 0; i < EACH; i++)
			if (f[i].revents) {
				CHECK_EQ(read(p->in[i], &c, 1), 1);
				p->got++;
				__atomic_fetch_add(&p->rounds, 1, __ATOMIC_RELEASE);
			}
	}
	return NULL;
}

/* The threads park, so they need few carriers. */
static void hundreds_of_threads_poll_a_dozen_fds_each(void)
{
	static struct poller p[POLLERS];
	uk_thread *t[POLLERS];
	uint64_t seed = test_seed();
	uk_stats before, after;

	uk_stats_get(&before, sizeof(before));
	for (int i = 0; i < POLLERS; i++) {
		for (int k = 0; k < EACH; k++) {
			int e[2];

			make_pipe(e, 0);
			p[i].in[k] = e[0];
			p[i].out[k] = e[1];
		}
		p[i].got = p[i].rounds = 0;
		t[i] = spawn(poller, &p[i]);
	}
	for (int round = 0; round < 5; round++)
		for (int i = 0; i < POLLERS; i++) {
			CHECK_EQ(write(p[i].out[rnd(&seed) % EACH], "x", 1), 1);
			if (round % 2) /* in odd rounds one after the other */
				while (__atomic_load_n(&p[i].rounds,
						       __ATOMIC_ACQUIRE) <= round)
					uk_yield();
		}
	uk_stats_get(&after, sizeof(after));
	CHECK(after.carriers - before.carriers < POLLERS / 4);
	for (int i = 0; i < POLLERS; i++) {
		while (__atomic_load_n(&p[i].rounds, __ATOMIC_ACQUIRE) < 5)
			uk_sleep(MS);
		CHECK_EQ(write(p[i].out[0], "q", 1), 1);
		join(t[i]);
		CHECK_EQ(p[i].got, 6);
		for (int k = 0; k < EACH; k++) {
			uk_close(p[i].in[k]);
			uk_close(p[i].out[k]);
		}
	}
}

static void *poll_forever(void *arg)
{
	return (void *)(intptr_t)uk_poll(arg, 2, UK_FOREVER);
}

static void a_close_or_a_cancel_ends_a_poll(void)
{
	struct pollfd f[2];
	int a[2], b[2];
	uk_thread *t;

	make_pipe(a, 0);
	make_pipe(b, 0);
	f[0] = (struct pollfd){ a[0], POLLIN, 0 };
	f[1] = (struct pollfd){ b[0], POLLIN, 0 };
	t = spawn(poll_forever, f);
	uk_sleep(2 * MS);
	uk_thread_cancel(t);
	CHECK_EQ((intptr_t)join(t), -ECANCELED);
	t = spawn(poll_forever, f);
	uk_sleep(2 * MS);
	uk_close(b[0]);
	CHECK_EQ((intptr_t)join(t), 1);
	CHECK_EQ(f[1].revents, POLLNVAL);
	uk_close(a[0]);
	uk_close(a[1]);
	uk_close(b[1]);
}

/* Deadlines and events race. The thread may be stolen, and its set may have a reactive
 * vp. */
static void *race(void *arg)
{
	uint64_t seed = (uint64_t)(uintptr_t)arg | 1;
	struct pollfd f[3];
	int e[3][2], ready = 0;

	for (int i = 0; i < 3; i++) {
		make_pipe(e[i], 0);
		f[i] = (struct pollfd){ e[i][0], POLLIN, 0 };
	}
	for (int i = 0; i < 200; i++) {
		int k = (int)(rnd(&seed) % 3), r;
		char c;

		if (rnd(&seed) % 2)
			CHECK_EQ(write(e[k][1], "x", 1), 1);
		r = uk_poll(f, 3, uk_after((uk_time)(rnd(&seed) % 200) * UK_US));
		CHECK(r == 1 || r == -ETIMEDOUT);
		for (int j = 0; r == 1 && j < 3; j++)
			while (f[j].revents && uk_wait_fd(e[j][0], POLLIN, 0) > 0)
				ready += read(e[j][0], &c, 1) == 1;
	}
	for (int i = 0; i < 3; i++) {
		uk_close(e[i][0]);
		uk_close(e[i][1]);
	}
	return (void *)(intptr_t)ready;
}

static void a_poll_is_right_when_deadlines_and_events_race(void)
{
	uk_vpset *set;
	uk_thread *t[32];
	uk_thread_attr a;

	CHECK_EQ(uk_vpset_create(&set, "reactive", 2, NULL, UK_VPSET_NET), 0);
	for (int i = 0; i < 32; i++) {
		uk_thread_attr_init(&a);
		a.set = i % 2 ? set : NULL;
		CHECK_EQ(uk_thread_create(&t[i], &a, race, &t[i]), 0);
	}
	for (int i = 0; i < 32; i++)
		CHECK((intptr_t)join(t[i]) > 0);
}

int main(void)
{
	io_test_init(HANG_SEC);
	BOTH(ready_fds_are_reported_at_once);
	BOTH(a_deadline_ends_the_wait);
	BOTH(a_timerfd_wakes_its_waiter);
	BOTH(each_waiter_gets_its_event);
	BOTH(a_poll_waits_for_several_fds);
	USER(hundreds_of_threads_poll_a_dozen_fds_each);
	USER(a_close_or_a_cancel_ends_a_poll);
	USER(a_poll_is_right_when_deadlines_and_events_race);
	return 0;
}
