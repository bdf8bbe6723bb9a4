/* SPDX-License-Identifier: Apache-2.0 */
/* Condition: a queue in the futex table (key = the condition).
 *
 * A waiter queues before it releases the mutex, so a thread that changes the state
 * under the mutex and signals finds it: no signal is lost. A signal takes the oldest
 * node out, and later waiters queue behind: no wake-up is stolen.
 *
 * A waiter that a signal or broadcast takes is not woken only to contend for the mutex.
 * It is moved to the mutex's queue (mutex_adopt), and at most one is woken, if the
 * mutex is free. From the move on the waiter is signalled: if its deadline or a
 * cancellation fires later, the wait returns 0. If one fires earlier, the signal is
 * left to the next waiter.
 *
 *   node on c ------signal: moved--> node on m --unlock--> wakes with WOKEN, or HANDED
 *      |                                 |
 *      +--deadline, cancel: LEFT         +--deadline, cancel: LEFT, yet signalled
 *
 * The mutex is locked again without a deadline and regardless of cancellation. If the
 * waiter's mutex is not of this kind (the preload library has others), the waiter is
 * not moved but woken: TAKEN.
 */
#include "sync/cond.h"

#include <limits.h>

/* *waiters counts the waiters of c. It is written under the bucket's lock. A signal
 * reads it without the lock: a thread that has held the mutex sees every waiter that
 * queued before. */

static void count(uint32_t *waiters, int by)
{
	if (waiters)
		store_relaxed(waiters, *waiters + (uint32_t)by);
}

void cond_queue(const struct cond *c, struct uk_thread *t, struct futex_node *n)
{
	struct futex_bucket *b;

	futex_rank(n, t);
	b = futex_lock(c->key);
	futex_push(b, n, c->key, t, wait_begin(t, c->kind, c->key), false);
	count(c->waiters, 1);
	futex_unlock(b);
}

bool cond_settle(const struct cond *c, struct futex_node *n, unsigned why, bool *woken)
{
	struct futex_bucket *b;

	*woken = false;
	if (why == WAKE_OK) { /* only the mutex fires with it, if the waiter has one */
		*woken = n->arg && n->state == FUTEX_TAKEN;
		return true;
	}
	b = futex_lock_node(n);
	if (n->state == FUTEX_QUEUED) {
		futex_take(n, FUTEX_LEFT);
		if (n->key == c->key)
			count(c->waiters, -1);
		else
			mutex_waiter_left(n->arg, b);
	}
	futex_unlock(b);
	return n->key != c->key || n->state == FUTEX_TAKEN;
}

bool cond_leave(const struct cond *c, struct futex_node *n, uint32_t *wakes)
{
	struct futex_bucket *b = futex_lock_node(n);
	bool left = n->state == FUTEX_QUEUED && n->key == c->key;

	if (left) {
		futex_take(n, FUTEX_LEFT);
		c->away->threads++;
		*wakes = c->away->wakes;
	}
	futex_unlock(b);
	return left;
}

/* In the runtime, with c's bucket locked, which it unlocks: one thread fewer is away.
 * After that the condition is not touched; only its address is used, to wake
 * cond_await_away. */
static void not_away(const struct cond *c, struct futex_bucket *b)
{
	uint32_t left = c->away->threads - 1;

	if (!left)
		c->away->wakes = 0;
	store_release(&c->away->threads, left); /* pairs with cond_nobody_away */
	futex_unlock(b);
	if (!left)
		futex_wake(&c->away->threads, INT_MAX, FUTEX_ANY);
}

bool cond_return(const struct cond *c, struct uk_thread *t, struct futex_node *n,
		 uint32_t wakes)
{
	struct futex_bucket *b;
	bool again;

	futex_rank(n, t);
	b = futex_lock(c->key);
	again = c->away->wakes == wakes;
	if (again)
		futex_push(b, n, c->key, t, wait_begin(t, c->kind, c->key), false);
	else
		count(c->waiters, -1);
	not_away(c, b);
	return again;
}

void cond_gone(const struct cond *c)
{
	struct futex_bucket *b;

	rt_enter();
	b = futex_lock(c->key);
	count(c->waiters, -1);
	not_away(c, b);
	rt_exit();
}

