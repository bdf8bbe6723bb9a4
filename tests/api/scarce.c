/* SPDX-License-Identifier: Apache-2.0 */
/* If the kernel refuses memory, a thread gets what is free anywhere: a creator on one
 * vp gets the stacks in another vp's cache. */
#include <sys/resource.h>
#include <uk/uk.h>

#include "mem/stack_impl.h"
#include "sched/body.h"
#include "test.h"

enum { BIG = 24, FEW = 8, MOST = 1000 };

static uk_thread *made[MOST];
static uint32_t runs, go;
static uk_vpset *set;

static size_t address_space(void)
{
	size_t pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	CHECK(f && fscanf(f, "%zu", &pages) == 1);
	fclose(f);
	return pages << 12;
}

static void leave_room_for(size_t bytes)
{
	struct rlimit rl;

	getrlimit(RLIMIT_AS, &rl);
	rl.rlim_cur = address_space() + bytes;
	CHECK_EQ(setrlimit(RLIMIT_AS, &rl), 0);
}

static uk_thread_attr big(uk_vp *vp)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;

	a.stack_size = (size_t)1 << BIG;
	a.vp = vp;
	return a;
}

static void *runs_with_the_others(void *arg)
{
	__atomic_add_fetch(&runs, 1, __ATOMIC_SEQ_CST);
	UNTIL(__atomic_load_n(&go, __ATOMIC_SEQ_CST));
	return arg;
}

/* The threads live at the same time and end on vp, so vp has their stacks. */
static void a_few_live_on(uk_vp *vp)
{
	uk_thread_attr a = big(vp);

	for (int i = 0; i < FEW; i++)
		CHECK_EQ(uk_thread_create(&made[i], &a, runs_with_the_others, NULL), 0);
	UNTIL(__atomic_load_n(&runs, __ATOMIC_SEQ_CST) == FEW);
	__atomic_store_n(&go, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < FEW; i++)
		CHECK_EQ(uk_thread_join(made[i], NULL), 0);
}

static uk_sem end = UK_SEM_INIT(0);

static void *waits(void *arg)
{
	CHECK_EQ(uk_sem_wait(&end), 0);
	return arg;
}

/* It gets all stacks that exist before it is told that there are none. */
static void *makes_what_it_can(void *arg)
{
	uk_thread_attr a = big(arg);
	size_t n = 0;

	do /* a vp that gets no CPU for long gives late */
		n += n < MOST && !uk_thread_create(&made[n], &a, waits, NULL);
	while (n < load_relaxed(&stack_pools[BIG].mapped));
	CHECK(n < MOST && stacks_eager);
	for (size_t i = 0; i < n; i++)
		CHECK_EQ(uk_sem_post(&end), 0);
	for (size_t i = 0; i < n; i++)
		CHECK_EQ(uk_thread_join(made[i], NULL), 0);
	return NULL;
}

static void a_creator_gets_the_stacks_that_another_vp_has_cached(void)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t;

	a_few_live_on(uk_vpset_vp(set, 0));
	a.vp = uk_vpset_vp(set, 1);
	CHECK_EQ(uk_thread_create(&t, &a, makes_what_it_can, a.vp), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
}

/* Again: a thread that ends while memory is refused leaves its stack in no cache. */
static void a_creator_gets_the_stacks_that_were_freed_since(void)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t;

	for (unsigned i = 0; i < 4; i++) {
		a.vp = uk_vpset_vp(set, i % 2);
		CHECK_EQ(uk_thread_create(&t, &a, makes_what_it_can, a.vp), 0);
		CHECK_EQ(uk_thread_join(t, NULL), 0);
	}
}

int main(void)
{
	if (SANITIZED)
		SKIP("a sanitizer's shadow memory needs all address space");
	leave_room_for((size_t)1 << 40); /* so stacks are allocated at creation */
	CHECK_EQ(uk_vpset_create(&set, "pair", 2, NULL, 0), 0);
	leave_room_for((size_t)600 << 20);
	RUN(a_creator_gets_the_stacks_that_another_vp_has_cached);
	RUN(a_creator_gets_the_stacks_that_were_freed_since);
	return 0;
}
