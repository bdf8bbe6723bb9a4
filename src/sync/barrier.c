/* SPDX-License-Identifier: Apache-2.0 */
/* Barrier, reusable. All its state is under the lock of its bucket in the futex table.
 *
 * The last thread to arrive takes all nodes of this round out of the queue (TAKEN) and
 * fires them. The node decides: a thread whose deadline passes at that instant but
 * whose node is TAKEN has passed the barrier. A thread that is still queued takes its
 * arrival back. After the lock is released the barrier is not touched, so any thread
 * that passed may free it.
 *
 * In the preload library a thread that a signal handler interrupts has arrived all the
 * same: the others may pass while the handler runs, which may wait for just that. Until
 * it comes back, the thread counts as away and is out of the queue, because a handler
 * may be left by a jump. The phase tells it whether the barrier has opened meanwhile.
 */
#include "sync/barrier.h"

#include <limits.h>

#include "uk/sync.h"

int uk_barrier_init(uk_barrier *b, uint32_t n)
{
	if (n == 0)
		return -EINVAL;
	*b = (uk_barrier){ .total = n };
	return 0;
}

/* Under the lock; n - 1 other threads are queued or away. */
static void open_barrier(uk_barrier *b, struct futex_bucket *fb)
{
	struct futex_node *n = futex_first(fb, b), *next;

	store_relaxed(&b->arrived, 0); /* a dump may read it */
	b->phase++;
	for (; n; n = next) {
		next = futex_next(fb, n);
		futex_take(n, FUTEX_TAKEN);
		wait_fire(n->thread, n->token, WAKE_OK);
	}
}

/* Under the lock: count one more arrival. True: it was the last one. */
static bool arrive(uk_barrier *b, struct futex_bucket *fb)
{
	bool last = b->arrived + 1 >= b->total;

	if (last)
		open_barrier(b, fb);
	else
		store_relaxed(&b->arrived, b->arrived + 1);
	return last;
}

/* Under the lock, which it releases. Returns the reason of the wake-up. */
static unsigned sleep_queued(uk_barrier *b, struct futex_bucket *fb,
			     struct futex_node *n, struct uk_thread *t,
			     int64_t deadline)
{
	futex_push(fb, n, b, t, wait_begin(t, WAIT_BARRIER, b), false);
	futex_unlock(fb);
	return wait_park(t, n->token, deadline);
}

/* After a wake-up by deadline, cancellation or signal: true if the barrier had opened.
 * If not, the thread leaves the queue, and *count changes by `by`. */
static bool passed(struct futex_node *n, uint32_t *count, int by)
{
	struct futex_bucket *fb = futex_lock_node(n);
	bool yes = n->state == FUTEX_TAKEN;

	if (!yes) {
		futex_take(n, FUTEX_LEFT);
		store_relaxed(count, *count + (uint32_t)by);
	}
	futex_unlock(fb);
	return yes;
}

int uk_barrier_wait(uk_barrier *b)
{
	struct uk_thread *t = enter_touching(b, sizeof(*b));
	struct futex_node *n = futex_node_of(t);
	struct futex_bucket *fb = futex_lock(b);
	unsigned why;

	if (arrive(b, fb)) {
		futex_unlock(fb);
		rt_exit();
		return 1;
	}
	why = sleep_queued(b, fb, n, t, TIME_NEVER);
	if (why != WAKE_OK && passed(n, &b->arrived, -1))
		why = WAKE_OK;
	rt_exit();
	return wake_error(why);
}

/* Under the lock: one thread fewer is away. True: the barrier has opened meanwhile.
 * Then the lock is released and b is not touched again; only the address of its count
 * is used, to wake a thread that waits to destroy the barrier. */
static bool opened(uk_barrier *b, uint32_t *away, uint32_t phase,
		   struct futex_bucket *fb)
{
	uint32_t left = *away - 1;
	bool yes = b->phase != phase;

	store_release(away, left); /* pairs with pthread_barrier_destroy */
	if (!yes)
		return false;
	futex_unlock(fb);
	if (!left)
		futex_wake(away, INT_MAX, FUTEX_ANY);
	return true;
}

int barrier_stay(uk_barrier *b, uint32_t *away, struct barrier_stay *s)
{
	struct uk_thread *t = enter_touching(b, sizeof(*b));
	struct futex_bucket *fb;
	unsigned why;

	futex_rank(&s->n, t);
	fb = futex_lock(b);
	if (s->away && opened(b, away, s->phase, fb)) {
		rt_exit();
		return 0;
	}
	if (!s->away && arrive(b, fb)) {
		futex_unlock(fb);
		rt_exit();
		return 1;
	}
	s->phase = b->phase;
	why = sleep_queued(b, fb, &s->n, t, TIME_NEVER);
	if (why != WAKE_OK && passed(&s->n, away, 1))
		why = WAKE_OK;
	s->away = why != WAKE_OK;
	rt_exit(); /* signal handlers run here */
	return wake_error(why);
}
