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
 *           dedicated --the thread is away-> its dispatcher waits (guest_wait)
 *           dedicated --sched_unbind-> dedicated, bound_to = NULL: the thread ends
 *           dedicated --its dispatcher, if bound_to is NULL-> the kernel thread ends
 *                                      (carrier_loop, carrier_retire)
 *  thread   user --sched_bind-> guest --sched_unbind-> user, on another carrier
 *           guest --guest_away-> user, on another carrier --guest_home-> guest
 *
 * A signal handler may bind, and so may the end of a call (a policy that another thread
 * has set). The code that it interrupted, or that it returns to, may hold the user
 * thread and enter the runtime as that. It finds no vp there, so it goes on on another
 * carrier (guest_away), where its waits end at once, and comes back when it leaves the
 * runtime (guest_home). Only a thread outside the runtime sets or sees the state that
 * the kernel keeps, so nobody notices. Modelled in tests/model/guest.pml.
 *
 * Rejected: a user thread that still parks, and whose vp is brought to its carrier when
 * it is ready (a test at each switch, and two hand-offs for each wait, which costs more
 * than the kernel's wait); to undo the state and set it again at each switch (a filter
 * cannot be removed).
 */
#include "base/sys.h"
#include "sched/mute.h"
#include "sched/switch.h"

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
	if (unlikely(!c->guest)) {
		/* as if inside the runtime: a handler that interrupts this one must not
		 * wait for the lock that this one holds. But not inside: a forked child
		 * would start its threads. */
		t->depth = 1;
		fence_compiler();
		carrier_guest(c);
		leave_deferred(t);
	}
	g = c->guest;
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

/* Hands off the vp of c, which runs t, if it has one. Called in the runtime. */
static void leave_vp(struct carrier *c, const struct uk_thread *t)
{
	struct uk_vp *vp = c->vp;

	run_deferred(c);
	if (unlikely(load_relaxed(&c->hog)))
		carrier_no_hog(c);
	if (!vp)
		return;
	bump(&vp->count.handoffs_mark, 1);
	vp_loses(vp, c, t);
	c->vp = NULL;
	perf_mute(c);
	vp_give(vp);
}

/* t, whose carrier is its own, is a guest from now on. */
static void become_guest(struct uk_thread *t)
{
	struct uk_thread *g = t->carrier->guest;

	/* pairs with wait_cut and the load of bound_to in sched_cancel_bound */
	fence_seq_cst();
	store_relaxed(&g->asked, load_relaxed(&t->asked) & ASK_CANCEL);
	*thread_self_slot() = g;
}

/* t is inside the runtime, on c, which is about to be its own. */
static int bind_to(struct uk_thread *t, struct carrier *c, const char *why)
{
	struct thread_ext *e = thread_ext(t);

	if (!e || !carrier_guest(c))
		return -ENOMEM;
	store_relaxed(&e->bound_for, why);
	store_release(&e->bound, c); /* others read its tid */
	t->blocking = 0;             /* its calls block in the kernel from now on */
	store_relaxed(&c->dedicated, true); /* others read it (pt_policy.c) */
	store_relaxed(&c->bound_to, t);
	fetch_add_relaxed(&carriers_dedicated, 1);
	leave_vp(c, t);
	become_guest(t);
	return 0;
}

int sched_bind(const char *why)
{
	struct uk_thread *t = handler_thread();
	int r;

	if (!t || t->depth || thread_self()->depth)
		/* a kernel thread, or a handler that interrupted the runtime */
		return 0;
	if (t->carrier->dedicated)
		return 0;
	if (thread_bound(t)) /* a handler; the thread is about to go home */
		return -EAGAIN;
	enter_staying(t);
	r = bind_to(t, t->carrier, why);
	leave_staying(t);
	if (!r)
		maker_wake(); /* a dedicated carrier does not count against the cap */
	return r;
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

	return t && thread_bound(t);
}

void sched_unbind(void)
{
	struct uk_thread *t = handler_thread();

	if (!sched_bound())
		return;
	store_relaxed(&t->carrier->bound_to, (struct uk_thread *)NULL);
	store_relaxed(&t->ext->bound, (struct carrier *)NULL);
	handler_end(t);
	rt_enter(); /* returns on another carrier */
	rt_exit();
}

/* ---- away ---- */

void guest_away(struct uk_thread *t)
{
	*thread_self_slot() = t;
	/* so it leaves by exit_slow, wherever it arrives, and does not wait before */
	fetch_or_acq_rel(&t->asked, ASK_SIGNAL | ASK_HOME);
}

void guest_home(struct uk_thread *t)
{
	enter_staying(t);
	switch_to(t->carrier, t, &t->carrier->disp, POST_HOME);
	fetch_and_acq_rel(&t->asked, (uint8_t)~ASK_HOME);
	t->depth = 0;
	handoff_out(t->carrier);
	become_guest(t);
}

void guest_send(struct uk_thread *t)
{
	struct carrier *c = t->ext->bound;

	/* a fork that has seen c stopped waits for the caller, which is inside */
	handoff_lock();
	c->comes = t;
	store_relaxed(&c->stopped, 0);
	store_release(&c->wake, 1);
	handoff_unlock();
	sys_futex_wake(&c->wake, 1);
}

/* True: it has come already. */
static bool waits_for_guest(struct carrier *c)
{
	bool come;

	handoff_lock();
	come = c->comes;
	if (!come) {
		c->wake = 0;
		store_relaxed(&c->stopped, 1);
	}
	handoff_unlock();
	return come;
}

void guest_wait(struct carrier *c)
{
	struct uk_thread *t;

	run_deferred(c);
	if (!waits_for_guest(c))
		while (!load_acquire(&c->wake))
			sys_futex_wait(&c->wake, 0, TIME_NEVER);
	t = c->comes;
	c->comes = NULL;
	switch_to(c, &c->disp, t, POST_NONE);
}
