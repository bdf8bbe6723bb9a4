/* SPDX-License-Identifier: Apache-2.0 */
/* Sleep and wake-up: kicks, time-outs, and the cost of a poll that finds nothing. */
#include "each.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static void a_kick_before_the_sleep_ends_it(void)
{
	int64_t begin = sys_now();

	R.ops->kick(&R);
	R.ops->kick(&R);
	CHECK(!R.ops->poll(&R, -1));
	/* one kick ends one poll early (a signal or a ring that is being torn down may
	 * end others) */
	for (int i = 0; i < 3 && sys_now() - begin < NS_PER_MS; i++)
		CHECK(!R.ops->poll(&R, NS_PER_MS));
	CHECK(UK_HOSTILE || sys_now() - begin >= NS_PER_MS);
	/* a poll that does not sleep leaves the kick to a later poll that would
	 * sleep */
	R.ops->kick(&R);
	R.ops->poll(&R, 0);
	R.ops->poll(&R, 0);
	R.ops->poll(&R, -1);
}

static void *kick_later(void *arg UNUSED)
{
	usleep(20000);
	R.ops->kick(&R);
	return NULL;
}

static void a_kick_ends_a_sleep(void)
{
	pthread_t t;

	for (int i = 0; i < 3; i++) {
		pthread_create(&t, NULL, kick_later, NULL);
		R.ops->poll(&R, -1);
		pthread_join(t, NULL);
	}
}

#define ROUNDS 10000
static uint32_t posted; /* the kicker writes it */
static uint32_t seen;   /* the poller writes it */

static void *kicker(void *arg UNUSED)
{
	uint32_t r = 12345;

	for (uint32_t i = 1; i <= ROUNDS; i++) {
		store_relaxed(&posted, i);
		R.ops->kick(&R);
		r = r * 1664525u + 1013904223u;
		/* with random timing, either wait for the poller or let a few kicks
		 * pile up */
		if (r >> 30)
			for (int64_t end = sys_now() + HANG_NS;
			     load_acquire(&seen) != i; cpu_relax()) {
				CHECK(sys_now() < end);
				if (r >> 29 == 7)
					sys0(SYS_sched_yield);
			}
		for (uint32_t k = r >> 20 & 1023; k; k--)
			cpu_relax();
	}
	return NULL;
}

static void no_wakeup_is_lost(void)
{
	pthread_t t;

	posted = seen = 0;
	pthread_create(&t, NULL, kicker, NULL);
	while (seen != ROUNDS) {
		uint32_t p = load_relaxed(&posted);

		if (p != seen)
			store_release(&seen, p);
		else
			R.ops->poll(&R, -1);
	}
	pthread_join(t, NULL);
	R.ops->poll(&R, 0);
}

static int by_value(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void timeouts_are_never_early(void)
{
	enum { SHOTS = 300 };
	int64_t late[SHOTS];

	prctl(PR_SET_TIMERSLACK, 1);
	for (int i = 0; i < SHOTS; i++) {
		int64_t span = 20000 + i * 7919, begin = sys_now();

		while ((late[i] = sys_now() - begin - span) < 0)
			R.ops->poll(&R, begin + span - sys_now() > 0
					    ? begin + span - sys_now()
					    : 0);
	}
	qsort(late, SHOTS, sizeof(late[0]), by_value);
	printf("# %s: lateness p50 %lld p90 %lld p99 %lld us\n", engine,
	       (long long)late[SHOTS / 2] / 1000,
	       (long long)late[SHOTS * 9 / 10] / 1000,
	       (long long)late[SHOTS * 99 / 100] / 1000);
	/* a single poll really sleeps that long */
	for (int i = 0; i < 3; i++) {
		uint64_t waits = R.count.waits;
		int64_t begin = sys_now();

		R.ops->poll(&R, 30 * NS_PER_MS);
		CHECK(UK_HOSTILE || R.count.waits == waits + 1);
		CHECK(UK_HOSTILE || sys_now() - begin >= 30 * NS_PER_MS);
	}
	/* an extreme time-out does not overflow */
	R.ops->kick(&R);
	R.ops->poll(&R, INT64_MAX);
}

static void a_poll_with_nothing_to_do_makes_no_system_call(void)
{
	struct io_op op;
	uint64_t before;
	char c;
	int sv[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	R.ops->poll(&R, 0);
	before = R.count.syscalls;
	for (int i = 0; i < 1000; i++)
		R.ops->poll(&R, 0);
	CHECK_EQ(R.count.syscalls, before);
	/* with a pending op, epoll has to ask the kernel, io_uring need not */
	op = mk(IO_RECV, sv[0], &c, 1);
	submit(&op);
	stays_pending(&op);
	before = R.count.syscalls;
	for (int i = 0; i < 1000; i++)
		R.ops->poll(&R, 0);
	if (is_uring)
		CHECK_EQ(R.count.syscalls, before);
	CHECK_EQ(write(sv[1], "x", 1), 1);
	/* a poll that does not sleep finds the byte */
	for (int64_t end = sys_now() + HANG_NS; op.state != IO_DONE;) {
		R.ops->poll(&R, 0);
		CHECK(sys_now() < end);
	}
	CHECK_EQ(op.res, 1);
	close(sv[0]), close(sv[1]);
}

static void all(void)
{
	RUN_ON(a_kick_before_the_sleep_ends_it);
	RUN_ON(a_kick_ends_a_sleep);
	RUN_ON(no_wakeup_is_lost);
	RUN_ON(timeouts_are_never_early);
	RUN_ON(a_poll_with_nothing_to_do_makes_no_system_call);
}

int main(void)
{
	on_each_engine(all);
	return 0;
}
