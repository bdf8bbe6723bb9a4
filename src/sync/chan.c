/* SPDX-License-Identifier: Apache-2.0 */
/* Channels: a ring of elements or a rendezvous, with direct hand-over to a waiting
 * thread. The protocol of waiters is in chan.h, select in select.c.
 *
 * Each channel has one lock (RANK_CHAN), or none on a single vp (the guard, chan.h). A
 * lock-free ring does not pay for 8 bytes of state and two queues, and the hand-over
 * must be one step with the queues anyway.
 *
 * A user thread that calls from outside the runtime has inline code for each operation
 * (transfer_user); all other threads share transfer_any. A round trip over two channels
 * on one vp, four operations and two switches, is 886 instructions by callgrind (1,568
 * when all threads shared the code and called the functions of sched for each step).
 *
 * Rejected: kind and depth of a thread side by side, compared by one load (34
 * instructions less, but slower: the load waits for the last store to depth).
 */
#include "sync/chan.h"

#include <stdlib.h>
#include <string.h>

#include "base/membarrier.h"
#include "base/sys.h"
#include "base/touch.h"
#include "sync/futex.h"

static NOINLINE void copy_other(void *to, const void *from, size_t n)
{
	if (n == 4)
		memcpy(to, from, 4);
	else if (n)
		memcpy(to, from, n);
}

INLINE void copy(void *to, const void *from, size_t n)
{
	if (likely(n == 8))
		memcpy(to, from, 8);
	else
		copy_other(to, from, n);
}

static void *slot(struct uk_chan *c, size_t i)
{
	return c->ring + (i < c->cap ? i : i - c->cap) * c->elem;
}

int uk_chan_create(uk_chan **out, size_t elem_size, size_t capacity)
{
	struct uk_chan *c;
	size_t bytes;

	if (!out || __builtin_mul_overflow(elem_size, capacity, &bytes) ||
	    capacity > SIZE_MAX / 2 || bytes > SIZE_MAX / 2)
		return -EINVAL;
	c = malloc(sizeof(*c) + bytes);
	if (!c)
		return -ENOMEM;
	*c = (struct uk_chan){ .bias = sched_only_vp(),
			       .elem = elem_size,
			       .cap = capacity };
	lock_init(&c->lock, RANK_CHAN);
	list_init(&c->recvq);
	list_init(&c->sendq);
	*out = c;
	return 0;
}

void chan_lost(uk_chan *c)
{
	list_init(&c->recvq);
	list_init(&c->sendq);
}

void uk_chan_destroy(uk_chan *c)
{
	free(c);
}

size_t uk_chan_len(const uk_chan *c)
{
	return load_relaxed(&c->len);
}

const struct uk_chan *chan_inside;

static COLD void unbias(struct uk_chan *c)
{
	store_relaxed(&c->bias, NULL);
	barrier_everywhere();
	/* a section that began before is visible now; later ones find no bias */
	for (unsigned spins = 1; load_acquire(&chan_inside) == c; spins++) {
		if (spins % 200)
			cpu_relax();
		else
			sys0(SYS_sched_yield);
	}
}

void chan_lock(struct uk_chan *c)
{
	lock_acquire(&c->lock);
	if (unlikely(load_relaxed(&c->bias)))
		unbias(c);
}

bool chan_claim(uint32_t *word, uint32_t to)
{
	for (unsigned spins = 1;; spins++) {
		uint32_t seen = CLAIM_OPEN;

		if (cas_acq_rel(word, &seen, to))
			return true;
		if (seen != CLAIM_BUSY)
			return false;
		if (spins % 200)
			cpu_relax();
		else
			sys0(SYS_sched_yield); /* its thread was preempted */
	}
}

enum meet { MEET, SELF_GONE, OTHER_GONE };
#define NO_CLAIM ((struct chan_node *)1)

/* Commit both sides of a hand-over, or neither. A side that is NULL is not a published
 * select and needs no claim. */
static enum meet meet(uint32_t *self, uint32_t self_to, uint32_t *other,
		      uint32_t other_to)
{
	bool self_first = self < other;

	if (!other)
		return !self || chan_claim(self, self_to) ? MEET : SELF_GONE;
	if (!self)
		return chan_claim(other, other_to) ? MEET : OTHER_GONE;
	if (!chan_claim(self_first ? self : other, CLAIM_BUSY))
		return self_first ? SELF_GONE : OTHER_GONE;
	if (!chan_claim(self_first ? other : self, self_first ? other_to : self_to)) {
		store_release(self_first ? self : other, CLAIM_OPEN);
		return self_first ? OTHER_GONE : SELF_GONE;
	}
	store_release(self_first ? self : other, self_first ? self_to : other_to);
	return MEET;
}

/* The same without another side. */
INLINE bool commit(uint32_t *claim, uint32_t index)
{
	return !claim || chan_claim(claim, CLAIM_TAKEN + index);
}

