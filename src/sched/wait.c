/* SPDX-License-Identifier: Apache-2.0 */
/* wait.c - the wait word: begin, park, fire. The transition table is in
 * thread/thread.h; the model is tests/model/park.pml.
 *
 * Runs on the waiting thread (begin, park, abandon) and on any thread (fire). A fire
 * from outside the runtime (a foreign thread, a user thread that is not in the runtime,
 * a signal handler) touches atomics only: it is async-signal-safe.
 *
 * Cancellation pairs with arming by membarrier instead of a fence on the hot path: the
 * canceller sets a bit of t->asked, runs membarrier, then looks at the wait word; the
 * waiter arms, then looks at t->asked. One of them sees the other. A signal for a
 * thread (in the preload library) ends a wait in the same way.
 */
#include "base/log.h"
#include "base/sys.h"
#include "sched/fuzz.h"
#include "sched/switch.h"
#include "uk/time.h"

INLINE uint64_t begin(struct uk_thread *t, enum wait_kind kind, const void *obj)
{
	uint64_t w = load_relaxed(&t->wait);
	uint64_t token = (W_TOKEN(w) + 1) & 0xffffffffffff;

	dbg_assert(W_STATE(w) == W_IDLE);
	store_relaxed(&t->wkind, (uint8_t)kind);
	store_relaxed(&t->wobj, obj);
	store_relaxed(&t->wfd, -1);
	store_relaxed(&t->trimmed, 0);
	/* release: a thread that learns the token sees the fields; pairs with the CAS
	 * in wait_fire */
	store_release(&t->wait, W_MAKE(token, 0, W_ARMED));
	fence_compiler();
	return token;
}

/* t was asked before its wait began: the wait ends at once. For a signal, t delivers it
 * when it leaves the runtime. */
static COLD void asked_before(struct uk_thread *t, uint64_t token)
{
	if (t->carrier)
		signals_arrived(t);
	wait_fire(t, token, thread_asked(t, ASK_CANCEL) ? WAKE_CANCEL : WAKE_SIGNAL);
}

uint64_t wait_begin(struct uk_thread *t, enum wait_kind kind, const void *obj)
{
	uint64_t token;

	store_relaxed(&t->uncancelable, 0);
	token = begin(t, kind, obj);
	if (unlikely(load_relaxed(&t->asked)))
		asked_before(t, token);
	return token;
}

void wait_cut(struct uk_thread *t, uint8_t ask)
{
	uint64_t w;

	fetch_or_seq_cst(&t->asked, ask);
	barrier_everywhere(); /* pairs with wait_begin */
	w = load_acquire(&t->wait);
	if ((W_STATE(w) == W_ARMED || W_STATE(w) == W_PARKED) &&
	    !load_relaxed(&t->uncancelable))
		wait_fire(t, W_TOKEN(w), ask == ASK_CANCEL ? WAKE_CANCEL : WAKE_SIGNAL);
}

void wait_interrupted(struct uk_thread *t)
{
	uint64_t w = load_acquire(&t->wait);

	if ((W_STATE(w) == W_ARMED || W_STATE(w) == W_PARKED) && !t->uncancelable)
		wait_fire(t, W_TOKEN(w), WAKE_SIGNAL);
}

void wait_left(struct uk_thread *t)
{
	uint64_t w = load_acquire(&t->wait);

	if (load_relaxed(&t->kind) != THREAD_FOREIGN)
		return; /* handlers interrupt only foreign waits */
	while (W_STATE(w) != W_IDLE &&
	       !cas_acq_rel(&t->wait, &w, W_MAKE(W_TOKEN(w), 0, W_IDLE)))
		;
	store_relaxed(&t->wkind, (uint8_t)WAIT_NONE);
	store_relaxed(&t->state, (uint8_t)T_RUNNING);
}

uint64_t wait_begin_uncancelable(struct uk_thread *t, enum wait_kind kind,
				 const void *obj)
{
	store_relaxed(&t->uncancelable, 1);
	return begin(t, kind, obj);
}

