/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.c - which thread runs next.
 *
 * A carrier that holds a vp is always in one of two places: in a user thread, or in
 * dispatch(), on the carrier's own stack. A thread that parks, yields or exits takes
 * the next thread from the run queue itself and switches straight to it (switch_to).
 * The dispatcher is entered only when the queue is empty, when the vp's budget of
 * switches is used up, or when the vp was nudged. It is a thread among the others, as
 * in the founding model, and the only one that looks at what comes from outside:
 *
 *   1. inbox: threads that are new or were made ready from elsewhere > run queue
 *   2. messages of other vps (submit, cancel)
 *   3. timers that are due: fire their tokens
 *   4. the reactor: submit what is queued, fire the tokens of completed operations
 *   5. run the next thread; else steal from a vp of the set; else sleep in the reactor
 *
 * No thread is queued before its context is saved. The thread that leaves tells its
 * successor what to do about it (post_action). The successor does that first
 * (finish_switch), on its own stack.
 *
 * A sleep ends when the next timer is due. If more timers are due within the slack
 * after the first, one sleep serves them all (a sleep costs more than everything that a
 * wake-up does). The slack is ours, or the timer slack that the process was started
 * with, if that is more than the kernel's default (prctl PR_SET_TIMERSLACK, systemd's
 * TimerSlackNSec).
 *
 * Sleeping: set idle, fence, look at everything once more, sleep. Waking: push, fence
 * (the CAS of the push is one); if idle was 1 and we are the one that cleared it, kick.
 * So neither side misses the other.
 *
 * Runs on: the carrier's stack (dispatch), any thread's stack (switch_to, enqueue)
 * inside the runtime, any kernel thread (inbox_push, vp_post, vp_kick).
 *
 * Rejected: a dispatcher pass for every switch (costs a second switch); a timer tick
 * for each vp (law 3, docs/ARCHITECTURE.md); fair queueing by priorities (nobody
 * asked); spinning before a sleep (what the vp waits for still crosses to the other CPU
 * and back, and the CPU that spins is the program's).
 */
#include <sys/prctl.h>

#include "arch/arch.h"
#include "base/at_load.h"
#include "base/log.h"
#include "base/sys.h"
#include "sched/mute.h"
#include "sched/fuzz.h"
#include "sched/switch.h"

#define STEAL_MAX 256u
#define TIMER_BATCH 64u
#define BURST_LOOK 64u
#define DENSE_PASS (2 * NS_PER_MS)
#define TURN (1 * NS_PER_MS) /* how long a joined child goes before the queue */
#define OTHERS 16u           /* then at most this many of the queue go first, */
#define DEEP_EACH 128u       /* one for each DEEP_EACH that went before it */
#define DENSE_SWITCHES 16
#define GATHER_SLEEP (20 * NS_PER_US) /* a sleep counts as short */
#define GATHER_AFTER 16               /* short sleeps in a row */
#define SLEEP_LEAST (4 * NS_PER_US)   /* less is a poll that found something at once */
#define SLEEP_SLACK (50 * NS_PER_US)  /* the kernel's default */
#define STOP_EACH (200 * NS_PER_US)   /* between two stops of the monitor's alarm, */
#define STOP_SLEEP NS_PER_MS          /* which is not stopped for shorter sleeps */
#define STOP_MOST 64u                 /* vps that are looked at for it */

uint32_t monitor_state;
static int64_t stopped_at; /* when its alarm was stopped; racy */
bool switch_fast_tp;
static int64_t sleep_slack = SLEEP_SLACK; /* ns; set before there are vps */

void slack_learn(void)
{
	long ns = sys2(SYS_prctl, PR_GET_TIMERSLACK, 0);

	/* a smaller value means nothing: a process that a carrier started inherits its
	 * 1 ns */
	if (ns > SLEEP_SLACK)
		sleep_slack = MIN(ns, NS_PER_SEC);
}

AT_LOAD(choose_switch)
{
	switch_fast_tp = arch_has_fsgsbase();
}

/* ---- queues ---- */

/* A suspension takes effect where a thread would be queued. The load of susp there is
 * an acquire: whatever lifecycle/keeper.c did to the stack is over (pairs with
 * suspend_end). True: t is held instead of queued. */
static bool suspend_here(struct uk_thread *t)
{
	uint8_t old = load_acquire(&t->susp);

	/* the state first: after the CAS, t may already run */
	store_relaxed(&t->since, sys_now());
	store_relaxed(&t->state, (uint8_t)T_SUSPENDED);
	while (old & (SUSP_BIRTH | SUSP_LOOK))
		if (cas_acq_rel(&t->susp, &old, old | SUSP_HELD))
			return true;
	return false;
}

void suspend_end(struct uk_thread *t, uint8_t bit)
{
	uint8_t old = load_acquire(&t->susp), new;

	do {
		new = old &(uint8_t)~bit;
		if (!(new &(SUSP_BIRTH | SUSP_LOOK)))
			new = 0;
	} while (!cas_acq_rel(&t->susp, &old, new));
	if (old & SUSP_HELD && !new)
		queue_anywhere(t);
}

/* The thread that clears idle sends the one wake-up. Any thread may be that, so the
 * count is atomic. */
bool vp_kick(struct uk_vp *vp)
{
	uint32_t was = load_seq_cst(&vp->idle);

	if (!was || !(was = xchg_seq_cst(&vp->idle, 0)))
		return false;
	fetch_add_relaxed(&vp->count.kicks, 1);
	if (was == VP_RESTS)
		vp_call(vp);
	else
		reactor_kick(&vp->reactor);
	return true;
}

static void wake_a_thief(struct uk_vpset *s)
{
	uint32_t zero = 0;

	if (load_relaxed(&s->waking) || !cas_acq_rel(&s->waking, &zero, 1))
		return;
	for (unsigned i = 0; i < s->n; i++)
		if (vp_kick(s->vps[i]))
			return;
	store_release(&s->waking, 0);
}

/* Owner: wakes a thief if a vp of the set sleeps and there is something to steal. */
static void call_thief(struct uk_vp *vp)
{
	if (load_relaxed(&vp->set->nidle) && runq_stealable(&vp->rq))
		wake_a_thief(vp->set);
}

/* Owner: is this the dispatcher? It calls thieves only after it has taken one thread
 * itself. */
static bool dispatching(const struct uk_vp *vp)
{
	struct carrier *c = vp_carrier(vp);

	return load_relaxed(&c->current) == &c->disp;
}

/* The vp in whose inbox t is queued from elsewhere. */
static struct uk_vp *home_of(const struct uk_thread *t)
{
	return t->stays ? t->pinned : t->vp;
}

void enqueue(struct uk_vp *vp, struct uk_thread *t, bool lifo)
{
	if (unlikely(load_acquire(&t->susp)) && suspend_here(t))
		return;
	store_relaxed(&t->since, vp->clock);
	store_relaxed(&t->state, (uint8_t)T_READY);
	if (unlikely(t->stays || t->vp->set != vp->set || vp->reactive)) {
		if (t->pinned != vp || vp->reactive) {
			inbox_push(home_of(t), t);
			return;
		}
		tqueue_push(&vp->rq.pinned, t);
		return;
	}
	if (lifo && !fuzz_once_in(4))
		runq_push_lifo(&vp->rq, t);
	else
		runq_push(&vp->rq, t);
	if (vp->shared && !dispatching(vp))
		call_thief(vp);
}

/* vp's dispatcher has woken t. While threads of the queue block one carrier after the
 * other, t goes before them, one for every three (pop_slow): it is queued with the
 * pinned threads. */
void enqueue_woken(struct uk_vp *vp, struct uk_thread *t)
{
	if (likely(!load_relaxed(&vp->burst)) || load_acquire(&t->susp) || t->stays ||
	    t->vp->set != vp->set || vp->reactive) {
		enqueue(vp, t, false);
		return;
	}
	store_relaxed(&t->since, vp->clock);
	store_relaxed(&t->state, (uint8_t)T_READY);
	tqueue_push(&vp->rq.pinned, t);
}

/* Pinned threads have an inbox of their own: a thief that took them would have to give
 * them back, and two thieves could go on with that for ever. */
static void box_push(struct uk_vp *vp, struct uk_thread **box, struct uk_thread *t)
{
	struct uk_thread *head = load_relaxed(box);

	do
		t->next = head;
	while (!cas_seq_cst(box, &head, t));
	vp_kick(vp);
}

void inbox_push(struct uk_vp *vp, struct uk_thread *t)
{
	box_push(vp, t->stays ? &vp->pinbox : &vp->inbox, t);
}

void vp_post_all(struct uk_vp *vp, struct vp_msg *newest, struct vp_msg *oldest)
{
	struct vp_msg *head = load_relaxed(&vp->msgs);

	do
		oldest->next = head;
	while (!cas_seq_cst(&vp->msgs, &head, newest));
	store_relaxed(&vp->nudge, 1);
	vp_kick(vp);
}

void vp_post(struct uk_vp *vp, struct vp_msg *m)
{
	vp_post_all(vp, m, m);
}

void queue_anywhere(struct uk_thread *t)
{
	if (unlikely(load_acquire(&t->susp)) && suspend_here(t))
		return;
	store_relaxed(&t->since, sys_now());
	store_relaxed(&t->state, (uint8_t)T_READY);
	inbox_push(home_of(t), t);
}

/* Take all of a Treiber stack, oldest first. */
static struct uk_thread *take_all(struct uk_thread **box)
{
	struct uk_thread *t = xchg_acq_rel(box, (struct uk_thread *)NULL), *rev = NULL;

	while (t) {
		struct uk_thread *next = t->next;

		t->next = rev;
		rev = t;
		t = next;
	}
	return rev;
}

/* Take everything from v's inbox into vp's queue (v == vp, or we are a thief). */
static unsigned drain_inbox(struct uk_vp *vp, struct uk_vp *v)
{
	struct uk_thread *t, *next;
	unsigned n = 0;

	if (load_relaxed(&v->inbox))
		for (t = take_all(&v->inbox); t; t = next, n++) {
			next = t->next;
			runq_push(&vp->rq, t);
		}
	if (v == vp && load_relaxed(&v->pinbox))
		for (t = take_all(&v->pinbox); t; t = next, n++) {
			next = t->next;
			tqueue_push(&vp->rq.pinned, t);
		}
	bump(&vp->count.inbox, n);
	return n;
}

/* Called when the lifo slot is empty or has had its turns. */
NOINLINE struct uk_thread *pop_slow(struct uk_vp *vp)
{
	struct runq *q = &vp->rq;
	struct uk_thread *t;

	if (unlikely(q->pinned.head) && (++q->tick & 3) == 0)
		return tqueue_pop(&q->pinned);
	t = runq_pop_fifo(q);
	if (likely(t))
		return t;
	t = runq_take_lifo(q);
	return t ? t : tqueue_pop(&q->pinned);
}

static void push_again(struct uk_vp *vp, struct uk_thread *t)
{
	if (t->stays)
		tqueue_push(&vp->rq.pinned, t);
	else
		runq_push(&vp->rq, t);
}

/* There is no memory for a stack for first. A thread that already has a stack goes
 * before it and before those without one: if every thread of a long queue were tried
 * and waited for, the threads that can give back a stack would come last. If all are
 * without, the dispatcher sleeps and then tries the next one. */
static COLD struct uk_thread *pop_begun(struct uk_vp *vp, struct uk_thread *first)
{
	struct uk_thread *t = NULL;

	for (unsigned left = runq_len(&vp->rq) + 1; left && !t; left--) {
		t = pop_slow(vp);
		if (!t)
			break;
		if (!t->sp) {
			push_again(vp, t);
			t = NULL;
		}
	}
	push_again(vp, first);
	vp->starved = !t;
	return t;
}

NOINLINE struct uk_thread *pop_first(struct uk_vp *vp, struct uk_thread *t)
{
	if (likely(thread_start(vp, t)))
		return t;
	memory_ask();
	return pop_begun(vp, t);
}

/* ---- joined children before the queue ---- */

/* A thread that joins the youngest thread of the queue has it run at once. So a tree of
 * threads is walked depth-first: few threads are alive at a time, on hot memory, and
 * thieves take the oldest threads, the largest subtrees. After TURN of that, others
 * have a turn, but only a few, because each that begins a subtree leaves another one
 * half done (with 16 for every 60 that went before, as many were alive as
 * breadth-first):
 *
 *   queue order     --take_child-------------> children first, since turn_at
 *   children first  --look_back, after TURN--> others' turn: the oldest of the ring,
 *                                  up to turn_end; the lifo slot waits as well
 *   others' turn    --head reaches turn_end--> queue order
 */
static void end_turn(struct uk_vp *vp)
{
	if ((int32_t)((uint32_t)load_relaxed(&vp->rq.head) - vp->turn_end) >= 0)
		vp->lifo_most = LIFO_STREAK;
}

static void look_at_turn(struct uk_vp *vp, int64_t now)
{
	uint32_t head = (uint32_t)load_relaxed(&vp->rq.head), others;

	if (!vp->lifo_most) {
		end_turn(vp);
	} else if (vp->deep && now - vp->turn_at >= TURN) {
		others = MIN(vp->deep / DEEP_EACH + 1, OTHERS);
		vp->turn_end = head + MIN(vp->rq.tail - head, others);
		vp->deep = 0;
		vp->lifo_most = 0;
	}
}

/* Takes child out of the queue and returns it, if no thread was queued after it and it
 * is not the others' turn; else NULL. */
static struct uk_thread *take_child(struct uk_vp *vp, const struct uk_thread *child)
{
	struct runq *q = &vp->rq;
	struct uk_thread *t;

	if (unlikely(!vp->lifo_most))
		end_turn(vp);
	if (!vp->lifo_most || q->pinned.head || fuzz_once_in(4))
		return NULL;
	t = load_relaxed(&q->lifo) == child ? runq_take_lifo(q)
					    : runq_take_back(q, child);
	if (t && !vp->deep++)
		vp->turn_at = vp->clock;
	return t;
}

struct uk_thread *next_or_child(struct carrier *c, struct uk_thread *child)
{
	struct uk_vp *vp = c->vp;
	struct uk_thread *t = take_child(vp, child);

	if (!t)
		return next_thread(c);
	if (unlikely(--vp->budget < 0) || unlikely(load_relaxed(&vp->nudge))) {
		runq_push_lifo(&vp->rq, t); /* runs next, after the dispatcher's pass */
		return &c->disp;
	}
	if (unlikely(!t->sp))
		t = pop_first(vp, t);
	return t ? t : &c->disp;
}

/* ---- the switch ---- */

void switch_to(struct carrier *c, struct uk_thread *from, struct uk_thread *to,
	       enum post action)
{
	if (likely(c->vp))
		switch_now(c, from, to, action);
	else
		switch_raw(c, from, to, action);
}

/* Lets other threads run. Called in the runtime. Returns t, as switch_raw does. */
INLINE struct uk_thread *yield_now(struct uk_thread *t)
{
	struct carrier *c = t->carrier;
	struct uk_vp *vp = c->vp;
	struct uk_thread *to = next_thread(c);

	bump(&vp->count.yields, 1);
	if (to == &c->disp && vp->budget >= 0 && !load_relaxed(&vp->nudge) &&
	    !load_relaxed(&vp->inbox) && !load_relaxed(&vp->pinbox))
		/* nothing else to run: the budget brings us to the dispatcher in
		 * time */
		return t;
	return switch_now(c, t, to,
			  t->stays && t->pinned != vp ? POST_MIGRATE : POST_YIELD);
}

COLD void sched_make_room(struct uk_thread *t)
{
	struct uk_vp *vp = t->carrier->vp;
	bool alone = vp->seen_switches == (uint32_t)vp->count.switches;

	vp->seen_switches = (uint32_t)vp->count.switches;
	if (alone) {
		/* through the dispatcher, which also looks at what comes from
		 * outside */
		vp->budget = 0;
		yield_now(t);
	}
}

UK_API int uk_yield(void)
{
	struct uk_thread *t = thread_self_tls;

	if (unlikely(!t || load_relaxed(&t->kind) != THREAD_USER || t->depth)) {
		sys0(SYS_sched_yield);
		return 0;
	}
	enter_user(t);
	exit_user(yield_now(t));
	return 0;
}

/* ---- the dispatcher ---- */

/* Passes first, and the ops that follow it for the same sink, to that sink together.
 * Returns the op after them. */
static NOINLINE struct io_op *sink_take(struct io_op *first)
{
	struct op_sink *s = first->sink;
	struct io_op *last = first, *next;

	while ((next = last->next) && load_relaxed(&next->token) == OP_SINK &&
	       next->sink == s) {
		store_relaxed(&next->token, 0);
		last = next;
	}
	last->next = NULL;
	s->take(s, first);
	return next;
}

/* Wakes the thread that waits for op, or passes op to its sink. Returns the next op. */
static struct io_op *op_done(struct io_op *op)
{
	struct io_op *next = op->next;
	struct uk_thread *t = op->thread;
	/* acq_rel: the waiter sees res; after this, op may be gone (pairs with
	 * sched/io.c) */
	uint64_t token = xchg_acq_rel(&op->token, 0);

	if (likely(token < OP_SINK))
		wait_fire(t, token, WAKE_OK);
	else if (token == OP_SINK)
		next = sink_take(op);
	return next;
}

static void serve_closers(struct uk_vp *vp)
{
	struct vp_msg **p = &vp->closers;

	while (*p) {
		struct vp_msg *m = *p;

		if (reactor_peek_fd(&vp->reactor, m->fd)) {
			p = &m->next;
			continue;
		}
		*p = m->next;
		wait_fire(m->thread, m->token, WAKE_OK);
	}
}

static void serve_msgs(struct uk_vp *vp)
{
	struct reactor *r = &vp->reactor;
	struct vp_msg *m, *rev = NULL;
	bool stop = false;

	for (m = xchg_acq_rel(&vp->msgs, (struct vp_msg *)NULL); m;) {
		struct vp_msg *next = m->next;

		m->next = rev;
		rev = m;
		m = next;
	}
	for (m = rev; m;) {
		struct vp_msg *next = m->next;

		switch (m->kind) {
		case MSG_SUBMIT:
			/* m and its ops live until the last op is done, which is after
			 * poll. submit links the ops into the fd table, where a closer
			 * finds them from then on: the count is not needed any more. */
			for (unsigned i = 0; i < m->n; i++)
				r->ops->submit(r, &m->op[i]);
			fetch_sub_acq_rel(&vp->submits, 1);
			break;
		case MSG_CANCEL:
			/* its sender waits for us, so each op still exists, done or
			 * not */
			for (unsigned i = 0; i < m->n; i++)
				if (load_relaxed(&m->op[i].token))
					r->ops->cancel(r, &m->op[i]);
			wait_fire(m->thread, m->token, WAKE_OK);
			break;
		case MSG_CANCEL_FD:
			reactor_cancel_fd(r, m->fd, m->keep);
			m->next = vp->closers;
			vp->closers = m;
			break;
		case MSG_STOP:
			stop = true;
			break;
		}
		m = next;
	}
	serve_closers(vp);
	if (unlikely(stop)) {
		/* seq_cst: if a fork still finds it 1, that fork has shut the gate
		 * before we look at the gate */
		store_seq_cst(&vp->stop_sent, 0);
		carrier_stop(vp_carrier(vp));
	}
}

static struct uk_thread *hit_thread(const struct timer_hit *h)
{
	return container_of(h->timer, struct uk_thread, timer);
}

/* Threads that slept are cold. This prefetches descriptor, stack and its page table
 * entry for a whole batch, instead of one miss after the other. */
static void warm(const struct timer_hit *hits, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		__builtin_prefetch(hit_thread(&hits[i]), 1);
		__builtin_prefetch(&hit_thread(&hits[i])->wobj, 1);
	}
/* a race by design: a thread may run already; then the prefetch is useless, no more */
#if !UK_TSAN
	for (unsigned i = 0; i < n; i++)
		foresee_stack(load_relaxed(&hit_thread(&hits[i])->sp), SWITCH_LINES);
#endif
}

