/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeping threads: none wakes early, and all wake, even 100,000 at once. */
#include <uk/uk.h>

#include "base/base.h"
#include "test.h"

static uint32_t woken, early;

static void *sleeper(void *arg)
{
	uk_time until = uk_after((uk_time)(uintptr_t)arg * UK_US);

	CHECK_EQ(uk_sleep_until(until), 0);
	if (uk_now() < until)
		__atomic_add_fetch(&early, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&woken, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void all_sleeping_threads_wake_and_none_early(void)
{
	uint32_t n = UK_ASAN || UK_TSAN ? 2000 : 100000;
	uk_thread_attr a = UK_THREAD_ATTR_INIT;

	a.flags = UK_THREAD_LIGHT | UK_THREAD_DETACHED;
	a.stack_size = 16384;
	for (uint32_t i = 0; i < n; i++)
		CHECK_EQ(
		    uk_thread_create(NULL, &a, sleeper,
				     (void *)(uintptr_t)(1000 + (i * 7919) % 300000)),
		    0);
	while (__atomic_load_n(&woken, __ATOMIC_SEQ_CST) < n)
		uk_sleep(5 * UK_MS);
	CHECK_EQ(early, 0);
}

static void *past(void *arg)
{
	CHECK_EQ(uk_sleep(0), 0);
	CHECK_EQ(uk_sleep(-5), 0);
	CHECK_EQ(uk_sleep_until(1), 0);
	CHECK(uk_after(UK_FOREVER) == UK_FOREVER);
	return arg;
}

static void a_sleep_until_a_time_in_the_past_returns_at_once(void)
{
	uk_thread *t;

	past(NULL);
	CHECK_EQ(uk_thread_create(&t, NULL, past, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
}

int main(void)
{
	RUN(a_sleep_until_a_time_in_the_past_returns_at_once);
	RUN(all_sleeping_threads_wake_and_none_early);
	return 0;
}
