/* SPDX-License-Identifier: Apache-2.0 */
/* handoff.c - how a vp moves from one carrier to another; the table is in handoff.h.
 *
 * A carrier that blocks or computes loses its vp (vp_revoke, vp_give). A thread that
 * comes back looks for one (enter_slow). A carrier that finds none waits as a spare
 * (handoff_wait).
 */
#include "sched/handoff.h"

#include "base/sys.h"
#include "sched/mute.h"
#include "sched/gate.h"
#include "sched/switch.h"

struct lock watch_lock = LOCK_INIT(RANK_WATCH);
static struct lock spares_lock = LOCK_INIT(RANK_SPARES);
static struct carrier *spares; /* under the lock */
static struct uk_vp *orphans;  /* written under the lock */
static uint32_t called; /* 1: an orphan was kicked; anyone sets, serve_called clears */

/* ---- for a tracer (base/usdt.h) ---- */

COLD void tell_loss(struct uk_vp *vp, struct carrier *c, const struct uk_thread *t)
{
	int64_t now = sys_now();

	store_relaxed(&c->lost_at, now);
	store_relaxed(&vp->lost_at, now);
	store_relaxed(&vp->lost_by, load_relaxed(&c->tid));
	if (t)
		USDT(block, vp->id, load_relaxed(&c->tid), t->id, thread_name(t),
		     BLOCK_LEFT);
}

/* c has just got its vp. */
static COLD void tell_handoff(const struct carrier *c)
{
	struct uk_vp *vp = c->vp;

	USDT(handoff, vp->id, load_relaxed(&vp->lost_by), load_relaxed(&c->tid),
	     usdt_since(load_relaxed(&vp->lost_at)));
	/* a forked child must not see them again */
	store_relaxed(&vp->lost_by, 0);
	store_relaxed(&vp->lost_at, 0);
}

/* t, on c, comes back; found: c has got a vp at once. */
static COLD void tell_unblock(const struct uk_thread *t, struct carrier *c, bool found)
{
	USDT(unblock, t->id, thread_name(t), load_relaxed(&c->tid),
	     usdt_since(load_relaxed(&c->lost_at)), (int)found);
	store_relaxed(&c->lost_at, 0); /* as above */
	if (found)
		tell_handoff(c);
}

/* ---- the lists, under the lock ---- */

static struct uk_vp *orphan_take(struct uk_vp **p, struct carrier *c)
{
	struct uk_vp *vp = *p;

	store_relaxed(p, vp->next_orphan);
	if (vp->rests) {
		vp->rests = false;
		store_relaxed(&vp->lost_at, 0);
		store_seq_cst(&vp->idle, 0);
		fetch_add_relaxed(&vp->set->nidle, -1u);
		/* it may have been woken to steal: another thief may be woken now */
		store_release(&vp->set->waking, 0);
	}
	c->vp = vp;
	/* release: the new owner sees everything that the old one did (pairs with
	 * handoff_in) */
	store_release(&vp->owner, (uintptr_t)c);
	return vp;
}

static void spare_takes(struct uk_vp **p, struct carrier *s)
{
	struct uk_vp *vp = orphan_take(p, s);

	bump(&vp->takes, 1);
}

static void orphan_add(struct uk_vp *vp, bool rests)
{
	store_release(&vp->owner, 0);
	vp->next_orphan = orphans;
	store_relaxed(&orphans, vp);
	vp->rests = rests;
	if (!rests)
		return;
	fetch_add_relaxed(&vp->set->nidle, 1);
	store_seq_cst(&vp->idle, 1);
	/* pairs with the CAS of the thread that gives it something (as in idle,
	 * dispatch.c) */
	fence_seq_cst();
	if (vp_awaits(vp))
		store_seq_cst(&vp->idle, 0);
}

/* False: vp rests and was not kicked since. */
static bool wants_carrier(const struct uk_vp *vp)
{
	return !vp->rests || !load_seq_cst(&vp->idle);
}

/* Gives a spare to each orphan that wants a carrier. Returns the spares to be woken,
 * linked by next_spare. */
static struct carrier *serve(void)
{
	struct uk_vp **p = &orphans;
	struct carrier *s, *given = NULL;