static unsigned run_timers(struct uk_vp *vp)
{
	struct timer_hit hits[TIMER_BATCH];
	unsigned n, total = 0;

	if (wheel_next(&vp->wheel) > vp->clock)
		return 0;
	do {
		n = wheel_expire(&vp->wheel, vp->clock, hits, TIMER_BATCH);
		warm(hits, n);
		for (unsigned i = 0; i < n; i++)
			wait_fire(hit_thread(&hits[i]), hits[i].token, WAKE_TIMEOUT);
		total += n;
	} while (n == TIMER_BATCH);
	bump(&vp->count.timer_fires, total);
	return total;
}

static void ops_done(struct uk_vp *vp, struct io_op *op)
{
	while (op)
		op = op_done(op);
	/* an op of the engine's own may have completed, too, for which poll returns
	 * nothing */
	if (unlikely(vp->closers))
		serve_closers(vp);
}

static void poll_reactor(struct uk_vp *vp, int64_t timeout)
{
	ops_done(vp,
		 reactor_poll(&vp->reactor, timeout, timeout == 0 && vp_has_work(vp)));
}

void sched_collect(struct uk_thread *t)
{
	struct uk_vp *vp = vp_of(t);

	if (vp && vp->reactor.ops->collect)
		ops_done(vp, vp->reactor.ops->collect(&vp->reactor));
}

