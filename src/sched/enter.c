/* SPDX-License-Identifier: Apache-2.0 */
/* enter.c - entering and leaving the runtime, and brackets around calls that may block.
 *
 * Runs on the stack of the calling thread. A signal handler that interrupts the runtime
 * may not enter it; what it wants done is deferred:
 *
 *   it interrupted        it is done by
 *   a user thread         the next thread that leaves the runtime on this carrier, or
 *                         the carrier's dispatcher
 *   a dispatcher          itself, at the top of its loop: it does not sleep before
 *   the same, no vp       the maker: a spare must not touch anything during a fork
 *   a foreign thread      itself, when it leaves or before it sleeps. Signals that the
 *                         preload library has put off wait until it leaves, because
 *                         their handlers may jump away
 *
 * A leaving thread sets depth to 0 first and looks at deferred then. So either the
 * thread sees what the handler deferred, or the handler sees depth 0 and does it
 * itself.
 *
 * A handler that comes in between, or that interrupts user code, finds the thread
 * outside and may enter. But the vp may be gone. Law 3 (docs/ARCHITECTURE.md: no
 * context is switched in a handler) forbids it to wait for another carrier, on which it
 * would return to code that knows the old one. So it stays on its carrier
 * (rt_enter_here), in the runtime without a vp, fires what it has to fire, and leaves.
 * In the preload library the handler's thread is a foreign thread (handler_begin), and
 * its carrier is outside the runtime. Modelled in tests/model/signal.pml.
 */
#include <pthread.h>

#include "base/log.h"
#include "base/sys.h"
#include "sched/mute.h"
#include "sched/fuzz.h"
#include "sched/enter.h"

static COLD NORETURN void child_of_vfork(void)
{
	if (load_acquire(&world_gate) == GATE_LOST)
		gate_wait(); /* panics with its own message */
	uk_panic("a child of vfork called the library: it may only exec or _exit");
}

COLD int rt_begin_slow(void)
{
	int r = sched_start();

	return r ? r : thread_foreign() ? 0 : -ENOMEM;
}

COLD int rt_adopt_slow(void)
{
	int r;

	set_lock_acquire();
	r = thread_init();
	set_lock_release();
	if (!r && !thread_foreign())
		r = -ENOMEM;
	if (!r && hooks.foreign_adopted)
		hooks.foreign_adopted();
	return r;
}

static COLD struct uk_thread *enter_foreign(void)
{
	int r = rt_begin();
	struct uk_thread *t;

	if (r)
		uk_panic("the runtime cannot start, or has no memory for this kernel "
			 "thread: error %d",
			 -r);
	t = thread_self_tls;
	if (load_relaxed(&t->kind) == THREAD_FOREIGN && !t->depth)
		enter_gate(t, 1);
	else if (unlikely(t->depth == DEPTH_VFORK))
		child_of_vfork();
	else
		store_relaxed(&t->depth, t->depth + 1);
	return t;
}

struct uk_thread *rt_enter(void)
{
	struct uk_thread *t = thread_self_tls;

	if (unlikely(!t || t->kind != THREAD_USER))
		return enter_foreign();
	if (unlikely(t->depth == DEPTH_VFORK))
		child_of_vfork();
	if (t->depth)
		t->depth++;
	else
		enter_user(t);
	return t;
}

void run_deferred(struct carrier *c)
{
	while (load_relaxed(&c->deferred)) {
		store_relaxed(&c->deferred, 0);
		fence_compiler();
		hooks.deferred_wake();
	}
}

/* For callers that may be signal handlers: t stays on its carrier. */
void enter_staying(struct uk_thread *t)
{
	struct carrier *c = t->carrier;

	t->depth = 1;
	if (unlikely(!handoff_in(c)))
		enter_here(c);
}

/* To do what was deferred, it enters the runtime once more, because a handler that came
 * since may have entered and left, and the vp may be gone. */
void leave_deferred(struct uk_thread *t)
{
	for (;;) {
		t->depth = 0;
		fence_compiler();
		if (likely(!load_relaxed(&t->carrier->deferred)))
			return;
		enter_staying(t);
		run_deferred(t->carrier);
	}
}

/* depth is 0: a handler that comes from now on does not defer, unless t waits. */
static bool wake_deferred_foreign(struct uk_thread *t)
{
	fence_compiler();
	if (likely(!load_relaxed(&t->deferred)))
		return false;
	store_relaxed(&t->deferred, 0);
	enter_gate(t, 1);
	hooks.deferred_wake();
	store_release(&t->depth, 0);
	return true;
}

void run_deferred_foreign(struct uk_thread *t)
{
	while (unlikely(wake_deferred_foreign(t)))
		if (hooks.foreign_signals)
			hooks.foreign_signals();
}

bool foreign_signalled(struct uk_thread *t)
{
	bool any = false;

	while (unlikely(wake_deferred_foreign(t)))
		any = hooks.foreign_signals != NULL;
	if (any)
		store_relaxed(&t->deferred, 1);
	return any;
}

#if UK_CHECKS
/* Loses the vp here and comes back by the slow path, as after a long system call. */
static void lose_vp(struct uk_thread *t)
{
	struct uk_vp *vp = t->carrier->vp;

	bump(&vp->count.handoffs_mark, 1);
	vp_loses(vp, t->carrier, t);
	t->carrier->vp = NULL;
	vp_give(vp);
	enter_slow(t, t->carrier);
}
#endif

/* t, outside the runtime, has ASK_SIGNAL set. */
static COLD void signals_deliver(struct uk_thread *t)
{
	store_release(&t->carrier->in_rt, 0);
	hooks.thread_signals(NULL);
}

