/* SPDX-License-Identifier: Apache-2.0 */
/* futex.h - the table of waiters, keyed by address: what every primitive of this room but
 * the channel queues in.
 *
 * A waiter's node is the one in its descriptor (futex_node_of): it waits in one queue at a
 * time, and who wakes it touches the descriptor anyhow, and so no stack, which of many threads
 * is cold to the page tables (586 > 373 ns of CPU a wake-up, of 10,000). Where a handler may
 * run, and wait, while the node is still to be used, it lies on the waiter's stack. It may be
 * touched by others only under the lock of its bucket while it is QUEUED; who takes it out (by
 * futex_take) may still read it until he fires its token, and never after.
 *
 *   state:  QUEUED --futex_take--> TAKEN    a waker took it; the waiter finds out what
 *                                           that means to his primitive
 *           QUEUED --futex_take--> HANDED   and gave it what it waits for: the waiter has
 *                                           it, even if the clock or a cancel woke it
 *           QUEUED --futex_take--> LEFT     the waiter himself, by time-out or cancel
 *
 * A waiter who was woken with WAKE_OK may read its node without the lock: the waker was
 * done with it. With any other reason he must look under futex_lock_node.
 */
#ifndef SYNC_FUTEX_H
#define SYNC_FUTEX_H

#include "base/list.h"
#include "base/lock.h"
#include "base/touch.h"
#include "sched/sched.h"
#include "uk/chan.h"
#include "uk/sync.h"

enum futex_state { FUTEX_QUEUED, FUTEX_TAKEN, FUTEX_HANDED, FUTEX_LEFT };

/* All under the lock. A bucket is one FIFO of all its keys; with many waiters it is split into
 * FUTEX_PARTS of them (futex.c), and is one again when the last waiter has gone. */
struct futex_bucket {
	struct lock lock;
	uint32_t waiters;
	bool split;        /* queue is empty, the waiters are in the parts */
	struct list queue; /* zero until first used */
} LINE_ALIGNED;

/* rt_enter, with the object's memory there. */
static inline struct uk_thread *enter_touching(const void *object, size_t n)
{
	touch_read(object, n);
	return rt_enter();
}

struct futex_node {
	struct list link; /* bucket's lock */
	const void *key;  /* bucket's lock; requeue changes it */
	struct uk_thread *thread;
	uint64_t token;
	int64_t
	    since; /* when the waiter began, by sched_clock_coarse; the primitive's */
	void *arg; /* the primitive's */
	uint32_t tag;    /* the primitive's: bit set of a raw wait, role in a rwlock */
	uint16_t bucket; /* its number; atomics; requeue writes it under both locks */
	uint8_t state;   /* enum futex_state; bucket's lock */
};
_Static_assert(sizeof(struct futex_node) <= sizeof(((struct uk_thread *)NULL)->node),
	       "fits into the descriptor");

/* The node of t, the caller, for its next wait and until it leaves the runtime. What the
 * primitive uses of it is to be set. */
static inline struct futex_node *futex_node_of(struct uk_thread *t)
{
	return (struct futex_node *)(void *)t->node;
}

#define FUTEX_ANY UINT32_MAX /* a bit set that meets all others */

struct futex_bucket *futex_lock(const void *key);
static inline void futex_unlock(struct futex_bucket *b)
{
	lock_release(&b->lock);
}
/* Somebody waits on key, and will be looked for in a moment: what is read then is fetched. */
void futex_foresee(const void *key);
/* The buckets of two keys; they may be the same one. */
void futex_lock_pair(const void *k1, const void *k2, struct futex_bucket **b1,
		     struct futex_bucket **b2);
void futex_unlock_pair(struct futex_bucket *b1, struct futex_bucket *b2);
/* While another one is locked: a bucket of a higher address; any, by trying. */
void futex_lock_nested(struct futex_bucket *b);
bool futex_try_nested(struct futex_bucket *b);
/* Lock the bucket where n is, or was last. */
struct futex_bucket *futex_lock_node(const struct futex_node *n);

/* Under the lock: publish n. From now on its token may be fired. */
void futex_push(struct futex_bucket *b, struct futex_node *n, const void *key,
		struct uk_thread *t, uint64_t token, bool front);
/* Under the lock: oldest waiter on key, or NULL; the next one after n. */
struct futex_node *futex_first(struct futex_bucket *b, const void *key);
struct futex_node *futex_next(struct futex_bucket *b, const struct futex_node *n);
void futex_take(struct futex_node *n, enum futex_state state);
/* Under both locks: n waits on key from now on, as the youngest. */
void futex_move(struct futex_node *n, struct futex_bucket *to, const void *key);

/* The waiter, after a wake-up that is not WAKE_OK: leave the queue if still there, and say
 * what had become of the node (LEFT: nothing). */
enum futex_state futex_leave(struct futex_node *n);

/* The raw futex, with bit sets (uk_futex_* and the drop-in's SYS_futex). */
int futex_wait(const uint32_t *addr, uint32_t expected, uint32_t bits,
	       int64_t deadline);
int futex_wake(const void *addr, int n, uint32_t bits);
/* Wake some, move some; only if *from == *expected where expected is not NULL (else
 * -EAGAIN). Returns woken + moved. */
int futex_requeue(const uint32_t *from, int wake, int move, const uint32_t *to,
		  const uint32_t *expected);
/* Wake everybody in key's bucket for whom ready(node) holds. */
void futex_wake_ready(struct futex_bucket *b, bool (*ready)(const struct futex_node *));

extern struct futex_bucket futex_table[];
#define FUTEX_BUCKETS 8192u
#define FUTEX_PARTS 32u
/* Waiters of a bucket; the next one splits it. */
#define FUTEX_SPLIT (UK_DEBUG ? 2u : 4u)
unsigned futex_hash(const void *key);
unsigned futex_part(const void *key); /* independent of the hash */

/* A forked child: what a lost thread's wait did to its object is undone (futex.c). */
void mutex_lost(uint32_t *m);
void rwlock_lost(uk_rwlock *l);
void chan_lost(uk_chan *c);
void select_lost(const void *select);

#endif
