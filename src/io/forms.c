/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of a call: without waiting (io_try), and as the kernel makes it (io_raw).
 *
 * Both leave the runtime for the system call, because it reads and writes the program's
 * memory. A page fault there may take as long as the program likes (a page that another
 * user thread must provide, a mapped file on a disk that hangs), and inside the runtime
 * the vp would wait with it. io_raw may also sleep in the call itself, so it sets the
 * mark. After either, the thread may be on another vp. io_try_in stays inside the
 * runtime: for memory of the library.
 *
 * Runs on the calling thread's stack, between rt_enter and rt_exit.
 * Rejected: the mark around io_try, too (a carrier that is preempted there for 20 us
 * would lose its vp).
 */
#include "io/io.h"

#include "io/io_hostile.h"
#include "fd/known.h"

/* For a known socket, use the socket's own call: 90 ns less than preadv2 or pwritev2
 * with one element. The kernel refuses it if the fd is no socket any more (closed
 * without our knowledge). Not for a length of 0, because read(2) of 0 bytes takes
 * nothing, while recv takes a datagram. */
static long try_socket(const struct io_op *op, size_t len)
{
	long nr = op->kind == IO_READ ? SYS_recvfrom : SYS_sendto, r;

	if (!(known_ask(op->fd) & KNOWN_ALL) || op->off != IO_CURRENT || !len)
		return -ENOTSOCK;
	r = sysn(nr, op->fd, op->addr, len, MSG_DONTWAIT, NULL, NULL);
	if (unlikely(r == -ENOTSOCK))
		known_forget(op->fd, KNOWN_ALL);
	return r;
}

static long try_once(const struct io_op *op)
{
	struct iovec one = { (void *)(uintptr_t)op->addr, hostile_io_len(op, op->len) };
	uint32_t now = op->flags | MSG_DONTWAIT;
	long r;

	switch ((enum io_kind)op->kind) {
	case IO_READ:
		r = try_socket(op, one.iov_len);
		return r != -ENOTSOCK
			   ? r
			   : sysn(SYS_preadv2, op->fd, &one, 1, op->off, 0, RWF_NOWAIT);
	case IO_WRITE:
		r = try_socket(op, one.iov_len);
		return r != -ENOTSOCK ? r
				      : sysn(SYS_pwritev2, op->fd, &one, 1, op->off, 0,
					     RWF_NOWAIT);
	case IO_READV:
		return sysn(SYS_preadv2, op->fd, op->addr, op->len, op->off, 0,
			    RWF_NOWAIT);
	case IO_WRITEV:
		return sysn(SYS_pwritev2, op->fd, op->addr, op->len, op->off, 0,
			    RWF_NOWAIT);
	case IO_RECV:
		return sysn(SYS_recvfrom, op->fd, op->addr, one.iov_len, now, NULL,
			    NULL);
	case IO_SEND:
		return sysn(SYS_sendto, op->fd, op->addr, one.iov_len, now, NULL, 0);
	case IO_RECVMSG:
		return sys3(SYS_recvmsg, op->fd, op->addr, now);
	case IO_SENDMSG:
		return sys3(SYS_sendmsg, op->fd, op->addr, now);
	default:
		return -EOPNOTSUPP;
	}
}

long io_try_in(struct uk_thread *t, const struct io_op *op)
{
	long r;

	if (hostile_io_again(op))
		return -EAGAIN;
	do {
		COUNT(t, syscalls);
		r = try_once(op);
	} while (r == -EINTR);
	return r == -ENOSYS ? -EOPNOTSUPP : r;
}

static long try_outside(struct uk_thread *t, const struct io_op *op)
{
	long r;

	COUNT(t, syscalls);
	outside_begin(t);
	do
		r = try_once(op);
	while (r == -EINTR);
	outside_end(t);
	return r == -ENOSYS ? -EOPNOTSUPP : r;
}

long io_try(struct uk_thread *t, const struct io_op *op)
{
	return hostile_io_again(op) ? -EAGAIN : try_outside(t, op);
}

/* Did io_try use a socket's call? For a file to which O_NONBLOCK means nothing,
 * RWF_NOWAIT fails with -EAGAIN if the call would wait for the disk. */
