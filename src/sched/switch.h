/* SPDX-License-Identifier: Apache-2.0 */
/* switch.h - the switch, inline: which thread is next, how a thread leaves, and what
 * the successor does about the thread that it left behind. The design is in dispatch.c.
 *
 * It is inline for the CPU's return stack, not for the calls saved: a thread that
 * begins or ends leaves no return address there, so its joiner's returns are predicted
 * (3.0 mispredicted branches for each create and join before).
 *
 * No TLS address is kept across a switch: the thread and its carrier are reached
 * through `from`.
 */
#ifndef SCHED_SWITCH_H
#define SCHED_SWITCH_H

#include "arch/arch.h"
#include "sched/body.h"
#include "sched/enter.h"
#include "sched/fuzz.h"

extern bool switch_fast_tp; /* the CPU has wrfsbase; set once */

struct uk_thread *pop_slow(struct uk_vp *vp);
/* t runs for the first time: prepares and returns it. If there is no memory, t is
 * queued again, and another thread is returned that has a stack, or NULL. */
struct uk_thread *pop_first(struct uk_vp *vp, struct uk_thread *t);

/* enqueue(vp, t, true), inline where no thief exists */
INLINE void enqueue_next(struct uk_vp *vp, struct uk_thread *t)
{
	if (unlikely(vp->shared || t->vp != vp || t->stays || load_acquire(&t->susp)) ||
	    fuzz_once_in(2)) {
		enqueue(vp, t, true);
		return;
	}
	store_relaxed(&t->since, vp->clock);
	store_relaxed(&t->state, (uint8_t)T_READY);
	runq_push_lifo(&vp->rq, t);
}

INLINE struct uk_thread *pop(struct uk_vp *vp)
{
	struct runq *q = &vp->rq;
	struct uk_thread *t = load_relaxed(&q->lifo);

	if (t && vp->lifo_streak < vp->lifo_most && !fuzz_once_in(8)) {
		t = runq_take_seen(q, t);
		if (t) {
			vp->lifo_streak++;
			return t;
		}
	}
	vp->lifo_streak = 0;
	if (likely(!q->pinned.head)) {
		t = runq_pop_ring(q);
		if (likely(t))
			return t;
	}
	return pop_slow(vp);
}

/* The next thread that can run; NULL if there is none. A thread gets its stack and
 * thread block here, before its first run: threads that wait for their first turn cost
 * no stack, and one stack, hot in the cache, serves many short threads in turn. */
INLINE struct uk_thread *pop_runnable(struct uk_vp *vp)
{
	struct uk_thread *t = pop(vp);

	return t && unlikely(!t->sp) ? pop_first(vp, t) : t;
}

/* The next thread that can run, or the dispatcher. */
INLINE struct uk_thread *next_thread(struct carrier *c)
{
	struct uk_vp *vp = c->vp;
	struct uk_thread *t;

	if (unlikely(--vp->budget < 0) || unlikely(load_relaxed(&vp->nudge)))
		return &c->disp;
	t = pop_runnable(vp);
	return t ? t : &c->disp;
}

/* The same for a thread that is about to join child: child, if it is the youngest in
 * the queue. */
struct uk_thread *next_or_child(struct carrier *c, struct uk_thread *child);

INLINE void finish_switch(struct carrier *c)
{
	void (*switched)(struct carrier * c) = load_relaxed(&hooks.thread_switched);
	struct uk_thread *t;
	uint32_t action;
	uint64_t w;

	if (unlikely(switched != NULL))
		switched(c);
	t = c->post; /* not before the call: that would make the frame larger */
	action = c->post_action;
	/* the most frequent first; a jump table would be mispredicted */
	if (action == POST_PARK) {
		w = load_relaxed(&t->wait);
		/* release: a thread that fires PARKED may run t, so t's context must be
		 * visible */
		if (W_STATE(w) != W_ARMED ||
		    !cas_acq_rel(&t->wait, &w, w - W_ARMED + W_PARKED)) {
			bump(&c->vp->count.readies, 1);
			enqueue(c->vp, t, false); /* fired while it was leaving */
		}
	} else if (action == POST_YIELD) {
		enqueue(c->vp, t, false);
	} else if (action == POST_EXIT || action == POST_EXIT_JOINED) {
		thread_reap(c->vp, t, action == POST_EXIT_JOINED);
	} else if (unlikely(action == POST_HOME)) {
		guest_send(t);
	} else if (action != POST_NONE) { /* POST_RETURN, POST_MIGRATE */
		queue_anywhere(t);
	}
}

/* Returns from, which it reads from memory after the switch, because no register
 * survives that. So a caller should go on with the result: then the compiler can keep
 * the caller's own variable in a register until the switch. */
INLINE struct uk_thread *switch_raw(struct carrier *c, struct uk_thread *from,
				    struct uk_thread *to, enum post action)
{
	struct uk_thread *volatile left = from;
	void *tp = to->tp;

	c->post = from;
	c->post_action = action;
	store_relaxed(&c->current, to);
	to->carrier = c;
	store_relaxed(&to->state, (uint8_t)T_RUNNING);
	if (!tp) { /* light, or the dispatcher: the carrier's own TLS */
		*c->self_slot = to;
		tp = c->tp;
	}
	if (tp == c->tp_now)
		tp = NULL;
	else
		c->tp_now = tp;
#if UK_SAN
	san_leave(&from->san, &to->san,
		  action == POST_EXIT || action == POST_EXIT_JOINED);
#endif
	arch_switch(&from->sp, to->sp, tp, switch_fast_tp);
	from = left;
	c = from->carrier; /* another one, perhaps */
	signals_arrived(from);
#if UK_SAN
	san_arrive(&from->san, &c->post->san);
#endif
	finish_switch(c);
	return from;
}

/* c has a vp. */
INLINE struct uk_thread *switch_now(struct carrier *c, struct uk_thread *from,
				    struct uk_thread *to, enum post action)
{
	struct uk_vp *vp = c->vp;

	store_relaxed(&to->vp, vp); /* the dispatcher's vp is read by nobody */
	store_relaxed(&to->since, vp->clock);
	bump(&vp->count.switches, 1);
	return switch_raw(c, from, to, action);
}

/* The same out of line, for callers that are not hot; c may have lost its vp. */
void switch_to(struct carrier *c, struct uk_thread *from, struct uk_thread *to,
	       enum post action);

#endif
