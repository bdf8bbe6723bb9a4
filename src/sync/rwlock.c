/* SPDX-License-Identifier: Apache-2.0 */
/* Reader-writer lock, phase-fair (Brandenburg & Anderson 2010): reading and writing
 * phases alternate while both sides wait, so a reader waits for one writer at most, and
 * a writer for one reading phase and the writers before it.
 *
 *   state: readers << 2 | WAITERS | WRITER
 *
 *   0 --rdlock--> readers, --wrlock--> WRITER     one CAS, outside the runtime
 *   any --a thread must queue--> |WAITERS         from here on the fast paths fail, and
 *                                                 ownership passes by grant() only
 *   writer unlocks: all readers that wait are granted, else the first writer
 *   last reader unlocks: the first writer is granted, else all readers
 *
 * Grants are direct: the node is HANDED, so a waiter whose deadline passes at that
 * instant has the lock and returns 0. A writer that gives up waiting lets in the
 * readers that it held back. A consequence, as in every writer-fair lock: a reader that
 * locks again while a writer waits deadlocks with itself.
 *
 * A lock that prefers readers (the preload library's default) lets them in while no
 * writer is inside, even if writers wait. So a reader never deadlocks with itself, and
 * writers may starve.
 *
 * WAITERS and the counts, and under contention the owner, are written under the lock of
 * the bucket (key = the rwlock).
 */
#include "sync/rwlock.h"

#define RW_WRITER 1u
#define RW_WAITERS 2u
#define RW_READER 4u
#define RW_READERS(s) ((s) / RW_READER)

static bool rw_owned(const uk_rwlock *l, const struct uk_thread *t)
{
	return t && load_relaxed(&l->owner) == (uintptr_t)t;
}

/* Take the lock if the state allows it; *s is the state last seen. */
static bool rw_try(uk_rwlock *l, struct rw_how how, uint32_t *s, struct uk_thread *t)
{
	uint32_t closed = RW_WRITER | (how.lenient ? 0 : RW_WAITERS);

	*s = load_relaxed(&l->state);
	if (how.role == RW_READ) {
		while (!(*s & closed) && *s < UINT32_MAX - RW_READER)
			if (cas_acquire(&l->state, s, *s + RW_READER))
				return true;
		return false;
	}
	while (*s == 0) {
		if (cas_acquire(&l->state, s, RW_WRITER)) {
			store_relaxed(&l->owner, (uintptr_t)t);
			return true;
		}
	}
	return false;
}

/* Under the bucket's lock; the stores are atomic because a dump may read the counts. */
static void count(uk_rwlock *l, enum rw_role role, int by)
{
	uint32_t *n = role == RW_READ ? &l->readers_waiting : &l->writers_waiting;

	store_relaxed(n, *n + (uint32_t)by);
}

static void grant_node(struct futex_node *n)
{
	futex_take(n, FUTEX_HANDED);
	wait_fire(n->thread, n->token, WAKE_OK); /* if another waker wins: HANDED */
}

/* Under the bucket's lock, with no writer inside; readers may be. */
static void grant_readers(uk_rwlock *l, struct futex_bucket *b)
{
	struct futex_node *n = futex_first(b, l), *next;
	uint32_t left = l->readers_waiting;

	store_relaxed(&l->readers_waiting, 0);
	fetch_add_acq_rel(&l->state, left * RW_READER);
	if (!l->writers_waiting)
		fetch_and_acq_rel(&l->state, ~RW_WAITERS);
	for (; n && left; n = next) { /* counted: the lock may be gone after the last */
		next = futex_next(b, n);
		if (n->tag != RW_READ)
			continue;
		left--;
		grant_node(n);
	}
}

static void grant_writer(uk_rwlock *l, struct futex_bucket *b)
{
	struct futex_node *n = futex_first(b, l);
	uint32_t s = RW_WAITERS;

	while (n->tag != RW_WRITE)
		n = futex_next(b, n);
	/* With no owner and WAITERS set, the state is written by grants under this lock
	 * only, and, if the lock prefers readers, by readers. */
	if (!cas_acq_rel(
		&l->state, &s,
		RW_WRITER |
		    (l->writers_waiting + l->readers_waiting > 1 ? RW_WAITERS : 0)))
		return; /* the last of those readers will call grant */
	count(l, RW_WRITE, -1);
	store_relaxed(&l->owner, (uintptr_t)n->thread);
	grant_node(n);
}

/* Under the bucket's lock: let in all that may come in now, those of how.role first. */
static void grant(uk_rwlock *l, struct futex_bucket *b, struct rw_how how)
{
	uint32_t s;

	if (!futex_first(b, l))
		return; /* then l may be gone already */
	s = load_acquire(&l->state);
	if (s & RW_WRITER)
		return;
	if (l->readers_waiting && (!l->writers_waiting || how.lenient ||
				   (how.role == RW_READ && s < RW_READER)))
		grant_readers(l, b);
	else if (l->writers_waiting && s < RW_READER)
		grant_writer(l, b);
}

/* Queue, unless the lock has become free (false: we have it). */
static bool rw_enqueue(uk_rwlock *l, struct rw_how how, struct uk_thread *t,
		       struct futex_node *n)
{
	struct futex_bucket *b = futex_lock(l);
	uint32_t s;

