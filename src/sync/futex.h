/* SPDX-License-Identifier: Apache-2.0 */
/* futex.h - the table of waiters, keyed by address: every primitive of this directory
 * except the channel queues here.
 *
 * A waiter's node is the one in its descriptor (futex_node_of), because a thread waits
 * in one queue at a time. A waker touches the descriptor anyway, and so touches no
 * stack; the stacks of many threads are cold in the page tables (373 instead of 586 ns
 * of CPU for each wake-up, with 10,000 threads). If a handler may run, and wait, while
 * the node is still needed, the node is on the waiter's stack. Other threads may touch
 * it only under the lock of its bucket while it is QUEUED. The one that takes it out
 * (futex_take) may still read it until it fires the node's token, and never after.
 *
 *   QUEUED --futex_take--> TAKEN    by a waker; the waiter finds out what that means
 *                                   for its primitive
 *   QUEUED --futex_take--> HANDED   by a waker that gave it what it waits for: the
 *                                   waiter has it, even if its deadline or a cancel
 *                                   woke it
 *   QUEUED --futex_take--> LEFT     by the waiter itself, at its deadline or cancelled
 *
 * A waiter that was woken with WAKE_OK may read its node without the lock: the waker is
 * done with it. With any other reason it must look under futex_lock_node.
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

/* All under the lock. A bucket is one queue of all its keys, a FIFO unless threads are
 * ranked (futex_rank_threads). With many waiters it is
 * split into FUTEX_PARTS queues (futex.c), until the last waiter has gone. */
struct futex_bucket {
	struct lock lock;
	uint32_t waiters;
	bool split;        /* queue is empty: the waiters are in the parts */
	struct list queue; /* zero until first used */
} LINE_ALIGNED;

/* rt_enter, after touching the object's memory. */
static inline struct uk_thread *enter_touching(const void *object, size_t n)
{
	touch_read(object, n);
	return rt_enter();
}

struct futex_node {
	struct list link; /* under the bucket's lock */
	const void *key;  /* under the bucket's lock; requeue changes it */
	struct uk_thread *thread;
	uint64_t token;
	int64_t since; /* when the wait began, by sched_clock_coarse; the primitive's */
	void *arg;     /* the primitive's */
	uint32_t tag;  /* the primitive's: bit set of a raw wait, role in a rwlock */
	uint16_t bucket; /* its index; atomic; requeue writes it under both locks */
	uint8_t state;   /* enum futex_state; under the bucket's lock */
	uint8_t rank;    /* futex_rank; constant while it waits */
};
_Static_assert(sizeof(struct futex_node) <= sizeof(((struct uk_thread *)NULL)->node),
	       "fits into the descriptor");

/* 0: threads have no ranks; else 1 + `rest` (futex_rank_threads); atomic */
extern uint8_t futex_ranked;
uint8_t futex_rank_of(const struct uk_thread *t);
/* Before a wait of t, the caller, with n; without a lock, because it may ask the
 * kernel. */
static inline void futex_rank(struct futex_node *n, const struct uk_thread *t)
{
	n->rank = unlikely(load_relaxed(&futex_ranked)) ? futex_rank_of(t) : 0;
}

/* The node of t, the caller, for its next wait and until it leaves the runtime; ranked.
 * The caller sets the fields that its primitive uses. */
static inline struct futex_node *futex_node_of(struct uk_thread *t)
{
	struct futex_node *n = (struct futex_node *)(void *)t->node;

	futex_rank(n, t);
	return n;
}

#define FUTEX_ANY UINT32_MAX /* a bit set that intersects all others */

struct futex_bucket *futex_lock(const void *key);
static inline void futex_unlock(struct futex_bucket *b)
{
	lock_release(&b->lock);
}
/* A waiter on key will be looked for in a moment: prefetch what is read then. */
void futex_foresee(const void *key);
/* The buckets of two keys; they may be the same one. */
void futex_lock_pair(const void *k1, const void *k2, struct futex_bucket **b1,
		     struct futex_bucket **b2);
void futex_unlock_pair(struct futex_bucket *b1, struct futex_bucket *b2);
/* While another bucket is locked: one at a higher address, or any by trying. */
void futex_lock_nested(struct futex_bucket *b);
bool futex_try_nested(struct futex_bucket *b);
/* Lock the bucket where n is, or was last. */
struct futex_bucket *futex_lock_node(const struct futex_node *n);

/* Under the lock: publish n, which is ranked. From now on its token may be fired. */
void futex_push(struct futex_bucket *b, struct futex_node *n, const void *key,
		struct uk_thread *t, uint64_t token, bool front);
/* Under the lock: first waiter on key, or NULL; the next one after n. */
struct futex_node *futex_first(struct futex_bucket *b, const void *key);
struct futex_node *futex_next(struct futex_bucket *b, const struct futex_node *n);
void futex_take(struct futex_node *n, enum futex_state state);
/* Under both locks: n waits on key from now on, as the youngest of its rank. */
void futex_move(struct futex_node *n, struct futex_bucket *to, const void *key);

/* From now on waiters on one key are in order of rank, and the oldest of a rank first.
 * The rank of a kernel thread, or of a user thread that is bound to one, is its
 * real-time priority (0: none; deadline is the highest); all others have `rest`. As in
 * the kernel's futex, the rank is read when the wait begins. */
void futex_rank_threads(uint8_t rest);

/* Called by the waiter after a wake-up that is not WAKE_OK: leave the queue if still in
 * it. Returns what has become of the node (LEFT: nothing). */
enum futex_state futex_leave(struct futex_node *n);

/* The raw futex, with bit sets (uk_futex_* and the preload library's SYS_futex). */
int futex_wait(const uint32_t *addr, uint32_t expected, uint32_t bits,
	       int64_t deadline);
int futex_wake(const void *addr, int n, uint32_t bits);
/* Wake up to `wake` waiters and move up to `move`; if expected is not NULL, only if
 * *from == *expected (else -EAGAIN). Returns woken + moved. */
int futex_requeue(const uint32_t *from, int wake, int move, const uint32_t *to,
		  const uint32_t *expected);
/* Wake every waiter in b for which ready(node) holds. */
void futex_wake_ready(struct futex_bucket *b, bool (*ready)(const struct futex_node *));

extern struct futex_bucket futex_table[];
#define FUTEX_BUCKETS 8192u
#define FUTEX_PARTS 32u
/* Waiters of a bucket; one more splits it. */
#define FUTEX_SPLIT (UK_CHECKS ? 2u : 4u)
unsigned futex_hash(const void *key);
unsigned futex_part(const void *key); /* independent of the hash */

/* In a forked child: undo what a lost thread's wait did to its object (futex.c). */
void mutex_lost(uint32_t *m);
void rwlock_lost(uk_rwlock *l);
void chan_lost(uk_chan *c);
void select_lost(const void *select);

#endif
