/* SPDX-License-Identifier: Apache-2.0 */
/* bound.c - a user thread that is bound to its kernel thread (Solaris' THR_BOUND), for what
 * Linux keeps for each kernel thread: credentials, capabilities, namespaces, a system call filter.
 * Only the drop-in binds.
 *
 * Such a thread is its carrier's guest for good, as a signal handler is for a while (signal.c):
 * a foreign thread, whose waits are the kernel's. Its carrier has no vp, and never runs another
 * thread, for what was set stays with the kernel thread:
 *
 *   the carrier  shared --sched_bind----> dedicated, bound_to = the thread   its vp moves on
 *                dedicated --sched_unbind--> dedicated, bound_to = NULL      the thread ends
 *                dedicated --its dispatcher, on the way to be a spare--> the kernel thread ends
 *                                                        (carrier_loop, carrier_retire)
 *   the thread   user --sched_bind--> guest --sched_unbind--> user, on another carrier
 *
 * A signal handler may bind: handler_end leaves its thread a guest.
 *
 * Rejected: a user thread that still parks, and has its vp brought to its carrier when it is
 * ready (a test at each switch, and two hand-offs for each wait, which costs more than the
 * kernel's wait); what was set taken back and set again at each switch (a filter can't be). */
#include "sched/bell.h"
#include "sched/enter.h"

uint64_t carriers_dedicated;

/* The vp moves on, if c has one. In the runtime. */
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
		return 0; /* a kernel thread; or it interrupted the runtime */
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
	fence_seq_cst(); /* pairs with wait_cut and the look in sched_cancel_bound */
	store_relaxed(&g->asked, load_relaxed(&t->asked) & ASK_CANCEL);
	*thread_self_slot() = g;
	leave_staying(t);
	maker_wake(); /* it does not count any more */
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
	rt_enter(); /* and comes back on another carrier */
	rt_exit();
}
