/* SPDX-License-Identifier: Apache-2.0 */
/* mutex.h - the core of every mutex: uk_mutex, and the preload library's, whose word
 * lies in libc's object. A mutex is its word, which is also the key in the table of
 * waiters. The primitive keeps track of the owner; the core notes it in `owner` for
 * threads that may spin. */
#ifndef SYNC_MUTEX_H
#define SYNC_MUTEX_H

#include "sync/futex.h"
#include "uk/sync.h"

/* The calling thread t owns m. */
static inline bool mutex_owned(const uk_mutex *m, const struct uk_thread *t)
{
	return load_relaxed(&m->owner) == (uintptr_t)t;
}

#define M_LOCKED 1u
#define M_WAITERS 2u
#define M_WOKEN 4u

/* Take the mutex unless it is held: from 0, and also while a woken waiter is to
 * come. */
static inline bool mutex_try(uint32_t *m)
{
	uint32_t w = load_relaxed(m);

	while (!(w & M_LOCKED))
		/* acquire: we see what the last owner did (pairs with mutex_drop) */
		if (cas_acquire(m, &w, w | M_LOCKED))
			return true;
	return false;
}

/* Release the mutex, unless a waiter is to be woken for it. */
static inline bool mutex_drop(uint32_t *m)
{
	uint32_t w = load_relaxed(m);

	while ((w & (M_WAITERS | M_WOKEN)) != M_WAITERS)
		/* release: the next owner sees what we did */
		if (cas_release(m, &w, w & ~M_LOCKED))
			return true;
	return false;
}

/* In the runtime. How mutex_lock_wait waits: */
struct mutex_wait {
	int64_t deadline;
	int64_t since;       /* 0: from now on */
	uint64_t *owner;     /* receives the owner's descriptor; NULL: not noted */
	enum wait_kind kind; /* what the thread is shown to wait for */
	bool uncancelable;   /* neither cancel nor the thread's own deadline ends it */
	bool woken;          /* we were woken by this mutex and hold its WOKEN bit */
};
int mutex_lock_wait(uint32_t *m, struct uk_thread *t, struct mutex_wait *w);
/* In the runtime: release a locked mutex, whatever its depth. */
void mutex_release(uint32_t *m, uint64_t *owner, struct uk_thread *t);
/* Under the lock of n's bucket and of m's bucket bm: n, a waiter of a condition,
 * becomes a waiter of m (n->tag: its enum wait_kind), or is woken to lock m if that is
 * free. The signal is never lost: from here on n has been signalled, whatever fires its
 * token. */
void mutex_adopt(uint32_t *m, struct futex_bucket *bm, struct futex_node *n,
		 int64_t now);
/* Under bm's lock: n has left the queue of m by itself. */
void mutex_waiter_left(uint32_t *m, struct futex_bucket *bm);

#endif