static bool asked_a_socket(const struct io_op *op)
{
	switch ((enum io_kind)op->kind) {
	case IO_RECV:
	case IO_SEND:
	case IO_RECVMSG:
	case IO_SENDMSG:
		return true;
	case IO_READ:
	case IO_WRITE:
		return op->off == IO_CURRENT && known_ask(op->fd) & KNOWN_ALL;
	default:
		return false;
	}
}

/* For a file with O_NONBLOCK. Without the mark if there is a form that cannot block:
 * the monitor would look after each marked call (without privilege, 5 of 13 us a
 * request in an event loop). */
long io_plain(struct uk_thread *t, const struct io_op *op)
{
	long r = try_outside(t, op);

	if (r == -EOPNOTSUPP || (r == -EAGAIN && !asked_a_socket(op)))
		return io_raw(t, op, false);
	return r;
}

/* connect goes on after a signal, so injecting EINTR before the call would be wrong. */
static bool interrupted(const struct io_op *op)
{
	return op->kind != IO_CONNECT && hostile_io_intr();
}

static long raw_once(const struct io_op *op)
{
	bool here = op->off == IO_CURRENT;

	switch ((enum io_kind)op->kind) {
	case IO_READ:
		return here ? sys3(SYS_read, op->fd, op->addr, op->len)
			    : sys4(SYS_pread64, op->fd, op->addr, op->len, op->off);
	case IO_WRITE:
		return here ? sys3(SYS_write, op->fd, op->addr, op->len)
			    : sys4(SYS_pwrite64, op->fd, op->addr, op->len, op->off);
	case IO_READV:
		return here ? sys3(SYS_readv, op->fd, op->addr, op->len)
			    : sys5(SYS_preadv, op->fd, op->addr, op->len, op->off, 0);
	case IO_WRITEV:
		return here ? sys3(SYS_writev, op->fd, op->addr, op->len)
			    : sys5(SYS_pwritev, op->fd, op->addr, op->len, op->off, 0);
	case IO_RECV:
		return sysn(SYS_recvfrom, op->fd, op->addr, op->len, op->flags, NULL,
			    NULL);
	case IO_SEND:
		return sysn(SYS_sendto, op->fd, op->addr, op->len, op->flags, NULL, 0);
	case IO_RECVMSG:
		return sys3(SYS_recvmsg, op->fd, op->addr, op->flags);
	case IO_SENDMSG:
		return sys3(SYS_sendmsg, op->fd, op->addr, op->flags);
	case IO_ACCEPT:
		return sys4(SYS_accept4, op->fd, op->addr, op->addr2, op->flags);
	case IO_CONNECT:
		return sys3(SYS_connect, op->fd, op->addr, op->len);
	case IO_FSYNC:
		return sys1(op->flags ? SYS_fdatasync : SYS_fsync, op->fd);
	default:
		return -EINVAL;
	}
}

static long raw(struct uk_thread *t, const struct io_op *op, bool release, bool ends)
{
	long r;

	if (interrupted(op))
		return -EINTR;
	COUNT(t, syscalls);
	raw_begin(t, op->fd);
	block_begin(t, release);
	/* a handler that has just run would have ended the native call's wait */
	if (!ends && sched_eintr_counts(t))
		r = -EINTR;
	else
		r = raw_once(op);
	block_end(t);
	raw_end(t, op->fd);
	return r;
}

long io_raw(struct uk_thread *t, const struct io_op *op, bool release)
{
	return raw(t, op, release, false);
}

long io_marked_once(struct uk_thread *t, long nr, long a, long b, long c, long d,
		    long e, long f)
{
	long r;

	COUNT(t, syscalls);
	block_begin(t, false);
	r = sys6(nr, a, b, c, d, e, f);
	block_end(t);
	return r;
}

long io_marked(struct uk_thread *t, long nr, long a, long b, long c, long d, long e,
	       long f)
{
	long r;

	do
		r = io_marked_once(t, nr, a, b, c, d, e, f);
	while (r == -EINTR);
	return r;
}

long io_whole(struct uk_thread *t, const struct io_op *op)
{
	long r;

	do
		r = raw(t, op, false, true);
	while (r == -EINTR);
	return r;
}
