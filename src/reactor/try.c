/* SPDX-License-Identifier: Apache-2.0 */
/* An operation made by the dispatcher itself, in a form that cannot block whatever
 * other threads do meanwhile: MSG_DONTWAIT for sockets, RWF_NOWAIT for the rest.
 */
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "reactor/engine.h"
#include "reactor/hostile.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif

static long try_rw(struct reactor *r, const struct io_op *op, const struct iovec *iov,
		   unsigned n)
{
	bool in = op_events(op) == POLLIN;
	struct msghdr m = { .msg_iov = (struct iovec *)(uintptr_t)iov,
			    .msg_iovlen = n };
	long res;

	bump(&r->count.syscalls, 1);
	res = sysn(in ? SYS_preadv2 : SYS_pwritev2, op->fd, iov, n, op->off, 0,
		   RWF_NOWAIT);
	if (res != -EOPNOTSUPP && res != -ENOSYS)
		return res;
	if (op->off != -1)
		return REACTOR_READY;
	bump(&r->count.syscalls, 1);
	res = sys3(in ? SYS_recvmsg : SYS_sendmsg, op->fd, &m, MSG_DONTWAIT);
	return res == -ENOTSOCK ? REACTOR_READY : res;
}

static long try_once(struct reactor *r, struct io_op *op)
{
	struct iovec one = { (void *)(uintptr_t)op->addr, hostile_len(op) };
	uint32_t flags = op->flags | MSG_DONTWAIT;

	switch ((enum io_kind)op->kind) {
	case IO_READ:
	case IO_WRITE:
		return try_rw(r, op, &one, 1);
	case IO_READV:
	case IO_WRITEV:
		return try_rw(r, op, op->addr, op->len);
	case IO_RECV:
		bump(&r->count.syscalls, 1);
		return sysn(SYS_recvfrom, op->fd, op->addr, one.iov_len, flags, NULL,
			    NULL);
	case IO_SEND:
		bump(&r->count.syscalls, 1);
		return sysn(SYS_sendto, op->fd, op->addr, one.iov_len,
			    flags | MSG_NOSIGNAL, NULL, 0);
	case IO_RECVMSG:
		bump(&r->count.syscalls, 1);
		return sys3(SYS_recvmsg, op->fd, op->addr, flags);
	case IO_SENDMSG:
		bump(&r->count.syscalls, 1);
		return sys3(SYS_sendmsg, op->fd, op->addr, flags | MSG_NOSIGNAL);
	case IO_ACCEPT:
		bump(&r->count.syscalls, 1);
		if (!fd_nonblock(op->fd))
			return REACTOR_READY;
		bump(&r->count.syscalls, 1);
		return sys4(SYS_accept4, op->fd, op->addr, op->addr2, op->flags);
	case IO_CONNECT: {
		int err = 0;
		uint32_t len = sizeof(err);
		long res =
		    sys5(SYS_getsockopt, op->fd, SOL_SOCKET, SO_ERROR, &err, &len);

		bump(&r->count.syscalls, 1);
		return res < 0 ? res : -err;
	}
	case IO_NOP:
	case IO_POLL:
	case IO_FSYNC:
	case IO_RECV_AHEAD:
	case IO_SEND_ZC:
	case IO_SENDMSG_ZC:
	case IO_LENT:
	case IO_SHOT:
	case IO_CALL:
	case IO_KINDS:
		break;
	}
	return REACTOR_READY;
}

long op_try(struct reactor *r, struct io_op *op)
{
	long res;

	do
		res = try_once(r, op);
	while (res == -EINTR);
	return res;
}
