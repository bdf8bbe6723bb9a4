/* SPDX-License-Identifier: Apache-2.0 */
/* Small helpers for both engines. No state. */
#include "reactor/engine.h"

#include <poll.h>
#include <sys/socket.h>

#include "fd/fd.h"

int fd_move_high(int fd)
{
	int high = fd_dup(fd);

	if (high >= 0) {
		sys1(SYS_close, fd);
		return high;
	}
	fd_claim(fd);
	return fd;
}

bool fd_nonblock(int fd)
{
	long fl = sys2(SYS_fcntl, fd, F_GETFL);

	return fl >= 0 && (fl & O_NONBLOCK);
}

int op_cut_result(struct io_op *op)
{
	if (op->ebadf == OP_ANEW)
		return REACTOR_ANEW;
	if (op->ebadf != OP_MOVES)
		return op->ebadf ? -EBADF : -ECANCELED;
	op->fd2 = fd_dup(op->fd2);
	return op->fd2 < 0 ? -EBADF : REACTOR_MOVED;
}

uint32_t op_events(const struct io_op *op)
{
	switch ((enum io_kind)op->kind) {
	case IO_POLL:
	case IO_CALL:
		return op->len & 0xffff;
	case IO_RECV:
	case IO_RECVMSG:
		if (op->flags & MSG_ERRQUEUE)
			return POLLERR;
		return op->flags & MSG_OOB ? POLLPRI : POLLIN;
	case IO_READ:
	case IO_READV:
	case IO_ACCEPT:
		return POLLIN;
	case IO_WRITE:
	case IO_WRITEV:
	case IO_SEND:
	case IO_SENDMSG:
	case IO_SEND_ZC:
	case IO_SENDMSG_ZC:
	case IO_CONNECT:
		return POLLOUT;
	case IO_NOP:
	case IO_FSYNC:
	case IO_LENT:
	case IO_RECV_AHEAD: /* never in the kernel under this kind */
	case IO_SHOT:
	case IO_KINDS:
		break;
	}
	return 0;
}