	while (*p) {
		if (!wants_carrier(*p)) {
			p = &(*p)->next_orphan;
			continue;
		}
		s = spares;
		if (!s) {
			spares_ran_out();
			break;
		}
		spares = s->next_spare;
		store_relaxed(&s->stopped, 0);
		store_relaxed(&spares_count, spares_count - 1);
		spare_takes(p, s);
		s->next_spare = given;
		given = s;
	}
	return given;
}

/* ---- outside the lock ---- */

static void wake_given(struct carrier *s)
{
	struct carrier *next;

	for (; s; s = next) {
		next = s->next_spare;
		store_release(&s->wake, 1);
		sys_futex_wake(&s->wake, 1);
	}
	if (want_spare())
		maker_wake();
	monitor_notice(); /* a vp may have stopped resting */
}

/* A thread that cannot get the lock leaves this to the holder. */
static void serve_called(void)
{
	struct carrier *given;

	/* holder: releases the lock, then reads called; caller: sets called, then tries
	 * the lock */
	fence_seq_cst();
	while (unlikely(load_relaxed(&called)) && lock_try(&spares_lock)) {
		store_seq_cst(&called, 0);
		given = serve();
		lock_release_nested(&spares_lock);
		wake_given(given);
		fence_seq_cst();
	}
}

static void unlock(void)
{
	lock_release(&spares_lock);
	serve_called();
}

void vp_call(void)
{
	store_seq_cst(&called, 1);
	serve_called();
}

void vp_give(struct uk_vp *vp)
{
	bool rests = !vp->reactive && !vp_awaits(vp) && !fuzz_once_in(2);
	struct carrier *given;

	lock_acquire(&spares_lock);
	orphan_add(vp, rests);
	given = serve();
	unlock();
	if (!rests || given)
		wake_given(given);
}

void handoff_wait(struct carrier *c)
{
	struct uk_vp **p;

	run_deferred(c);
	lock_acquire(&spares_lock);
	carrier_grown(c);
	for (p = &orphans; *p && !wants_carrier(*p); p = &(*p)->next_orphan)
		;
	if (*p) {
		spare_takes(p, c);
		unlock();
		if (usdt_on())
			tell_handoff(c);
		/* c may have been made ahead, and more orphans wait */
		if (want_spare())
			maker_wake();
		monitor_notice();
		return;
	}
	c->wake = 0;
	store_relaxed(&c->stopped, 1);
	c->next_spare = spares;
	spares = c;
	bump(&spares_count, 1);
	unlock();
	perf_mute(c);
	while (!load_acquire(&c->wake))
		sys_futex_wait(&c->wake, 0, TIME_NEVER);
	if (usdt_on())
		tell_handoff(c);
}

/* An orphan that wants a carrier goes before one that rests. */
static struct uk_vp **find_orphan(const struct uk_vpset *set,
				  const struct uk_vp *exactly)
{
	struct uk_vp **p, **resting = NULL, *vp;

	for (p = &orphans; (vp = *p); p = &vp->next_orphan) {
		if (vp->set != set || (exactly && vp != exactly) || vp->reactive)
			continue;
		if (wants_carrier(vp))
			return p;
		resting = p;
	}
	return resting;
}

static bool take_orphan(struct carrier *c, const struct uk_vpset *set,
			const struct uk_vp *exactly)
{
	struct uk_vp **p;

	if (!load_relaxed(&orphans))
		return false;
	lock_acquire(&spares_lock);
	p = find_orphan(set, exactly);
	if (p)
		orphan_take(p, c);
	unlock();
	if (p)
		monitor_notice();
	return p;
}

/* ---- taking a vp away, and back ---- */

struct uk_thread *vp_revoke(struct uk_vp *vp, struct carrier *c)
{
	struct uk_thread *t;
	uintptr_t mine = (uintptr_t)c, revoking = mine | VP_REVOKING;
	uintptr_t old = mine;

	if (!cas_seq_cst(&vp->owner, &old, revoking))
		return NULL;
	barrier_everywhere();
	old = revoking;
	/* acquire: the next owner sees what c did before it left (pairs with
	 * handoff_out) */
	if (load_acquire(&c->in_rt)) {
		/* fails if c has reclaimed it already */
		cas_seq_cst(&vp->owner, &old, mine);
		return NULL;
	}
	t = load_relaxed(&c->current);
	vp_loses(vp, c, NULL);
	/* From here c finds REVOKING when it enters, and races us with its CAS. */
	return cas_seq_cst(&vp->owner, &old, (uintptr_t)0) ? t : NULL;
}