static void leave(struct uk_thread *t)
{
	leave_deferred(t);
	if (unlikely(thread_asked(t, ASK_SIGNAL)))
		signals_deliver(t);
}

/* The same for a caller that is no handler, so t may move to another carrier. */
static COLD void leave_home(struct uk_thread *t)
{
	leave_deferred(t);
	if (unlikely(thread_asked(t, ASK_HOME)))
		guest_home(t);
	if (unlikely(thread_asked(t, ASK_SIGNAL)))
		signals_deliver(t);
}

COLD void exit_slow(struct uk_thread *t)
{
#if UK_CHECKS
	if (fuzz_once_in(UK_HOSTILE ? 16 : 256)) {
		enter_user(t);
		lose_vp(t);
	}
#endif
	leave_home(t);
}

void leave_staying(struct uk_thread *t)
{
	leave(t);
	handoff_out(t->carrier);
}

void rt_enter_here(void)
{
	struct uk_thread *t = thread_self_tls;

	if (t->kind == THREAD_USER)
		enter_staying(t);
	else
		rt_enter();
}

void rt_exit_here(void)
{
	struct uk_thread *t = thread_self_tls;

	if (t->kind != THREAD_USER) {
		rt_exit();
		return;
	}
	leave_staying(t);
}

void rt_exit(void)
{
	struct uk_thread *t = thread_self_tls;

	if (t->depth > 1) {
		t->depth--;
		return;
	}
	if (likely(t->kind == THREAD_USER)) {
		exit_user(t);
		return;
	}
	/* release: a fork that sees 0 sees what we did (pairs with fork.c) */
	store_release(&t->depth, 0);
	run_deferred_foreign(t);
	if (unlikely(thread_asked(t, ASK_SIGNAL))) {
		thread_signals_seen(t);
		hooks.thread_signals(NULL);
	}
}

bool rt_in_runtime(void)
{
	struct uk_thread *t = thread_self_tls;

	return t && (t->depth || t->kind == THREAD_DISPATCHER);
}

bool rt_defer_wake(void)
{
	struct uk_thread *t = thread_self_tls;
	struct carrier *c;

	if (!t || !t->depth)
		return false;
	if (t->kind == THREAD_FOREIGN) {
		store_relaxed(&t->deferred, 1);
		return true;
	}
	c = t->carrier;
	if (t->kind == THREAD_DISPATCHER && !c->vp) {
		maker_defer();
		return true;
	}
	store_relaxed(&c->deferred, 1);
	fence_compiler();
	/* the dispatcher may have looked already, and be about to sleep */
	if (t->kind == THREAD_DISPATCHER)
		reactor_kick(&c->vp->reactor);
	return true;
}

INLINE void block_user(struct uk_thread *t, bool release)
{
	struct carrier *c = t->carrier;
	struct uk_vp *vp = c->vp;

	dbg_assert(t->depth == 1);
	run_deferred(c); /* the threads that it wakes count as waiting work */
	store_relaxed(&c->mark, 1);
	if (release || fuzz_once_in(4)) {
		bump(&vp->count.handoffs_mark, 1);
		store_relaxed(&vp->burst, (uint8_t)VP_BURST);
		vp_loses(vp, c, t);
		perf_mute(c);
		vp_give(vp);
	}
	t->depth = 0;
	fence_compiler(); /* as in exit_user */
	if (unlikely(load_relaxed(&c->deferred)) ||
	    unlikely(thread_asked(t, ASK_HOME | ASK_SIGNAL)))
		leave_home(t);
	/* not c: a handler may have entered meanwhile, and moved t */
	handoff_out(t->carrier);
}

INLINE void unblock_user(struct uk_thread *t)
{
	struct carrier *c = t->carrier;
	bool in;

	t->depth = 1;
	in = handoff_in(c);
	store_relaxed(&c->mark, 0);
	if (!in && !handoff_back(c))
		enter_slow(t, c);
}

void block_begin(struct uk_thread *t, bool release)
{
	if (likely(t->kind == THREAD_USER)) {
		block_user(t, release);
		return;
	}
	store_release(&t->depth, 0);
	run_deferred_foreign(t);
}

void block_end(struct uk_thread *t)
{
	if (likely(t->kind == THREAD_USER))
		unblock_user(t);
	else
		enter_gate(t, 1);
}

void outside_begin(struct uk_thread *t)
{
	if (unlikely(t->kind != THREAD_USER)) {
		store_release(&t->depth, 0);
		run_deferred_foreign(t);
		return;
	}
	dbg_assert(t->depth == 1);
	exit_user(t);
}

void outside_end(struct uk_thread *t)
{
	if (unlikely(t->kind != THREAD_USER))
		enter_gate(t, 1);
	else
		enter_user(t);
}

UK_API void uk_blocking_begin(void)
{
	struct uk_thread *t = enter_any();

	if (likely(!t->blocking++ && t->kind == THREAD_USER))
		block_user(t, true);
	else
		rt_exit();
}

UK_API void uk_blocking_end(void)
{
	struct uk_thread *t = thread_self_tls;

	if (!t || !t->blocking || --t->blocking || t->kind != THREAD_USER)
		return;
	unblock_user(t);
	exit_user(t);
}

struct uk_vp *sched_vp(const struct uk_thread *t)
{
	return t->kind == THREAD_USER ? t->carrier->vp : NULL;
}

int64_t sched_clock_coarse(const struct uk_thread *t)
{
	return t->kind == THREAD_USER ? t->carrier->vp->clock : sys_now();
}

struct vp_count sched_foreign_count;

struct vp_count *sched_count(struct uk_thread *t)
{
	return t->kind == THREAD_FOREIGN ? &sched_foreign_count
					 : &t->carrier->vp->count;
}
