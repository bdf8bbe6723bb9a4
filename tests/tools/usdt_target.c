/* SPDX-License-Identifier: Apache-2.0 */
/* The program that usdt.py traces: on one vp, a thread blocks, announces that it will
 * block, and computes, while another thread is always ready. */
#include <time.h>
#include <uk/uk.h>

#include "../test.h"

static int stop;
static long turns; /* of the thread that is always ready */

static long turn(void)
{
	return __atomic_load_n(&turns, __ATOMIC_RELAXED);
}

/* Until the vp has moved, and 20 ms more. */
static void sleeps(void)
{
	struct timespec ts = { 0, 20 * UK_MS };

	for (long n = turn(); turn() == n;)
		nanosleep(&ts, NULL);
	nanosleep(&ts, NULL);
}

static void *loses_its_vp(void *arg)
{
	sleeps();
	uk_yield();
	uk_blocking_begin();
	sleeps();
	uk_blocking_end();
	for (long n = turn(); turn() == n;)
		;
	uk_yield();
	return arg;
}

static void *is_ready(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		__atomic_fetch_add(&turns, 1, __ATOMIC_RELAXED);
		uk_yield();
	}
	return arg;
}

int main(void)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t[2];

	a.name = "ready-one";
	CHECK_EQ(uk_thread_create(&t[0], &a, is_ready, NULL), 0);
	a.name = "sleepy-one";
	CHECK_EQ(uk_thread_create(&t[1], &a, loses_its_vp, NULL), 0);
	CHECK_EQ(uk_thread_join(t[1], NULL), 0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	CHECK_EQ(uk_thread_join(t[0], NULL), 0);
	return 0;
}