static bool try_steal(struct uk_vp *vp)
{
	struct uk_vpset *s = vp->set;
	struct uk_thread *got[STEAL_MAX];
	unsigned start;

	if (!vp->shared)
		return false;
	start = vp->steal_seed++;
	for (unsigned i = 0; i < s->n; i++) {
		struct uk_vp *v = s->vps[(start + i) % s->n];
		unsigned n;

		if (v == vp)
			continue;
		n = runq_steal(&v->rq, got, STEAL_MAX);
		for (unsigned k = 0; k < n; k++)
			runq_push(&vp->rq, got[k]);
		if (!n && load_relaxed(&v->rq.lifo)) {
			/* its owner may be busy for long, so take the hot thread, too;
			 * but first give the owner one more chance (usually it is about
			 * to run it) */
			for (int k = 0; k < 100; k++)
				cpu_relax();
			got[0] = runq_take_lifo(&v->rq);
			if (got[0]) {
				runq_push(&vp->rq, got[0]);
				n = 1;
			}
		}
		bump(&vp->count.steals, n);
		n += drain_inbox(vp, v);
		if (n)
			return true;
	}
	return false;
}

bool set_has_work(const struct uk_vp *vp)
{
	const struct uk_vpset *s = vp->set;

	for (unsigned i = 0; i < s->n; i++)
		if (s->vps[i] != vp &&
		    (runq_stealable(&s->vps[i]->rq) || load_relaxed(&s->vps[i]->inbox)))
			return true;
	return false;
}

