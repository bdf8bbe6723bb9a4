/* SPDX-License-Identifier: Apache-2.0 */
/* What uring.c, ahead.c and probe.c share. Private to them. */
#ifndef EVENT_URING_IMPL_H
#define EVENT_URING_IMPL_H

#include "event/engine.h"
#include "event/uring_abi.h"

/* io_op.engine, bits */
#define U_POLL 1u     /* in the kernel as a poll; the operation itself comes after it */
#define U_FINISHED 2u /* has its result; returned by the next poll */
#define U_BACKLOG 4u  /* in the backlog, not in the kernel */
#define U_LATE_CANCEL 8u /* in `cancels`: to be cancelled in a moment */
#define U_CANCEL_CQE 16u /* a cancel's completion is to come */
#define U_RESULT 32u     /* its own completion came, in op->res */
#define U_AGAIN 64u      /* submitted more than once */
#define U_AHEAD 128u /* not in the kernel: waits for what its stream's shot brings */

/* a completion's user_data: what it is, in the low bits of the op's address */
#define UD_OP 0u
#define UD_CANCEL 1u
#define UD_KICK 2u
#define UD_MASK 7u

struct ahead_pool;

/* -- the kernel's thread of a ring (sq_thread) --
 *
 *   POLLS --nothing for the idle time--> FLAGS --tails looked at again, empty--> SLEEPS
 *     ^                                    |                                       |
 *     +------something queued: flag off----+<----- the owner's SQ_WAKEUP ----------+
 *
 *   the owner:   write the entry; tail; fence; flag set? SQ_WAKEUP
 *   the thread:  flag; fence; a tail has moved? on : sleep
 *
 * So one of them sees the other's write, and nothing that is queued is left asleep; a wake-up
 * that comes when it is awake is in vain, and one for each tail is enough. The owner looks whenever it polls, so an op that is
 * queued by a running thread to a thread asleep begins with that, as on a plain ring. An entry
 * is free when the head has passed it. Modelled in tests/model/sqpoll.pml. */
struct uring {
	int fd;
	int kick_fd; /* eventfd, -1 when msg_kick */
	bool msg_kick;
	bool kick_armed; /* a read of generation kick_gen is in the ring, or queued */
	uint32_t kick_gen;
	int kick_tid; /* who armed it */
	uint64_t kick_buf;
	uint64_t ops; /* opcodes known */

	uint32_t *sq_head, *sq_ktail, *sq_flags; /* shared with the kernel */
	uint32_t sq_tail, sq_mask, sq_entries;
	struct uring_sqe *sqes;
	uint32_t *cq_khead, *cq_tail;
	uint32_t cq_mask;
	struct uring_cqe *cqes;

	struct opq backlog; /* U_BACKLOG */
	struct opq cancels; /* U_LATE_CANCEL */
	struct opq done;    /* U_FINISHED */
	int64_t retry_at;   /* when to look at cancels again */
	bool closing;       /* no retries */
	bool news;          /* a stream's cell was freed: a closer may wait for it */
	struct waker waker;

	bool sq_thread;              /* the kernel's thread reads it */
	bool sq_woken;               /* it has been, since the last entry was queued */
	uint32_t batch, min_wait_us; /* a sleep's, where it is to bring many; or 0 */
	int sq_cpu;                  /* that thread is pinned to; or -1 */
	int64_t look;                /* before a sleep, for so long */

	struct ahead_pool *pool; /* ahead.c; NULL until the first stream */
	bool no_ahead;           /* the kernel has refused */
	uint32_t poller_gen;     /* changes with the kernel thread that polls */
	const void *poller;

	void *rings, *sqe_map;
	size_t rings_size, sqe_size;
};

static inline struct uring *ring_of(const struct reactor *r)
{
	return r->priv;
}

/* Completions that the kernel has made and we have not taken. */
static inline uint32_t uring_untaken(const struct uring *u)
{
	/* acquire: the entries before the tail are written */
	return load_acquire(u->cq_tail) - *u->cq_khead;
}

/* -- ring.c -- */
/* n: what the vp's set wants of the network, or NULL. */
int ring_open(struct uring *u, struct net_cpu *n);
void ring_close(struct uring *u);

/* -- uring.c -- */
/* Hand op to the kernel, or to the backlog. */
void uring_queue(struct reactor *r, struct io_op *op);
/* op has its result: out of the tables, to the next poll (a shot: to ahead_ended). */
void uring_finish(struct reactor *r, struct io_op *op, int res);
void uring_cancel(struct reactor *r, struct io_op *op);

/* -- ahead.c -- */
/* op (IO_RECV_AHEAD) is linked and counted: serve it, let it wait, or make it an IO_RECV. */
void ahead_submit(struct reactor *r, struct io_op *op);
/* Bytes held for fd: how many went to buf, an error that came, or -EAGAIN. */
int ahead_take(struct reactor *r, int fd, void *buf, uint32_t len);
/* A completion of a shot has brought this; op is the shot. */
void ahead_data(struct reactor *r, struct io_op *op, const struct uring_cqe *cqe);
/* The shot is over. */
void ahead_ended(struct reactor *r, struct io_op *op, int res);
/* op waits (U_AHEAD): no more. */
void ahead_leave(struct reactor *r, struct io_op *op);
/* fd is being closed and nothing of it is in the kernel: forget what is held. */
void ahead_drop(struct reactor *r, int fd);
bool ahead_rearm_due(const struct uring *u);
void ahead_rearm(struct reactor *r);
void ahead_fini(struct uring *u);

#endif
