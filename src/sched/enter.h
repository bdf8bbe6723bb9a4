/* SPDX-License-Identifier: Apache-2.0 */
/* enter.h - entering and leaving the runtime, inline, for hot paths: see enter.c. */
#ifndef SCHED_ENTER_H
#define SCHED_ENTER_H

#include "sched/gate.h"
#include "sched/handoff.h"

/* t has come back to its carrier and is in the runtime. If it has signals, it handles
 * them when it leaves; if it is away, it then returns to its own carrier. */
INLINE void signals_arrived(const struct uk_thread *t)
{
	if (unlikely(thread_asked(t, ASK_SIGNAL | ASK_HOME)))
		store_relaxed(&t->carrier->deferred, 1);
}

/* Enter on this carrier, even if its vp is gone; and leave. */
void enter_staying(struct uk_thread *t);
void leave_staying(struct uk_thread *t);
/* Sets depth to 0 and does what handlers deferred until then, but handles no signals. */
void leave_deferred(struct uk_thread *t);
/* does deferred wake-ups; in debug builds may lose the vp */
void exit_slow(struct uk_thread *t);
void run_deferred_foreign(struct uk_thread *t); /* called by t, with depth 0 */
/* The same before t sleeps: only wake-ups. True: t has signals to handle when it
 * leaves. */
bool foreign_signalled(struct uk_thread *t);

/* rt_enter and rt_exit for hot paths, where t is the caller and a user thread outside
 * the runtime. */
INLINE struct carrier *enter_user(struct uk_thread *t)
{
	struct carrier *c = t->carrier;

	t->depth = 1;
	if (unlikely(!handoff_in(c))) {
		enter_slow(t, c);
		c = t->carrier;
	}
	return c;
}

INLINE void exit_user(struct uk_thread *t)
{
	struct carrier *c = t->carrier;

	t->depth = 0;
	fence_compiler(); /* a handler that sees depth 1 sets deferred before we look */
	if (UK_CHECKS || unlikely(load_relaxed(&c->deferred))) {
		exit_slow(t);
		c = t->carrier;
	}
	handoff_out(c);
}

/* rt_enter and rt_exit, inline; t is what enter_any returned. */
INLINE struct uk_thread *enter_any(void)
{
	struct uk_thread *t = thread_self_tls;

	/* load_relaxed: otherwise the compiler reads kind and depth by one load,
	 * together with `asked` between them, which other threads write */
	if (unlikely(!t || load_relaxed(&t->kind) != THREAD_USER || t->depth))
		return rt_enter();
	enter_user(t);
	return t;
}

INLINE void exit_any(struct uk_thread *t)
{
	if (likely(load_relaxed(&t->kind) == THREAD_USER && t->depth == 1))
		exit_user(t);
	else
		rt_exit();
}

/* sched_vp, inline */
INLINE struct uk_vp *vp_of(const struct uk_thread *t)
{
	return likely(t->kind == THREAD_USER) ? t->carrier->vp : NULL;
}

/* A foreign thread enters the runtime, or comes back after it slept in it. The same
 * protocol as enter_user's, with the gate in place of the owner. */
INLINE void enter_gate(struct uk_thread *t, uint8_t depth)
{
	store_relaxed(&t->depth, depth);
	fence_compiler(); /* pairs with the membarrier in lifecycle/fork.c */
	while (unlikely(load_acquire(&world_gate))) {
		store_release(&t->depth, 0);
		gate_wait();
		store_relaxed(&t->depth, depth);
		fence_seq_cst();
	}
}

#endif