static NOINLINE struct chan_node *partner_slow(struct list *q, uint32_t *claim,
					       uint32_t index)
{
	list_each_safe(l, tmp, q)
	{
		struct chan_node *n = container_of(l, struct chan_node, link);
		enum meet m;

		if (n->claim && n->claim == claim)
			continue; /* a select with both operations of one channel */
		m = meet(claim, CLAIM_TAKEN + index, n->claim, CLAIM_TAKEN + n->index);
		if (m == SELF_GONE)
			return NO_CLAIM;
		list_del(l);
		n->linked = false;
		if (m == MEET)
			return n;
	}
	return NULL;
}

/* Take the first waiter of q that is still available: it is unlinked and ours. NULL:
 * there is none, and our own claim is untouched. NO_CLAIM: our own claim is taken. */
INLINE struct chan_node *partner(struct list *q, uint32_t *claim, uint32_t index)
{
	struct list *first = q->next, *second = first->next;
	struct chan_node *n = container_of(first, struct chan_node, link);

	if (first == q)
		return NULL;
	if (claim || n->claim)
		return partner_slow(q, claim, index);
	q->next = second; /* two plain operations: nothing is to be claimed */
	second->prev = q;
	n->linked = false;
	return n;
}

INLINE void finish(struct chan_node *n, int result, struct chan_wake *wake)
{
	n->result = result;
	wake->thread = n->thread;
	wake->token = n->token;
}

INLINE int send_op(struct uk_chan *c, const void *elem, uint32_t *claim, uint32_t index,
		   struct chan_wake *wake)
{
	struct chan_node *n;

	if (c->closed)
		return commit(claim, index) ? -EPIPE : -EALREADY;
	n = partner(&c->recvq, claim, index);
	if (unlikely(n == NO_CLAIM))
		return -EALREADY;
	if (n) {
		copy(n->elem, elem, c->elem);
		finish(n, 0, wake);
		return 0;
	}
	if (c->len == c->cap)
		return -EAGAIN;
	if (!commit(claim, index))
		return -EALREADY;
	copy(slot(c, c->head + c->len), elem, c->elem);
	store_relaxed(&c->len, c->len + 1);
	return 0;
}

/* The ring has space again: add the first sender's element. */
static void refill(struct uk_chan *c, struct chan_wake *wake)
{
	struct chan_node *n = partner(&c->sendq, NULL, 0);

	if (!n)
		return;
	copy(slot(c, c->head + c->len), n->elem, c->elem);
	store_relaxed(&c->len, c->len + 1);
	finish(n, 0, wake);
}

INLINE int recv_op(struct uk_chan *c, void *elem, uint32_t *claim, uint32_t index,
		   struct chan_wake *wake)
{
	struct chan_node *n;

	if (c->len) {
		if (!commit(claim, index))
			return -EALREADY;
		copy(elem, slot(c, c->head), c->elem);
		c->head = c->head + 1 == c->cap ? 0 : c->head + 1;
		store_relaxed(&c->len, c->len - 1);
		refill(c, wake);
		return 0;
	}
	n = partner(&c->sendq, claim, index);
	if (unlikely(n == NO_CLAIM))
		return -EALREADY;
	if (n) {
		copy(elem, n->elem, c->elem);
		finish(n, 0, wake);
		return 0;
	}
	if (!c->closed)
		return -EAGAIN;
	return commit(claim, index) ? -EPIPE : -EALREADY;
}

INLINE int op_now(struct uk_chan *c, int op, void *elem, uint32_t *claim,
		  uint32_t index, struct chan_wake *wake)
{
	wake->thread = NULL;
	if (op == UK_CHAN_SEND)
		return send_op(c, elem, claim, index, wake);
	return recv_op(c, elem, claim, index, wake);
}

int chan_op(struct uk_chan *c, int op, void *elem, uint32_t *claim, uint32_t index,
	    struct chan_wake *wake)
{
	return op_now(c, op, elem, claim, index, wake);
}

/* After a wake-up by deadline or cancellation: true if a partner has completed n. */
static COLD bool completed(struct uk_chan *c, struct chan_node *n)
{
	bool locked = chan_enter(c, vp_of(n->thread)), yes = !n->linked;

	if (!yes)
		list_del(&n->link);
	chan_leave(c, locked);
	return yes;
}

void chan_touch(const struct uk_chan *c, int op, void *elem)
{
	const struct uk_thread *t = thread_self_tls;

	if (likely(t && load_relaxed(&t->kind) == THREAD_USER &&
		   thread_on_stack(t, elem, c->elem)))
		return;
	if (op == UK_CHAN_SEND)
		touch_read(elem, c->elem);
	else
		touch_write(elem, c->elem);
}

