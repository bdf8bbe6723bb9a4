/* SPDX-License-Identifier: Apache-2.0 */
/* From an op to the kernel: the submission queue, the backlog, cancels.
 *
 * Called by the owner of the reactor. Takes no completions, so no other op finishes
 * while one is submitted or cancelled.
 *
 * If the submission queue is full, the engine enters the kernel; if that frees no entry
 * (no memory), the op waits in the backlog, in order.
 */
#include "reactor/hostile.h"
#include "reactor/uring_impl.h"

/* -- the submission queue -- */

void uring_check_allowed(const char *call, long n)
{
	if (n == -EPERM || n == -EACCES || n == -ENOSYS)
		uk_panic(
		    "%s: error %ld; a seccomp filter installed after the start refuses "
		    "it: set UK_REACTOR=epoll",
		    call, n);
}

static void check_fatal(const struct uring *u, long n)
{
	if (n == -EBADF || n == -EOPNOTSUPP || n == -EINVAL)
		uk_panic(
		    "io_uring_enter on fd %d: error %ld; did the program close a file "
		    "descriptor that it did not open?",
		    u->fd, n);
	uring_check_allowed("io_uring_enter", n);
}

long uring_enter(struct reactor *r, uint32_t min, int64_t ns)
{
	struct uring *u = ring_of(r);
	struct timespec ts = sys_timespec(ns);
	struct uring_enter_arg arg = { .sigmask_size = 8,
				       .ts = ns < 0 ? 0 : (uintptr_t)&ts };
	uint32_t flags = 0, queued = u->sq_thread ? 0 : uring_unsubmitted(u);
	long n;

	if (min || uring_must_collect(u))
		flags = URING_ENTER_GETEVENTS;
	if (uring_must_wake(u)) {
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

void uring_flush(struct reactor *r)
{
	struct uring *u = ring_of(r);

	if (u->sq_thread) {
		if (uring_must_enter(u))
			uring_enter(r, 0, 0);
		return;
	}
	for (int tries = 0; uring_unsubmitted(u) && tries < 3;) {
		long n = uring_enter(r, 0, 0);

		if (n <= 0 && n != -EINTR)
			tries++;
	}
}

struct uring_sqe *uring_get_sqe(struct reactor *r)
{
	struct uring *u = ring_of(r);
	struct uring_sqe *sqe;

	if (hostile_full())
		return NULL;
	if (unlikely(uring_unsubmitted(u) == u->sq_entries)) {
		uring_flush(r);
		if (uring_unsubmitted(u) == u->sq_entries)
			return NULL;
	}
	sqe = &u->sqes[u->sq_tail & u->sq_mask];
	*sqe = (struct uring_sqe){ .fd = -1 };
	return sqe;
}

const uint8_t uring_opcode[IO_KINDS] = {
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
	[IO_SEND_ZC] = URING_OP_SEND_ZC,
	[IO_SENDMSG_ZC] = URING_OP_SENDMSG_ZC,
};

static void fill_sqe(struct uring_sqe *s, const struct io_op *op)
{
	s->user_data = (uintptr_t)op | UD_OP;
	s->fd = op->fd;
	if (op->engine & U_POLL) {
		s->opcode = URING_OP_POLL_ADD;
		s->op_flags = op_events(op);
		return;
	}
	s->opcode = uring_opcode[op->kind];
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
	case IO_LENT:
	case IO_CALL:
	case IO_KINDS:
		break;
	}
}

/* -- the life of an op -- */

/* True if op is in the queue now. */
static bool try_queue(struct reactor *r, struct io_op *op)
{
	struct uring_sqe *sqe = uring_get_sqe(r);

	if (!sqe)
		return false;
	fill_sqe(sqe, op);
	uring_put_sqe(ring_of(r));
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
	struct uring_sqe *sqe = uring_get_sqe(r);

	if (!sqe)
		return false;
	sqe->opcode = URING_OP_ASYNC_CANCEL;
	sqe->addr = hostile_miss() ? UD_KICK : (uintptr_t)op | UD_OP;
	sqe->user_data = (uintptr_t)op | UD_CANCEL;
	op->engine |= U_CANCEL_CQE;
	uring_put_sqe(ring_of(r));
	return true;
}

void uring_cancel_later(struct reactor *r, struct io_op *op)
{
	struct uring *u = ring_of(r);

	op->engine |= U_LATE_CANCEL;
	if (!u->cancels.head) /* later ones do not delay those that wait */
		u->retry_at = sys_now() + NS_PER_MS;
	opq_push(&u->cancels, op);
}

void uring_drain(struct reactor *r)
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

bool uring_begin_cancel(struct reactor *r, struct io_op *op)
{
	dbg_assert(op->state != IO_IDLE);
	if (op->state != IO_PENDING || (op->engine & U_FINISHED) || op->kind == IO_LENT)
		return false;
	bump(&r->count.cancels, 1);
	op->state = IO_CANCELING;
	if (op->engine & U_AHEAD)
		return true;
	if (op->engine & U_BACKLOG) {
		opq_remove(&ring_of(r)->backlog, op);
		op->engine &= (uint8_t)~U_BACKLOG;
		return true;
	}
	if (!try_queue_cancel(r, op))
		uring_cancel_later(r, op);
	return false;
}
