/* SPDX-License-Identifier: Apache-2.0 */
/* chan.h - the inside of a channel, shared by chan.c (one channel) and select.c (many).
 *
 * A waiter is a node on its thread's stack, linked into recvq or sendq under the
 * channel's guard. The partner that completes it unlinks the node, copies the element
 * straight from or into the waiter's buffer and sets the result, all under the guard.
 * It fires the token after the guard is released; from then on it touches neither node
 * nor channel, because the waiter may return and destroy both. Whether the node is
 * linked decides: a waiter whose deadline passes at that instant takes the guard, finds
 * its node unlinked, and has sent or received. So no element is lost, and none is
 * copied into a stack that is gone.
 *
 * A select links one node for each case, on several channels, and only one may
 * complete. Its claim word decides:
 *
 *   OPEN --partner, or select itself finds a case ready--> TAKEN(case)
 *   OPEN --deadline, cancellation--> GONE
 *   OPEN --> BUSY --> OPEN | TAKEN: two published selects meet. The word at the lower
 *            address is made BUSY, then the other is taken. Others spin while a word is
 *            BUSY, which lasts a few instructions. The address order prevents a cycle.
 */
#ifndef SYNC_CHAN_H
#define SYNC_CHAN_H

#include "base/list.h"
#include "base/lock.h"
#include "sched/enter.h"
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
	uint32_t *claim; /* NULL: the node is not a select's */
	uint32_t index;  /* of the case */
	int result;      /* valid once unlinked by a partner */
	bool linked;     /* channel's guard */
};

/* THE GUARD of a channel is its lock, or the bias. In a process with one vp a channel
 * is biased to it: user threads inside the runtime exclude each other on one vp anyway,
 * so they do not take the lock (its two locked instructions would be half the cost of a
 * hand-over). Any other thread (a foreign thread, or one of a vp made later) removes
 * the bias for good. It pays for the missing fence, as the monitor does in a hand-off:
 *
 *   biased thread:  chan_inside = c; compiler barrier; bias still me?   (plain stores)
 *   the other:      lock; bias = NULL; membarrier; wait while chan_inside == c
 *
 * Only one vp can ever have a bias (sched_only_vp), so one chan_inside is enough.
 * Rejected: a bias for each vp in all processes (stolen threads would revoke one
 * channel after the other, with a membarrier each). */
struct uk_chan {
	struct lock lock;
	const struct uk_vp *bias; /* atomic; set to NULL under the lock, once */
	bool closed;              /* this and the fields below: under the guard */
	size_t elem, cap;         /* constant */
	size_t head, len;  /* ring: next to receive, how many; len is also read bare */
	struct list recvq; /* not empty only while the ring is empty */
	struct list sendq; /* not empty only while the ring is full */
	char ring[];
};

/* The waiter to fire when the lock is released. */
struct chan_wake {
	struct uk_thread *thread; /* NULL: none */
	uint64_t token;
};

/* Written by user threads of the only vp, read by a thread that removes a bias. */
extern const struct uk_chan *chan_inside;
void chan_lock(struct uk_chan *c);

/* In the runtime, by a thread of vp, or by a foreign one (NULL). True: the lock is
 * held; false: the bias is used. */
static inline bool chan_enter(struct uk_chan *c, const struct uk_vp *vp)
{
	const struct uk_vp *bias = load_relaxed(&c->bias);

	if (bias && bias == vp) {
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
		/* release: a thread that waits in chan_lock sees what we did */
		store_release(&chan_inside, NULL);
}

static inline void chan_fire(const struct chan_wake *w)
{
	if (w->thread)
		wait_fire(w->thread, w->token, WAKE_OK);
}

/* Before the runtime is entered: touch the memory that op copies (base/touch.h). */
void chan_touch(const struct uk_chan *c, int op, void *elem);
/* Under the guard: do op if it can be done now. 0 or -EPIPE: done; -EAGAIN: not ready;
 * -EALREADY: the caller's own claim is taken. claim is NULL while nothing is
 * published. */
int chan_op(struct uk_chan *c, int op, void *elem, uint32_t *claim, uint32_t index,
	    struct chan_wake *wake);
/* Under the guard: queue n for op. */
static inline void chan_push(struct uk_chan *c, int op, struct chan_node *n)
{
	n->linked = true;
	list_push_back(op == UK_CHAN_SEND ? &c->sendq : &c->recvq, &n->link);
}

/* OPEN > to, after waiting while BUSY. False: the claim was decided otherwise. */
bool chan_claim(uint32_t *word, uint32_t to);

#endif
