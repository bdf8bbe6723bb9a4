/* SPDX-License-Identifier: Apache-2.0 */
/* A vp whose thread blocks in a marked call always leaves its carrier, and wakes a
 * spare only if there is work; otherwise the vp rests. In this test nothing detects
 * blocked threads (UK_ACTIVATION=off), so work that comes to a vp at rest must itself
 * get a carrier for the vp. */
#include <stdlib.h>
#include <unistd.h>

#include <uk/uk.h>

#include "base/base.h"
#include "test.h"

enum { TIMES = 300 };

static uk_vpset *set;
static int pipe_in, pipe_out;
static uint32_t blocks, done;
static uk_sem sem = UK_SEM_INIT(0);

static uk_thread *start(void *(*fn)(void *))
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t;

	a.set = set;
	CHECK_EQ(uk_thread_create(&t, &a, fn, NULL), 0);
	return t;
}

static void *comes_and_goes(void *arg)
{
	for (int i = 0; i < TIMES; i++) {
		uk_blocking_begin();
		uk_blocking_end();
	}
	return arg;
}

static void a_return_to_a_vp_at_rest_needs_no_switch(void)
{
	uk_stats before, after;

	if (UK_CHECKS) {
		printf("not checked: the fuzzer wakes spares without need\n");
		return;
	}
	CHECK_EQ(uk_vpset_create(&set, "one", 1, NULL, 0), 0);
	uk_stats_get(&before, sizeof(before));
	CHECK_EQ(uk_thread_join(start(comes_and_goes), NULL), 0);
	uk_stats_get(&after, sizeof(after));
	CHECK(after.handoffs_mark - before.handoffs_mark >= TIMES);
	CHECK(after.switches - before.switches < TIMES / 2);
}

static void *reads_a_byte(void *arg)
{
	char c;

	uk_blocking_begin();
	__atomic_store_n(&blocks, 1, __ATOMIC_SEQ_CST);
	CHECK_EQ(read(pipe_out, &c, 1), 1);
	uk_blocking_end();
	return arg;
}

static void *writes_a_byte(void *arg)
{
	CHECK_EQ(write(pipe_in, "x", 1), 1);
	return arg;
}

static uk_thread *one_blocks(void)
{
	uk_thread *t;

	__atomic_store_n(&blocks, 0, __ATOMIC_SEQ_CST);
	t = start(reads_a_byte);
	UNTIL(__atomic_load_n(&blocks, __ATOMIC_SEQ_CST));
	return t;
}

static void a_thread_created_on_a_vp_at_rest_runs(void)
{
	CHECK_EQ(uk_vpset_create(&set, "born", 1, NULL, 0), 0);
	for (int i = 0; i < TIMES; i++) {
		uk_thread *a = one_blocks(), *b = start(writes_a_byte);

		CHECK_EQ(uk_thread_join(a, NULL), 0);
		CHECK_EQ(uk_thread_join(b, NULL), 0);
	}
}

static void *waits_and_writes(void *arg)
{
	CHECK_EQ(uk_sem_wait(&sem), 0);
	return writes_a_byte(arg);
}

static void a_thread_woken_on_a_vp_at_rest_runs(void)
{
	CHECK_EQ(uk_vpset_create(&set, "woken", 1, NULL, 0), 0);
	for (int i = 0; i < TIMES; i++) {
		uk_thread *b = start(waits_and_writes), *a = one_blocks();

		CHECK_EQ(uk_sem_post(&sem), 0);
		CHECK_EQ(uk_thread_join(a, NULL), 0);
		CHECK_EQ(uk_thread_join(b, NULL), 0);
	}
}

static void *says_done(void *arg)
{
	__atomic_store_n(&done, 1, __ATOMIC_SEQ_CST);
	return arg;
}

/* It creates a thread that another vp must steal, and computes until that thread has
 * run. */
static void *computes_meanwhile(void *arg)
{
	uk_thread *t = start(says_done);

	while (!__atomic_load_n(&done, __ATOMIC_SEQ_CST))
		;
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	return writes_a_byte(arg);
}

static void a_vp_at_rest_is_woken_to_steal(void)
{
	CHECK_EQ(uk_vpset_create(&set, "two", 2, NULL, 0), 0);
	for (int i = 0; i < TIMES; i++) {
		uk_thread *a = one_blocks(), *b;

		done = 0;
		b = start(computes_meanwhile);
		CHECK_EQ(uk_thread_join(b, NULL), 0);
		CHECK_EQ(uk_thread_join(a, NULL), 0);
	}
}

int main(void)
{
	int ends[2];

	CHECK_EQ(setenv("UK_ACTIVATION", "off", 1), 0);
	CHECK_EQ(pipe(ends), 0);
	pipe_out = ends[0];
	pipe_in = ends[1];
	RUN(a_return_to_a_vp_at_rest_needs_no_switch);
	RUN(a_thread_created_on_a_vp_at_rest_runs);
	RUN(a_thread_woken_on_a_vp_at_rest_runs);
	RUN(a_vp_at_rest_is_woken_to_steal);
	return 0;
}
