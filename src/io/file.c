/* SPDX-License-Identifier: Apache-2.0 */
/* read and write in all their forms, open, stat, fsync.
 *
 * The same calls serve two kinds of files. A *stream* (pipe, socket, tty, eventfd) may
 * have nothing for hours. Its reads go to the reactor at once unless the last one
 * filled its buffer; its writes are tried first. A *file* is in the page cache or on a
 * disk:
 *   read, at file position    the plain call under a mark: only the kernel's own
 *                             read(2) holds the lock of the position to the end
 *   pread                     inline, else the reactor
 *   write, pwrite             the plain call under a mark: a copy into the page cache,
 *                             whole, so that O_APPEND records stay in one piece; most
 *                             file systems know no other form that does not block
 *   open, stat                the plain call under a mark: 400 and 200 ns when the
 *                             names are cached, less than any way through io_uring
 * A deadline cannot end a wait for a disk.
 */
#include "io/io.h"

#include <fcntl.h>
#include <linux/major.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#define TERMINALS 64u
#define PAUSE (NS_PER_MS / 4)

bool io_sees_closes, io_vets;

/* -- what an fd is -- */

/* Character devices of the memory driver: mem, null, port; zero, full, random,
 * urandom. */
static unsigned nature_of_memory(unsigned minor)
{
	switch (minor) {
	case 1:
	case 3:
	case 4:
		return HINT_FILE;
	case 5:
	case 7:
	case 8:
	case 9:
		return HINT_FILE | HINT_ENDLESS;
	default: /* kmsg: its reads wait for messages */
		return HINT_STREAM | HINT_DEVICE;
	}
}

static unsigned nature_of_device(dev_t dev)
{
	unsigned kind = major(dev);

	if (kind == MEM_MAJOR)
		return nature_of_memory(minor(dev));
	if (kind == TTY_MAJOR || kind == TTYAUX_MAJOR ||
	    (kind >= UNIX98_PTY_MASTER_MAJOR &&
	     kind < UNIX98_PTY_SLAVE_MAJOR + UNIX98_PTY_MAJOR_COUNT))
		return HINT_STREAM | HINT_DEVICE | HINT_TERMINAL;
	return HINT_STREAM | HINT_DEVICE;
}

unsigned io_nature(struct uk_thread *t, int fd)
{
	struct stat st;

	COUNT(t, syscalls);
	if (sys2(SYS_fstat, fd, &st) < 0)
		return 0;
	if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) || S_ISDIR(st.st_mode))
		return HINT_FILE;
	return S_ISCHR(st.st_mode) ? nature_of_device(st.st_rdev) : HINT_STREAM;
}

/* -- both forms of a call -- */

static ssize_t plain(io_fn *fn, enum io_kind kind, int fd, const void *buf, size_t n,
		     off_t off)
{
	struct iovec one = { (void *)(uintptr_t)buf, MIN(n, IO_MAX_LEN) };
	struct io_op op = { .kind = (uint8_t)kind,
			    .fd = fd,
			    .addr = buf,
			    .len = (uint32_t)one.iov_len,
			    .off = off };

	return io_make(fn, &op, &one, 1);
}

/* The kernel's verdict on a call with this list, without the call: the kernel checks fd
 * and list first, and then refuses a flag that does not exist. 1: nothing is wrong. 0:
 * the list has no bytes. Else -errno. */
static long vet(enum io_kind kind, int fd, const struct iovec *v, int n)
{
	long r = sysn(kind == IO_READV ? SYS_preadv2 : SYS_pwritev2, fd, v, n, -1, 0,
		      1 << 30);

	return r == -EOPNOTSUPP || r == -ENOSYS ? 1 : r;
}

static ssize_t vectored(io_fn *fn, enum io_kind kind, int fd, const struct iovec *iov,
			int n, off_t off)
{
	struct io_op op = { .kind = (uint8_t)kind,
			    .fd = fd,
			    .addr = iov,
			    .len = (uint32_t)n,
			    .off = off };
	long r = io_vets ? vet(kind, fd, iov, n) : 1;

	if (r <= 0)
		return r;
	if ((unsigned)n > IO_MAX_IOV)
		return -EINVAL;
	return io_make(fn, &op, iov, (size_t)n);
}

/* -- reading -- */