/* Does elem lie in the page of the caller's frame? Then there is nothing to touch. Most
 * elements do, and this needs no descriptor. */
INLINE bool touched(const struct uk_chan *c, const void *elem)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0), at = (uintptr_t)elem;

	return ((at ^ frame) | ((at + c->elem) ^ frame)) < PAGE;
}

/* In the runtime, which it leaves. t: the caller. user, a constant: t is a user thread
 * that has just entered, and was outside. */
INLINE int transfer(struct uk_thread *t, struct uk_vp *vp, bool user, struct uk_chan *c,
		    int op, void *elem, bool wait, int64_t deadline)
{
	struct chan_node n;
	struct chan_wake wake;
	bool locked = chan_enter(c, vp);
	int ret = user ? op_now(c, op, elem, NULL, 0, &wake)
		       : chan_op(c, op, elem, NULL, 0, &wake);

	if (ret == -EAGAIN && wait) {
		unsigned why;

		n.thread = t;
		n.token = wait_begin(t, WAIT_CHAN, c);
		n.elem = elem;
		n.claim = NULL;
		chan_push(c, op, &n);
		chan_leave(c, locked);
		why = wait_park(t, n.token, deadline);
		ret = likely(why == WAKE_OK) || completed(c, &n) ? n.result
								 : wake_error(why);
	} else {
		chan_leave(c, locked);
		if (!user)
			chan_fire(&wake);
		else if (wake.thread)
			wait_fire_by(t, wake.thread, wake.token);
	}
	if (user)
		exit_user(t);
	else
		rt_exit();
	return ret;
}

static NOINLINE int transfer_any(struct uk_chan *c, int op, void *elem, bool wait,
				 int64_t deadline)
{
	struct uk_thread *t;
	int ret = rt_begin();

	if (unlikely(ret))
		return ret;
	chan_touch(c, op, elem);
	t = rt_enter();
	return transfer(t, vp_of(t), false, c, op, elem, wait, deadline);
}

/* op and wait are constants: there is one copy of all this for a send and one for a
 * receive, and two short ones without a wait. */
INLINE int transfer_user(struct uk_chan *c, int op, void *elem, bool wait,
			 int64_t deadline)
{
	struct uk_thread *t = thread_self_tls;

	if (unlikely(!t || load_relaxed(&t->kind) != THREAD_USER || t->depth))
		return transfer_any(c, op, elem, wait, deadline);
	if (unlikely(!touched(c, elem)))
		chan_touch(c, op, elem);
	return transfer(t, enter_user(t)->vp, true, c, op, elem, wait, deadline);
}

/* An element to send stays const: send_op only reads it. */
static NOINLINE int send_until(uk_chan *c, const void *elem, int64_t deadline)
{
	return transfer_user(c, UK_CHAN_SEND, (void *)(uintptr_t)elem, true, deadline);
}

static NOINLINE int recv_until(uk_chan *c, void *elem, int64_t deadline)
{
	return transfer_user(c, UK_CHAN_RECV, elem, true, deadline);
}

int uk_chan_send(uk_chan *c, const void *elem)
{
	return send_until(c, elem, TIME_NEVER);
}

int uk_chan_send_until(uk_chan *c, const void *elem, uk_time deadline)
{
	return send_until(c, elem, deadline);
}

int uk_chan_trysend(uk_chan *c, const void *elem)
{
	return transfer_user(c, UK_CHAN_SEND, (void *)(uintptr_t)elem, false, 0);
}

int uk_chan_recv(uk_chan *c, void *elem)
{
	return recv_until(c, elem, TIME_NEVER);
}

int uk_chan_recv_until(uk_chan *c, void *elem, uk_time deadline)
{
	return recv_until(c, elem, deadline);
}

int uk_chan_tryrecv(uk_chan *c, void *elem)
{
	return transfer_user(c, UK_CHAN_RECV, elem, false, 0);
}

/* Wake every waiter of q with -EPIPE. *last is the wake-up not yet sent: the last one
 * of all is fired after the channel's lock is released, because the thread that gets it
 * may destroy the channel. */
static void hang_up(struct list *q, struct chan_wake *last, bool *any)
{
	for (struct chan_node *n; (n = partner(q, NULL, 0));) {
		if (*any)
			chan_fire(last);
		finish(n, -EPIPE, last);
		*any = true;
	}
}

int uk_chan_close(uk_chan *c)
{
	bool locked = chan_enter(c, vp_of(rt_enter())), any = false;
	struct chan_wake last = { NULL, 0 };
	int ret = -EPIPE;

	if (!c->closed) {
		c->closed = true;
		hang_up(&c->sendq, &last, &any);
		hang_up(&c->recvq, &last, &any);
		ret = 0;
	}
	chan_leave(c, locked);
	if (any)
		chan_fire(&last);
	rt_exit();
	return ret;
}
