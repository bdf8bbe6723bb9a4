/* SPDX-License-Identifier: Apache-2.0 */
/* What each call is (io_calls), and two of the three ways to make one: io_try, in a
 * form that cannot block, and io_block, as the kernel makes it. io_wait.c has the
 * third.
 *
 * Both leave the runtime for the system call, because it reads and writes the program's
 * memory. A page fault there may take as long as the program likes (a page that another
 * user thread must provide, a mapped file on a disk that hangs), and inside the runtime
 * the vp would wait with it. io_block may also sleep in the call itself, so it sets the
 * mark. After either, the thread may be on another vp.
 *
 * Runs on the calling thread's stack, between rt_enter and rt_exit.
 * Rejected: the mark around io_try, too (the monitor would ask /proc about each carrier
 * that is preempted there).
 */
#include "io/io.h"

#include "fd/known.h"
#include "io/io_hostile.h"

const struct io_call io_calls[IO_KINDS] = {
	[IO_POLL] = { .class = IO_CLASS_NET },
	[IO_READ] = { IO_BYTES, IO_CLASS_FILE, IO_IF_LIKELY, true, IO_READ, SYS_preadv2,
		      SYS_read, SYS_pread64 },
	[IO_WRITE] = { IO_BYTES, IO_CLASS_FILE, IO_FIRST, false, IO_WRITE, SYS_pwritev2,
		       SYS_write, SYS_pwrite64 },
	[IO_READV] = { IO_VECTOR, IO_CLASS_FILE, IO_IF_LIKELY, true, IO_READ,
		       SYS_preadv2, SYS_readv, SYS_preadv },
	[IO_WRITEV] = { IO_VECTOR, IO_CLASS_FILE, IO_FIRST, false, IO_WRITE,
			SYS_pwritev2, SYS_writev, SYS_pwritev },
	[IO_RECV] = { IO_SOCKET, IO_CLASS_NET, IO_IF_LIKELY, true, IO_RECV,
		      SYS_recvfrom, SYS_recvfrom },
	[IO_SEND] = { IO_SOCKET, IO_CLASS_NET, IO_FIRST, false, IO_SEND, SYS_sendto,
		      SYS_sendto },
	[IO_RECVMSG] = { IO_MESSAGE, IO_CLASS_NET, IO_IF_LIKELY, true, IO_RECV,
			 SYS_recvmsg, SYS_recvmsg },
	[IO_SENDMSG] = { IO_MESSAGE, IO_CLASS_NET, IO_FIRST, false, IO_SEND,
			 SYS_sendmsg, SYS_sendmsg },
	[IO_ACCEPT] = { IO_OTHER, IO_CLASS_NET, .here = SYS_accept4 },
	[IO_CONNECT] = { IO_OTHER, IO_CLASS_NET, .here = SYS_connect },
	[IO_FSYNC] = { IO_OTHER, IO_CLASS_FILE, .here = SYS_fsync,
		       .at = SYS_fdatasync },
	[IO_CALL] = { IO_FUNCTION, IO_CLASS_NET },
};

/* -- try -- */

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

/* As preadv2 and pwritev2 give it. That a stream refuses RWF_NOWAIT is remembered. */
static long try_vector(const struct io_op *op, const struct iovec *v, size_t n)
{
	unsigned hint = op->off == IO_CURRENT ? fd_hint(op->fd) : 0;
	long r;

	if (hint & HINT_NO_TRY)
		return -EOPNOTSUPP;
	r = sysn(io_calls[op->kind].now, op->fd, v, n, op->off, 0, RWF_NOWAIT);
	if (unlikely(r == -EOPNOTSUPP) && hint & HINT_STREAM)
		fd_hint_set(op->fd, (hint & HINT_FLAGS) | HINT_NO_TRY);
	return r;
}

static long try_once(const struct io_op *op)
{
	const struct io_call *c = &io_calls[op->kind];
	struct iovec one = { (void *)(uintptr_t)op->addr, hostile_io_len(op, op->len) };
	const struct io_function *f = op->addr;
	uint32_t flags = op->flags | MSG_DONTWAIT;
	long r;

	switch ((enum io_form)c->form) {
	case IO_BYTES:
		r = try_socket(op, one.iov_len);
		return r != -ENOTSOCK ? r : try_vector(op, &one, 1);
	case IO_VECTOR:
		return try_vector(op, op->addr, op->len);
	case IO_SOCKET:
		return sysn(c->now, op->fd, op->addr, one.iov_len, flags, NULL, NULL);
	case IO_MESSAGE:
		return sys3(c->now, op->fd, op->addr, flags);
	case IO_FUNCTION:
		return f->call(f->arg, op->fd);
	case IO_OTHER:
		break;
	}
	return -EOPNOTSUPP;
}