bool io_in_background(int fd)
{
	int group, locked;

	return !sys3(SYS_ioctl, fd, TIOCGPGRP, &group) &&
	       group != sys1(SYS_getpgid, 0) &&
	       sys3(SYS_ioctl, fd, TIOCGPTLCK, &locked); /* not a pty master */
}

/* Is fd still a file, as HINT_FILE says? A position other than 0 proves it: an fd that
 * merely allows lseek (an eventfd) has position 0. lseek costs half of what fstat does.
 * It waits for a thread that reads at the position, hence the mark. */
static bool is_still_file(struct uk_thread *t, int fd)
{
	if (io_sees_closes)
		return true;
	return io_marked(t, SYS_lseek, fd, 0, SEEK_CUR, 0, 0, 0) > 0;
}

/* HINT_FILE or HINT_STREAM, with the flags that go with it. *is_new: nothing was known
 * before. */
static unsigned look(struct uk_thread *t, int fd, bool *is_new)
{
	unsigned hint = fd_hint(fd), nature;

	*is_new = false;
	if (hint & HINT_STREAM || (hint & HINT_FILE && is_still_file(t, fd)))
		return hint;
	*is_new = true;
	nature = io_nature(t, fd);
	if (nature)
		fd_hint_set(fd, nature | (hint & (HINT_SOCK | HINT_NOSOCK)));
	return nature;
}

/* Only the kernel's own read(2) holds the lock of the position from the first byte to
 * the last. A read of an endless file may be cut short by a completion's notice to this
 * kernel thread; such a file has no position, so the read may continue. */
static long read_file(struct uk_thread *t, struct io_op *op, const struct iovec *v,
		      size_t n, unsigned hint)
{
	uint32_t life = fd_life(op->fd);
	long r = io_block(t, op, IO_WHOLE);

	sched_inline(t, 1);
	if (unlikely(hint & HINT_ENDLESS) && r > 0 && (size_t)r < io_iov_len(v, n))
		return io_rest(t, op, v, n, r, life);
	return r;
}

/* At the current position. */
static long read_op(struct uk_thread *t, struct io_op *op, const struct iovec *v,
		    size_t n)
{
	long r = io_check(t);
	unsigned hint;
	bool is_new;

	if (r == 0 && fd_is_ahead(op->fd))
		r = -EBUSY;
	if (r)
		return r;
	hint = look(t, op->fd, &is_new);
	if (hint & HINT_FILE)
		return read_file(t, op, v, n, hint);
	op->fresh = is_new;
	r = io_wait(t, op);
	/* another thread may have set it meanwhile */
	hint = fd_hint(op->fd);
	if (r >= 0 && hint & HINT_STREAM)
		fd_hint_read(op->fd, hint & (HINT_FLAGS & ~HINT_MORE), r,
			     io_iov_len(v, n));
	return r;
}

ssize_t io_read(int fd, void *buf, size_t n)
{
	return plain(read_op, IO_READ, fd, buf, n, IO_CURRENT);
}

ssize_t uk_readv(int fd, const struct iovec *iov, int n)
{
	return vectored(read_op, IO_READV, fd, iov, n, IO_CURRENT);
}

static long pread_op(struct uk_thread *t, struct io_op *op, const struct iovec *v,
		     size_t n)
{
	uint32_t life = fd_life(op->fd);
	long r = io_check(t);

	if (r == 0 && op->off < 0)
		r = -EINVAL;
	if (r == 0) {
		r = io_try(t, op);
		op->tried = true;
		if (r != -EAGAIN && r != -EOPNOTSUPP)
			sched_inline(t, 1);
		else if (r == -EAGAIN && io_is_file(t, op->fd))
			r = io_wait(t, op);
		else
			r = io_block(t, op, IO_WHOLE);
	}
	if (r <= 0 || (size_t)r == io_iov_len(v, n))
		return r;
	return io_rest(t, op, v, n, r, life);
}

ssize_t uk_pread(int fd, void *buf, size_t n, off_t off)
{
	return plain(pread_op, IO_READ, fd, buf, n, off);
}

ssize_t uk_preadv(int fd, const struct iovec *iov, int n, off_t off)
{
	return vectored(pread_op, IO_READV, fd, iov, n, off);
}

/* After -EAGAIN. If the file has O_NONBLOCK: wait, because all bytes were asked for.
 * Otherwise the socket's own time limit is over, and -EAGAIN is the answer. */
