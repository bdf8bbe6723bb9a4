/* SPDX-License-Identifier: Apache-2.0 */
/* How a call that may block is made.
 *
 *	            +-- inline: io_try, a form of the call that cannot block
 *	uk_recv ----+
 *	            +-- io_wait_op --+-- user thread: the reactor (sched_io) carries it out
 *	                             |     REACTOR_READY or no such op: io_ready, io_raw
 *	                             +-- foreign thread: io_raw; with a deadline ppoll first
 *
 * Runs on the calling thread's own stack, between rt_enter and rt_exit; io_raw leaves the
 * runtime for its system call, under a mark, so that the vp moves on if the kernel sleeps.
 * The result is what counts: a call that comes back here with -EAGAIN or -EINTR begins
 * again, unless the descriptor has O_NONBLOCK.
 *
 * O_NONBLOCK is looked up when a call is about to wait (50 ns), each time: io_uring waits
 * for data whatever the flag says, and no remembered answer is right when another process
 * may set the flag.
 *
 * A foreign thread sleeps in the kernel; a close elsewhere gets it out by a signal (raw.c).
 *
 * Rejected: a table of what each descriptor is (programs and libc close and reopen behind
 * our back); setting O_NONBLOCK for the time of the call (other processes share it).
 */
#include "io/io.h"

#include <fcntl.h>

#include "event/accept.h"
#include "io/hostile.h"

#define PAUSE (NS_PER_MS / 2)

uint16_t io_hints[IO_HINTS];

/* -- the forms of a call -- */