int cond_await_away(const struct cond_away *a)
{
	uint32_t n = load_acquire(&a->threads); /* pairs with not_away */

	/* if a thread returns first, the value has changed: the caller looks again */
	return n ? futex_wait(&a->threads, n, FUTEX_ANY, TIME_NEVER) : 0;
}

/* With c's bucket locked: lock m's bucket, too, in address order. False: c's bucket had
 * to be released for that, and the caller must look again. */
static bool lock_also(struct futex_bucket *bc, const uint32_t *m,
		      struct futex_bucket **bm)
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

/* Under the lock: wake waiters that go to no mutex's queue. Returns how many are
 * left. */
static uint32_t wake_bare(const struct cond *c, struct futex_bucket *bc, uint32_t left)
{
	struct futex_node *n;

	while (left && (n = futex_first(bc, c->key)) && !n->arg) {
		count(c->waiters, -1);
		futex_take(n, FUTEX_TAKEN);
		wait_fire(n->thread, n->token,
			  WAKE_OK); /* if another waker wins, n still finds TAKEN */
		left--;
	}
	return left;
}

uint32_t cond_wake(const struct cond *c, uint32_t most)
{
	int64_t now = sched_clock_coarse(rt_enter());
	struct futex_bucket *bc = futex_lock(c->key), *bm;
	/* not the threads that queue during this loop */
	uint32_t left = c->waiters ? MIN(most, *c->waiters) : most, todo = left;
	struct futex_node *n;

	if (c->away && c->away->threads)
		c->away->wakes++;
	while ((left = wake_bare(c, bc, left)) && (n = futex_first(bc, c->key))) {
		uint32_t *m = n->arg;

		if (!lock_also(bc, m, &bm)) {
			futex_lock_pair(c->key, m, &bc, &bm);
			n = futex_first(bc, c->key);
		}
		for (; left && n && n->arg == m; n = futex_first(bc, c->key), left--) {
			count(c->waiters, -1);
			mutex_adopt(m, bm, n, now);
		}
		if (bm != bc)
			lock_release_nested(&bm->lock);
	}
	futex_unlock(bc);
	rt_exit();
	return todo - left;
}

/* -- the public calls -- */

static struct cond cond_of(uk_cond *c)
{
	return (struct cond){ .key = c, .waiters = &c->waiters, .kind = WAIT_COND };
}

void uk_cond_init(uk_cond *c)
{
	*c = (uk_cond)UK_COND_INIT;
}

int uk_cond_wait_until(uk_cond *c, uk_mutex *m, uk_time deadline)
{
	struct uk_thread *t = enter_touching(c, sizeof(*c));
	struct mutex_wait how = { .deadline = TIME_NEVER,
				  .owner = &m->owner,
				  .kind = WAIT_MUTEX,
				  .uncancelable = true };
	struct futex_node *n = futex_node_of(t);
	struct cond cond = cond_of(c);
	bool signalled;
	uint32_t depth;
	unsigned why;

	if (!mutex_owned(m, t)) {
		rt_exit();
		return -EPERM;
	}
	n->arg = &m->word;
	n->tag = WAIT_MUTEX;
	cond_queue(&cond, t, n);
	depth = m->depth;
	m->depth = 0;
	mutex_release(&m->word, &m->owner, t);
	why = wait_park(t, n->token, deadline);
	signalled = cond_settle(&cond, n, why, &how.woken);
	if (n->state != FUTEX_HANDED)
		mutex_lock_wait(&m->word, t, &how);
	m->depth = depth;
	rt_exit();
	return signalled ? 0 : wake_error(why);
}

int uk_cond_wait(uk_cond *c, uk_mutex *m)
{
	return uk_cond_wait_until(c, m, TIME_NEVER);
}

static int wake(uk_cond *c, uint32_t most)
{
	struct cond cond = cond_of(c);

	if (load_relaxed(&c->waiters))
		cond_wake(&cond, most);
	return 0;
}

int uk_cond_signal(uk_cond *c)
{
	return wake(c, 1);
}

int uk_cond_broadcast(uk_cond *c)
{
	return wake(c, UINT32_MAX);
}
