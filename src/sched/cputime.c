/* SPDX-License-Identifier: Apache-2.0 */
/* cputime.c - the CPU time of one user thread: what its carriers have spent while they ran it.
 *
 * Only threads that somebody has asked about are counted, from the first question on, by two
 * readings of the carrier's clock (0.2 us each) for each of their turns. All others pay for
 * a look at one word at each switch, and two more once any thread is counted.
 *
 *   unknown --first question--> away, or, if a carrier runs it now, on
 *   away    --it is switched to----> on      from: the carrier's clock
 *   on      --it is switched from--> away    spent: what went by since
 *
 * Who turns a thread into one that is counted must not miss the switch that leaves it: he
 * raises cputime_asked, and after a barrier on all processors looks who runs it.
 *
 * The time never goes back: a carrier that has ended, or whose clock is refused, adds nothing.
 * A signal handler does not wait for the lock, whose holder it may have interrupted: then the
 * answer is the last one that was given.
 *
 * Rejected: to count all threads once one is asked about (0.4 us for each switch of a server
 * that logs one thread's time once); to start with what the carrier had spent before (other
 * threads' time). */
#include "sched/cputime.h"

#include "base/barrier.h"
#include "sched/switch.h"

uint32_t cputime_asked;
static struct lock cpu_lock = LOCK_INIT(RANK_CPUTIME); /* of all struct cputime */

static void arrives(struct cputime *k, int tid, int64_t at)
{
	k->tid = tid;
	k->from = at;
}

/* 0: it has ended, or its clock is refused. */
static int64_t clock_of(int tid)
{
	return MAX(sys_cpu_time(tid), 0);
}

static int64_t turn(const struct cputime *k, int64_t at)
{
	return MAX(at - k->from, 0);
}

NOINLINE void cputime_switched(struct carrier *c)
{
	struct cputime *left = &c->post->cpu, *now = &c->current->cpu;
	int64_t at;

	if (!load_relaxed(&left->asked) && !load_relaxed(&now->asked))
		return;
	at = clock_of(c->tid);
	lock_acquire(&cpu_lock);
	if (left->tid) {
		left->spent += turn(left, at);
		left->tid = 0;
	}
	if (load_relaxed(&now->asked))
		arrives(now, c->tid, at);
	lock_release(&cpu_lock);
}

static COLD void begin(struct uk_thread *t)
{
	const struct carrier *c;

	lock_acquire(&cpu_lock);
	if (!load_relaxed(&t->cpu.asked)) {
		t->cpu.spent = 0;
		t->cpu.told = 0;
		t->cpu.tid = 0;
		store_relaxed(&t->cpu.asked, 1);
	}
	lock_release(&cpu_lock);
	store_relaxed(&cputime_asked, 1);
	barrier_everywhere(); /* pairs with the look in finish_switch */
	lock_acquire(&cpu_lock);
	c = load_relaxed(&t->carrier);
	if (!t->cpu.tid && c && load_relaxed(&c->current) == t)
		arrives(&t->cpu, c->tid, clock_of(c->tid));
	lock_release(&cpu_lock);
}

/* Under the lock. */
static int64_t answer(struct cputime *k)
{
	int64_t ns = k->spent + (k->tid ? turn(k, clock_of(k->tid)) : 0);

	store_relaxed(&k->told, MAX(ns, k->told));
	return k->told;
}

static int64_t answer_in_handler(struct cputime *k)
{
	int64_t ns;

	if (!load_relaxed(&k->asked))
		return 0;
	if (!lock_try(&cpu_lock))
		return load_relaxed(&k->told);
	ns = answer(k);
	lock_release_nested(&cpu_lock);
	return ns;
}

int64_t cputime_of(struct uk_thread *t)
{
	int64_t ns;

	if (rt_in_runtime()) /* a signal handler that interrupted it */
		return answer_in_handler(&t->cpu);
	rt_enter();
	if (!load_relaxed(&t->cpu.asked))
		begin(t);
	lock_acquire(&cpu_lock);
	ns = answer(&t->cpu);
	lock_release(&cpu_lock);
	rt_exit();
	return ns;
}

int cputime_tid(const struct uk_thread *t)
{
	const struct carrier *c = load_relaxed(&t->carrier);

	return c ? c->tid : 0;
}

/* As natively, the child's thread begins anew. */
void cputime_forked(struct uk_thread *survivor)
{
	lock_init(&cpu_lock, RANK_CPUTIME);
	if (!survivor)
		return;
	survivor->cpu.spent = 0;
	survivor->cpu.told = 0;
	if (survivor->cpu.tid)
		arrives(&survivor->cpu, sys_gettid(), 0);
}