static void leave_waking(struct uk_vp *vp)
{
	if (load_relaxed(&vp->set->waking))
		store_release(&vp->set->waking, 0);
}

/* While threads block one carrier after the other: threads that never ran may belong to
 * that group, so they go behind one that has run, if there is one among the next
 * BURST_LOOK. */
static COLD struct uk_thread *pop_in_burst(struct uk_vp *vp)
{
	unsigned left = MIN(runq_stealable(&vp->rq), BURST_LOOK);

	for (; left; left--) {
		struct uk_thread *t = pop(vp);

		if (!t || t->sp)
			return t;
		push_again(vp, t);
	}
	return pop_runnable(vp);
}

bool vps_idle(void)
{
	uint32_t n = load_acquire(&vp_count_all);

	for (uint32_t i = 0; i < n; i++)
		if (!load_seq_cst(&vp_all[i]->idle))
			return false;
	return true;
}

static COLD void alarm_start(uint32_t state)
{
	uint32_t next = state == MONITOR_ASLEEP ? MONITOR_ARMED : MONITOR_AWAKE;

	if (cas_seq_cst(&monitor_state, &state, next))
		hooks.monitor_call(true);
}

void monitor_notice(void)
{
	uint32_t state;

	/* idle is stored before monitor_state is read; the monitor, and alarm_stop,
	 * store and read the other way round (pairs with the fence in
	 * sleep_with_the_vps, monitor/monitor.c, and in alarm_stop) */
	fence_seq_cst();
	state = load_relaxed(&monitor_state);
	if (unlikely(state >= MONITOR_ASLEEP))
		alarm_start(state);
}