static ssize_t wait_zero(int fd, int events)
{
	long flags = sys2(SYS_fcntl, fd, F_GETFL);
	ssize_t r = -EAGAIN;

	if (flags < 0 || flags & O_NONBLOCK)
		r = uk_wait_fd(fd, events, UK_FOREVER);
	return r < 0 ? r : 0;
}

/* Has the fd been closed since the first bytes were transferred? */
static bool is_over(int fd, uint32_t life, size_t done)
{
	return done && fd_life(fd) != life;
}

ssize_t uk_read_all(int fd, void *buf, size_t n)
{
	uint32_t life = fd_life(fd);
	size_t done = 0;

	while (done < n) {
		ssize_t r = is_over(fd, life, done)
				? -EBADF
				: uk_read(fd, (char *)buf + done, n - done);

		if (r == 0)
			break;
		if (r == -EAGAIN)
			r = wait_zero(fd, POLLIN);
		if (r < 0)
			return r;
		done += (size_t)r;
	}
	return (ssize_t)done;
}

/* -- writing -- */

static long write_stream(struct uk_thread *t, struct io_op *op, const struct iovec *v,
			 size_t n, uint32_t life)
{
	long r;

	op->parts = true;
	r = io_wait(t, op);
	if (unlikely(r >= 0 && (n != 1 || (size_t)r < v->iov_len)))
		return io_rest(t, op, v, n, r, life);
	io_settle(op);
	/* a file where a stream was: some file systems report that with -EINVAL */
	if (unlikely(r == -EINVAL) && io_is_file(t, op->fd))
		return io_block(t, op, IO_WHOLE);
	return r;
}

/* -- to a terminal --
 *
 * The kernel locks a terminal for a whole call, but ends the call early when an
 * operation of io_uring completes (TIF_NOTIFY_SIGNAL). So user threads keep the
 * terminal locked among themselves until the rest is written:
 *
 *   0 --a thread wins the exchange--> 1 --its call ends, or it jumps out--> 0
 *
 * Known gap: a kernel thread of the program, or another process, may write between two
 * parts.
 * Rejected: the operation in a worker of io_uring (it, too, waits for the terminal by a
 * poll, and then the notified thread makes the call). */

static uint32_t terminals[TERMINALS]; /* by minor number */

void file_fork_child(void)
{
	memset(terminals, 0, sizeof(terminals));
}

static void give_terminal(struct uk_thread *t)
{
	store_release(&terminals[t->terminal - 1], 0); /* pairs with the exchange */
	t->terminal = 0;
}

void io_jumped(struct uk_thread *t, const struct io_op *outer)
{
	io_release(outer);
	if (unlikely(t->terminal))
		give_terminal(t);
}

static long write_terminal(struct uk_thread *t, struct io_op *op, const struct iovec *v,
			   size_t n, uint32_t life)
{
	unsigned slot;
	struct stat st;
	long r;

	COUNT(t, syscalls);
	r = sys2(SYS_fstat, op->fd, &st);
	slot = minor(st.st_rdev) % TERMINALS;
	while (r == 0 && xchg_acquire(&terminals[slot], 1))
		r = io_pause(t, PAUSE);
	if (r)
		return r;
	t->terminal = (uint8_t)(slot + 1);
	r = write_stream(t, op, v, n, life);
	give_terminal(t);
	return r;
}

static long write_op(struct uk_thread *t, struct io_op *op, const struct iovec *v,
		     size_t n)
{
	uint32_t life = fd_life(op->fd);
	long r = io_check(t);
	unsigned hint;
	bool is_new;

	if (r)
		return r;
	hint = look(t, op->fd, &is_new);
	if (hint & HINT_FILE)
		return io_block(t, op, IO_WHOLE);
	/* if t->terminal is set, this is a handler in the middle of such a write */
	if (unlikely(hint & HINT_TERMINAL) && t->kind == THREAD_USER && !t->terminal)
		return write_terminal(t, op, v, n, life);
	return write_stream(t, op, v, n, life);
}

static long pwrite_op(struct uk_thread *t, struct io_op *op,
		      const struct iovec *v UNUSED, size_t n UNUSED)
{
	int err = io_check(t);

	if (err)
		return err;
	return op->off < 0 ? -EINVAL : io_block(t, op, IO_WHOLE);
}

