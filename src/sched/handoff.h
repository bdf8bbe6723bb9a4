/* SPDX-License-Identifier: Apache-2.0 */
/* handoff.h - who has a vp, and how it moves. Modelled in tests/model/handoff.pml.
 *
 * Whoever's carrier address stands in vp->owner has it:
 *
 *   0    --take (spare, returner; under the lock)--> C
 *   C    --monitor's CAS--> C|REVOKING
 *   C|REVOKING --monitor, C->in_rt seen 0 after membarrier--> 0 or the spare S
 *   C|REVOKING --monitor, C->in_rt seen 1--> C          (backs off)
 *   C|REVOKING --C itself, on entering the runtime--> C (reclaims; the monitor's CAS fails)
 *   C    --C itself gives up (block_begin)--> 0 or S
 *   C    --who forks (the monitor is locked out)--> C|REVOKING; after the fork back to C
 *
 * Entering the runtime is two plain stores and a load: in_rt = 1; compiler barrier; is
 * owner still me? The monitor pays for the missing fence with membarrier(2): after it,
 * either it sees in_rt == 1, or the carrier's next look at owner sees REVOKING.
 *
 * A carrier without a vp is a spare: it sleeps on its own futex word until somebody gives
 * it a vp. A vp without a carrier is an orphan: the next carrier that becomes free takes it
 * (a spare just made, or a thread that comes back from the kernel). Both lists are under
 * one lock, so that a spare and an orphan never wait for each other.
 *
 * An orphan that has nothing to run, to wait for or to steal rests: idle is set, as if its
 * dispatcher slept, and no spare is woken for it. Who gives it something clears idle and
 * calls one (vp_call); who comes back takes it by itself. Modelled in tests/model/rest.pml.
 *
 * Rejected: one named standby for each vp, taken by CAS, before the list: to give a vp
 * away and to take it back, lock and lists, is 20 ns, a wake-up alone 4 to 18 us.
 *
 * Rejected: ownership by index into an array that a BPF program maps (it reads a carrier's two
 * words where they lie, by bpf_probe_read_user, and would gain nothing).
 */
#ifndef SCHED_HANDOFF_H
#define SCHED_HANDOFF_H

#include "sched/vp.h"

#define VP_REVOKING ((uintptr_t)1)

/* Who has it, though somebody may be about to take it away; NULL: an orphan. Acquire: the
 * reader sees what who gave it did. */
INLINE struct carrier *vp_carrier(const struct uk_vp *vp)
{
	return (struct carrier *)(load_acquire(&vp->owner) & ~VP_REVOKING);
}

INLINE bool vp_is_mine(const struct uk_vp *vp, const struct carrier *c)
{
	return vp && load_acquire(&vp->owner) == (uintptr_t)c;
}

/* c, the caller, comes into the runtime. False: it has no vp, or not for sure: enter_slow. */
INLINE bool handoff_in(struct carrier *c)
{
	store_relaxed(&c->in_rt, 1);
	/* the load of owner must not be seen before the store: the monitor's membarrier
	 * orders them for us (pairs with vp_revoke) */
	fence_compiler();
	return vp_is_mine(c->vp, c);
}

/* And out. Release: who sees 0 sees what it did in there. */
INLINE void handoff_out(struct carrier *c)
{
	fence_compiler();
	store_release(&c->in_rt, 0);
}

extern struct lock
    watch_lock; /* held by the monitor while it looks; a fork keeps it out */
/* c has come into the runtime (in_rt == 1), and handoff_in said no. */
void enter_slow(struct uk_thread *t, struct carrier *c);
/* The same, but it stays where it is, if need be without a vp: false. */
bool enter_here(struct carrier *c);
/* The caller holds vp in fact: to a spare; or it is an orphan, that rests if it has nothing to
 * do, and nobody is woken for it. */
void vp_give(struct uk_vp *vp);
/* An orphan's idle was cleared. Async-signal-safe. */
void vp_call(void);
/* The monitor; true: it moved. */
bool vp_revoke(struct uk_vp *vp, struct carrier *c);
/* c, a spare from now on, until it has a vp. */
void handoff_wait(struct carrier *c);

/* Around a fork (life/fork.c). True: every carrier but mine is outside the runtime with its vp
 * marked, or stands at the gate, and no vp changes hands; who does not stand yet was called. */
bool handoff_stop(const struct carrier *mine);
void handoff_go(void);
/* Without the marks: nobody has come into the child's runtime yet. */
void handoff_lock(void);
void handoff_unlock(void);
void handoff_forget(void); /* the child: no carrier is left, all vps are orphans */

#endif