/* vp is idle for timeout ns (< 0: without a limit), and the monitor's alarm is set. If
 * vp is the last one, nothing is left to be watched. The alarm is stopped only before a
 * long sleep, and seldom, because to stop it and to set it again are two system calls,
 * which must cost less than the wake-up of the monitor. */
static COLD void alarm_stop(const struct uk_vp *vp, int64_t timeout)
{
	uint32_t armed = MONITOR_ARMED;

	if ((timeout >= 0 && timeout < STOP_SLEEP) ||
	    vp->clock - load_relaxed(&stopped_at) < STOP_EACH ||
	    load_relaxed(&vp_count_all) > STOP_MOST || !vps_idle())
		return;
	store_relaxed(&stopped_at, vp->clock);
	if (!cas_seq_cst(&monitor_state, &armed, MONITOR_ASLEEP))
		return;
	hooks.monitor_call(false);
	fence_seq_cst(); /* pairs with monitor_notice */
	if (load_relaxed(&monitor_state) == MONITOR_ARMED)
		hooks.monitor_call(
		    true); /* set by another, and perhaps stopped by us */
	else if (!vps_idle())
		monitor_notice();
}

/* Nothing to run: sleeps in the reactor until something comes. */
static void idle(const struct carrier *c, struct uk_vp *vp)
{
	int64_t next, timeout = -1;

	leave_waking(vp);
	vp->slept = vp->clock;
	if (vp->shared)
		fetch_add_relaxed(&vp->set->nidle, 1);
	/* release: the thread that clears it sees how the reactor was made */
	store_release(&vp->idle, VP_SLEEPS);
	/* idle before the reads below: pairs with the CAS in inbox_push and vp_post,
	 * and with the store of flush in vp_ask_flush. Other vps' queues have no such
	 * pair: what set_has_work misses, the owner or monitor_balance shows to a thief
	 * later. */
	fence_seq_cst();
	next = wheel_next_crowd(&vp->wheel, sleep_slack);
	if (next != TIME_NEVER) {
		timeout = next - sys_now();
		if (timeout < 0)
			timeout = 0;
	}
	if (load_relaxed(&vp->inbox) || load_relaxed(&vp->pinbox) ||
	    load_relaxed(&vp->msgs) || load_relaxed(&vp->flush) ||
	    (vp->shared && set_has_work(vp)))
		timeout = 0;
	perf_mute(c);
	if (load_relaxed(&monitor_state) == MONITOR_ARMED)
		alarm_stop(vp, timeout);
	poll_reactor(vp, timeout);
	vp->polled = true;
	if (load_relaxed(&vp->idle))
		store_relaxed(&vp->idle, 0);
	if (vp->shared)
		fetch_add_relaxed(&vp->set->nidle, (uint32_t)-1);
	if (!vp->reactive)
		monitor_notice();
}

