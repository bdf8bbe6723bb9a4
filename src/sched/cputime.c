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
 * An alarm of it is the kernel's timer of real time, which goes by at least as fast: it is set for
 * what is left to spend while the thread runs, and who hears it looks, and sets it again. A
 * thread that does not run has no alarm ticking: the switch to it sets it.
 *
 * Who hears it is another kernel thread, that a loaded machine lets wait while this one runs.
 * So a thread looks itself, as for a signal, where it is seen that the time has come: at the
 * end of its turn, which cuts a wait that it begins, and where it reads its clock.
 *
 * Rejected: to count all threads once one is asked about (0.4 us for each switch of a server
 * that logs one thread's time once); to start with what the carrier had spent before (other
 * threads' time). */
#include "sched/cputime.h"

#include "base/barrier.h"
#include "sched/switch.h"

uint32_t cputime_asked;
static struct lock cpu_lock = LOCK_INIT(RANK_CPUTIME); /* of all struct cputime */

/* The kernel's own timers of CPU time look once a tick. */
#define ALARM_LEAST (NS_PER_MS / 10)

/* Under the lock: it runs, with so much left to spend. */
static void alarm_after(const struct cputime *k, int64_t ns)
{
	struct itimerspec in = { .it_value = sys_timespec(MAX(ns, ALARM_LEAST)) };

	sys4(SYS_timer_settime, k->timer, 0, &in, NULL);
}

/* Under the lock. */
static void arrives(struct cputime *k, int tid, int64_t at)
{
	k->tid = tid;
	k->from = at;
	if (unlikely(k->sleeps)) {
		k->sleeps = false;
		alarm_after(k, k->due - k->spent);
	}
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

static bool is_due(const struct cputime *k, int64_t ns)
{
	int64_t due = load_relaxed(&k->due);

	return due && ns >= due;
}

/* Under the lock: its turn is over. */
static void leaves(struct cputime *k, int64_t at)
{
	k->spent += turn(k, at);
	k->tid = 0;
}

/* It has left c and runs nowhere yet, so that it is asked needs no barrier. */
static COLD void due_at_end(struct uk_thread *t)
{
	fetch_or_acq_rel(&t->asked, ASK_SIGNAL);
	wait_interrupted(t);
}

NOINLINE void cputime_switched(struct carrier *c)
{
	struct cputime *left = &c->post->cpu, *now = &c->current->cpu;
	bool due = false;
	int64_t at;

	if (!load_relaxed(&left->asked) && !load_relaxed(&now->asked))
		return;
	at = clock_of(c->tid);
	lock_acquire(&cpu_lock);
	if (left->tid) {
		leaves(left, at);
		due = is_due(left, left->spent);
	}
	if (load_relaxed(&now->asked))
		arrives(now, c->tid, at);
	lock_release(&cpu_lock);
	if (unlikely(due))
		due_at_end(c->post);
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

int64_t cputime_inside(struct uk_thread *t)
{
	int64_t ns;

	if (!load_relaxed(&t->cpu.asked))
		begin(t);
	lock_acquire(&cpu_lock);
	ns = answer(&t->cpu);
	lock_release(&cpu_lock);
	return ns;
}

int64_t cputime_of(struct uk_thread *t)
{
	int64_t ns;

	if (rt_in_runtime()) /* a signal handler that interrupted it */
		return answer_in_handler(&t->cpu);
	rt_enter();
	ns = cputime_inside(t);
	if (unlikely(is_due(&t->cpu, ns)) && t == thread_self()) {
		fetch_or_acq_rel(&t->asked, ASK_SIGNAL);
		signals_arrived(t);
	}
	rt_exit();
	return ns;
}

void cputime_alarm(struct uk_thread *t, int timer, int64_t due)
{
	struct cputime *k = &t->cpu;

	lock_acquire(&cpu_lock);
	k->timer = timer;
	store_relaxed(&k->due, due);
	k->sleeps = due && !k->tid;
	if (due && k->tid)
		alarm_after(k, due - answer(k));
	lock_release(&cpu_lock);
}

/* As natively, the child's thread begins anew. */
void cputime_forked(struct uk_thread *survivor)
{
	lock_init(&cpu_lock, RANK_CPUTIME);
	if (!survivor)
		return;
	survivor->cpu.spent = 0;
	survivor->cpu.told = 0;
	store_relaxed(&survivor->cpu.due, 0);
	survivor->cpu.sleeps = false;
	if (survivor->cpu.tid)
		arrives(&survivor->cpu, sys_gettid(), 0);
}
