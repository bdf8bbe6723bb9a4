/* SPDX-License-Identifier: Apache-2.0 */
/* runq.h - run queue of one vp.
 *
 * Four places, looked at in this order:
 *   lifo    the thread just made ready or created: its data is hot. At most LIFO_STREAK
 *           times in a row
 *   ring    FIFO of RUNQ_SIZE; the owner pushes at the tail, owner and thieves CAS the
 *           head
 *   pinned  threads that must stay on this vp, and those that go before the ring in a
 *           burst of hand-offs (enqueue_woken); owner only
 *   over    FIFO of the threads that found the ring full; owner only, refills the ring
 *
 * No lock. Where no thief can exist (a set of one vp, or without stealing), the owner's
 * pops are plain. A thread is in at most one place of one queue, and only after its
 * context is saved. The owner may take the youngest thread of the ring back from the
 * tail (runq_take_back), when another thread is about to wait for it. head counts these
 * takes, too, above its index, so the CAS of a thief that read head before fails
 * (tests/model/runq.pml).
 *
 * Rejected: one locked queue for each set (every wake-up contends); a Chase-Lev deque
 * (LIFO for the owner: unfair to connections); a ring of 32,768, and prefetching 16
 * threads ahead (no gain).
 */
#ifndef SCHED_RUNQ_H
#define SCHED_RUNQ_H

#include "base/base.h"
#include "thread/thread.h"

#define RUNQ_SIZE 1024u /* power of two */
#define RUNQ_REFILL 256u
#define RUNQ_TAKE ((uint64_t)1 << 32)
#define FORESEE 8u
#define SWITCH_LINES 3
#define WAKE_LINES 4

struct tqueue { /* owner-only FIFO through thread->next */
	struct uk_thread *head, *tail;
	unsigned n;
};

struct runq {
	uint32_t tail;              /* owner */
	bool shared;                /* constant */
	struct uk_thread *lifo;     /* owner puts, owner and thieves take by xchg */
	struct tqueue over, pinned; /* owner */
	uint32_t tick;              /* owner */
	/* index, and above it RUNQ_TAKE for each thread taken back; owner and thieves,
	 * CAS */
	uint64_t head LINE_ALIGNED;
	struct uk_thread *ring[RUNQ_SIZE] LINE_ALIGNED;
};

/* Threads in the ring. A thief's values may be stale: then the result is more than
 * RUNQ_SIZE. */
static inline uint32_t runq_between(uint64_t head, uint32_t tail)
{
	return tail - (uint32_t)head;
}

static inline void tqueue_push(struct tqueue *q, struct uk_thread *t)
{
	t->next = NULL;
	if (q->tail)
		q->tail->next = t;
	else
		q->head = t;
	q->tail = t;
	store_relaxed(&q->n, q->n + 1);
}

static inline struct uk_thread *tqueue_pop(struct tqueue *q)
{
	struct uk_thread *t = q->head;

	if (t) {
		q->head = t->next;
		if (!q->head)
			q->tail = NULL;
		store_relaxed(&q->n, q->n - 1);
	}
	return t;
}

/* Owner. */
static inline void runq_push(struct runq *q, struct uk_thread *t)
{
	uint32_t tail = q->tail;

	if (unlikely(q->over.n) ||
	    unlikely(runq_between(load_acquire(&q->head), tail) >= RUNQ_SIZE)) {
		tqueue_push(&q->over, t);
		return;
	}
	store_relaxed(&q->ring[tail & (RUNQ_SIZE - 1)], t);
	/* release: a thief that sees tail+1 sees the slot (pairs with runq_steal) */
	store_release(&q->tail, tail + 1);
}

/* Owner: refills the ring, which is empty or nearly so, from the overflow, in order. */
static inline void runq_refill(struct runq *q)
{
	for (unsigned i = 0; i < RUNQ_REFILL && q->over.head; i++) {
		uint32_t tail = q->tail;

		if (runq_between(load_acquire(&q->head), tail) >= RUNQ_SIZE)
			return;
		store_relaxed(&q->ring[tail & (RUNQ_SIZE - 1)], tqueue_pop(&q->over));
		store_release(&q->tail, tail + 1);
	}
}

/* Prefetches what a thread touches of its stack when it goes on: its context, the frame
 * that switched, and its caller's; after a wait, also those of the primitive. */
INLINE void foresee_stack(const char *sp, unsigned lines)
{
	for (unsigned k = 0; k < lines; k++)
		__builtin_prefetch(sp + k * CACHE_LINE, 1);
}

/* Owner. In a long queue each thread is cold when its turn comes, both descriptor and
 * stack. This prefetches what a switch touches of threads that come soon: first the
 * descriptor, which says where the stack is, later the stack. A thief may have taken
 * such a thread by now; its descriptor is never unmapped. */
