/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads that wait for each other in turn start on two vps. They gather on one vp
 * and stay there, so no other vp wakes up. */
#include "test.h"

#include <unistd.h>

#include "base/base.h"
#include "uk/uk.h"

#define BLOCK 2000
#define STRAY 5   /* sleeps of other vps in a block, from kicks of the monitor */
#define BLOCKS 20 /* so many good blocks in a row */

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

/* The sleeps since the last call, of all vps except the one with the most. */
static uint64_t sleeps_elsewhere(void)
{
	static uint64_t before[256];
	uint64_t sum = 0, most = 0;

	for (int i = 0; i < uk_vp_count(); i++) {
		uk_stats s;
		uint64_t n;

		CHECK_EQ(uk_vp_stats(uk_vpset_vp(uk_vpset_default(), (unsigned)i), &s,
				     sizeof(s)),
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
	while (good < BLOCKS) { /* until the time limit of the test */
		for (unsigned i = 0; i < BLOCK; i++) {
			CHECK_EQ(uk_write(there[1], &c, 1), 1);
			CHECK_EQ(uk_read(back[0], &c, 1), 1);
		}
		good = sleeps_elsewhere() <= STRAY ? good + 1 : 0;
	}
	return arg;
}

static void two_threads_that_wait_in_turn_gather_on_one_vp_and_stay(void)
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
	if (uk_vp_count() < 2)
		SKIP("needs two vps");
	/* a wait of these threads takes too long there */
	if (UK_TSAN || UK_ASAN || UK_CHECKS)
		SKIP("this build is too slow");
	RUN(two_threads_that_wait_in_turn_gather_on_one_vp_and_stay);
	return 0;
}
