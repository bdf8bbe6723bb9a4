/* SPDX-License-Identifier: Apache-2.0 */
/* Mutex: barging, with direct hand-off to a waiter that has starved for 1 ms.
 *
 * Uncontended, or while a woken waiter has not run yet, lock and unlock are one CAS
 * each and do not enter the runtime. The word:
 *
 *   LOCKED   the mutex is held; `owner` names the holder
 *   WAITERS  the queue (futex table, key = the mutex) may not be empty
 *   WOKEN    one waiter was taken from the queue and will soon run. It will either take
 *            the lock or queue again, and clears the bit as it does so. Until then no
 *            other waiter is woken, so a hundred waiters do not run at once.
 *
 *   0 --lock--> LOCKED --unlock--> 0
 *   LOCKED --contender queues--> LOCKED|WAITERS
 *   LOCKED|WAITERS --unlock, wakes--> WOKEN[|WAITERS] --woken one--> LOCKED[|WAITERS]
 *   LOCKED|WAITERS --unlock, first waiter starved--> LOCKED[|WAITERS], owner = it
 *
 * Invariant: if the mutex is free, WAITERS is set and a waiter is queued, then WOKEN is
 * set, so a wake-up is never lost. WAITERS is cleared only under the bucket's lock;
 * WOKEN is set only there. A waiter queues only after it has seen LOCKED|WAITERS under
 * that lock.
 *
 * A waiter that is given the lock at the instant of its deadline or cancellation has
 * the lock and returns 0: the node's HANDED decides, not the reason of the wake-up.
 *
 * The owner is the address of its descriptor (type-stable memory), so that a contender
 * can see whether spinning makes sense: only while the owner runs on another vp.
 *
 * Rejected: always hand off directly (a convoy: each pair of calls costs a switch);
 * never hand off (a thread that locks in a loop on another vp starves the rest for
 * ever).
 */
#include "sync/mutex.h"

#include "base/log.h"

#define STARVED (1 * NS_PER_MS)
#define SPINS 40

void uk_mutex_init(uk_mutex *m, unsigned flags)
{
	*m = (uk_mutex){ .flags = flags };
}

/* Racy by design: a wrong answer costs a few spins. */
#if UK_TSAN
__attribute__((no_sanitize("thread")))
#endif
static bool
owner_runs_elsewhere(const uint64_t *owner, const struct uk_thread *t)
{
	const struct uk_thread *o =
	    owner ? (const struct uk_thread *)(uintptr_t)load_relaxed(owner) : NULL;

	if (!o || o->state != T_RUNNING)
		return false;
	return o->kind == THREAD_FOREIGN || t->kind == THREAD_FOREIGN || o->vp != t->vp;
}

static inline void note_owner(uint64_t *owner, const struct uk_thread *t)
{
	if (owner)
		store_relaxed(owner, (uintptr_t)t);
}

static bool spin(const uint64_t *owner, const struct uk_thread *t, int *spins)
{
	if (*spins >= SPINS || !owner_runs_elsewhere(owner, t))
		return false;
	(*spins)++;
	cpu_relax();
	return true;
}

/* Queue at the end (after a wake-up at the front), unless m has become free; then
 * false. *w is the word as last seen. */
static bool enqueue(uint32_t *m, struct uk_thread *t, struct mutex_wait *how,
		    struct futex_node *n, bool front, uint32_t *w)
{
	uint32_t want = (*w | M_WAITERS) & ~(how->woken ? M_WOKEN : 0);
	struct futex_bucket *b;
	uint64_t token;

	if (want != *w && !cas_relaxed(m, w, want))
		return false;
	how->woken = false;
	b = futex_lock(m);
	*w = load_relaxed(m);
	if ((*w & (M_LOCKED | M_WAITERS)) != (M_LOCKED | M_WAITERS)) {
		futex_unlock(b);
		return false;
	}
	token = how->uncancelable ? wait_begin_uncancelable(t, how->kind, m)
				  : wait_begin(t, how->kind, m);
	n->since = how->since;
	futex_push(b, n, m, t, token, front);
	futex_unlock(b);
	return true;
}

/* After a wake-up by deadline or cancellation. */
static enum futex_state leave(uint32_t *m, struct futex_node *n)
{
	struct futex_bucket *b = futex_lock_node(n);

	if (n->state == FUTEX_QUEUED) {
		futex_take(n, FUTEX_LEFT);
		mutex_waiter_left(m, b);
	}
	futex_unlock(b);
	return n->state;
}

void mutex_waiter_left(uint32_t *m, struct futex_bucket *bm)
{
	if (!futex_first(bm, m))
		fetch_and_acq_rel(m, ~M_WAITERS);
}

int mutex_lock_wait(uint32_t *m, struct uk_thread *t, struct mutex_wait *how)
{
	uint32_t w = load_relaxed(m);
	bool front = how->woken;
	struct futex_node *n = futex_node_of(t);
	int spins = 0;

	for (;;) {
		unsigned why;

		if (!(w & M_LOCKED)) {
			uint32_t mine = (w | M_LOCKED) & ~(how->woken ? M_WOKEN : 0);

			if (!cas_acquire(m, &w, mine))
				continue;
			note_owner(how->owner, t);
			return 0;
		}
		if (spin(how->owner, t, &spins)) {
			w = load_relaxed(m);
			continue;
		}
		if (!how->since)
			how->since = sched_clock_coarse(t);
		if (!enqueue(m, t, how, n, front, &w))
			continue;
		why = wait_park(t, n->token, how->deadline);
		if ((why == WAKE_OK ? n->state : leave(m, n)) == FUTEX_HANDED)
			return 0;
		if (why != WAKE_OK)
			return wake_error(why);
		how->woken = front = true;
		w = load_relaxed(m);
	}
}

