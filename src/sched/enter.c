/* SPDX-License-Identifier: Apache-2.0 */
/* Entering and leaving the runtime, and brackets around calls that may block.
 *
 * Runs on the stack of the thread that calls us. Signal handlers: a handler that interrupts
 * the runtime may not enter it; what it wants done is deferred to the next rt_exit.
 */
#include <pthread.h>

#include "base/panic.h"
#include "base/sys.h"
#include "sched/fuzz.h"
#include "sched/vp.h"

void (*deferred_wake)(const void *addr);

static COLD struct uk_thread *enter_foreign(void)
{
	struct uk_thread *t = thread_self_tls;

	if (!t) {
		int r = sched_start();

		if (r)
			uk_panic("the runtime cannot start: error %d", -r);
		t = thread_foreign();
		if (!t)
			uk_panic("no memory for the descriptor of a kernel thread");
	}
	t->depth++;
	return t;
}

struct uk_thread *rt_enter(void)
{
	struct uk_thread *t = thread_self_tls;
	struct carrier *c;

	if (unlikely(!t || t->kind != THREAD_USER))
		return enter_foreign();
	if (t->depth++)
		return t;
	c = t->carrier;
	store_relaxed(&c->in_rt, 1);
	/* the load of owner must not be seen before the store: the monitor's membarrier
	 * orders them for us (pairs with vp_revoke) */
	fence_compiler();
	if (unlikely(!c->vp || load_acquire(&c->vp->owner) != (uintptr_t)c))
		enter_slow(t, c);
	return t;
}

static COLD void run_deferred(struct uk_thread *t, struct carrier *c)
{
	while (c->ndeferred) {
		const void *addr = c->deferred[--c->ndeferred];

		deferred_wake(addr);
		c = t->carrier;
	}
}

void run_deferred_foreign(struct uk_thread *t)
{
	/* depth is 0: a handler that comes now does not defer any more */
	fence_compiler();
	while (unlikely(load_relaxed(&t->deferred))) {
		store_relaxed(&t->deferred, 0);
		t->depth++;
		deferred_wake(NULL);
		t->depth--;
		fence_compiler();
	}
}

#if UK_DEBUG
/* Hostile: lose the vp here and come back by the slow path, as after a long system call. */
static void lose_vp(struct uk_thread *t)
{
	struct uk_vp *vp = t->carrier->vp;

	vp->count.handoffs_mark++;
	t->carrier->vp = NULL;
	vp_give(vp);
	enter_slow(t, t->carrier);
}
#endif

void rt_exit(void)
{
	struct uk_thread *t = thread_self();
	struct carrier *c;

	if (--t->depth)
		return;
	if (unlikely(t->kind != THREAD_USER)) {
		run_deferred_foreign(t);
		return;
	}
#if UK_DEBUG
	if (fuzz_once_in(UK_HOSTILE ? 16 : 256)) {
		t->depth++;
		lose_vp(t);
		t->depth--;
	}
#endif
	c = t->carrier;
	if (unlikely(c->ndeferred)) {
		t->depth++;
		run_deferred(t, c);
		t->depth--;
		c = t->carrier;
	}
	fence_compiler();
	store_release(&c->in_rt, 0);
}

bool rt_in_runtime(void)
{
	struct uk_thread *t = thread_self_tls;

	return t && (t->depth || t->kind == THREAD_DISPATCHER);
}

bool rt_defer_wake(const void *addr)
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
	if (c->ndeferred && c->deferred[c->ndeferred - 1] == addr)
		return true;
	if (c->ndeferred >= DEFERRED_MAX)
		uk_panic("a signal handler posted more than %d semaphores", DEFERRED_MAX);
	c->deferred[c->ndeferred] = addr;
	fence_compiler();
	c->ndeferred++;
	return true;
}

void block_begin(struct uk_thread *t, bool release)
{
	struct carrier *c;
	struct uk_vp *vp;

	if (t->kind != THREAD_USER)
		return;
	dbg_assert(t->depth == 1);
	c = t->carrier;
	vp = c->vp;
	store_relaxed(&c->mark, 1);
	if ((release && (vp_has_work(vp) || vp->reactor.pending || wheel_count(&vp->wheel))) ||
	    fuzz_once_in(4)) {
		vp->count.handoffs_mark++;
		c->vp = NULL;
		vp_give(vp);
	}
	t->depth = 0;
	fence_compiler();
	store_release(&c->in_rt, 0);
}

void block_end(struct uk_thread *t)
{
	struct carrier *c;

	if (t->kind != THREAD_USER)
		return;
	t->depth = 1;
	c = t->carrier;
	store_relaxed(&c->in_rt, 1);
	fence_compiler();
	store_relaxed(&c->mark, 0);
	if (unlikely(!c->vp || load_acquire(&c->vp->owner) != (uintptr_t)c))
		enter_slow(t, c);
}

struct uk_vp *sched_vp(const struct uk_thread *t)
{
	return t->kind == THREAD_USER ? t->carrier->vp : NULL;
}

int64_t sched_clock_coarse(const struct uk_thread *t)
{
	return t->kind == THREAD_USER ? t->carrier->vp->clock : sys_now();
}

static struct vp_count foreign_count;

struct vp_count *sched_count(struct uk_thread *t)
{
	return t->kind == THREAD_FOREIGN ? &foreign_count : &t->carrier->vp->count;
}

struct vp_count *sched_foreign_count(void)
{
	return &foreign_count;
}