INLINE unsigned wait_end(struct uk_thread *t)
{
	uint64_t w = load_acquire(&t->wait);

	dbg_assert(W_STATE(w) == W_FIRED);
	store_relaxed(&t->wkind, (uint8_t)WAIT_NONE);
	store_relaxed(&t->wait, W_MAKE(W_TOKEN(w), 0, W_IDLE));
	return W_REASON(w);
}

static unsigned park_foreign(struct uk_thread *t, uint64_t token, int64_t deadline)
{
	uint64_t w = W_MAKE(token, 0, W_ARMED);
	uint8_t depth = t->depth;

	/* No lock is held here: a signal handler may fire by itself while we sleep. */
	store_release(&t->depth, 0);
	if (unlikely(foreign_signalled(t)))
		wait_interrupted(t);
	store_relaxed(&t->since, sys_now());
	store_relaxed(&t->state, (uint8_t)T_PARKED);
	if (cas_acq_rel(&t->wait, &w, W_MAKE(token, 0, W_PARKED))) {
		/* the low half changes with every transition: enough for the futex */
		while (W_STATE(w = load_acquire(&t->wait)) == W_PARKED) {
			int r = sys_futex_wait(&t->wait, (uint32_t)w, deadline);

			if (r == -ETIMEDOUT)
				wait_fire(t, token, WAKE_TIMEOUT);
			else if (r == -EINTR && hooks.foreign_signals &&
				 !t->uncancelable)
				wait_fire(t, token, WAKE_SIGNAL);
		}
	}
	store_relaxed(&t->since, sys_now());
	store_relaxed(&t->state, (uint8_t)T_RUNNING);
	/* before wait_end: a fork's child sees what we waited for */
	enter_gate(t, depth);
	return wait_end(t);
}

INLINE unsigned park(struct uk_thread *t, uint64_t token, int64_t deadline,
		     struct uk_thread *child)
{
	struct carrier *c;
	struct uk_vp *vp;

	if (t->deadline < deadline && !t->uncancelable)
		deadline = t->deadline;
	if (unlikely(t->kind != THREAD_USER))
		return park_foreign(t, token, deadline);
	if (W_STATE(load_acquire(&t->wait)) == W_FIRED)
		return wait_end(t);
	c = t->carrier;
	vp = c->vp;
	if (deadline != TIME_NEVER) {
		timer_arm(&vp->wheel, &t->timer, token, deadline);
		bump(&vp->count.timers, 1);
	}
	bump(&vp->count.parks, 1);
	store_relaxed(&t->since, vp->clock);
	store_relaxed(&t->state, (uint8_t)T_PARKED);
	/* the mark belongs to us, not to our successor */
	if (unlikely(t->blocking))
		store_relaxed(&c->mark, 0);
	t = switch_now(c, t, child ? next_or_child(c, child) : next_thread(c),
		       POST_PARK);
	if (unlikely(t->blocking))
		store_relaxed(&t->carrier->mark, 1);
	if (deadline != TIME_NEVER)
		timer_rest(&t->carrier->vp->wheel, &t->timer);
	return wait_end(t);
}

unsigned wait_park(struct uk_thread *t, uint64_t token, int64_t deadline)
{
	return park(t, token, deadline, NULL);
}

unsigned wait_park_join(struct uk_thread *t, uint64_t token, int64_t deadline,
			struct uk_thread *child)
{
	return park(t, token, deadline, child);
}

bool wait_abandon(struct uk_thread *t, uint64_t token, unsigned *reason)
{
	uint64_t w = W_MAKE(token, 0, W_ARMED);

	if (cas_acq_rel(&t->wait, &w, W_MAKE(token, 0, W_IDLE))) {
		store_relaxed(&t->wkind, (uint8_t)WAIT_NONE);
		return true;
	}
	*reason = wait_end(t);
	return false;
}

