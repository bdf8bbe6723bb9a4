/* SPDX-License-Identifier: Apache-2.0 */
/* Condition: a queue in the futex table (key = the condition).
 *
 * A waiter queues before it gives the mutex up, so whoever changes the state under the
 * mutex and signals finds it: no signal is lost. A signal takes the oldest node out, and
 * who comes later queues later: no wake-up is stolen.
 *
 * Whom a signal or broadcast takes is not woken to collide with the mutex; he is moved to
 * its queue (mutex_adopt), and at most one is woken, if the mutex is free. From the move on
 * he has been signalled: a time-out or cancel that fires after it returns 0. One that fires
 * before it leaves the signal to the next waiter.
 *
 *   node on c ------signal: moved--> node on m --unlock--> wakes with WOKEN, or HANDED
 *      |                                 |
 *      +--clock, cancel: LEFT            +--clock, cancel: LEFT, yet signalled
 *
 * The mutex is re-taken without deadline and regardless of cancellation.
 */
#include "sync/mutex.h"

/* c->waiters: nodes on c; bucket's lock to write, signal peeks without (it sees every
 * waiter that queued before the mutex was last released to him) */

static void take_out(uk_cond *c, unsigned n)
{
	store_relaxed(&c->waiters, c->waiters - n);
}

/* After the wake-up: were we signalled; *woken: and hold the mutex's WOKEN bit. */
static bool settle(uk_cond *c, uk_mutex *m, struct futex_node *n, unsigned why,
		   bool *woken)
{
	struct futex_bucket *b;

	*woken = false;
	if (why == WAKE_OK) { /* only the mutex fires with it */
		*woken = n->state == FUTEX_TAKEN;
		return true;
	}
	b = futex_lock_node(n);
	if (n->state == FUTEX_QUEUED) {
		futex_take(n, FUTEX_LEFT);
		if (n->key == c)
			take_out(c, 1);
		else
			mutex_waiter_left(m, b);
	}
	futex_unlock(b);
	return n->key == m;
}

int uk_cond_wait_until(uk_cond *c, uk_mutex *m, uk_time deadline)
{
	struct uk_thread *t = enter_touching(c, sizeof(*c));
	struct mutex_wait how = { .deadline = TIME_NEVER, .uncancelable = true };
	struct futex_node n = { .arg = m };
	struct futex_bucket *b;
	bool signalled;
	uint32_t depth;
	unsigned why;

	if (!mutex_owned(m, t)) {
		rt_exit();
		return -EPERM;
	}
	b = futex_lock(c);
	futex_push(b, &n, c, t, wait_begin(t, WAIT_COND, c), false);
	store_relaxed(&c->waiters, c->waiters + 1);
	futex_unlock(b);
	depth = m->depth;
	m->depth = 0;
	mutex_release(m, t);
	why = wait_park(t, n.token, deadline);
	signalled = settle(c, m, &n, why, &how.woken);
	if (n.state != FUTEX_HANDED)
		mutex_lock_wait(m, t, &how);
	m->depth = depth;
	rt_exit();
	return signalled ? 0 : wake_error(why);
}

int uk_cond_wait(uk_cond *c, uk_mutex *m)
{
	return uk_cond_wait_until(c, m, TIME_NEVER);
}

/* c's bucket is locked: lock m's too, in address order. If c's had to be let go for it,
 * false: look again. */
static bool lock_also(struct futex_bucket *bc, uk_mutex *m, struct futex_bucket **bm)
{
	*bm = &futex_table[futex_hash(m)];
	if (*bm == bc)
		return true;
	if (*bm > bc) {
		futex_lock_nested(*bm);
		return true;
	}
	if (futex_try_nested(*bm))
		return true;
	futex_unlock(bc);
	return false;
}

static void wake(uk_cond *c, bool all)
{
	int64_t now = sched_clock_coarse(rt_enter());
	struct futex_bucket *bc = futex_lock(c), *bm;
	uint32_t count = all ? c->waiters : 1; /* not those who queue while we work */
	struct futex_node *n;

	while (count && (n = futex_first(bc, c))) {
		uk_mutex *m = n->arg;

		if (!lock_also(bc, m, &bm)) {
			futex_lock_pair(c, m, &bc, &bm);
			n = futex_first(bc, c);
		}
		for (; count && n && n->arg == m; n = futex_first(bc, c), count--) {
			take_out(c, 1);
			mutex_adopt(m, bm, n, now);
		}
		if (bm != bc)
			lock_release_nested(&bm->lock);
	}
	futex_unlock(bc);
	rt_exit();
}

int uk_cond_signal(uk_cond *c)
{
	if (load_relaxed(&c->waiters))
		wake(c, false);
	return 0;
}

int uk_cond_broadcast(uk_cond *c)
{
	if (load_relaxed(&c->waiters))
		wake(c, true);
	return 0;
}
