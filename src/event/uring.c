/* SPDX-License-Identifier: Apache-2.0 */
/* The io_uring engine, by raw system calls.
 *
 * Flags: COOP_TASKRUN, because an interrupt per completion buys nothing when the owner polls
 * anyway; TASKRUN_FLAG, so that a poll that does not sleep sees in shared memory whether the
 * kernel has anything for it (if not, it makes no system call). Not SINGLE_ISSUER, not
 * DEFER_TASKRUN: they bind the ring to one kernel thread, and a vp moves. The rest follows
 * from that moving:
 *  - the kernel finishes an op in the context of the kernel thread that submitted it. One
 *    that sleeps interruptibly (a parked spare) is woken for it; one that spins in user
 *    space does it at its next kernel entry, at the latest its next timer tick. Hence
 *    reactor.hogs. The known limit: one that sleeps uninterruptibly (a disk that hangs, vfork
 *    until the child's exec) keeps what it has submitted until it wakes, though the vp is long
 *    somebody else's. A reactive vp's carrier runs nobody's code and has it not, nor has epoll.
 *  - a kick must not depend on another thread: SEND_MSG_RING posts the completion itself.
 *    Where the kernel lacks it, a read of an eventfd is armed, anew when the sleeper is a
 *    different kernel thread from the one that armed it.
 *  - a kernel thread that exits takes its ops with it (-ECANCELED): they are submitted again.
 *
 * Completion user_data: the op's address, low bits 0; | UD_CANCEL: result of its cancel;
 * UD_KICK. An op that was asked to end is returned only after both completions came, so a
 * late cancel never meets another op at the same address.
 *
 * What finds the submission queue full enters the kernel; if even that gives no room (no
 * memory), it waits in the backlog, in order.
 *
 * A ring of a set with a network processor (sq_thread) is read and carried out by a kernel
 * thread instead, one for all rings of the set (ring.c): to submit is to move the tail, and
 * the first three of those points are void. It is asleep or not as uring_impl.h draws it.
 *
 * Rejected: a registered ring descriptor (belongs to one kernel thread); such a thread for each
 * vp, or for every set; linked time-outs (451 ns per op; timer.c does it for 40).
 */
#include <sys/socket.h>

#include "base/barrier.h"
#include "event/hostile.h"
#include "event/uring_impl.h"

#define HOG_SLICE (500 * NS_PER_US)

#define KICK_GEN_SHIFT 3

#define REAP_MOST                                                                      \
	64u /* completions that a poll takes: what they lead to is warm when it runs */

/* The kernel's own "interrupted" codes; some operations (splice) let them out. */
#define ERESTART_FIRST 512
#define ERESTART_LAST 516

static void reap(struct reactor *r);

/* -- the submission queue -- */

static uint32_t unsubmitted(const struct uring *u)
{
	/* acquire: an entry that the kernel has taken may be written again */
	return u->sq_tail - load_acquire(u->sq_head);
}

static void check_fatal(const struct uring *u, long n)
{
	if (n == -EBADF || n == -EOPNOTSUPP || n == -EINVAL)
		uk_panic(
		    "io_uring_enter on descriptor %d: error %ld; has the program closed "
		    "a descriptor that is not its own?",
		    u->fd, n);
	if (n == -EPERM || n == -EACCES || n == -ENOSYS)
		uk_panic(
		    "io_uring_enter: error %ld; a seccomp filter that was installed later "
		    "refuses it: set UK_REACTOR=epoll",
		    n);
}

/* Is the kernel's thread asleep though something is queued? (wake in uring_impl.h) */
static bool must_wake(const struct uring *u)
{
	if (!u->sq_thread || u->sq_woken || !unsubmitted(u))
		return false;
	fence_seq_cst(); /* our tail before its flag; it does it the other way round */
	return load_relaxed(u->sq_flags) & URING_SQ_NEED_WAKEUP;
}

/* Has the kernel something for us that it does not do by itself? */
static bool must_collect(const struct uring *u)
{
	return load_relaxed(u->sq_flags) & (URING_SQ_TASKRUN | URING_SQ_CQ_OVERFLOW);
}

static bool must_submit(const struct uring *u)
{
	return u->sq_thread ? must_wake(u) : unsubmitted(u);
}

static bool must_enter(const struct uring *u)
{
	return must_collect(u) || must_submit(u);
}

