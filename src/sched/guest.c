/* SPDX-License-Identifier: Apache-2.0 */
/* guest.c - a user thread that stays on its carrier and counts as a foreign thread, so
 * its waits are the kernel's: the guest of the carrier. Only the preload library has
 * guests, for two reasons.
 *
 * A handler that interrupted user code may not park (law 3, docs/ARCHITECTURE.md). So
 * its thread is a guest until the handler ends. The carrier is marked, and is handed
 * off if it sleeps.
 *
 * A thread may be bound to its kernel thread (Solaris' THR_BOUND), for state that Linux
 * keeps for each kernel thread: credentials, capabilities, namespaces, a system call
 * filter. It is a guest until it ends. Its carrier has no vp and never runs another
 * thread, because the state stays with the kernel thread:
 *
 *  carrier  shared    --sched_bind--> dedicated, bound_to = the thread: its vp moves on
 *           dedicated --sched_unbind-> dedicated, bound_to = NULL: the thread ends
 *           dedicated --its dispatcher, before it becomes a spare-> the kernel thread
 *                                      ends (carrier_loop, carrier_retire)
 *  thread   user --sched_bind-> guest --sched_unbind-> user, on another carrier
 *
 * A signal handler may bind: then handler_end leaves its thread a guest.
 *
 * Rejected: a user thread that still parks, and whose vp is brought to its carrier when
 * it is ready (a test at each switch, and two hand-offs for each wait, which costs more
 * than the kernel's wait); to undo the state and set it again at each switch (a filter
 * cannot be removed).
 */
#include "sched/mute.h"
#include "sched/enter.h"

/* ---- in a handler ---- */

struct uk_thread *handler_thread(void)
{
	struct uk_thread *t = thread_self();

	if (!t || t->depth == DEPTH_VFORK)
		return NULL;
	if (load_relaxed(&t->kind) == THREAD_FOREIGN && t->carrier)
		t = t->carrier->current; /* its guest */
	return load_relaxed(&t->kind) == THREAD_USER ? t : NULL;
}

struct uk_thread *carrier_guest(struct carrier *c)
{
	if (!c->guest)
		c->guest = thread_guest();
	if (c->guest)
		c->guest->carrier = c;
	return c->guest;
}

struct uk_thread *handler_begin(void)
{
	struct uk_thread *t = thread_self(), *g;
	struct carrier *c;

	if (!t || load_relaxed(&t->kind) != THREAD_USER || t->depth)
		return NULL;
	c = t->carrier;
	g = carrier_guest(c);
	if (!g)
		/* no memory for the guest: then the thread may park, in a handler */
		return NULL;
	store_relaxed(&c->mark, 1);
	/* the thread may have been about to do this; while the handler waits, no fork
	 * or monitor must wait for c */
	handoff_out(c);
	fence_compiler();
	*thread_self_slot() = g;
	return t;
}

void handler_end(struct uk_thread *t)
{
	if (!t || t->carrier->bound_to == t)
		return;
	*thread_self_slot() = t;
	fence_compiler();
	store_relaxed(&t->carrier->mark, t->blocking ? 1u : 0u);
}

/* ---- bound ---- */

uint64_t carriers_dedicated;

/* Hands off c's vp, if it has one. Called in the runtime. */
static void leave_vp(struct carrier *c)
{
	struct uk_vp *vp = c->vp;

	run_deferred(c);
	if (unlikely(load_relaxed(&c->hog)))
		carrier_no_hog(c);
	if (!vp)
		return;
	bump(&vp->count.handoffs_mark, 1);
	c->vp = NULL;
	bell_mute(c);
	vp_give(vp);
}

int sched_bind(void)
{
	struct uk_thread *t = handler_thread(), *g;
	struct carrier *c;

	if (!t || t->depth || thread_self()->depth)
		/* a kernel thread, or a handler that interrupted the runtime */
		return 0;
	c = t->carrier;
	if (c->dedicated)
		return 0;
	g = carrier_guest(c);
	if (!g)
		return -ENOMEM;
	enter_staying(t);
	c->dedicated = true;
	store_relaxed(&c->bound_to, t);
	fetch_add_relaxed(&carriers_dedicated, 1);
	leave_vp(c);
	/* pairs with wait_cut and the load of bound_to in sched_cancel_bound */
	fence_seq_cst();
	store_relaxed(&g->asked, load_relaxed(&t->asked) & ASK_CANCEL);
	*thread_self_slot() = g;
	leave_staying(t);
	maker_wake(); /* a dedicated carrier does not count against the cap */
	return 0;
}

void sched_cancel_bound(struct uk_thread *t)
{
	struct carrier *c = load_acquire(&t->carrier);

	if (c && load_relaxed(&c->bound_to) == t)
		wait_cut(c->guest, ASK_CANCEL);
}

bool sched_bound(void)
{
	const struct uk_thread *t = handler_thread();

	return t && t->carrier->bound_to == t;
}

void sched_unbind(void)
{
	struct uk_thread *t = handler_thread();

	if (!sched_bound())
		return;
	store_relaxed(&t->carrier->bound_to, (struct uk_thread *)NULL);
	handler_end(t);
	rt_enter(); /* returns on another carrier */
	rt_exit();
}