/* Two threads that wait for each other alternately (through a pipe, a socket, another
 * process) on two vps pay for a sleep and a wake-up each time; on one vp they need
 * neither. So if this vp, time after time, slept only for a moment and was woken for a
 * single thread while all others slept, t goes to the set's first vp. Its partner comes
 * there in the same way, if it is not there already. If one vp then has more than it
 * can run, thieves spread the threads again. True: t was moved. */
static bool gather(struct uk_vp *vp, struct uk_thread *t)
{
	struct uk_vpset *s = vp->set;
	bool lonely = vp->index && vp->clock - vp->slept < GATHER_SLEEP && !t->stays &&
		      !vp_has_work(vp) && load_relaxed(&s->nidle) == s->n - 1;

	vp->slept = 0;
	vp->lonely = lonely ? vp->lonely + 1 : 0;
	if (likely(vp->lonely < GATHER_AFTER))
		return false;
	vp->lonely = 0;
	/* into pinbox, so that thieves (this vp is one now) do not take t back before
	 * it has run there */
	box_push(s->vps[0], &s->vps[0]->pinbox, t);
	return true;
}

static COLD void flush_caches(struct uk_vp *vp)
{
	stack_cache_flush(&vp->stacks);
	tls_cache_flush(&vp->tls);
	slab_cache_flush(&thread_slab, &vp->threads);
	/* acq_rel: this may clear a second request that came meanwhile. By the acquire
	 * we then see that memory is scarce, so nothing has gone into our caches since.
	 * The release pairs with all_gave. */
	xchg_acq_rel(&vp->flush, 0);
	memory_gave();
}