/* Hand over what is queued; wait for min completions at most ns (< 0: no limit), or, where the
 * set wants batches, for as many as that is, or as it may wait for them. */
static long enter(struct reactor *r, uint32_t min, int64_t ns)
{
	struct uring *u = ring_of(r);
	struct timespec ts = sys_timespec(ns);
	struct uring_enter_arg arg = { .sigmask_size = 8,
				       .ts = ns < 0 ? 0 : (uintptr_t)&ts };
	uint32_t flags = 0, queued = u->sq_thread ? 0 : unsubmitted(u);
	long n;

	if (min || must_collect(u))
		flags = URING_ENTER_GETEVENTS;
	if (must_wake(u)) {
		flags |= URING_ENTER_SQ_WAKEUP;
		u->sq_woken = true;
	}
	bump(&r->count.syscalls, 1);
	if (min && u->batch && (ns < 0 || ns > u->min_wait_us * NS_PER_US)) {
		min = u->batch;
		arg.min_wait_us = u->min_wait_us;
	}
	if (!min)
		n = sysn(SYS_io_uring_enter, u->fd, queued, 0, flags, NULL, 0);
	else
		n = sysn(SYS_io_uring_enter, u->fd, queued, min,
			 flags | URING_ENTER_EXT_ARG, &arg, sizeof(arg));
	if (unlikely(n < 0))
		check_fatal(u, n);
	return n;
}

/* Hand over all that is queued. It may fail for want of memory, then the rest stays. A thread
 * of the kernel's takes it in its own time: it is only seen to be awake. */
static void flush(struct reactor *r)
{
	struct uring *u = ring_of(r);

	if (u->sq_thread) {
		if (must_enter(u))
			enter(r, 0, 0);
		return;
	}
	for (int tries = 0; unsubmitted(u) && tries < 3;) {
		long n = enter(r, 0, 0);

		if (n == -EBUSY) /* completions overflowed: make room */
			reap(r);
		if (n <= 0 && n != -EINTR)
			tries++;
	}
}

/* The next free entry, zeroed; NULL if the kernel gives no room. */
static struct uring_sqe *get_sqe(struct reactor *r)
{
	struct uring *u = ring_of(r);
	struct uring_sqe *sqe;

	if (hostile_full())
		return NULL;
	if (unlikely(unsubmitted(u) == u->sq_entries)) {
		flush(r);
		if (unsubmitted(u) == u->sq_entries)
			return NULL;
	}
	sqe = &u->sqes[u->sq_tail & u->sq_mask];
	*sqe = (struct uring_sqe){ .fd = -1 };
	return sqe;
}

static void put_sqe(struct uring *u)
{
	/* release: the kernel that sees the tail sees the entry */
	store_release(u->sq_ktail, ++u->sq_tail);
	u->sq_woken = false;
}

static uint8_t opcode_of(enum io_kind kind)
{
	static const uint8_t code[IO_KINDS] = {
		[IO_NOP] = URING_OP_NOP,
		[IO_POLL] = URING_OP_POLL_ADD,
		[IO_READ] = URING_OP_READ,
		[IO_WRITE] = URING_OP_WRITE,
		[IO_READV] = URING_OP_READV,
		[IO_WRITEV] = URING_OP_WRITEV,
		[IO_RECV] = URING_OP_RECV,
		[IO_SEND] = URING_OP_SEND,
		[IO_RECV_AHEAD] = URING_OP_RECV,
		[IO_SHOT] = URING_OP_RECV,
		[IO_RECVMSG] = URING_OP_RECVMSG,
		[IO_SENDMSG] = URING_OP_SENDMSG,
		[IO_ACCEPT] = URING_OP_ACCEPT,
		[IO_CONNECT] = URING_OP_CONNECT,
		[IO_FSYNC] = URING_OP_FSYNC,
		[IO_OPENAT] = URING_OP_OPENAT,
		[IO_OPENAT2] = URING_OP_OPENAT2,
		[IO_STATX] = URING_OP_STATX,
		[IO_SPLICE] = URING_OP_SPLICE,
		[IO_SEND_ZC] = URING_OP_SEND_ZC,
		[IO_SENDMSG_ZC] = URING_OP_SENDMSG_ZC,
	};

	return code[kind];
}

