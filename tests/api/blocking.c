/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever blocks or hogs a carrier, other threads run (law 1, docs/ARCHITECTURE.md).
 * The tests compare counters, not times. */
#include <errno.h>
#include <time.h>
#include <unistd.h>
#include <uk/uk.h>

#include "test.h"

#ifndef UK_CHECKS /* debug builds add hand-offs at random */
#define UK_CHECKS 0
#endif

static uint32_t stop, ticks;

static void *tick(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
		__atomic_fetch_add(&ticks, 1, __ATOMIC_SEQ_CST);
		uk_sleep(UK_MS);
	}
	return arg;
}

static void *block_raw(void *arg)
{
	char c;

	/* a plain system call, until main writes */
	CHECK_EQ(read((int)(intptr_t)arg, &c, 1), 1);
	return NULL;
}

static void *block_marked(void *arg)
{
	uk_blocking_begin();
	CHECK(uk_run_blocking(block_raw, arg) == NULL); /* they nest */
	uk_blocking_end();
	return NULL;
}

static void *hog(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST))
		;
	return arg;
}

static void others_run_beside(void *(*fn)(void *), int n)
{
	uk_thread *t[32], *tk;
	uk_stats a, b;
	int p[2];

	CHECK_EQ(pipe(p), 0);
	uk_stats_get(&a, sizeof(a));
	__atomic_store_n(&stop, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&ticks, 0, __ATOMIC_SEQ_CST);
	for (int i = 0; i < n; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, fn, (void *)(intptr_t)p[0]), 0);
	CHECK_EQ(uk_thread_create(&tk, NULL, tick, NULL), 0);
	while (__atomic_load_n(&ticks, __ATOMIC_SEQ_CST) < 20)
		uk_sleep(UK_MS);
	uk_stats_get(&b, sizeof(b));
	CHECK(b.handoffs > a.handoffs); /* upcall block, docs/HISTORY.md */
	CHECK(b.takes > a.takes);       /* upcall new */
	__atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < n; i++)
		CHECK_EQ(write(p[1], "x", 1), 1);
	for (int i = 0; i < n; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	CHECK_EQ(uk_thread_join(tk, NULL), 0);
	close(p[0]);
	close(p[1]);
}

static void plain_blocking_calls_hold_up_no_other_thread(void)
{
	others_run_beside(block_raw, 30);
}

static void bracketed_calls_hold_up_no_other_thread(void)
{
	others_run_beside(block_marked, 30);
}

static void hogs_hold_up_no_other_thread(void)
{
	others_run_beside(hog, 10);
}

static void *raw_sleeps(void *arg)
{
	for (int i = 0; i < 10; i++) {
		struct timespec ts = { 0, 1000000 };

		nanosleep(&ts, NULL);
		uk_yield();
	}
	return arg;
}

static void many_threads_return_from_blocking_calls_and_go_on(void)
{
	uk_thread *t[100];

	for (int i = 0; i < 100; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, raw_sleeps, NULL), 0);
	for (int i = 0; i < 100; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
}

#define BRACKETS 60

static void *sleeps_in_brackets(void *arg)
{
	for (int i = 0; i < BRACKETS; i++) {
		uk_blocking_begin();
		uk_sleep(2 * UK_MS);
		uk_blocking_end();
	}
	__atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
	return arg;
}

static void *computes(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
		uk_time until = uk_after(UK_MS);

		while (uk_now() < until)
			;
		uk_yield();
	}
	return arg;
}

/* A thread that parks between the brackets takes its mark along. */
static void the_next_thread_does_not_inherit_a_mark(void)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t, *b;
	uk_stats was, is;
	uint64_t taken;

	CHECK_EQ(uk_vpset_create(&a.set, "marks", 1, NULL, 0), 0);
	__atomic_store_n(&stop, 0, __ATOMIC_SEQ_CST);
	uk_stats_get(&was, sizeof(was));
	CHECK_EQ(uk_thread_create(&b, &a, computes, NULL), 0);
	CHECK_EQ(uk_thread_create(&t, &a, sleeps_in_brackets, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK_EQ(uk_thread_join(b, NULL), 0);
	uk_stats_get(&is, sizeof(is));
	/* uk_blocking_begin makes those by mark, because other threads wait */
	taken = is.handoffs - is.handoffs_mark - is.handoffs_hog -
		(was.handoffs - was.handoffs_mark - was.handoffs_hog);
	printf("%lu hand-offs by the monitor\n", (unsigned long)taken);
	if (!SANITIZED && !UK_CHECKS)
		CHECK(taken < BRACKETS / 4);
}

int main(void)
{
	RUN(plain_blocking_calls_hold_up_no_other_thread);
	RUN(bracketed_calls_hold_up_no_other_thread);
	RUN(hogs_hold_up_no_other_thread);
	RUN(many_threads_return_from_blocking_calls_and_go_on);
	RUN(the_next_thread_does_not_inherit_a_mark);
	return 0;
}
