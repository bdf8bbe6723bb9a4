/* SPDX-License-Identifier: Apache-2.0 */
/* Barrier, reusable: all state lies under the lock of its bucket in the futex table.
 *
 * The last to arrive takes all nodes of this round out (TAKEN) and fires them. TAKEN is the
 * truth: a thread whose deadline passes at that instant has passed the barrier. One that is
 * still queued takes its arrival back. After the lock is let go the barrier is not touched,
 * so any thread that passed may free it.
 */
#include "sync/futex.h"
#include "uk/sync.h"

int uk_barrier_init(uk_barrier *b, uint32_t n)
{
	if (n == 0)
		return -EINVAL;
	*b = (uk_barrier){ .total = n };
	return 0;
}

/* Under the lock; n - 1 others are queued. */
static void open_barrier(uk_barrier *b, struct futex_bucket *fb)
{
	uint32_t left = b->arrived;
	struct futex_node *n = futex_first(fb, b), *next;

	store_relaxed(&b->arrived, 0); /* a dump may peek */
	b->phase++;
	for (; left; left--, n = next) {
		next = futex_next(fb, n);
		futex_take(n, FUTEX_TAKEN);
		wait_fire(n->thread, n->token, WAKE_OK);
	}
}

/* After a wake-up by clock or cancel: true if the barrier had opened. */
static bool passed(uk_barrier *b, struct futex_node *n)
{
	struct futex_bucket *fb = futex_lock_node(n);
	bool yes = n->state == FUTEX_TAKEN;

	if (!yes) {
		futex_take(n, FUTEX_LEFT);
		store_relaxed(&b->arrived, b->arrived - 1);
	}
	futex_unlock(fb);
	return yes;
}

int uk_barrier_wait_until(uk_barrier *b, uk_time deadline)
{
	struct uk_thread *t = enter_touching(b, sizeof(*b));
	struct futex_bucket *fb = futex_lock(b);
	struct futex_node n;
	unsigned why;

	if (b->arrived + 1 >= b->total) {
		open_barrier(b, fb);
		futex_unlock(fb);
		rt_exit();
		return 1;
	}
	store_relaxed(&b->arrived, b->arrived + 1);
	futex_push(fb, &n, b, t, wait_begin(t, WAIT_BARRIER, b), false);
	futex_unlock(fb);
	why = wait_park(t, n.token, deadline);
	if (why != WAKE_OK && passed(b, &n))
		why = WAKE_OK;
	rt_exit();
	return wake_error(why);
}

int uk_barrier_wait(uk_barrier *b)
{
	return uk_barrier_wait_until(b, TIME_NEVER);
}