static void fill_sqe(struct uring_sqe *s, const struct io_op *op)
{
	s->user_data = (uintptr_t)op | UD_OP;
	s->fd = op->fd;
	if (op->engine & U_POLL) {
		s->opcode = URING_OP_POLL_ADD;
		s->op_flags = op_events(op);
		return;
	}
	s->opcode = opcode_of(op->kind);
	s->addr = (uintptr_t)op->addr;
	s->len = op->len;
	s->op_flags = op->flags;
	switch ((enum io_kind)op->kind) {
	case IO_NOP:
		s->fd = -1;
		s->op_flags = 0;
		break;
	case IO_POLL:
		s->addr = 0;
		s->op_flags = op->len & 0xffff;
		s->len = 0;
		break;
	case IO_READ:
	case IO_WRITE:
	case IO_READV:
	case IO_WRITEV:
		s->len = hostile_len(op);
		s->op_flags = 0;
		s->off = (uint64_t)op->off;
		break;
	case IO_RECV_AHEAD:
	case IO_RECV:
	case IO_SEND:
	case IO_SEND_ZC:
		s->len = hostile_len(op);
		break;
	case IO_SHOT:
		s->ioprio = URING_RECV_MULTISHOT;
		s->flags = URING_SQE_BUFFER_SELECT;
		break;
	case IO_RECVMSG:
	case IO_SENDMSG:
	case IO_SENDMSG_ZC:
		s->len = 1;
		break;
	case IO_ACCEPT:
		s->len = 0;
		s->off = (uintptr_t)op->addr2;
		break;
	case IO_CONNECT:
		s->op_flags = 0;
		s->off = op->len;
		s->len = 0;
		break;
	case IO_FSYNC:
		s->addr = 0;
		s->len = 0;
		break;
	case IO_OPENAT:
		break;
	case IO_OPENAT2:
		s->op_flags = 0;
		s->off = (uintptr_t)op->addr2;
		break;
	case IO_STATX:
		s->off = (uintptr_t)op->addr2;
		break;
	case IO_SPLICE:
		s->addr = (uint64_t)op->off2;
		s->off = (uint64_t)op->off;
		s->splice_fd_in = op->fd2;
		break;
	case IO_LENT:
	case IO_KINDS:
		break;
	}
}

/* -- the life of an op -- */

void uring_finish(struct reactor *r, struct io_op *op, int res)
{
	op->res = res;
	op->engine |= U_FINISHED;
	fdtab_unlink(r->fds, op);
	if (op->kind == IO_SHOT)
		ahead_ended(r, op, res);
	else
		opq_push(&ring_of(r)->done, op);
}

/* True if op is in the queue now. */
static bool try_queue(struct reactor *r, struct io_op *op)
{
	struct uring_sqe *sqe = get_sqe(r);

	if (!sqe)
		return false;
	fill_sqe(sqe, op);
	put_sqe(ring_of(r));
	return true;
}

void uring_queue(struct reactor *r, struct io_op *op)
{
	struct uring *u = ring_of(r);

	if (likely(!u->backlog.head) && try_queue(r, op))
		return;
	op->engine |= U_BACKLOG;
	opq_push(&u->backlog, op);
}

static bool try_queue_cancel(struct reactor *r, struct io_op *op)
{
	struct uring_sqe *sqe = get_sqe(r);

	if (!sqe)
		return false;
	if (op->engine & U_FINISHED) /* while room was made */
		return true;
	sqe->opcode = URING_OP_ASYNC_CANCEL;
	sqe->addr = hostile_miss() ? UD_KICK : (uintptr_t)op | UD_OP;
	sqe->user_data = (uintptr_t)op | UD_CANCEL;
	op->engine |= U_CANCEL_CQE;
	put_sqe(ring_of(r));
	return true;
}

static void cancel_later(struct reactor *r, struct io_op *op)
{
	struct uring *u = ring_of(r);

	op->engine |= U_LATE_CANCEL;
	if (!u->cancels.head) /* who comes later does not put off who waits */
		u->retry_at = sys_now() + NS_PER_MS;
	opq_push(&u->cancels, op);
}

static void queue_cancel(struct reactor *r, struct io_op *op)
{
	if (!try_queue_cancel(r, op))
		cancel_later(r, op);
}