	do {
		if (rw_try(l, how, &s, t)) {
			futex_unlock(b);
			return false;
		}
	} while (!(s & RW_WAITERS) && !cas_relaxed(&l->state, &s, s | RW_WAITERS));
	n->tag = how.role;
	futex_push(b, n, l, t, wait_begin(t, WAIT_RWLOCK, l), false);
	count(l, how.role, 1);
	futex_unlock(b); /* the threads inside see WAITERS when they leave */
	return true;
}

void rwlock_lost(uk_rwlock *l)
{
	l->readers_waiting = l->writers_waiting = 0;
	l->state &= ~RW_WAITERS;
}

/* After a wake-up by deadline or cancellation: true if the lock had been granted. */
static bool rw_leave(uk_rwlock *l, struct rw_how how, struct futex_node *n)
{
	struct futex_bucket *b = futex_lock_node(n);
	bool mine = n->state == FUTEX_HANDED;

	if (!mine) {
		futex_take(n, FUTEX_LEFT);
		count(l, n->tag, -1);
		if (l->readers_waiting + l->writers_waiting == 0)
			fetch_and_acq_rel(&l->state, ~RW_WAITERS);
		else
			grant(
			    l, b,
			    (struct rw_how){ .role = RW_READ, .lenient = how.lenient });
	}
	futex_unlock(b);
	return mine;
}

bool rwlock_try(uk_rwlock *l, struct rw_how how)
{
	uint32_t s;

	return rw_try(l, how, &s, thread_self_tls);
}

/* The caller does not hold l for writing. */
NOINLINE int rwlock_wait(uk_rwlock *l, struct rw_how how, int64_t deadline)
{
	struct uk_thread *t = rt_enter();
	struct futex_node *n = futex_node_of(t);
	unsigned why = WAKE_OK;

	if (rw_enqueue(l, how, t, n)) {
		why = wait_park(t, n->token, deadline);
		if (why != WAKE_OK && rw_leave(l, how, n))
			why = WAKE_OK;
	}
	rt_exit();
	return wake_error(why);
}

static NOINLINE void unlock_slow(uk_rwlock *l, uint32_t leaving, struct rw_how how)
{
	struct futex_bucket *b;

	rt_enter();
	b = futex_lock(l);
	if (leaving)
		fetch_and_acq_rel(&l->state, ~leaving);
	grant(l, b, how);
	futex_unlock(b);
	rt_exit();
}

bool rwlock_unlock(uk_rwlock *l, bool lenient)
{
	uint32_t s = load_relaxed(&l->state);

	if (s & RW_WRITER) {
		store_relaxed(&l->owner, 0);
		s = RW_WRITER;
		/* release: the next owner sees what we wrote */
		if (!cas_release(&l->state, &s, 0))
			unlock_slow(
			    l, RW_WRITER,
			    (struct rw_how){ .role = RW_READ, .lenient = lenient });
		return true;
	}
	do {
		if (s < RW_READER)
			return false;
	} while (!cas_release(&l->state, &s, s - RW_READER));
	if (s - RW_READER == RW_WAITERS)
		unlock_slow(l, 0,
			    (struct rw_how){ .role = RW_WRITE, .lenient = lenient });
	return true;
}

/* -- the public calls -- */

static const struct rw_how to_read = { .role = RW_READ },
			   to_write = { .role = RW_WRITE };

static NOINLINE int take_slow(uk_rwlock *l, struct rw_how how, int64_t deadline)
{
	int unable = rt_begin();

	if (unlikely(unable))
		return unable;
	if (rw_owned(l, thread_self()))
		return -EDEADLK;
	return rwlock_wait(l, how, deadline);
}

void uk_rwlock_init(uk_rwlock *l)
{
	*l = (uk_rwlock)UK_RWLOCK_INIT;
}

int uk_rwlock_rdlock_until(uk_rwlock *l, uk_time deadline)
{
	uint32_t s;

	if (likely(rw_try(l, to_read, &s, NULL)))
		return 0;
	return take_slow(l, to_read, deadline);
}

int uk_rwlock_rdlock(uk_rwlock *l)
{
	return uk_rwlock_rdlock_until(l, TIME_NEVER);
}

int uk_rwlock_tryrdlock(uk_rwlock *l)
{
	uint32_t s;

	return rw_try(l, to_read, &s, NULL) ? 0 : -EBUSY;
}

int uk_rwlock_wrlock_until(uk_rwlock *l, uk_time deadline)
{
	struct uk_thread *t = thread_self_tls;
	uint32_t s;

	if (likely(t && rw_try(l, to_write, &s, t)))
		return 0;
	return take_slow(l, to_write, deadline);
}

int uk_rwlock_wrlock(uk_rwlock *l)
{
	return uk_rwlock_wrlock_until(l, TIME_NEVER);
}

int uk_rwlock_trywrlock(uk_rwlock *l)
{
	struct uk_thread *t = thread_self_tls;
	uint32_t s;

	if (unlikely(!t)) {
		int unable = rt_begin();

		if (unable)
			return unable;
		t = thread_self_tls;
	}
	return rw_try(l, to_write, &s, t) ? 0 : -EBUSY;
}

int uk_rwlock_unlock(uk_rwlock *l)
{
	if ((load_relaxed(&l->state) & RW_WRITER) && !rw_owned(l, thread_self_tls))
		return -EPERM;
	return rwlock_unlock(l, false) ? 0 : -EPERM;
}