static long try_once(const struct io_op *op)
{
	struct iovec one = { (void *)(uintptr_t)op->addr, hostile_io_len(op, op->len) };
	uint32_t now = op->flags | MSG_DONTWAIT;

	switch ((enum io_kind)op->kind) {
	case IO_READ:
		return sysn(SYS_preadv2, op->fd, &one, 1, op->off, 0, RWF_NOWAIT);
	case IO_WRITE:
		return sysn(SYS_pwritev2, op->fd, &one, 1, op->off, 0, RWF_NOWAIT);
	case IO_READV:
		return sysn(SYS_preadv2, op->fd, op->addr, op->len, op->off, 0, RWF_NOWAIT);
	case IO_WRITEV:
		return sysn(SYS_pwritev2, op->fd, op->addr, op->len, op->off, 0, RWF_NOWAIT);
	case IO_RECV:
		return sysn(SYS_recvfrom, op->fd, op->addr, one.iov_len, now, NULL, NULL);
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

long io_try(struct uk_thread *t, const struct io_op *op)
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

/* connect goes on after a signal, so its injection comes after the fact. */
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
		return sysn(SYS_recvfrom, op->fd, op->addr, op->len, op->flags, NULL, NULL);
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

long io_raw(struct uk_thread *t, const struct io_op *op, bool release)
{
	long r;

	if (interrupted(op))
		return -EINTR;
	COUNT(t, syscalls);
	raw_begin(t, op->fd);
	block_begin(t, release);
	r = raw_once(op);
	block_end(t);
	raw_end(t, op->fd);
	return r;
}

long io_marked(struct uk_thread *t, long nr, long a, long b, long c, long d, long e, long f)
{
	long r;

	do {
		COUNT(t, syscalls);
		block_begin(t, false);
		r = sys6(nr, a, b, c, d, e, f);
		block_end(t);
	} while (r == -EINTR);
	return r;
}

/* -- facts about a descriptor -- */

bool io_nonblock(struct uk_thread *t, int fd)
{
	long flags = sys2(SYS_fcntl, fd, F_GETFL);

	COUNT(t, syscalls);
	return flags >= 0 && (flags & O_NONBLOCK);
}

/* Whether op must not wait (1, O_NONBLOCK), may (0), or cannot be at all: to wait for an
 * event first (epoll) is to hang where the kernel says -EBADF at once. */
static int op_mode(struct uk_thread *t, const struct io_op *op)
{
	long flags = sys2(SYS_fcntl, op->fd, F_GETFL), wrong = -1;

	COUNT(t, syscalls);
	if (flags < 0)
		return (int)flags;
	if (op->kind == IO_READ || op->kind == IO_READV)
		wrong = O_WRONLY;
	else if (op->kind == IO_WRITE || op->kind == IO_WRITEV)
		wrong = O_RDONLY;
	if ((flags & O_ACCMODE) == wrong || (flags & O_PATH))
		return -EBADF;
	return !!(flags & O_NONBLOCK);
}

bool io_is_file(struct uk_thread *t, int fd)
{
	struct stat st;

	COUNT(t, syscalls);
	if (sys2(SYS_fstat, fd, &st) < 0)
		return false;
	return S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) || S_ISDIR(st.st_mode);
}

uint32_t io_events(const struct io_op *op)
{
	switch ((enum io_kind)op->kind) {
	case IO_READ:
	case IO_READV:
	case IO_RECV:
	case IO_RECVMSG:
	case IO_ACCEPT:
		return POLLIN;
	case IO_WRITE:
	case IO_WRITEV:
	case IO_SEND:
	case IO_SENDMSG:
	case IO_CONNECT:
		return POLLOUT;
	case IO_POLL:
		return op->len;
	default:
		return 0;
	}
}

/* -- waiting -- */

/* poll(2) of one descriptor: ready events, 0 = none by then, -errno. */
static int poll_once(struct uk_thread *t, int fd, unsigned events, int64_t deadline)
{
	struct pollfd p = { .fd = fd, .events = (short)events };
	int64_t left = deadline == TIME_NEVER ? 0 : MAX(deadline - sys_now(), 0);
	struct timespec ts = sys_timespec(left);
	long r;

	COUNT(t, syscalls);
	r = sys5(SYS_ppoll, &p, 1, deadline == TIME_NEVER ? NULL : &ts, NULL, 8);
	if (r <= 0)
		return (int)r;
	return p.revents & POLLNVAL ? -EBADF : p.revents;
}

static int ready_foreign(struct uk_thread *t, int fd, unsigned events, int64_t deadline)
{
	for (;;) {
		int r;

		raw_begin(t, fd);
		block_begin(t, false);
		r = poll_once(t, fd, events, deadline);
		block_end(t);
		raw_end(t, fd);
		if (r > 0 || (r < 0 && r != -EINTR))
			return r;
		if (r == 0)
			return -ETIMEDOUT;
		if (load_relaxed(&t->cancelled))
			return -ECANCELED;
	}
}

int io_ready(struct uk_thread *t, int fd, unsigned events, int64_t deadline)
{
	struct io_op op = { .kind = IO_POLL, .fd = fd, .len = events, .off = IO_CURRENT };
	int r;

	deadline = MIN(deadline, t->deadline);
	if (fd < 0)
		return -EBADF;
	if (load_relaxed(&t->cancelled))
		return -ECANCELED;
	if (deadline <= sched_clock_coarse(t)) {
		r = poll_once(t, fd, events, 0);
		return r ? r : -ETIMEDOUT;
	}
	if (t->kind == THREAD_FOREIGN)
		return ready_foreign(t, fd, events, deadline);
	do {
		r = sched_io(t, &op, IO_CLASS_NET, deadline);
	} while (r == -EINTR || r == -EAGAIN || r == 0);
	/* the clock that said "not yet" lags: a deadline that was over is a look, not a wait */
	if (r != REACTOR_READY && r != -ETIMEDOUT) /* io_uring adds POLLRDHUP */
		return r < 0 ? r : r & (int)(events | POLLERR | POLLHUP);
	r = poll_once(t, fd, events, 0);
	if (r == 0 && deadline <= sys_now())
		return -ETIMEDOUT;
	return r ? r : (int)(events & (POLLIN | POLLOUT));
}

int io_pause(struct uk_thread *t, int64_t ns)
{
	uint64_t tok = wait_begin(t, WAIT_SLEEP, NULL);
	int64_t end = sys_now() + ns;
	unsigned why = wait_park(t, tok, end);

	if (why == WAKE_TIMEOUT && end < t->deadline)
		return 0;
	return wake_error(why);
}

/* fd is ready, says the reactor, or it cannot tell. For accept that means a try which no
 * other thread of ours can disappoint; another process can: then it sleeps, under a mark,
 * and neither deadline nor cancellation end that. */
static long raw_ready(struct uk_thread *t, const struct io_op *op)
{
	struct sockaddr *addr = (struct sockaddr *)(uintptr_t)op->addr;
	long r;

	if (op->kind != IO_ACCEPT)
		return io_raw(t, op, false);
	COUNT(t, syscalls);
	raw_begin(t, op->fd);
	block_begin(t, false);
	r = accept_try(op->fd, addr, op->addr2, (int)op->flags);
	block_end(t);
	raw_end(t, op->fd);
	return r;
}

/* io_uring sends with MSG_NOSIGNAL. Let the kernel say -EPIPE again, in the sender's own
 * context and with the signal that the caller may expect. */
static long broken_pipe(const struct io_op *op)
{
	long r = -EPIPE;

	if ((op->kind == IO_SEND || op->kind == IO_SENDMSG) && !(op->flags & MSG_NOSIGNAL))
		r = try_once(op);
	return r == -EAGAIN || r == -EINTR ? -EPIPE : r;
}

static long wait_user(struct uk_thread *t, struct io_op *op, enum io_class c)
{
	uint32_t events = io_events(op);
	long r;

	if (sched_io_can(t, op->kind, c)) {
		r = sched_io(t, op, c, TIME_NEVER);
		if (r == -EPIPE)
			return broken_pipe(op);
		return r == REACTOR_READY ? raw_ready(t, op) : r;
	}
	if (!events)
		return io_raw(t, op, true);
	r = io_ready(t, op->fd, events, TIME_NEVER);
	return r < 0 ? r : raw_ready(t, op);
}

static long wait_foreign(struct uk_thread *t, const struct io_op *op)
{
	uint32_t events = io_events(op);

	if (t->deadline == TIME_NEVER || !events)
		return io_raw(t, op, false);
	for (;;) {
		long r = io_try(t, op);
		int ready;

		if (r != -EAGAIN && r != -EOPNOTSUPP)
			return r;
		ready = io_ready(t, op->fd, events, TIME_NEVER);
		if (ready < 0)
			return ready;
		/* a file is always ready and its deadline is the disk's business */
		if (r == -EOPNOTSUPP || io_is_file(t, op->fd))
			return raw_ready(t, op);
	}
}

long io_wait_op(struct uk_thread *t, struct io_op *op, enum io_class c)
{
	int plain = io_events(op) ? op_mode(t, op) : 0;

	for (unsigned again = 0; plain >= 0;) {
		long r;
		int err;

		if (plain)
			r = io_raw(t, op, false);
		else if (t->kind == THREAD_FOREIGN)
			r = wait_foreign(t, op);
		else
			r = wait_user(t, op, c);
		if (r != -EINTR && (r != -EAGAIN || plain))
			return r;
		err = io_check(t);
		/* -EAGAIN of a descriptor that blocks: the kernel is short of something */
		if (!err && r == -EAGAIN && ++again > 2)
			err = io_pause(t, PAUSE);
		if (err)
			return err;
	}
	return plain;
}

long io_whole(struct uk_thread *t, const struct io_op *op)
{
	long r;

	do
		r = io_raw(t, op, false);
	while (r == -EINTR);
	return r;
}

long io_do(struct uk_thread *t, struct io_op *op, enum io_class c)
{
	long r = io_try(t, op);

	if (r != -EAGAIN && r != -EOPNOTSUPP) {
		sched_inline(t);
		return r;
	}
	return io_wait_op(t, op, c);
}

long io_file(struct uk_thread *t, struct io_op *op)
{
	long r = io_try(t, op);

	if (r != -EAGAIN && r != -EOPNOTSUPP) {
		sched_inline(t);
		return r;
	}
	return io_whole(t, op);
}

/* -- the rest of a partial transfer -- */

/* Take r bytes off the front. */
static void iov_advance(struct io_iov *io, size_t r)
{
	r += io->skip;
	while (io->n && r >= io->v->iov_len) {
		r -= io->v->iov_len;
		io->v++;
		io->n--;
	}
	io->skip = io->n ? r : 0;
}

size_t io_iov_len(const struct iovec *v, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum = v[i].iov_len > SIZE_MAX - sum ? SIZE_MAX : sum + v[i].iov_len;
	return sum;
}

static enum io_kind single_kind(enum io_kind kind)
{
	switch (kind) {
	case IO_READV:
		return IO_READ;
	case IO_WRITEV:
		return IO_WRITE;
	case IO_RECVMSG:
		return IO_RECV;
	case IO_SENDMSG:
		return IO_SEND;
	default:
		return kind;
	}
}

/* The next piece: what is left of an element begun, else the whole elements that follow. */
static void next_piece(struct io_op *op, const struct io_op *first, const struct io_iov *io,
		       struct msghdr *m, int64_t off)
{
	*op = (struct io_op){ .kind = first->kind,
			      .fd = first->fd,
			      .flags = first->flags & ~(uint32_t)MSG_FASTOPEN,
			      .off = off };
	if (io->skip || io->n == 1) {
		op->kind = (uint8_t)single_kind(first->kind);
		op->addr = (const char *)io->v->iov_base + io->skip;
		op->len = (uint32_t)MIN(io->v->iov_len - io->skip, IO_MAX_LEN);
	} else if (first->kind == IO_RECVMSG || first->kind == IO_SENDMSG) {
		*m = (struct msghdr){ .msg_iov = (struct iovec *)(uintptr_t)io->v,
				      .msg_iovlen = io->n };
		op->addr = m;
		op->len = 1;
	} else {
		op->addr = io->v;
		op->len = (uint32_t)io->n;
	}
}

static long do_piece(struct uk_thread *t, struct io_op *op, enum io_class c)
{
	if (op->kind != IO_READ && op->kind != IO_READV)
		return io_wait_op(t, op, c); /* it took less than all: full, or empty, now */
	return op->off == IO_CURRENT ? io_file(t, op) : io_do(t, op, c);
}

long io_rest(struct uk_thread *t, const struct io_op *first, const struct iovec *v, size_t n,
	     long r, enum io_class c)
{
	struct io_iov io = { v, n, 0 };
	int64_t off = first->off;
	struct io_op op;
	struct msghdr m;
	size_t done = 0;

	for (;;) {
		if (r <= 0)
			return done ? (long)done : r;
		done += (size_t)r;
		if (off != IO_CURRENT)
			off += r;
		iov_advance(&io, (size_t)r);
		if (!io.n || done >= IO_MAX_LEN || io_check(t))
			return (long)done;
		next_piece(&op, first, &io, &m, off);
		r = do_piece(t, &op, c);
	}
}

long io_out(struct uk_thread *t, struct io_op *op, enum io_class c)
{
	struct iovec one = { (void *)(uintptr_t)op->addr, op->len };
	long r = io_do(t, op, c);

	if (likely(r < 0 || (size_t)r >= one.iov_len))
		return r;
	return io_rest(t, op, &one, 1, r, c);
}
