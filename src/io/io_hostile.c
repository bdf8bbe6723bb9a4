/* SPDX-License-Identifier: Apache-2.0 */
/* Fault injection for the hostile build, at the system calls of this directory. */
#include "io/io_hostile.h"

#if UK_HOSTILE
#include <fcntl.h>
#include <linux/limits.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/sys.h"
#include "reactor/hostile.h"
#include "reactor/reactor.h"

/* The kernel copies a message and its address before it looks for space: EFAULT comes
 * before EAGAIN. */
static bool message_is_bad(const struct io_op *op)
{
	const struct msghdr *m = op->addr;

	return op->kind == IO_SENDMSG &&
	       (!sys_readable(m) || (m->msg_name && !sys_readable(m->msg_name)));
}

/* Only where the kernel might return -EAGAIN: a send or receive on a file that is no
 * socket fails with another error. */
bool hostile_io_again(const struct io_op *op)
{
	struct stat st;

	if (hostile_draw() % 4)
		return false;
	if (op->kind == IO_READ || op->kind == IO_READV || op->kind == IO_WRITE ||
	    op->kind == IO_WRITEV)
		return true;
	return sys2(SYS_fstat, op->fd, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       !message_is_bad(op);
}

bool hostile_io_intr(void)
{
	return hostile_draw() % 8 == 0;
}

/* May the kernel transfer less than was asked for? Datagrams and packets are whole. */
static bool is_stream(int fd)
{
	struct stat st;
	int type = 0;
	uint32_t len = sizeof(type);

	if (sys2(SYS_fstat, fd, &st) < 0)
		return false;
	if (S_ISSOCK(st.st_mode))
		return sys5(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &len) ==
			   0 &&
		       type == SOCK_STREAM;
	if (S_ISFIFO(st.st_mode))
		return !(sys2(SYS_fcntl, fd, F_GETFL) & O_DIRECT);
	return false;
}

size_t hostile_io_len(const struct io_op *op, size_t len)
{
	bool out = op->kind == IO_WRITE || op->kind == IO_SEND;

	if (len < 2 || hostile_draw() % 4 || (op->flags & (MSG_PEEK | MSG_TRUNC)) ||
	    !hostile_short())
		return len;
	if (op->kind != IO_READ && op->kind != IO_RECV && !out)
		return len;
	if ((out && len <= PIPE_BUF) || !is_stream(op->fd))
		return len;
	return 1 + hostile_draw() % len;
}

size_t hostile_part(size_t len)
{
	return len < 2 || hostile_draw() % 4 ? len : 1 + hostile_draw() % len;
}
#endif
