/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that finds no memory waits for the caches of the vps. It parks until the
 * last vp has given, however long that takes, and is not woken before. */
#include <uk/uk.h>

#include "mem/scarce.h"
#include "sched/handoff.h"
#include "test.h"

enum { MOMENTS = 50 };

static uk_vpset *mine, *theirs;
static uint32_t computing, over, gathered;

static uk_thread *start(uk_vpset *set, void *(*fn)(void *))
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t;

	a.set = set;
	CHECK_EQ(uk_thread_create(&t, &a, fn, NULL), 0);
	return t;
}

/* The vp of this thread cannot give. */
static void *computes(void *arg)
{
	store_release(&computing, 1);
	while (!load_acquire(&over))
		;
	return arg;
}

static void *gathers(void *arg)
{
	struct uk_thread *t = rt_enter();

	CHECK(memory_gather(t));
	rt_exit();
	store_release(&gathered, 1);
	return arg;
}

static uint64_t switches(void)
{
	return load_relaxed(&mine->vps[0]->count.switches);
}

static void a_thread_that_waits_for_memory_sleeps(void)
{
	uk_thread *hog = start(theirs, computes), *t;
	uint64_t was;

	UNTIL(load_acquire(&computing));
	mem_scarce = MEM_REFUSED;
	was = switches();
	t = start(mine, gathers);
	UNTIL(load_acquire(&mem_scarce) == MEM_GATHERING);
	for (int i = 0; i < MOMENTS; i++)
		uk_sleep(UK_MS);
	store_release(&over, 1);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK_EQ(uk_thread_join(hog, NULL), 0);
	CHECK_EQ(mem_scarce, MEM_GATHERED);
	CHECK(switches() - was < MOMENTS / 2);
}

static void *gathers_again(void *arg)
{
	mem_scarce = MEM_REFUSED;
	return gathers(arg);
}

/* No thread computes, so all vps sleep. The last one that gives wakes the waiter. */
static void sleeping_vps_give_their_caches(void)
{
	for (int i = 0; i < MOMENTS; i++) {
		store_release(&gathered, 0);
		CHECK_EQ(uk_thread_join(start(mine, gathers_again), NULL), 0);
		CHECK(gathered);
		CHECK_EQ(mem_scarce, MEM_GATHERED);
	}
}

int main(void)
{
	if (UK_HOSTILE || env_key_number(ENV_FUZZ, 0))
		SKIP("the fuzzer adds switches of its own");
	set_debug("trim", "0"); /* the keeper would end the scarcity */
	CHECK_EQ(uk_init(), 0);
	CHECK_EQ(uk_vpset_create(&mine, "mine", 1, NULL, 0), 0);
	CHECK_EQ(uk_vpset_create(&theirs, "theirs", 1, NULL, 0), 0);
	lock_acquire(&watch_lock); /* or the monitor hands off the vp that computes */
	RUN(a_thread_that_waits_for_memory_sleeps);
	lock_release(&watch_lock);
	RUN(sleeping_vps_give_their_caches);
	return 0;
}
