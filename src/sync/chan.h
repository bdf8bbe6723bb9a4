/* SPDX-License-Identifier: Apache-2.0 */
/* chan.h - inside of a channel, shared by chan.c (one channel) and select.c (many).
 *
 * A waiter is a node on its stack, linked into recvq or sendq under the channel's guard. The
 * partner who completes it unlinks the node, copies the element straight from or into the
 * waiter's buffer and sets the result, all under that lock, and fires the token after the
 * lock is let go (from then on neither node nor channel is touched: the waiter may return
 * and destroy both). Unlinked is the truth: a waiter whose deadline passes at that instant
 * takes the lock, finds its node unlinked, and has sent or received. So no element is lost
 * and none is copied into a stack that is gone.
 *
 * A select links one node per case, on several channels, and only one may complete. Its
 * claim word decides:
 *
 *   OPEN --partner, or select itself finds a case ready--> TAKEN(case)
 *   OPEN --clock, cancel--> GONE
 *   OPEN --> BUSY --> OPEN | TAKEN: two published selects meet; the word at the lower
 *            address is made BUSY, then the other is taken. BUSY is waited out by spinning,
 *            it lasts a few instructions. Address order: no cycle.
 */
#ifndef SYNC_CHAN_H
#define SYNC_CHAN_H

#include "base/list.h"
#include "base/lock.h"
#include "sched/sched.h"
#include "uk/chan.h"

#define CLAIM_OPEN 0u
#define CLAIM_BUSY 1u
#define CLAIM_GONE 2u
#define CLAIM_TAKEN 3u /* + index of the case */

struct chan_node {
	struct list link;
	struct uk_thread *thread;
	uint64_t token;
	void *elem;
	uint32_t *claim; /* NULL: not of a select */
	uint32_t index;  /* which case */
	int result;      /* valid once unlinked by a partner */
	bool linked;     /* channel's guard */
};

/* THE GUARD of a channel is its lock, or the bias. In a process with one vp a channel is
 * biased to it: user threads inside the runtime exclude each other on one vp anyhow, so they
 * go without the lock (whose two locked instructions would be half the cost of a hand-over).
 * Whoever else comes (a foreign thread, a vp made later) takes the bias away for good, and
 * pays for it as the monitor does in a hand-off:
 *
 *   biased thread:  chan_inside = c; compiler barrier; bias still me?   (plain stores)
 *   the other:      lock; bias = NULL; membarrier; wait while chan_inside == c
 *
 * Only one vp can ever have a bias (sched_only_vp), so one chan_inside is enough.
 * Rejected: a bias per vp in all processes (work that is stolen would revoke one channel
 * after the other, a membarrier each). */
struct uk_chan {
	struct lock lock;
	const struct uk_vp *bias; /* atomics; set to NULL under the lock, once */
	bool closed;              /* this and below: the guard */
	size_t elem, cap;         /* fixed */
	size_t head, len;  /* ring: next to receive, how many; len also peeked at */
	struct list recvq; /* not empty only while the ring is empty */
	struct list sendq; /* not empty only while the ring is full */
	char ring[];
};

/* Whom to fire when the lock is gone. */
struct chan_wake {
	struct uk_thread *thread; /* NULL: nobody */
	uint64_t token;
};

/* Written by user threads of the only vp, read by who takes a bias away. */
extern const struct uk_chan *chan_inside;
void chan_lock(struct uk_chan *c);

/* In the runtime. True: with the lock; false: by the bias. */
static inline bool chan_enter(struct uk_chan *c, const struct uk_thread *t)
{
	const struct uk_vp *bias = load_relaxed(&c->bias);

	if (bias && bias == sched_vp(t)) {
		store_relaxed(&chan_inside, c);
		fence_compiler(); /* pairs with the membarrier in chan_lock */
		if (likely(load_relaxed(&c->bias) == bias))
			return false;
		store_release(&chan_inside, NULL);
	}
	chan_lock(c);
	return true;
}

static inline void chan_leave(struct uk_chan *c, bool locked)
{
	if (locked)
		lock_release(&c->lock);
	else
		/* release: who waits for us in chan_lock sees what we did */
		store_release(&chan_inside, NULL);
}

static inline void chan_fire(const struct chan_wake *w)
{
	if (w->thread)
		wait_fire(w->thread, w->token, WAKE_OK);
}

/* Under the guard: do op if it can go on. 0 or -EPIPE: done; -EAGAIN: not ready; -EALREADY:
 * the caller's own claim is taken. Own claim is NULL while nothing is published. */
/* Before the runtime is entered: what op copies is there (base/touch.h). */
void chan_touch(const struct uk_chan *c, int op, void *elem);
int chan_op(struct uk_chan *c, int op, void *elem, uint32_t *claim, uint32_t index,
	    struct chan_wake *wake);
/* Under the guard: queue n for op. */
void chan_push(struct uk_chan *c, int op, struct chan_node *n);
/* OPEN > to, waiting BUSY out. False: somebody else decided. */
bool chan_claim(uint32_t *word, uint32_t to);

#endif
