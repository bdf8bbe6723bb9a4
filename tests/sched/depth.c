/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that joins the youngest thread of the queue runs it at once (next_or_child
 * in dispatch.c). So a tree of threads runs depth first. Other threads still get their
 * turn before the tree is done. */
#include <sys/wait.h>
#include <uk/uk.h>
#include <unistd.h>

#include "base/atomic.h"
#include "sched/fuzz.h"
#include "sched/vp.h"
#include "test.h"

/* At most MOST threads are alive at a time. Breadth first, 2,048 would be. */
enum { LEAVES = 4096, MOST = 1000 };

static uk_vpset *set; /* has one vp, so plain counters suffice */
static long alive, most;

struct range {
	long lo, hi, sum;
};

static uk_thread *start(void *(*fn)(void *), void *arg)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t;

	a.set = set;
	a.stack_size = 32 << 10;
	CHECK_EQ(uk_thread_create(&t, &a, fn, arg), 0);
	return t;
}

static void *adds_up(void *arg)
{
	struct range *r = arg, a, b;
	long mid = (r->lo + r->hi) / 2;
	uk_thread *ta, *tb;

	if (++alive > most)
		most = alive;
	r->sum = r->lo;
	if (r->lo != r->hi) {
		a = (struct range){ r->lo, mid, 0 };
		b = (struct range){ mid + 1, r->hi, 0 };
		ta = start(adds_up, &a);
		tb = start(adds_up, &b);
		CHECK_EQ(uk_thread_join(ta, NULL), 0);
		CHECK_EQ(uk_thread_join(tb, NULL), 0);
		r->sum = a.sum + b.sum;
	}
	alive--;
	return NULL;
}

static void few_of_a_tree_are_alive_at_a_time(void)
{
	struct range all = { 1, LEAVES, 0 };

	CHECK_EQ(uk_thread_join(start(adds_up, &all), NULL), 0);
	CHECK_EQ(all.sum, (long)LEAVES * (LEAVES + 1) / 2);
	CHECK_EQ(alive, 0);
	printf("at most %ld of %d threads were alive\n", most, 2 * LEAVES);
#if UK_CHECKS
	if (fuzz_on)
		return;
#endif
	CHECK(most < MOST);
}

static uint32_t turns;

static void *yields(void *arg)
{
	while (load_relaxed(&turns) < 100) {
		store_relaxed(&turns, load_relaxed(&turns) + 1);
		uk_yield();
	}
	return arg;
}

static void *ends(void *arg)
{
	return arg;
}

/* Creates two threads at a time: one is in the lifo slot, the other is taken back from
 * the ring. */
static void *joins(void *arg)
{
	while (load_relaxed(&turns) < 100) {
		uk_thread *a = start(ends, NULL), *b = start(ends, NULL);

		CHECK_EQ(uk_thread_join(a, NULL), 0);
		CHECK_EQ(uk_thread_join(b, NULL), 0);
	}
	return arg;
}

static void a_thread_that_always_joins_lets_others_have_their_turn(void)
{
	uk_thread *j = start(joins, NULL), *y = start(yields, NULL);

	CHECK_EQ(uk_thread_join(y, NULL), 0);
	CHECK_EQ(uk_thread_join(j, NULL), 0);
}

#ifndef __SANITIZE_THREAD__ /* TSan knows no threads in a forked child */
/* The turn of the other threads ends at a position in the queue. A forked child begins
 * with a new queue. */
static void *forks(void *arg)
{
	struct uk_vp *vp = set->vps[0];
	int status;
	pid_t pid;

	vp->turn_end = (uint32_t)vp->rq.head + 1000000;
	vp->lifo_most = 0;
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		uk_yield();
		_exit(vp->lifo_most ? 0 : 1);
	}
	vp->turn_end = (uint32_t)vp->rq.head;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	return arg;
}

static void a_forked_child_does_not_wait_for_a_turn_of_its_parent(void)
{
	CHECK_EQ(uk_thread_join(start(forks, NULL), NULL), 0);
}
#endif

int main(void)
{
	CHECK_EQ(uk_vpset_create(&set, "one", 1, NULL, 0), 0);
	RUN(few_of_a_tree_are_alive_at_a_time);
	RUN(a_thread_that_always_joins_lets_others_have_their_turn);
#ifndef __SANITIZE_THREAD__
	RUN(a_forked_child_does_not_wait_for_a_turn_of_its_parent);
#endif
	return 0;
}