/* What found no room before. What is left is to be tried again soon. */
static void drain(struct reactor *r)
{
	struct uring *u = ring_of(r);
	struct io_op *op;

	while ((op = u->backlog.head)) {
		if (!try_queue(r, op))
			return;
		opq_remove(&u->backlog, op);
		op->engine &= (uint8_t)~U_BACKLOG;
	}
	if (!u->cancels.head || sys_now() < u->retry_at)
		return;
	while ((op = u->cancels.head)) {
		if (!try_queue_cancel(r, op))
			return;
		opq_remove(&u->cancels, op);
		op->engine &= (uint8_t)~U_LATE_CANCEL;
	}
}

static bool wants_nonblock(const struct io_op *op)
{
	switch ((enum io_kind)op->kind) {
	case IO_RECV:
	case IO_SEND:
	case IO_RECVMSG:
	case IO_SENDMSG:
	case IO_SEND_ZC:
	case IO_SENDMSG_ZC:
		return (op->flags & MSG_DONTWAIT) || fd_nonblock(op->fd);
	default:
		return fd_nonblock(op->fd);
	}
}

/* Is res not the answer, but a hitch that the waiter shall not see? Sets the way to go on. */
static bool must_retry(struct io_op *op, int *res)
{
	switch (*res) {
	case -ECANCELED: /* nobody asked: the thread that submitted it has exited */
	case -EINTR:
		return true;
	case -EAGAIN:
		if (op->kind == IO_POLL || !op_events(op) || wants_nonblock(op))
			return false;
		op->engine |= U_POLL;
		return true;
	case -EALREADY:
		if (op->kind != IO_CONNECT || !(op->engine & U_AGAIN))
			return false;
		op->engine |= U_POLL;
		return true;
	case -EISCONN:
		if (op->kind == IO_CONNECT && (op->engine & U_AGAIN))
			*res = 0;
		return false;
	default:
		return false;
	}
}

static void on_result(struct reactor *r, struct io_op *op, int res)
{
	if (unlikely(res <= -ERESTART_FIRST && res >= -ERESTART_LAST))
		res = -EINTR;
	if (op->state == IO_CANCELING) {
		/* the end of a first phase, or a worker interrupted by the cancel */
		if (res == -ECANCELED || res == -EINTR || res == -EAGAIN ||
		    ((op->engine & U_POLL) && res >= 0))
			res = op_cut_result(op);
		if (op->engine & U_LATE_CANCEL) {
			opq_remove(&ring_of(r)->cancels, op);
			op->engine &= (uint8_t)~U_LATE_CANCEL;
		}
		if (!(op->engine & U_CANCEL_CQE)) {
			uring_finish(r, op, res);
			return;
		}
		op->engine |= U_RESULT;
		op->res = res;
		return;
	}
	if ((op->engine & U_POLL) && res >= 0) {
		op->engine = U_AGAIN;
		uring_queue(r, op);
	} else if (unlikely(res < 0) && !ring_of(r)->closing && must_retry(op, &res)) {
		op->engine |= U_AGAIN;
		uring_queue(r, op);
	} else {
		uring_finish(r, op, res);
	}
}

static void on_cancel(struct reactor *r, struct io_op *op, int res)
{
	op->engine &= (uint8_t)~U_CANCEL_CQE;
	if (op->engine & U_RESULT)
		uring_finish(r, op, op->res);
	else if (res == -ENOENT)
		/* It is between two places: its result is on the way (from another kernel
		 * thread, perhaps a hog), or it is about to wait anew and the cancel missed it */
		cancel_later(r, op);
}

/* -- lent memory --
 *
 * A send without a copy has two completions: how much was accepted, with a flag that says that
 * there is another one; and that the kernel has let go of the memory, when the peer has it. The
 * op ends with the first. The second is counted in op->lends, which therefore has to live until
 * then: who submitted it comes back with IO_LENT. (Another turn of the op, after a poll, lends
 * once more.)
 *
 *   lends   0 --accepted--> n --let go--> n - 1 ... 0
 *                           n --IO_LENT--> n | LENT_WAITED --let go--> ... 0, IO_LENT ends
 *
 * The owner writes; the op is nobody's any more, maybe, when it has written 0. */
#define LENT_WAITED 128u