static inline void runq_foresee(const struct runq *q, uint32_t head)
{
	struct uk_thread *soon, *next;

	if (q->tail - head < FORESEE)
		return;
	soon = load_relaxed(&q->ring[(head + FORESEE - 1) & (RUNQ_SIZE - 1)]);
	__builtin_prefetch(soon, 1);
	next = load_relaxed(&q->ring[(head + FORESEE / 2) & (RUNQ_SIZE - 1)]);
	foresee_stack(load_relaxed(&next->sp), SWITCH_LINES);
}

/* Owner. */
static inline struct uk_thread *runq_pop_ring(struct runq *q)
{
	uint64_t head = load_relaxed(&q->head);

	runq_foresee(q, (uint32_t)head);
	for (;;) {
		struct uk_thread *t;

		if ((uint32_t)head == q->tail)
			return NULL;
		t = load_relaxed(&q->ring[head & (RUNQ_SIZE - 1)]);
		if (!q->shared) {
			store_relaxed(&q->head, head + 1);
			return t;
		}
		/* a failed CAS reloads head: a thief took some */
		if (cas_acq_rel(&q->head, &head, head + 1))
			return t;
	}
}

/* Owner: takes t out of the ring if it is the youngest there; else NULL. The tail goes
 * back before head changes. So a thief that sees the new head sees the new tail, and
 * the CAS of a thief that saw the old head fails. If a thief's CAS came first, ours
 * fails, and we see from head whether the thief has t. */
static inline struct uk_thread *runq_take_back(struct runq *q,
					       const struct uk_thread *t)
{
	uint64_t head = load_relaxed(&q->head);
	uint32_t last = q->tail - 1;
	struct uk_thread *youngest = load_relaxed(&q->ring[last & (RUNQ_SIZE - 1)]);

	if ((uint32_t)head == q->tail || youngest != t)
		return NULL;
	store_relaxed(&q->tail, last);
	while (q->shared && !cas_acq_rel(&q->head, &head, head + RUNQ_TAKE))
		if ((uint32_t)head == last + 1) {
			store_release(&q->tail, last + 1);
			return NULL;
		}
	return youngest;
}

/* Owner: the oldest thread. Not NULL while anything is in the overflow, where no thief
 * can take it: thieves may take a whole refill before the owner has one of it. */
static inline struct uk_thread *runq_pop_fifo(struct runq *q)
{
	struct uk_thread *t = runq_pop_ring(q);

	while (!t && unlikely(q->over.head)) {
		runq_refill(q);
		t = runq_pop_ring(q);
	}
	return t;
}

/* Where the lifo slot holds t, not NULL: takes what is there now. */
static inline struct uk_thread *runq_take_seen(struct runq *q, struct uk_thread *t)
{
	if (!q->shared) {
		store_relaxed(&q->lifo, (struct uk_thread *)NULL);
		return t;
	}
	return xchg_acq_rel(&q->lifo, (struct uk_thread *)NULL);
}

static inline struct uk_thread *runq_take_lifo(struct runq *q)
{
	struct uk_thread *t = load_relaxed(&q->lifo);

	return t ? runq_take_seen(q, t) : NULL;
}

/* Owner: t runs next; the thread that was to run next goes to the tail. */
static inline void runq_push_lifo(struct runq *q, struct uk_thread *t)
{
	struct uk_thread *old;

	if (!q->shared) {
		old = q->lifo;
		store_relaxed(&q->lifo, t);
	} else {
		old = xchg_acq_rel(&q->lifo, t);
	}
	if (old)
		runq_push(q, old);
}

/* Racy size of what thieves could take, now or after a refill. */
static inline unsigned runq_stealable(const struct runq *q)
{
	uint32_t n = runq_between(load_relaxed(&q->head), load_relaxed(&q->tail));

	return (n > RUNQ_SIZE ? 0 : n) + load_relaxed(&q->over.n);
}

/* Racy size of all but the lifo slot. */
static inline unsigned runq_len(const struct runq *q)
{
	return runq_stealable(q) + load_relaxed(&q->pinned.n);
}

/* Thief: up to max threads of q's ring, oldest first, at most half (rounded up). */
static inline unsigned runq_steal(struct runq *q, struct uk_thread **out, unsigned max)
{
	uint64_t head = load_acquire(&q->head), now;

	for (;;) {
		uint32_t n = runq_between(head, load_acquire(&q->tail));

		/* head is stale, or a thief has the thread that is being taken back */
		if (n > RUNQ_SIZE) {
			now = load_acquire(&q->head);
			if (now == head)
				return 0;
			head = now;
			continue;
		}
		n = MIN(n - n / 2, max);
		if (!n)
			return 0;
		for (uint32_t i = 0; i < n; i++)
			out[i] = load_relaxed(&q->ring[(head + i) & (RUNQ_SIZE - 1)]);
		/* success: no other thread took these meanwhile, not from the tail
		 * either; the owner cannot have overwritten them, because it never
		 * passes head */
		if (cas_acq_rel(&q->head, &head, head + n))
			return n;
	}
}

#endif
