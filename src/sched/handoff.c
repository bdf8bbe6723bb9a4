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
/* Vps that want a carrier, linked by next_orphan; written under the lock. */
static struct uk_vp *orphans;
/* The same before they are in the list: anyone pushes, a holder of the lock takes all. */
static struct uk_vp *called;

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

/* No other carrier can have vp. */
static void vp_take(struct uk_vp *vp, struct carrier *c)
{
	c->vp = vp;
	/* release: the new owner sees everything that the old one did (pairs with
	 * handoff_in) */
	store_release(&vp->owner, (uintptr_t)c);
}

/* ---- the lists, under the lock ---- */

static void orphan_take(struct uk_vp **p, struct carrier *c)
{
	struct uk_vp *vp = *p;

	store_relaxed(p, vp->next_orphan);
	vp_take(vp, c);
}

static void spare_takes(struct carrier *s)
{
	orphan_take(&orphans, s);
	bump(&s->vp->takes, 1);
}

static void list_called(void)
{
	struct uk_vp *next, *vp = xchg_seq_cst(&called, (struct uk_vp *)NULL);

	for (; vp; vp = next) {
		next = vp->next_orphan;
		vp->next_orphan = orphans;
		store_relaxed(&orphans, vp);
	}
}

/* Gives a spare to each orphan. Returns the spares to be woken, linked by
 * next_spare. */
static struct carrier *serve(void)
{
	struct carrier *s, *given = NULL;

	list_called();
	while (orphans && (s = spares)) {
		spares = s->next_spare;
		store_relaxed(&s->stopped, 0);
		store_relaxed(&spares_count, spares_count - 1);
		spare_takes(s);
		s->next_spare = given;
		given = s;
	}
	if (orphans)
		spares_ran_out();
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

	/* holder: releases the lock, then reads called; caller: pushes to called, then
	 * tries the lock */
	fence_seq_cst();
	while (unlikely(load_relaxed(&called)) && lock_try(&spares_lock)) {
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

static void offer(struct uk_vp *vp)
{
	struct uk_vp *head = load_relaxed(&called);

	do
		vp->next_orphan = head;
	while (!cas_seq_cst(&called, &head, vp));
	serve_called();
}

static void count_idle(const struct uk_vp *vp, uint32_t add)
{
	if (vp->shared)
		fetch_add_relaxed(&vp->set->nidle, add);
}

void vp_call(struct uk_vp *vp)
{
	count_idle(vp, -1u);
	store_relaxed(&vp->lost_at, 0);
	offer(vp);
}

/* Does vp, which is the caller's, wait for something? No other thread adds to that. */
static bool awaits(const struct uk_vp *vp)
{
	return vp->reactor.pending || vp->closers || wheel_count(&vp->wheel);
}

/* Has it work, or could it steal? Racy. */
static bool wanted(const struct uk_vp *vp)
{
	return vp_has_work(vp) || load_relaxed(&vp->submits) ||
	       (vp->shared && set_has_work(vp));
}

/* True: vp rested, and is the caller's. Unlike vp_kick it never wakes a reactor, which
 * the monitor cannot: its fds are its own. */
INLINE bool rouse(struct uk_vp *vp)
{
	uint32_t rests = VP_RESTS;

	return load_relaxed(&vp->idle) == rests && cas_seq_cst(&vp->idle, &rests, 0);
}

static void rest(struct uk_vp *vp)
{
	count_idle(vp, 1);
	/* release: the thread that clears it sees what we did */
	store_release(&vp->idle, VP_RESTS);
	/* pairs with the CAS of a thread that gives it something (as in idle,
	 * dispatch.c) */
	fence_seq_cst();
	if (wanted(vp) && rouse(vp)) {
		count_idle(vp, -1u);
		offer(vp);
	}
}

void vp_give(struct uk_vp *vp)
{
	dbg_assert(!vp->reactive);
	store_release(&vp->owner, 0);
	if (awaits(vp) || fuzz_once_in(2))
		offer(vp);
	else
		rest(vp);
}

void handoff_wait(struct carrier *c)
{
	run_deferred(c);
	lock_acquire(&spares_lock);
	carrier_grown(c);
	if (orphans) {
		spare_takes(c);
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

/* Takes an orphan that t may run on. */
static bool take_orphan(struct carrier *c, const struct uk_thread *t)
{
	struct uk_vp **p, *vp;

	if (likely(!load_relaxed(&orphans)))
		return false;
	lock_acquire(&spares_lock);
	for (p = &orphans; (vp = *p); p = &vp->next_orphan)
		if (t->pinned ? vp == t->pinned
			      : vp->set == t->vp->set && !vp->reactive)
			break;
	if (vp)
		orphan_take(p, c);
	unlock();
	if (!vp)
		return false;
	/* it may have been woken to steal: another thief may be woken now */
	store_release(&vp->set->waking, 0);
	monitor_notice();
	return true;
}

/* Takes vp if it rests; needs no lock. */
INLINE bool take_resting(struct carrier *c, struct uk_vp *vp)
{
	if (!rouse(vp))
		return false;
	count_idle(vp, -1u);
	store_relaxed(&vp->lost_at, 0);
	vp_take(vp, c);
	/* seq_cst, as the CAS is: instead of the fence in monitor_notice */
	if (unlikely(load_seq_cst(&monitor_state) >= MONITOR_ASLEEP))
		monitor_notice();
	return true;
}

bool handoff_back(struct carrier *c)
{
	/* The gate as in enter_here. In a forked child, vp is NULL. An orphan, which
	 * wants a carrier, goes before a vp that rests. A tracer is told by
	 * enter_slow. */
	if (!c->vp || unlikely(load_acquire(&world_gate)) || load_relaxed(&orphans) ||
	    unlikely(load_relaxed(&c->hog)) || usdt_on() || !take_resting(c, c->vp))
		return false;
	perf_arm(c);
	bump(&c->vp->count.returns, 1);
	return true;
}

/* Takes a vp for t, which comes back to c. */
static bool take_any(struct carrier *c, const struct uk_thread *t)
{
	const struct uk_vpset *s = t->vp->set;

	if (take_orphan(c, t) || take_resting(c, t->pinned ? t->pinned : t->vp))
		return true;
	for (unsigned i = 0; !t->pinned && load_relaxed(&s->nidle) && i < s->n; i++)
		if (take_resting(c, s->vps[i]))
			return true;
	return false;
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
	found = likely(!c->dedicated) && take_any(c, t);
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
	called = NULL;
	for (uint32_t i = vp_count_all; i-- > 0;) {
		vp_all[i]->owner = 0;
		vp_all[i]->next_orphan = orphans;
		orphans = vp_all[i];
	}
}