static void on_let_go(struct reactor *r, struct io_op *op)
{
	uint8_t left = (uint8_t)(op->lends - 1);

	if (left != LENT_WAITED) {
		/* release: pairs with the sender's look (sched_io_lent) */
		store_release(&op->lends, left);
		return;
	}
	op->lends = 0;
	uring_finish(r, op, 0);
}

static void submit_lent(struct reactor *r, struct io_op *op)
{
	list_init(&op->link);
	if (op->lends)
		op->lends |= LENT_WAITED;
	else
		uring_finish(r, op, 0);
}

/* -- */

static void on_op(struct reactor *r, struct io_op *op, const struct uring_cqe *cqe)
{
	if (unlikely(cqe->flags & URING_CQE_F_NOTIF)) {
		on_let_go(r, op);
		return;
	}
	if (op->kind == IO_SHOT) {
		ahead_data(r, op, cqe);
		if (cqe->flags & URING_CQE_F_MORE)
			return;
	} else if (unlikely(cqe->flags & URING_CQE_F_MORE)) {
		op->lends++;
	}
	on_result(r, op, cqe->res);
}

static void on_cqe(struct reactor *r, const struct uring_cqe *cqe)
{
	struct uring *u = ring_of(r);
	struct io_op *op =
	    (struct io_op *)(uintptr_t)(cqe->user_data & ~(uint64_t)UD_MASK);

	switch (cqe->user_data & UD_MASK) {
	case UD_OP:
		on_op(r, op, cqe);
		break;
	case UD_CANCEL:
		on_cancel(r, op, cqe->res);
		break;
	case UD_KICK:
		if (cqe->user_data >> KICK_GEN_SHIFT == u->kick_gen)
			u->kick_armed = false;
		break;
	default:
		uk_panic("io_uring: unknown completion %#lx",
			 (unsigned long)cqe->user_data);
	}
}

/* Take at most so many completions; how many more it might have been. The others wait in their
 * ring for the next poll: what is taken of a thousand at once, and touched, is cold again when
 * its threads run. */
static uint32_t reap_some(struct reactor *r, uint32_t most)
{
	struct uring *u = ring_of(r);

	for (; most && uring_untaken(u); most--) {
		uint32_t head = *u->cq_khead; /* ours alone */
		struct uring_cqe cqe = u->cqes[head & u->cq_mask];

		/* release: the kernel may write the slot again; before on_cqe, which may enter */
		store_release(u->cq_khead, head + 1);
		on_cqe(r, &cqe);
	}
	return most;
}

static void reap(struct reactor *r)
{
	while (!reap_some(r, REAP_MOST))
		;
}

/* -- kick -- */

/* Have the eventfd's read armed by the calling kernel thread. False: no room. */
static bool arm_kick(struct reactor *r)
{
	struct uring *u = ring_of(r);
	struct uring_sqe *sqe;
	int tid;

	if (u->msg_kick)
		return true;
	if (!u->sq_thread)
		bump(&r->count.syscalls, 1);
	tid = u->sq_thread ? 0 : sys_gettid();
	if (u->kick_armed && u->kick_tid == tid)
		return true;
	if (u->kick_armed) {
		sqe = get_sqe(r);
		if (!sqe)
			return false;
		sqe->opcode = URING_OP_ASYNC_CANCEL;
		sqe->addr = (uint64_t)u->kick_gen << KICK_GEN_SHIFT | UD_KICK;
		sqe->user_data = UD_KICK; /* generation 0: never current */
		put_sqe(u);
		u->kick_armed = false;
	}
	sqe = get_sqe(r);
	if (!sqe)
		return false;
	u->kick_gen++;
	u->kick_gen += u->kick_gen == 0;
	sqe->opcode = URING_OP_READ;
	sqe->fd = u->kick_fd;
	sqe->addr = (uintptr_t)&u->kick_buf;
	sqe->len = sizeof(u->kick_buf);
	sqe->user_data = (uint64_t)u->kick_gen << KICK_GEN_SHIFT | UD_KICK;
	put_sqe(u);
	u->kick_armed = true;
	u->kick_tid = tid;
	return true;
}

static void uring_kick(struct reactor *r)
{
	struct uring *u = ring_of(r);
	struct uring_sqe msg = { .opcode = URING_OP_MSG_RING,
				 .fd = u->fd,
				 .off = UD_KICK };
	uint64_t one = 1;
	long err;

	if (!waker_kick(&u->waker))
		return;
	if (!u->msg_kick) {
		sys3(SYS_write, u->kick_fd, &one, sizeof(one));
		return;
	}
	do
		err = sys4(SYS_io_uring_register, -1, URING_REGISTER_SEND_MSG_RING,
			   &msg, 1);
	while (err == -EINTR || err == -EAGAIN || err == -ENOMEM);
}