ssize_t io_write(int fd, const void *buf, size_t n)
{
	return plain(write_op, IO_WRITE, fd, buf, n, IO_CURRENT);
}

ssize_t io_writev(int fd, const struct iovec *v, int n, long done, uint32_t life)
{
	struct io_op op = { .kind = IO_WRITEV,
			    .fd = fd,
			    .addr = v,
			    .len = (uint32_t)n,
			    .off = IO_CURRENT };
	struct uk_thread *t;

	if (done <= 0)
		return vectored(write_op, IO_WRITEV, fd, v, n, IO_CURRENT);
	t = rt_enter();
	io_count_quick(t);
	done = io_rest(t, &op, v, (size_t)n, done, life);
	rt_exit();
	return done;
}

ssize_t uk_pwrite(int fd, const void *buf, size_t n, off_t off)
{
	return plain(pwrite_op, IO_WRITE, fd, buf, n, off);
}

ssize_t uk_pwritev(int fd, const struct iovec *iov, int n, off_t off)
{
	return vectored(pwrite_op, IO_WRITEV, fd, iov, n, off);
}

/* MSG_NOSIGNAL, because a socket's peer may go at any time, and a server must not die
 * of it. (What was known about the fd may be about another open file, so uk_send is
 * tried each time.) */
ssize_t uk_write_all(int fd, const void *buf, size_t n)
{
	uint32_t life = fd_life(fd);
	bool is_sock = true;
	size_t done = 0;

	while (done < n) {
		const char *p = (const char *)buf + done;
		ssize_t r;

		if (is_over(fd, life, done))
			return -EBADF;
		r = is_sock ? uk_send(fd, p, n - done, MSG_NOSIGNAL)
			    : uk_write(fd, p, n - done);

		if (r == -ENOTSOCK && is_sock) {
			is_sock = false;
			continue;
		}
		if (r == -EAGAIN)
			r = wait_zero(fd, POLLOUT);
		if (r < 0)
			return r;
		done += (size_t)r;
	}
	return (ssize_t)done;
}

/* -- names and fds -- */

static int open_at(long nr, int dir, const char *path, long c, long d)
{
	int unable = rt_begin();

	if (unlikely(unable))
		return unable;
	struct uk_thread *t = rt_enter();
	long r;

	do
		r = io_marked_once(t, nr, dir, SYS_ARG(path), c, d, 0, 0);
	while (r == -EINTR && !sched_eintr_counts(t)); /* a FIFO: open may wait long */
	if (r >= 0)
		fd_hint_set((int)r, 0);
	rt_exit();
	return (int)r;
}

int uk_open(const char *path, int flags, mode_t mode)
{
	return open_at(SYS_openat, AT_FDCWD, path, flags, mode);
}

int uk_openat(int dir, const char *path, int flags, mode_t mode)
{
	return open_at(SYS_openat, dir, path, flags, mode);
}

int uk_openat2(int dir, const char *path, const struct open_how *how, size_t size)
{
	return open_at(SYS_openat2, dir, path, SYS_ARG(how), (long)size);
}

int uk_fstatat(int dir, const char *path, struct stat *st, int flags)
{
	return (int)io_syscall(SYS_newfstatat, dir, SYS_ARG(path), SYS_ARG(st), flags,
			       0);
}

int uk_stat(const char *path, struct stat *st)
{
	return uk_fstatat(AT_FDCWD, path, st, 0);
}

int uk_fstat(int fd, struct stat *st)
{
	long r = io_syscall(SYS_fstat, fd, SYS_ARG(st), 0, 0, 0);

	if (r == 0 && S_ISREG(st->st_mode))
		fd_hint_set(fd, HINT_FILE);
	return (int)r;
}

static long sync_op(struct uk_thread *t, struct io_op *op, const struct iovec *v UNUSED,
		    size_t n UNUSED)
{
	long r = io_check(t);

	return r ? r : io_wait(t, op);
}

static int sync_file(int fd, unsigned data_only)
{
	struct io_op op = {
		.kind = IO_FSYNC, .fd = fd, .flags = data_only, .off = IO_CURRENT
	};

	return (int)io_make(sync_op, &op, NULL, 0);
}

int uk_fsync(int fd)
{
	return sync_file(fd, 0);
}

int uk_fdatasync(int fd)
{
	return sync_file(fd, 1);
}
