/* SPDX-License-Identifier: Apache-2.0 */
/* Who joins the youngest of the queue has it run at once (next_or_child in dispatch.c): a tree of
 * threads is walked in depth, and nobody else waits for its end. */
#include <sys/wait.h>
#include <uk/uk.h>
#include <unistd.h>

#include "base/atomic.h"
#include "sched/fuzz.h"
#include "sched/vp.h"
#include "test.h"

enum { LEAVES = 4096, MOST = 1000 }; /* alive; in breadth a quarter of 8,192 */

static uk_vpset *set; /* one vp: plain counters will do */
static long alive, most;

struct range {
	long lo, hi, sum;
};

static uk_thread *start(void *(*fn)(void *), void *arg)
{
	uk_attr a = UK_ATTR_INIT;
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
	printf("%ld of %d were alive at most\n", most, 2 * LEAVES);
#if UK_DEBUG
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

/* Two at a time: the one is in the lifo slot, the other is taken back from the ring. */
static void *joins(void *arg)
{
	while (load_relaxed(&turns) < 100) {
		uk_thread *a = start(ends, NULL), *b = start(ends, NULL);

		CHECK_EQ(uk_thread_join(a, NULL), 0);
		CHECK_EQ(uk_thread_join(b, NULL), 0);
	}
	return arg;
}

static void who_joins_for_ever_lets_others_have_their_turn(void)
{
	uk_thread *j = start(joins, NULL), *y = start(yields, NULL);

	CHECK_EQ(uk_thread_join(y, NULL), 0);
	CHECK_EQ(uk_thread_join(j, NULL), 0);
}

#ifndef __SANITIZE_THREAD__ /* which knows no threads in the child of a fork */
/* The others' turn ends at a place in the queue, and a child's queue begins anew. */
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

static void a_child_waits_for_no_turn_of_its_parents(void)
{
	CHECK_EQ(uk_thread_join(start(forks, NULL), NULL), 0);
}
#endif

int main(void)
{
	CHECK_EQ(uk_vpset_create(&set, "one", 1, NULL, 0), 0);
	RUN(few_of_a_tree_are_alive_at_a_time);
	RUN(who_joins_for_ever_lets_others_have_their_turn);
#ifndef __SANITIZE_THREAD__
	RUN(a_child_waits_for_no_turn_of_its_parents);
#endif
	return 0;
}
