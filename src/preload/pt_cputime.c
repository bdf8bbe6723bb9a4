/* SPDX-License-Identifier: Apache-2.0 */
/* pt_cputime.c - the CPU time of a user thread: what its carriers have spent while they
 * ran it.
 *
 * A thread is counted from the first question about it on, by two readings of the
 * carrier's clock (0.2 us each) for each of its turns. All other threads pay for one
 * load at each switch, and for two more once any thread is counted.
 *
 *   unknown --first question--> away, or on if a carrier runs it now
 *   away    --switched to-----> on      from: the carrier's clock
 *   on      --switched from---> away    spent: grows by the time since from
 *
 * The thread that starts to count another one must not miss the switch that leaves it.
 * So it sets hooks.thread_switched, executes a barrier on all CPUs, and then looks
 * which carrier runs the other.
 *
 * The time never goes back: a carrier that has ended, or whose clock cannot be read,
 * adds nothing. A signal handler does not wait for the lock, whose holder it may have
 * interrupted. It returns the last answer that was given.
 *
 * An alarm for the CPU time is a kernel timer of real time, which passes at least as
 * fast. It is set for the time that is left to spend while the thread runs. When it
 * expires, the time is checked, and the timer set again if there is still some left. A
 * thread that does not run has no timer set: the switch to the thread sets it.
 *
 * The expiry is noticed by another kernel thread, which may have to wait on a loaded
 * machine while this one runs. So a thread also checks itself, as for a signal,
 * wherever the library sees that the time has come: at the end of its turn, which ends
 * the wait that it begins, and where it reads its clock.
 *
 * Rejected: to count all threads once one is asked about (0.4 us for each switch of a
 * server that logs one thread's time once); to start with what the carrier had spent
 * before (other threads' time).
 */
#include "preload/pt_cputime.h"

#include "base/at_load.h"
#include "base/membarrier.h"
#include "sched/switch.h"

static struct lock cpu_lock = LOCK_INIT(RANK_CPUTIME); /* guards all struct cputime */

/* The kernel's own CPU timers check once a tick. */
#define ALARM_LEAST (NS_PER_MS / 10)

/* Under the lock. The thread runs and has ns left to spend. */
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

/* 0: the kernel thread has ended, or its clock cannot be read. */
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

/* Under the lock. The thread's turn is over. */
static void leaves(struct cputime *k, int64_t at)
{
	k->spent += turn(k, at);
	k->tid = 0;
}

/* t has left its carrier and runs nowhere yet, so setting asked needs no barrier. */
static COLD void due_at_end(struct uk_thread *t)
{
	fetch_or_acq_rel(&t->asked, ASK_SIGNAL);
	wait_interrupted(t);
}

static void switched(struct carrier *c)
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
	store_relaxed(&hooks.thread_switched, switched);
	/* pairs with the load of thread_switched in finish_switch */
	barrier_everywhere();
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

	if (rt_in_runtime()) /* a signal handler that interrupted the runtime */
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

/* As natively, the time of the child's thread begins at zero. */
static void forked(struct uk_thread *survivor)
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

AT_LOAD(cputime_register)
{
	hooks.child_thread = forked;
}
