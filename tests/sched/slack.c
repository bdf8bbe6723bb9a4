/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime that is started with timer slack combines sleeps that end at about the same
 * time, and ends none early. */
#include <sys/prctl.h>
#include <uk/uk.h>

#include "test.h"

enum { MANY = 400, APART = 500 * UK_US, SLACK = 4 * UK_MS };

static uk_time begin;

static void *sleeps(void *arg)
{
	uk_time until = begin + (uk_time)(uintptr_t)arg * APART;

	CHECK_EQ(uk_sleep_until(until), 0);
	CHECK(uk_now() >= until);
	return NULL;
}

/* One sleep of the carrier serves all deadlines within 4 ms. On a busy machine it
 * serves even more. */
static void a_carrier_serves_many_deadlines_with_few_sleeps(void)
{
	static uk_thread *t[MANY];
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_stats before, after;
	uk_vpset *set;

	CHECK_EQ(uk_vpset_create(&set, "one", 1, NULL, 0), 0);
	a.set = set;
	begin = uk_after(50 * UK_MS);
	for (uintptr_t i = 0; i < MANY; i++)
		CHECK_EQ(uk_thread_create(&t[i], &a, sleeps, (void *)i), 0);
	uk_sleep_until(begin - UK_MS);
	uk_stats_get(&before, sizeof(before));
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	uk_stats_get(&after, sizeof(after));
	printf("%llu sleeps\n", (unsigned long long)(after.waits - before.waits));
	CHECK(after.waits - before.waits < MANY * 3 / 8);
}

int main(void)
{
	CHECK_EQ(prctl(PR_SET_TIMERSLACK, (unsigned long)SLACK), 0);
	RUN(a_carrier_serves_many_deadlines_with_few_sleeps);
	return 0;
}