/* t was fired by a user thread in the runtime with this vp. */
INLINE void wake_user(struct uk_vp *vp, struct uk_thread *t)
{
	bump(&vp->count.readies, 1);
	/* t runs soon: its stack is fetched while the caller goes on */
	foresee_stack(load_relaxed(&t->sp), WAKE_LINES);
	enqueue_next(vp, t);
}

/* t was fired by any thread. */
INLINE void wake(struct uk_thread *t, bool next)
{
	const struct uk_thread *me = thread_self_tls;
	struct uk_vp *vp = likely(me && me->depth && me->kind != THREAD_FOREIGN)
			       ? me->carrier->vp
			       : NULL;

	if (unlikely(!vp)) {
		/* several threads write it */
		fetch_add_relaxed(&sched_foreign_count.readies, 1);
		queue_anywhere(t);
	} else if (likely(me->kind == THREAD_USER)) {
		wake_user(vp, t);
	} else {
		bump(&vp->count.readies, 1);
		/* completions come in batches, oldest first: keep their order */
		if (next)
			enqueue(vp, t, true);
		else
			enqueue_woken(vp, t);
	}
}

enum fired { LOST, DONE, WAKE };

/* WAKE: t is a user thread, which the caller queues. */
INLINE enum fired fire(struct uk_thread *t, uint64_t token, unsigned reason)
{
	uint64_t w = load_acquire(&t->wait);
	uint8_t kind;

	do {
		if (w != W_MAKE(token, 0, W_PARKED) && w != W_MAKE(token, 0, W_ARMED))
			return LOST;
		/* before the CAS: after it a foreign thread may end, and its descriptor
		 * is freed */
		kind = load_relaxed(&t->kind);
	} while (!cas_acq_rel(&t->wait, &w, W_MAKE(token, reason, W_FIRED)));
	if (W_STATE(w) == W_ARMED)
		return DONE; /* it has not switched yet; finish_switch sees it */
	if (unlikely(kind == THREAD_FOREIGN)) {
		sys_futex_wake(&t->wait, 1);
		return DONE;
	}
	return WAKE;
}

bool wait_fire(struct uk_thread *t, uint64_t token, unsigned reason)
{
	enum fired f = fire(t, token, reason);

	if (f == WAKE)
		wake(t, false);
	return f != LOST;
}

bool wait_fire_next(struct uk_thread *t, uint64_t token, unsigned reason)
{
	enum fired f = fire(t, token, reason);

	if (f == WAKE)
		wake(t, true);
	return f != LOST;
}

void wait_fire_by(struct uk_thread *me, struct uk_thread *t, uint64_t token)
{
	if (fire(t, token, WAKE_OK) == WAKE)
		wake_user(me->carrier->vp, t);
}

int wake_error(unsigned reason)
{
	return reason == WAKE_TIMEOUT  ? -ETIMEDOUT
	       : reason == WAKE_CANCEL ? -ECANCELED
	       : reason == WAKE_SIGNAL ? -EINTR
				       : 0;
}

/* ---- public ---- */

UK_API int uk_sleep_until(uk_time deadline)
{
	int unable = rt_begin();

	if (unlikely(unable))
		return unable;
	struct uk_thread *t = rt_enter();
	uint64_t tok = wait_begin(t, WAIT_SLEEP, NULL);
	bool own = t->deadline < deadline;
	unsigned why = wait_park(t, tok, deadline);

	rt_exit();
	return why == WAKE_TIMEOUT && !own ? 0 : wake_error(why);
}

UK_API int uk_sleep(uk_time ns)
{
	return uk_sleep_until(uk_after(ns < 0 ? 0 : ns));
}

UK_API uk_time uk_now(void)
{
	return sys_now();
}

UK_API uk_time uk_after(uk_time span)
{
	uk_time now = sys_now();

	return span >= UK_FOREVER - now ? UK_FOREVER : now + span;
}
