/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads that wait for each other by turns, started on two vps, end on one and stay
 * there: then only that vp wakes up at all. */
#include "test.h"

#include <unistd.h>

#include "base/base.h"
#include "uk/uk.h"

#define BLOCK 2000
#define STRAY 5   /* sleeps elsewhere in a block: the monitor's kick, now and then */
#define BLOCKS 20 /* so long must it last */

static int there[2], back[2];

static void start_on(unsigned i)
{
	CHECK_EQ(uk_thread_pin(uk_vpset_vp(uk_vpset_default(), i)), 0);
	CHECK_EQ(uk_thread_pin(NULL), 0);
}

static void *echo(void *arg)
{
	char c;

	start_on(1);
	while (uk_read(there[0], &c, 1) == 1)
		CHECK_EQ(uk_write(back[1], &c, 1), 1);
	return arg;
}

/* Of all vps but the one that slept most often. */
static uint64_t sleeps_elsewhere(void)
{
	static uint64_t before[256];
	uint64_t sum = 0, most = 0;

	for (int i = 0; i < uk_vps(); i++) {
		uk_stats s;
		uint64_t n;

		CHECK_EQ(uk_vp_stats(uk_vpset_vp(uk_vpset_default(), (unsigned)i), &s),
			 0);
		n = s.waits - before[i];
		before[i] = s.waits;
		sum += n;
		most = MAX(most, n);
	}
	return sum - most;
}

static void *ping(void *arg)
{
	unsigned good = 0;
	char c = 1;

	start_on(0);
	while (good < BLOCKS) { /* the test's time limit is the only one */
		for (unsigned i = 0; i < BLOCK; i++) {
			CHECK_EQ(uk_write(there[1], &c, 1), 1);
			CHECK_EQ(uk_read(back[0], &c, 1), 1);
		}
		good = sleeps_elsewhere() <= STRAY ? good + 1 : 0;
	}
	return arg;
}

static void two_that_wait_by_turns_come_to_one_vp_and_stay(void)
{
	uk_thread *a, *b;

	CHECK_EQ(pipe(there), 0);
	CHECK_EQ(pipe(back), 0);
	CHECK_EQ(uk_thread_create(&a, NULL, echo, NULL), 0);
	CHECK_EQ(uk_thread_create(&b, NULL, ping, NULL), 0);
	CHECK_EQ(uk_thread_join(b, NULL), 0);
	CHECK_EQ(uk_close(there[1]), 0);
	CHECK_EQ(uk_thread_join(a, NULL), 0);
}

int main(void)
{
	if (uk_vps() < 2)
		SKIP("one vp");
	/* a sleep of theirs is no moment */
	if (UK_TSAN || UK_ASAN || UK_DEBUG)
		SKIP("too slow to tell");
	RUN(two_that_wait_by_turns_come_to_one_vp_and_stay);
	return 0;
}
