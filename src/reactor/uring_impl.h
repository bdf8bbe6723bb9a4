/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the io_uring engine share. Private to them. Each may call those
 * before it in this list:
 *   probe.c     what the kernel offers
 *   ring.c      opens and closes a ring
 *   uring_op.c  from an op to the kernel: submission queue, backlog, cancels
 *   ahead.c     streams that are received ahead
 *   uring.c     the engine: the poll, and what completions mean for ops and streams */
#ifndef REACTOR_URING_IMPL_H
#define REACTOR_URING_IMPL_H

#include "reactor/engine.h"
#include "reactor/uring_abi.h"

/* io_op.engine, bits */
#define U_POLL 1u        /* in the kernel as a poll; the operation itself follows */
#define U_FINISHED 2u    /* has its result; returned by the next poll */
#define U_BACKLOG 4u     /* in the backlog, not in the kernel */
#define U_LATE_CANCEL 8u /* in `cancels`: to be cancelled soon */
#define U_CANCEL_CQE 16u /* the completion of its cancel will come */
#define U_RESULT 32u     /* its own completion came, in op->res */
#define U_AGAIN 64u      /* submitted more than once */
#define U_AHEAD 128u     /* not in the kernel: waits for bytes of its stream's shot */

/* the low bits of a completion's user_data say what it is; the rest is the op's
 * address */
#define UD_OP 0u
#define UD_CANCEL 1u
#define UD_KICK 2u
#define UD_MASK 7u

struct ahead_pool;

/* -- the network processor of a ring (sq_thread) --
 *
 *   POLLS --nothing for the idle time--> FLAGS --tails looked at again, empty--> SLEEPS
 *     ^                                    |                                       |
 *     +------something queued: flag off----+<----- the owner's SQ_WAKEUP ----------+
 *
 *   the owner:   write the entry; write the tail; fence; is the flag set? SQ_WAKEUP
 *   the thread:  set the flag; fence; has a tail moved? go on, else sleep
 *
 * So one of them sees the other's write, and no queued entry is left while the thread
 * sleeps. A wake-up while it is awake has no effect, and one wake-up for each tail is
 * enough. The owner checks whenever it polls, so an op that a running thread queues
 * while the network processor sleeps begins with the owner's next poll, as on a plain
 * ring. An entry is free once the head has passed it. Modelled in
 * tests/model/sqpoll.pml. */
struct uring {
	int fd;
	int kick_fd; /* eventfd, -1 when msg_kick */
	bool msg_kick;
	bool kick_armed; /* a read of generation kick_gen is in the ring, or queued */
	uint32_t kick_gen;
	int kick_tid; /* the kernel thread that armed it */
	uint64_t kick_buf;
	uint64_t ops; /* opcodes that the kernel knows */

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
	bool closing;       /* the reactor is being closed: no retries */
	bool news;          /* a stream's cell was freed: a closer may wait for it */
	struct waker waker;

	bool sq_thread; /* a network processor reads it */
	bool sq_woken;  /* woken since the last entry was queued */
	/* for a sleep that waits for many completions; or 0 */
	uint32_t batch, min_wait_us;
	int sq_cpu;   /* the CPU that the network processor is pinned to; or -1 */
	int64_t look; /* how long to look before a sleep */

	struct ahead_pool *pool; /* ahead.c; NULL until the first stream */
	bool no_ahead;           /* the kernel has refused it */
	uint32_t poller_gen;     /* changes when another kernel thread polls */
	const void *poller;

	void *rings, *sqe_map;
	size_t rings_size, sqe_size;
};

static inline struct uring *ring_of(const struct reactor *r)
{
	return r->priv;
}

/* Completions that the kernel has posted and we have not taken. */
static inline uint32_t uring_untaken(const struct uring *u)
{
	/* acquire: the entries before the tail are written */
	return load_acquire(u->cq_tail) - *u->cq_khead;
}

static inline uint32_t uring_unsubmitted(const struct uring *u)
{
	/* acquire: an entry that the kernel has taken may be written again */
	return u->sq_tail - load_acquire(u->sq_head);
}