/* Should this pass poll the reactor before it looks for threads? Not if idle has just
 * polled it. Nor if nothing is ready and the last poll of idle slept: then the next one
 * will probably sleep, too, and a poll before it would be a system call in vain. */
static bool polls_first(struct uk_vp *vp)
{
	bool polled = vp->polled;

	vp->polled = false;
	if (unlikely(vp->reactor.late.head))
		return true;
	return !polled &&
	       (!vp->sleepy || vp_has_work(vp) || (vp->shared && set_has_work(vp)));
}

/* A pass begins: judges the last one. */
static void look_back(struct uk_vp *vp, int64_t now)
{
	if (vp->polled)
		vp->sleepy = now - vp->clock >= SLEEP_LEAST;
	look_at_turn(vp, now);
	vp->dense = (vp->budget <= VP_BUDGET - DENSE_SWITCHES &&
		     now - vp->clock < DENSE_PASS) ||
		    fuzz_once_in(2);
	store_relaxed(&vp->clock, now);
}

void dispatch(struct carrier *c)
{
	struct uk_vp *vp;

	while ((vp = c->vp)) {
		struct uk_thread *t;

		store_relaxed(&vp->nudge, 0);
		if (unlikely(load_acquire(&vp->flush)))
			flush_caches(vp);
		/* a thread may have yielded or ended between its brackets */
		store_relaxed(&c->mark, 0);
		if (unlikely(load_relaxed(&c->deferred)))
			run_deferred(c);
		carrier_bind(c, vp);
		look_back(vp, sys_now());
		perf_arm(c);
		drain_inbox(vp, vp);
		if (unlikely(load_relaxed(&vp->msgs)))
			serve_msgs(vp);
		run_timers(vp);
		if (polls_first(vp))
			poll_reactor(vp, 0);
		/* what is posted from here on is read after this pass's steal */
		fuzz_pause();
		vp->budget = VP_BUDGET;
		t = NULL;
		if (unlikely(load_relaxed(&vp->burst)) && !vp->reactive) {
			store_relaxed(&vp->burst,
				      (uint8_t)(load_relaxed(&vp->burst) - 1));
			t = pop_in_burst(vp);
		}
		if (!t && !vp->reactive)
			t = pop_runnable(vp);
		/* until a thread ends, or memory comes back */
		if (unlikely(vp->starved) && !t) {
			vp->starved = false;
			poll_reactor(vp, NS_PER_MS);
			continue;
		}
		if (!t && !vp->reactive && try_steal(vp))
			t = pop_runnable(vp);
		if (!t) {
			idle(c, vp);
			continue;
		}
		if (unlikely(load_relaxed(&vp->set->waking)))
			leave_waking(vp);
		if (vp->shared) {
			call_thief(vp);
			if (unlikely(vp->slept) && gather(vp, t))
				continue;
		}
		switch_now(c, &c->disp, t, POST_NONE);
	}
}