/* Called by the owner, under b's lock: make n the owner. If n's deadline is first, n
 * finds HANDED when it takes this lock. */
static void hand_over(uint32_t *m, uint64_t *owner, struct futex_bucket *b,
		      struct futex_node *n)
{
	uint32_t w = M_LOCKED | (futex_next(b, n) ? M_WAITERS : 0);

	futex_take(n, FUTEX_HANDED);
	note_owner(owner, n->thread);
	/* release: n sees what we did with m held, even if its deadline woke it */
	store_release(m, w);
	wait_fire(n->thread, n->token, WAKE_OK);
}

/* Called by the owner, under b's lock, word LOCKED|WAITERS: release m and wake the
 * first waiter that can be woken. WOKEN is set before the waiter is fired, because it
 * may run at once. */
static void pass_on(uint32_t *m, struct futex_bucket *b, struct futex_node *n)
{
	store_release(m, M_WOKEN | (futex_next(b, n) ? M_WAITERS : 0));
	for (;;) {
		futex_take(n, FUTEX_TAKEN);
		if (wait_fire(n->thread, n->token, WAKE_OK))
			return;
		n = futex_first(b, m);
		if (!n) {
			/* all had left: no woken waiter is to come */
			fetch_and_acq_rel(m, ~(M_WOKEN | M_WAITERS));
			return;
		}
		if (!futex_next(b, n))
			fetch_and_acq_rel(m, ~M_WAITERS);
	}
}

void mutex_release(uint32_t *m, uint64_t *owner, struct uk_thread *t)
{
	struct futex_bucket *b;
	struct futex_node *n;

	dbg_assert(load_relaxed(m) & M_LOCKED);
	note_owner(owner, NULL);
	for (;;) {
		if (mutex_drop(m))
			return;
		b = futex_lock(m);
		if ((load_relaxed(m) & (M_WAITERS | M_WOKEN)) == M_WAITERS)
			break; /* neither bit changes now: we own m and the bucket */
		futex_unlock(b);
	}
	n = futex_first(b, m);
	if (!n)
		fetch_and_acq_rel(m, ~(M_LOCKED | M_WAITERS));
	else if (sched_clock_coarse(t) - n->since > STARVED)
		hand_over(m, owner, b, n);
	else
		pass_on(m, b, n);
	futex_unlock(b);
}

void mutex_adopt(uint32_t *m, struct futex_bucket *bm, struct futex_node *n,
		 int64_t now)
{
	uint32_t w = load_relaxed(m);

	for (;;) {
		bool held = w & (M_LOCKED | M_WOKEN);

		if (cas_acq_rel(m, &w, w | (held ? M_WAITERS : M_WOKEN))) {
			n->since = now;
			/* n takes this bucket's lock before it begins another wait */
			store_relaxed(&n->thread->wkind, (uint8_t)n->tag);
			store_relaxed(&n->thread->wobj, m);
			futex_move(n, bm, m);
			if (held)
				return; /* the next unlock sees n */
			break;
		}
	}
	futex_take(n, FUTEX_TAKEN);
	if (!wait_fire(n->thread, n->token, WAKE_OK))
		fetch_and_acq_rel(m, ~M_WOKEN); /* n comes, but without WOKEN */
}

void mutex_lost(uint32_t *m)
{
	*m &= M_LOCKED; /* a WOKEN waiter will not come */
}

/* -- the public calls: fast path, else into the runtime -- */

static NOINLINE int lock_slow_path(uk_mutex *m, int64_t deadline)
{
	struct mutex_wait how = { .deadline = deadline,
				  .owner = &m->owner,
				  .kind = WAIT_MUTEX };
	struct uk_thread *t;
	int ret = rt_begin();

	if (unlikely(ret))
		return ret;
	t = rt_enter();
	if (!mutex_owned(m, t))
		ret = mutex_lock_wait(&m->word, t, &how);
	else if (m->flags & UK_MUTEX_RECURSIVE)
		m->depth++;
	else
		ret = -EDEADLK;
	rt_exit();
	return ret;
}

int uk_mutex_lock_until(uk_mutex *m, uk_time deadline)
{
	struct uk_thread *t = thread_self_tls;

	if (likely(t && mutex_try(&m->word))) {
		store_relaxed(&m->owner, (uintptr_t)t);
		return 0;
	}
	return lock_slow_path(m, deadline);
}

int uk_mutex_lock(uk_mutex *m)
{
	return uk_mutex_lock_until(m, TIME_NEVER);
}

int uk_mutex_trylock(uk_mutex *m)
{
	struct uk_thread *t = thread_self_tls;

	if (unlikely(!t)) {
		int unable = rt_begin();

		if (unable)
			return unable;
		t = thread_self_tls;
	}
	if (mutex_try(&m->word)) {
		store_relaxed(&m->owner, (uintptr_t)t);
		return 0;
	}
	if (!mutex_owned(m, t) || !(m->flags & UK_MUTEX_RECURSIVE))
		return -EBUSY;
	m->depth++;
	return 0;
}

static NOINLINE int unlock_slow_path(uk_mutex *m)
{
	mutex_release(&m->word, &m->owner, rt_enter());
	rt_exit();
	return 0;
}

int uk_mutex_unlock(uk_mutex *m)
{
	struct uk_thread *t = thread_self_tls;

	if (unlikely(!t || !mutex_owned(m, t)))
		return -EPERM;
	if (unlikely(m->depth)) {
		m->depth--;
		return 0;
	}
	store_relaxed(&m->owner, 0);
	return likely(mutex_drop(&m->word)) ? 0 : unlock_slow_path(m);
}
