/* SPDX-License-Identifier: Apache-2.0 */
/* Sends that copy nothing: the kernel reads the program's memory until the peer has it
 * all. So there are two completions, that of the call and that of the loan:
 *
 *   IO_SEND_ZC --> accepted: a completion with UK_COMPLETION_MORE; what is linked begins
 *   IO_LENT -----> released: the last completion, UK_COMPLETION_FREE
 *
 * The request submits both itself (RING), or its helper does (HELPER, async.h). What
 * cannot be lent is copied, with the same two completions: if no ring does it, if the
 * socket has no such operation (AF_UNIX), or if the memory is not resident (the
 * dispatcher pins the pages, and a vp must not wait for a page: law 1,
 * docs/ARCHITECTURE.md). The fd may mean another file as soon as the first completion
 * is there: the loan belongs to the operation, not to the fd. Modelled in
 * tests/model/loan.pml.
 *
 * Rejected: MSG_ZEROCOPY and its error queue (each notification wakes every thread that
 * polls the socket, and two may not read the queue); the first completion as the
 * operation's own and the loan as another request (a group would have to keep a place
 * for it, or fail after the bytes have gone).
 *
 * Runs on the helper's stack, which holds the operation that the notification names.
 * lend_goes_on runs where the vp's completions are collected.
 */
#include "async/async.h"

#include <poll.h>
#include <sys/socket.h>

#include "io/io.h"

#define COPY INT64_MIN /* lend_once: it cannot be lent */

bool lend_possible(const uk_op *o)
{
	return (o->kind == UK_OP_SEND || o->kind == UK_OP_SENDMSG) &&
	       !(o->options & (UK_OP_MULTI | UK_OP_POOL));
}

/* The same for memory that is read here, too. */
static bool readable(struct uk_thread *t, const void *p, size_t n)
{
	return n < sizeof(uint64_t) ||
	       (io_all_in_memory(t, p, n) && sys_readable(p) &&
		sys_readable((const char *)p + n - sizeof(uint64_t)));
}

static bool in_memory(struct uk_thread *t, const uk_op *o)
{
	const struct msghdr *m = o->addr;

	if (o->kind == UK_OP_SEND)
		return io_all_in_memory(t, o->addr, o->len);
	if (!readable(t, m, sizeof(*m)) || m->msg_iovlen > IO_MAX_IOV ||
	    !readable(t, m->msg_iov, m->msg_iovlen * sizeof(*m->msg_iov)) ||
	    !io_all_in_memory(t, m->msg_name, m->msg_name ? m->msg_namelen : 0) ||
	    !io_all_in_memory(t, m->msg_control,
			      m->msg_control ? m->msg_controllen : 0))
		return false;
	for (size_t i = 0; i < m->msg_iovlen; i++)
		if (!io_all_in_memory(t, m->msg_iov[i].iov_base, m->msg_iov[i].iov_len))
			return false;
	return true;
}

static bool cannot_lend(int64_t r)
{
	return r == REACTOR_READY || r == -EOPNOTSUPP || r == -ENOMEM || r == -ENOBUFS;
}

static int64_t lend_once(struct uk_thread *t, const uk_op *o, struct io_op *op)
{
	enum io_kind kind = o->kind == UK_OP_SEND ? IO_SEND_ZC : IO_SENDMSG_ZC;
	int64_t r;

	if (!sched_io_can(t, kind, IO_CLASS_NET) || o->len > IO_MAX_LEN ||
	    !in_memory(t, o))
		return COPY;
	*op = (struct io_op){ .kind = (uint8_t)kind,
			      .fd = o->fd,
			      .len = (uint32_t)o->len,
			      .flags = o->flags | MSG_NOSIGNAL,
			      .addr = o->addr,
			      .off = IO_CURRENT };
	if (!(o->flags & MSG_DONTWAIT)) /* one loan for all of it */
		op->flags |= MSG_WAITALL;
	r = sched_io(t, op, IO_CLASS_NET, TIME_NEVER);
	if (r == REACTOR_MOVED) {
		fd_drop(op->fd2);
		return -EBADF;
	}
	if (!cannot_lend(r) && r != -EAGAIN && r != -EINTR)
		return r;
	sched_io_lent(t, op); /* what has not been sent may be lent, too */
	return r == -EAGAIN || r == -EINTR ? r : COPY;
}

int64_t lend_send(const uk_op *o, struct io_op *op, int64_t (*copy)(const uk_op *o))
{
	int64_t r;

	for (;;) {
		r = lend_once(rt_enter(), o, op);
		rt_exit();
		if (r == COPY)
			return copy(o);
		if (r == -EAGAIN && !what_dontwait(o->kind, o->flags))
			r = uk_wait_fd(o->fd, POLLOUT, UK_FOREVER);
		else if (r != -EINTR)
			return r;
		if (r < 0 && r != -EINTR)
			return r;
	}
}

int64_t lend_over(struct req *q, struct io_op *op, int64_t r)
{
	struct uk_thread *t = rt_enter();
	bool told = r >= 0 && group_emit(q, r, NULL);
	struct req *rest = q->linked;

	if (told && rest) {
		q->linked = NULL;
		helper_give(q->group, rest);
	}
	sched_io_lent(t, op);
	rt_exit();
	return told ? 0 : r;
}

/* -- for a RING request -- */

enum io_kind lend_kind(int kind)
{
	return kind == UK_OP_SEND      ? IO_SEND_ZC
	       : kind == UK_OP_SENDMSG ? IO_SENDMSG_ZC
				       : IO_KINDS;
}

bool lend_goes_on(struct req *q, int64_t r)
{
	struct io_op *op = &q->op;

	if (op->kind == IO_LENT) /* q->res is set already */
		return false;
	if (cannot_lend(r) && !q->copies) {
		q->copies = true;
		if (load_relaxed(&q->asked)) {
			r = -ECANCELED;
		} else {
			op->kind = op->kind == IO_SEND_ZC ? IO_SEND : IO_SENDMSG;
			sched_io_again(op, op->home);
			return true;
		}
	}
	q->res = r >= 0 && group_emit(q, r, NULL) ? 0 : r;
	if (!op->lends)
		return false;
	op->kind = IO_LENT;
	q->polls = false;
	sched_io_again(op, op->home);
	return true;
}
