/* SPDX-License-Identifier: Apache-2.0 */
/* handoff.h - which carrier has a vp, and how the vp moves. Modelled in
 * tests/model/handoff.pml.
 *
 * vp->owner holds the address of the carrier that has the vp (here C; S is a spare, R
 * returns from a call). VP_RESTS is a value of vp->idle:
 *
 *   0    --take (S, R; under the lock)--> S or R
 *   C    --monitor's CAS--> C|REVOKING
 *   C|REVOKING --monitor, C->in_rt seen 0 after membarrier--> 0, or 0 and VP_RESTS
 *   C|REVOKING --monitor, C->in_rt seen 1--> C (backs off)
 *   C|REVOKING --C itself, entering the runtime--> C (reclaims; monitor's CAS fails)
 *   C    --C itself gives up (block_begin)--> 0, or 0 and VP_RESTS
 *   0 and VP_RESTS --C or R, returning: CAS of idle--> C or R
 *   0 and VP_RESTS --a thread that gives it work (vp_kick): clears idle--> 0
 *   C    --a fork (the monitor is locked out)--> C|REVOKING; after the fork back to C
 *
 * Entering the runtime is two plain stores and a load: in_rt = 1; compiler barrier; is
 * owner still me? The monitor pays for the missing fence with membarrier(2): after it,
 * either the monitor sees in_rt == 1, or the carrier's next load of owner sees
 * REVOKING.
 *
 * A carrier without a vp is a spare: it sleeps on its own futex word until it is given
 * a vp. A vp without a carrier is an orphan: the next carrier that becomes free takes
 * it (a new spare, or a thread that comes back from the kernel). One lock guards both
 * lists, so that a spare and an orphan never wait for each other.
 *
 * An orphan that has nothing to run, to wait for or to steal rests instead, in no list:
 * idle is VP_RESTS, and whoever clears that has the vp. A thread that gives it something
 * puts it into the list and calls a spare (vp_call). A thread that comes back takes it
 * for itself, without the lock. Modelled in tests/model/rest.pml.
 *
 * Rejected: one spare named for each vp, taken by CAS before the list is used: lock and
 * lists cost 20 ns, a wake-up alone 4 to 18 us.
 */
#ifndef SCHED_HANDOFF_H
#define SCHED_HANDOFF_H

#include "base/usdt.h"
#include "sched/vp.h"

#define VP_REVOKING ((uintptr_t)1)

/* The carrier that has vp, even if it is about to lose it; NULL: an orphan. Acquire:
 * the reader sees what the thread that gave the vp to it did. */
INLINE struct carrier *vp_carrier(const struct uk_vp *vp)
{
	return (struct carrier *)(load_acquire(&vp->owner) & ~VP_REVOKING);
}

INLINE bool vp_is_mine(const struct uk_vp *vp, const struct carrier *c)
{
	return vp && load_acquire(&vp->owner) == (uintptr_t)c;
}

/* c, the caller, enters the runtime. False: it has no vp, or perhaps not any more: call
 * enter_slow. */
INLINE bool handoff_in(struct carrier *c)
{
	store_relaxed(&c->in_rt, 1);
	/* the load of owner must not be seen before the store of in_rt: the monitor's
	 * membarrier orders them for us (pairs with vp_revoke) */
	fence_compiler();
	return vp_is_mine(c->vp, c);
}

/* c, the caller, leaves. Release: a thread that sees 0 sees everything that c did
 * inside. */
INLINE void handoff_out(struct carrier *c)
{
	fence_compiler();
	store_release(&c->in_rt, 0);
}

/* The part of vp_loses for a tracer. */
void tell_loss(struct uk_vp *vp, struct carrier *c, const struct uk_thread *t);

/* c is about to lose vp; t, which it runs, gives vp away, or NULL: the monitor. */
INLINE void vp_loses(struct uk_vp *vp, struct carrier *c, const struct uk_thread *t)
{
	store_relaxed(&c->lost_at, 0);
	store_relaxed(&vp->lost_at, 0);
	store_relaxed(&vp->lost_by, 0);
	if (usdt_on())
		tell_loss(vp, c, t);
}

/* held by the monitor while it looks at vps; a fork takes it to keep the monitor out */
extern struct lock watch_lock;
/* c has entered the runtime (in_rt == 1), and handoff_in returned false. */
void enter_slow(struct uk_thread *t, struct carrier *c);
/* To be tried before it. True: c has taken back its vp, which rested. */
bool handoff_back(struct carrier *c);
/* The same, but it stays on this carrier, if need be without a vp: then false. */
bool enter_here(struct carrier *c);
/* Called by the thread that in fact holds vp. vp goes to a spare, becomes an orphan, or
 * rests. */
void vp_give(struct uk_vp *vp);
/* Called by the thread that cleared vp's idle, which was VP_RESTS. Async-signal-safe. */
void vp_call(struct uk_vp *vp);
/* The monitor takes vp away from c, and calls vp_give next. Returns the thread that c
 * runs; NULL: c keeps vp. */
struct uk_thread *vp_revoke(struct uk_vp *vp, struct carrier *c);
/* c is a spare from now on; returns when it has a vp. */
void handoff_wait(struct carrier *c);

/* Around a fork (lifecycle/fork.c). True: every carrier but mine is outside the runtime
 * with its vp marked, or has stopped (at the gate, or as a spare), and no vp changes
 * hands. False: carriers that have not stopped yet were sent MSG_STOP. */
bool handoff_stop(const struct carrier *mine);
void handoff_go(void);
/* Only the lock, without the marks: for a child whose runtime no thread has entered
 * yet. */
void handoff_lock(void);
void handoff_unlock(void);
void handoff_forget(void); /* the child: no carrier is left, all vps are orphans */

#endif
