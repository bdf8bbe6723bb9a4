/* SPDX-License-Identifier: Apache-2.0 */
/* mutex.h - what the condition needs of the mutex. */
#ifndef SYNC_MUTEX_H
#define SYNC_MUTEX_H

#include "sync/futex.h"
#include "uk/sync.h"

/* The calling thread t owns m. */
static inline bool mutex_owned(const uk_mutex *m, const struct uk_thread *t)
{
	return load_relaxed(&m->owner) == (uintptr_t)t;
}

/* In the runtime. How mutex_lock_wait waits: */
struct mutex_wait {
	int64_t deadline;
	int64_t since;     /* 0: from now on */
	bool uncancelable; /* neither cancel nor any deadline ends it */
	bool woken;        /* we were woken by this mutex and hold its WOKEN bit */
};
int mutex_lock_wait(uk_mutex *m, struct uk_thread *t, struct mutex_wait *w);
/* Give up one that t owns, whatever its depth; in the runtime. */
void mutex_release(uk_mutex *m, struct uk_thread *t);
/* Under the lock of n's bucket and of m's bucket bm: the waiter n, of a condition, becomes
 * a waiter of m, or is woken to lock it if it is free. Never lost: from here on he has
 * been signalled, whatever fires his token. */
void mutex_adopt(uk_mutex *m, struct futex_bucket *bm, struct futex_node *n,
		 int64_t now);
/* Under bm's lock: n has left the queue of m by itself. */
void mutex_waiter_left(uk_mutex *m, struct futex_bucket *bm);

#endif