/* Does c still have vp? Takes it back if it is being revoked. */
static bool vp_keep(struct uk_vp *vp, struct carrier *c)
{
	uintptr_t o = load_acquire(&vp->owner);

	while (o == (uintptr_t)c || o == ((uintptr_t)c | VP_REVOKING)) {
		if (o == (uintptr_t)c)
			return true;
		if (cas_seq_cst(&vp->owner, &o, (uintptr_t)c))
			return true;
	}
	return false;
}

COLD bool enter_here(struct carrier *c)
{
	if (unlikely(load_acquire(&world_gate)))
		carrier_stop(c);
	if (unlikely(c->renew) && !carrier_renew(c))
		uk_panic("no memory for the carrier of a forked child");
	if (c->vp && !vp_keep(c->vp, c))
		c->vp = NULL;
	return c->vp;
}

COLD void enter_slow(struct uk_thread *t, struct carrier *c)
{
	bool found;

	if (enter_here(c))
		return;
	if (unlikely(load_relaxed(&c->hog)))
		carrier_no_hog(c);
	found = likely(!c->dedicated) && take_orphan(c, t->vp->set, t->pinned);
	if (usdt_on())
		tell_unblock(t, c, found);
	if (found) {
		perf_arm(c);
		carrier_bind(c, c->vp);
		store_relaxed(&t->vp, c->vp);
		bump(&c->vp->count.returns, 1);
		return;
	}
	if (unlikely(c->bound_to == t))
		guest_away(t);
	switch_to(c, t, &c->disp, POST_RETURN);
	bump(&t->carrier->vp->count.returns, 1);
}

/* ---- fork ---- */

static bool stands(const struct carrier *c)
{
	return !load_acquire(&c->in_rt) || load_seq_cst(&c->stopped);
}

static void mark_owners(const struct carrier *mine)
{
	for (uint32_t i = 0; i < vp_count_all; i++) {
		uintptr_t o = load_acquire(&vp_all[i]->owner);

		if (o && !(o & VP_REVOKING) && o != (uintptr_t)mine)
			cas_seq_cst(&vp_all[i]->owner, &o, o | VP_REVOKING);
	}
}

static void unmark_owners(void)
{
	for (uint32_t i = 0; i < vp_count_all; i++) {
		uintptr_t o = load_acquire(&vp_all[i]->owner);

		/* fails if the carrier has taken its vp back by itself */
		if (o & VP_REVOKING)
			cas_seq_cst(&vp_all[i]->owner, &o, o & ~VP_REVOKING);
	}
}

bool handoff_stop(const struct carrier *mine)
{
	bool ok = true;

	lock_acquire(&spares_lock);
	mark_owners(mine);
	/* pairs with handoff_in and enter_gate: a thread that enters later sees the
	 * mark or the gate */
	barrier_everywhere();
	for (struct carrier *c = load_acquire(&carriers_all); c; c = c->next_all)
		ok &= c == mine || stands(c);
	/* Look at the owners again: one that was inside when we marked may have taken
	 * its vp back and left since; and a carrier just made may not be in the
	 * list. */
	for (uint32_t i = 0; i < vp_count_all; i++) {
		struct uk_vp *vp = vp_all[i];
		uintptr_t o = load_acquire(&vp->owner);
		struct carrier *c = (struct carrier *)(o & ~VP_REVOKING);

		if (!o || c == mine)
			continue;
		ok &= (o & VP_REVOKING) && stands(c);
		if (!stands(c) && !xchg_seq_cst(&vp->stop_sent, 1)) {
			vp->stop.kind = MSG_STOP;
			vp_post(vp, &vp->stop);
		}
	}
	if (!ok)
		unlock();
	return ok;
}

void handoff_go(void)
{
	unmark_owners();
	unlock();
}

void handoff_lock(void)
{
	lock_acquire(&spares_lock);
}

void handoff_unlock(void)
{
	unlock();
}

void handoff_forget(void)
{
	spares = NULL;
	orphans = NULL;
	called = 0;
	for (uint32_t i = vp_count_all; i-- > 0;) {
		vp_all[i]->owner = 0;
		vp_all[i]->rests = false;
		vp_all[i]->next_orphan = orphans;
		orphans = vp_all[i];
	}
}