/* -- the contract -- */

static int uring_init(struct reactor *r)
{
	struct uring *u = os_map(sizeof(*u));
	int err;

	if (!u)
		return -ENOMEM;
	err = ring_open(u, r->net_cpu);
	if (err) {
		os_unmap(u, sizeof(*u));
		return err;
	}
	r->priv = u;
	r->served = u->sq_thread;
	return 0;
}

/* The kernel's thread has the rights that the process had when the ring was made. What looks at
 * rights when it begins is for who asks to do, who may have given some up. */
static bool asks_who_calls(enum io_kind kind)
{
	return kind == IO_OPENAT || kind == IO_OPENAT2 || kind == IO_STATX ||
	       kind == IO_CONNECT;
}

/* A message may carry its sender's ids, and ask for what they allow. */
static bool tells_who_calls(enum io_kind kind)
{
	return kind == IO_SEND || kind == IO_SENDMSG || kind == IO_SEND_ZC ||
	       kind == IO_SENDMSG_ZC || kind == IO_WRITE || kind == IO_WRITEV;
}

static bool uring_can(const struct reactor *r, enum io_kind kind)
{
	const struct uring *u = ring_of(r);

	if (kind == IO_RECV_AHEAD && u->no_ahead)
		return false;
	if (u->sq_thread &&
	    (asks_who_calls(kind) ||
	     (tells_who_calls(kind) && load_relaxed(&reactor_other_ids))))
		return false;
	return kind < IO_KINDS && (u->ops >> opcode_of(kind) & 1);
}

static void uring_submit(struct reactor *r, struct io_op *op)
{
	int err;

	op_begin(r, op);
	if (unlikely(op->kind == IO_LENT)) {
		submit_lent(r, op);
		return;
	}
	bump(&r->count.sqes, 1);
	err = fdtab_link(r->fds, op);
	if (unlikely(err)) {
		list_init(&op->link);
		uring_finish(r, op, err);
		return;
	}
	if (op->kind == IO_RECV_AHEAD) {
		ahead_submit(r, op);
		return;
	}
	if (unlikely(ring_of(r)->sq_thread) && asks_who_calls(op->kind)) {
		uring_finish(r, op, REACTOR_READY);
		return;
	}
	if (hostile_eagain(op)) {
		uring_finish(r, op, -EAGAIN);
		return;
	}
	if (hostile_poll_first(op))
		op->engine = U_POLL;
	uring_queue(r, op);
}

void uring_cancel(struct reactor *r, struct io_op *op)
{
	dbg_assert(op->state != IO_IDLE);
	if (op->state != IO_PENDING || (op->engine & U_FINISHED) || op->kind == IO_LENT)
		return;
	bump(&r->count.cancels, 1);
	op->state = IO_CANCELING;
	if (op->engine & U_BACKLOG) {
		opq_remove(&ring_of(r)->backlog, op);
		op->engine &= (uint8_t)~U_BACKLOG;
		uring_finish(r, op, op_cut_result(op));
	} else if (op->engine & U_AHEAD) {
		ahead_leave(r, op);
		uring_finish(r, op, op_cut_result(op));
	} else {
		queue_cancel(r, op);
	}
}

/* One that is not being cancelled yet. (To cancel may reap completions, which unlinks any.) */
static struct io_op *pending_on(const struct fdent *e, int keep)
{
	list_each(l, &e->ops)
	{
		struct io_op *op = container_of(l, struct io_op, link);

		if (op->state == IO_PENDING) {
			op_cut_by_fd(op, keep);
			return op;
		}
		if (keep == KEEP_NONE)
			op->ebadf = 1; /* its waiter has asked for its end */
	}
	return NULL;
}

static struct io_op *pending_two(const struct reactor *r, int fd)
{
	list_each(l, &r->fds->twos)
	{
		struct io_op *op = container_of(l, struct io_op, link);

		if (op->fd != fd && op->fd2 != fd)
			continue;
		op->ebadf = 1;
		if (op->state == IO_PENDING)
			return op;
	}
	return NULL;
}

