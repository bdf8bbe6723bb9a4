/* SPDX-License-Identifier: Apache-2.0 */
/* What the two engines share: the queue of finished ops, the word on which a kick and a
 * sleeper meet, helpers for file descriptors. Private to src/reactor/. */
#ifndef REACTOR_ENGINE_H
#define REACTOR_ENGINE_H

#include <fcntl.h>
#include <sys/resource.h>

#include "base/os.h"
#include "base/log.h"
#include "base/sys.h"
#include "reactor/fdtab.h"

/* -- a FIFO of ops -- */
static inline void opq_init(struct opq *q)
{
	q->head = NULL;
	q->tail = &q->head;
}

static inline void opq_push(struct opq *q, struct io_op *op)
{
	op->next = NULL;
	*q->tail = op;
	q->tail = &op->next;
}

static inline struct io_op *opq_pop(struct opq *q)
{
	struct io_op *op = q->head;

	if (op) {
		q->head = op->next;
		if (!q->head)
			q->tail = &q->head;
	}
	return op;
}

static inline struct io_op *opq_take_all(struct opq *q)
{
	struct io_op *op = q->head;

	opq_init(q);
	return op;
}

/* Linear; for rare paths. */
static inline bool opq_remove(struct opq *q, struct io_op *op)
{
	for (struct io_op **p = &q->head; *p; p = &(*p)->next) {
		if (*p != op)
			continue;
		*p = op->next;
		if (q->tail == &op->next)
			q->tail = p;
		op->next = NULL;
		return true;
	}
	return false;
}

/* -- kick and sleep --
 *
 *   AWAKE --waker_sleep--> ASLEEP --waker_wake--> AWAKE
 *     |                      |
 *     +------kick------------+-------> KICKED --waker_sleep fails / waker_wake--> AWAKE
 *
 * Only a kick that found ASLEEP makes a system call. The call may come late and then
 * wakes a later sleep without need. A poll that does not sleep leaves KICKED as it is.
 */
enum { WAKER_AWAKE, WAKER_KICKED, WAKER_ASLEEP };

struct waker {
	uint32_t word; /* written by kickers and the owner, by exchange or CAS */
};

/* True: the caller must make the system call that wakes the sleeper. */
static inline bool waker_kick(struct waker *w)
{
	/* seq_cst, and always a write: the owner whose exchange takes this value away
	 * sees what the kicker published before (pairs with waker_sleep, waker_wake) */
	return xchg_seq_cst(&w->word, WAKER_KICKED) == WAKER_ASLEEP;
}

/* True: go to sleep. False: there was a kick, and it is consumed. */
static inline bool waker_sleep(struct waker *w)
{
	uint32_t old = WAKER_AWAKE;

	if (cas_seq_cst(&w->word, &old, WAKER_ASLEEP))
		return true;
	xchg_seq_cst(&w->word, WAKER_AWAKE);
	return false;
}

static inline void waker_wake(struct waker *w)
{
	xchg_seq_cst(&w->word, WAKER_AWAKE);
}

/* No sleep is longer, so that sums of times do not overflow. */
#define MAX_SLEEP (NS_PER_SEC << 20)

/* -- file descriptors -- */
/* Move an fd of the library above those that programs expect to get, and set
 * close-on-exec. Returns the new fd, or the old one if there is no free fd above. */
int fd_move_high(int fd);
/* O_NONBLOCK is set in the open file. */
bool fd_nonblock(int fd);
/* Makes op at once, without blocking: its result, -EAGAIN if it would block, or
 * REACTOR_READY if no form of it is sure not to block. */
long op_try(struct reactor *r, struct io_op *op);
/* Tests only: use the eventfd even if the kernel has SEND_MSG_RING. */
extern bool uring_no_msg_kick;
/* late.c: no op is late. */
void late_init(struct reactor *r);
/* The result for op, which was cancelled. Call it once: it may duplicate op->fd2. */
int op_cut_result(struct io_op *op);
/* Record in op how cancel_fd ends it. */
static inline void op_cut_by_fd(struct io_op *op, int keep)
{
	op->ebadf = keep >= 0 ? OP_MOVES : keep == KEEP_ANEW ? OP_ANEW : 1;
	if (keep >= 0)
		op->fd2 = keep;
}
/* The beginning of every submission. */
static inline void op_begin(struct reactor *r, struct io_op *op)
{
	op->state = IO_PENDING;
	op->engine = 0;
	op->ebadf = 0;
	op->home = r;
	r->pending++;
}
#endif