/* Does the network processor sleep although something is queued? (See above.) */
static inline bool uring_must_wake(const struct uring *u)
{
	if (!u->sq_thread || u->sq_woken || !uring_unsubmitted(u))
		return false;
	/* our tail before its flag; that thread does it the other way round */
	fence_seq_cst();
	return load_relaxed(u->sq_flags) & URING_SQ_NEED_WAKEUP;
}

/* Does the kernel have something for us that needs a system call? */
static inline bool uring_must_collect(const struct uring *u)
{
	return load_relaxed(u->sq_flags) & (URING_SQ_TASKRUN | URING_SQ_CQ_OVERFLOW);
}

static inline bool uring_must_submit(const struct uring *u)
{
	return u->sq_thread ? uring_must_wake(u) : uring_unsubmitted(u);
}

static inline bool uring_must_enter(const struct uring *u)
{
	return uring_must_collect(u) || uring_must_submit(u);
}

static inline void uring_put_sqe(struct uring *u)
{
	/* release: a kernel that sees the tail sees the entry */
	store_release(u->sq_ktail, ++u->sq_tail);
	u->sq_woken = false;
}

/* op, which is no shot, has its result: the next poll returns it. */
static inline void uring_finish(struct reactor *r, struct io_op *op, int res)
{
	op->res = res;
	op->engine |= U_FINISHED;
	fdtab_unlink(r->fds, op);
	opq_push(&ring_of(r)->done, op);
}

/* -- ring.c -- */
/* n: the network processor that the vp's set wants, or NULL. */
int ring_open(struct uring *u, struct net_cpu *n);
void ring_close(struct uring *u);

/* -- uring_op.c -- */
extern const uint8_t uring_opcode[IO_KINDS];
/* Submit what is queued; wait for min completions, at most ns (< 0: no limit). If the
 * set wants batches, wait for u->batch completions, at most u->min_wait_us. */
long uring_enter(struct reactor *r, uint32_t min, int64_t ns);
/* Panics if n is the error of a refused call: to go on would lose a wake-up. */
void uring_check_allowed(const char *call, long n);
/* Submit all that is queued. That may fail for want of memory (up to Linux 5.12 also
 * with -EBUSY, until a poll has taken completions that overflowed); then the rest
 * remains queued. A network processor takes the queue by itself: only make sure that it
 * is awake. */
void uring_flush(struct reactor *r);
/* The next free entry, zeroed; NULL if the kernel frees none. */
struct uring_sqe *uring_get_sqe(struct reactor *r);
/* Hand op to the kernel, or to the backlog. */
void uring_queue(struct reactor *r, struct io_op *op);
/* Cancel op, unless it has its result. True: it is not in the kernel, and the caller
 * finishes it. */
bool uring_begin_cancel(struct reactor *r, struct io_op *op);
/* The cancel of op missed it, or found no entry: try again soon. */
void uring_cancel_later(struct reactor *r, struct io_op *op);
/* Queue what found no entry before. What is left is tried again soon. */
void uring_drain(struct reactor *r);

/* -- ahead.c -- */
/* op (IO_RECV_AHEAD) is linked and counted: serve it, let it wait, or make it an
 * IO_RECV. */
void ahead_submit(struct reactor *r, struct io_op *op);
/* Copy held bytes of fd to buf: the count, an error that came, or -EAGAIN. */
int ahead_take(struct reactor *r, int fd, void *buf, uint32_t len);
/* A completion of the shot op has brought bytes. */
void ahead_data(struct reactor *r, struct io_op *op, const struct uring_cqe *cqe);
/* The shot op has ended. */
void ahead_ended(struct reactor *r, struct io_op *op, int res);
/* op, which waits (U_AHEAD), waits no more. */
void ahead_leave(struct reactor *r, struct io_op *op);
/* fd is being closed and its shot is not in the kernel: forget what is held. */
void ahead_drop(struct reactor *r, int fd);
bool ahead_rearm_due(const struct uring *u);
void ahead_rearm(struct reactor *r);
void ahead_fini(struct uring *u);

#endif