static unsigned uring_cancel_fd(struct reactor *r, int fd, int keep)
{
	struct fdent *e = fdtab_find(r->fds, fd);
	struct io_op *op;
	unsigned n = 0;

	if (e && e->n) {
		for (; (op = pending_on(e, keep)); n++)
			uring_cancel(r, op);
		ahead_drop(r, fd);
	}
	for (; (op = pending_two(r, fd)); n++)
		uring_cancel(r, op);
	/* now: the caller is about to close, and what is still in the kernel would swallow
	 * bytes and keep the file open (where the kernel's thread does it: until the ops have
	 * come back, for which the closer waits) */
	if (n)
		flush(r);
	return n;
}

static struct io_op *take_done(struct reactor *r)
{
	struct io_op *all = opq_take_all(&ring_of(r)->done);

	for (struct io_op *op = all; op; op = op->next) {
		op->state = IO_DONE;
		r->pending--;
		bump(&r->count.cqes, 1);
	}
	return all;
}

static void pass(struct reactor *r)
{
	struct uring *u = ring_of(r);

	/* what the kernel has for us besides can wait for what it has given us */
	if (must_submit(u) || (must_collect(u) && !uring_untaken(u)))
		enter(r, 0, 0);
}

/* Have every running thread of the process enter the kernel for a moment. */
static void poke_hogs(struct reactor *r)
{
	if (!(load_relaxed(ring_of(r)->sq_flags) & URING_SQ_TASKRUN))
		return;
	bump(&r->count.syscalls, 1);
	barrier_everywhere();
}

static void sleep_in_kernel(struct reactor *r, int64_t ns)
{
	struct uring *u = ring_of(r);
	long n;

	if (!waker_sleep(&u->waker)) {
		pass(r);
		return;
	}
	bump(&r->count.waits, 1);
	do
		n = enter(r, 1, ns);
	while (n > 0 && unsubmitted(u) && *u->cq_khead == load_acquire(u->cq_tail));
	waker_wake(&u->waker);
}

/* -- to look before a sleep --
 *
 * What a network processor has done is there to be seen, and to be woken costs an interrupt
 * and a switch. So while it is awake, and on another CPU, a vp without work looks for a while
 * before it sleeps: for longer and longer while its waits end within LOOK_MOST, not at all
 * after one that did not. (KVM polls before it halts a processor by the same rule.) A set that
 * wants batches wants the sleep. */
#define LOOK_FIRST (10 * NS_PER_US)
#define LOOK_MOST (200 * NS_PER_US)

static bool may_look(const struct uring *u)
{
	uint32_t cpu;

	return u->look && !(load_relaxed(u->sq_flags) & URING_SQ_NEED_WAKEUP) &&
	       !sys3(SYS_getcpu, &cpu, NULL, NULL) && (int)cpu != u->sq_cpu;
}

/* True: something has come. */
static bool look(struct uring *u, int64_t until)
{
	while (*u->cq_khead == load_acquire(u->cq_tail)) {
		if (load_relaxed(&u->waker.word) == WAKER_KICKED) {
			waker_wake(&u->waker);
			return true;
		}
		if (must_enter(u))
			return true;
		if (sys_now() >= until)
			return false;
		cpu_relax();
	}
	return true;
}

static void wait_for_more(struct reactor *r, int64_t ns)
{
	struct uring *u = ring_of(r);
	int64_t since, took;

	if (u->sq_cpu < 0 || u->batch) {
		sleep_in_kernel(r, ns);
		return;
	}
	since = sys_now();
	if (may_look(u) && look(u, since + (ns < 0 ? u->look : MIN(ns, u->look)))) {
		pass(r);
	} else {
		int64_t left = ns < 0 ? ns : ns - (sys_now() - since);

		if (ns < 0 || left > 0)
			sleep_in_kernel(r, left);
		else
			pass(r);
	}
	took = sys_now() - since;
	if (took > LOOK_MOST)
		u->look = 0;
	else if (took > u->look)
		u->look = MIN(MAX(2 * u->look, LOOK_FIRST), LOOK_MOST);
}

/* What must be done before a sleep of ns; returns how long it may be, 0: not at all. Each
 * step may have to make room in the queue, and then reaps: so what that has brought is looked
 * at last. What has ended since the last poll is for our caller to see before we sleep, be it
 * an op or a stream's cell, for which nothing is returned. */