static long try_now(struct uk_thread *t, const struct io_op *op)
{
	long r;

	COUNT(t, syscalls);
	if (!op->inside)
		outside_begin(t);
	do
		r = try_once(op);
	while (r == -EINTR);
	if (!op->inside)
		outside_end(t);
	return r == -ENOSYS ? -EOPNOTSUPP : r;
}

long io_try(struct uk_thread *t, const struct io_op *op)
{
	return hostile_io_again(op) ? -EAGAIN : try_now(t, op);
}

/* Is io_try a socket's call? For a file to which O_NONBLOCK means nothing, RWF_NOWAIT
 * fails with -EAGAIN if the call would wait for the disk. */
static bool asked_a_socket(const struct io_op *op)
{
	switch ((enum io_form)io_calls[op->kind].form) {
	case IO_SOCKET:
	case IO_MESSAGE:
	case IO_FUNCTION:
		return true;
	case IO_BYTES:
		return op->off == IO_CURRENT && known_ask(op->fd) & KNOWN_ALL;
	default:
		return false;
	}
}

/* Without the mark if there is a form that cannot block: the monitor would look after
 * each marked call (without privilege, 5 of 13 us a request in an event loop). */
long io_plain(struct uk_thread *t, const struct io_op *op)
{
	bool socket = asked_a_socket(op);
	long r = op->tried && socket && !UK_HOSTILE ? -EAGAIN : try_now(t, op);

	if (r == -EOPNOTSUPP || (r == -EAGAIN && !socket))
		return io_block(t, op, IO_ONCE);
	return r;
}

/* -- block -- */

static long block_once(const struct io_op *op)
{
	const struct io_call *c = &io_calls[op->kind];
	bool here = op->off == IO_CURRENT;

	switch ((enum io_form)c->form) {
	case IO_BYTES:
	case IO_VECTOR:
		return here ? sys3(c->here, op->fd, op->addr, op->len)
			    : sys5(c->at, op->fd, op->addr, op->len, op->off, 0);
	case IO_SOCKET:
		return sysn(c->here, op->fd, op->addr, op->len, op->flags, NULL, NULL);
	case IO_MESSAGE:
		return sys3(c->here, op->fd, op->addr, op->flags);
	case IO_FUNCTION:
		return -EAGAIN;
	case IO_OTHER:
		break;
	}
	if (op->kind == IO_ACCEPT)
		return sys4(c->here, op->fd, op->addr, op->addr2, op->flags);
	if (op->kind == IO_CONNECT)
		return sys3(c->here, op->fd, op->addr, op->len);
	return op->kind == IO_FSYNC ? sys1(op->flags ? c->at : c->here, op->fd)
				    : -EINVAL;
}

static long block(struct uk_thread *t, const struct io_op *op, enum io_block how)
{
	long r = -EINTR;

	/* connect goes on after a signal, so injecting EINTR before the call would be
	 * wrong */
	if (op->kind != IO_CONNECT && hostile_io_intr())
		return r;
	COUNT(t, syscalls);
	raw_begin(t, op->fd);
	block_begin(t, how == IO_RELEASE);
	/* a handler that has just run would have ended the native call's wait */
	if (how == IO_WHOLE || !sched_eintr_counts(t))
		r = block_once(op);
	block_end(t);
	raw_end(t, op->fd);
	return r;
}

long io_block(struct uk_thread *t, const struct io_op *op, enum io_block how)
{
	long r;

	do
		r = block(t, op, how);
	while (r == -EINTR && how == IO_WHOLE);
	return r;
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

ssize_t io_make(io_fn *fn, struct io_op *op, const struct iovec *v, size_t n)
{
	int unable = rt_begin();
	struct uk_thread *t;
	long r;

	if (unlikely(unable))
		return unable;
	t = rt_enter();
	io_count_quick(t);
	r = fn(t, op, v, n);
	rt_exit();
	return r;
}

long io_syscall(long nr, long a, long b, long c, long d, long e)
{
	int unable = rt_begin();
	long r;

	if (unlikely(unable))
		return unable;
	r = io_marked(rt_enter(), nr, a, b, c, d, e, 0);
	rt_exit();
	return r;
}