static int64_t before_sleep(struct reactor *r, int64_t ns)
{
	struct uring *u = ring_of(r);

	if (unlikely(ahead_rearm_due(u)))
		ahead_rearm(r); /* may add to the backlog */
	if (unlikely(u->backlog.head || u->cancels.head))
		drain(r);
	if (ns && (u->done.head || u->news || !arm_kick(r)))
		ns = 0;
	if (u->done.head || u->news || ahead_rearm_due(u))
		ns = 0;
	if (unlikely(u->backlog.head || u->cancels.head) && (ns < 0 || ns > NS_PER_MS))
		ns = NS_PER_MS; /* look again soon */
	return ns;
}

static struct io_op *uring_poll(struct reactor *r, int64_t timeout_ns)
{
	struct uring *u = ring_of(r);
	uint32_t hogs, most;

	bump(&r->count.polls, 1);
	timeout_ns = MIN(timeout_ns, MAX_SLEEP);
	hogs = u->sq_thread ? 0 : load_relaxed(&r->hogs);
	if (unlikely(hogs) && (timeout_ns < 0 || timeout_ns > HOG_SLICE))
		timeout_ns = HOG_SLICE;
	if (unlikely(u->poller != __builtin_thread_pointer()) && !u->sq_thread) {
		u->poller = __builtin_thread_pointer();
		u->poller_gen++;
	}
	most = reap_some(r, REAP_MOST);
	timeout_ns = before_sleep(r, timeout_ns);
	if (timeout_ns && !uring_untaken(u) && !hostile_eintr())
		wait_for_more(r, timeout_ns);
	else
		pass(r);
	if (unlikely(hogs))
		poke_hogs(r);
	reap_some(r, most);
	u->news = false;
	return take_done(r);
}

/* (Its thread pointer is not the poller's; cells that are freed are for the next poll.) */
static struct io_op *uring_collect(struct reactor *r)
{
	struct uring *u = ring_of(r);

	bump(&r->count.polls, 1);
	if (unlikely(u->backlog.head || u->cancels.head))
		drain(r);
	pass(r);
	reap(r);
	return take_done(r);
}

/* Nobody should be waiting any more; but the kernel must not write into buffers later. */
static void uring_fini(struct reactor *r)
{
	struct uring *u = ring_of(r);

	u->closing = true;
	for (int i = 0; r->pending && i < 1000; i++) {
		struct uring_sqe *sqe = get_sqe(r);

		if (sqe) {
			sqe->opcode = URING_OP_ASYNC_CANCEL;
			sqe->op_flags = URING_CANCEL_ALL | URING_CANCEL_ANY;
			sqe->user_data = UD_KICK;
			put_sqe(u);
		}
		uring_poll(r, NS_PER_MS);
	}
	ahead_fini(u);
	ring_close(u);
	os_unmap(u, sizeof(*u));
	r->priv = NULL;
}

static void uring_fork_leave(struct reactor *r)
{
	struct uring *u = ring_of(r);

	u->rings = u->sqe_map = NULL; /* MADV_DONTFORK: they are not here */
	ahead_fini(u);
	ring_close(u);
	u->fd = u->kick_fd = -1;
	if (r->net_cpu) {
		r->net_cpu->ring = -1; /* the parent's */
		r->net_cpu->err = r->net_cpu->napi_err = 0;
	}
}

static int uring_fork_child(struct reactor *r)
{
	struct uring *u = ring_of(r);

	int err;

	fdtab_reset(r->fds);
	r->pending = 0;
	err = ring_open(u, r->net_cpu);
	r->served = !err && u->sq_thread;
	if (err) {
		os_unmap(u, sizeof(*u));
		r->priv = NULL;
	}
	return err;
}

const struct reactor_ops uring_ops = {
	.name = "io_uring",
	.holds = true,
	.together = true,
	.init = uring_init,
	.fini = uring_fini,
	.can = uring_can,
	.submit = uring_submit,
	.take = ahead_take,
	.cancel = uring_cancel,
	.cancel_fd = uring_cancel_fd,
	.poll = uring_poll,
	.collect = uring_collect,
	.kick = uring_kick,
	.fork_leave = uring_fork_leave,
	.fork_child = uring_fork_child,
};
