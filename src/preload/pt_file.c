/* SPDX-License-Identifier: Apache-2.0 */
/* pt_file.c - read, write and the other calls on an fd of any kind.
 *
 * read and write go to the runtime, which distinguishes streams from files. Calls that
 * only files have are made as they are: bracketed where they may take long (fsync,
 * locks), and marked where they seldom do (open, which may wait for ever on a FIFO).
 *
 * stat and the like are left to libc: they wait for a disk at most, and a call that is
 * not wrapped never stalls a vp. */
#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fd/known.h"
#include "io/io_hostile.h"
#include "preload/pt_calls.h"
#include "sched/vp.h"

/* ---- read, write ---- */

LIBC_API ssize_t read(int fd, void *buf, size_t n)
{
	if (!posix_user() || !n)
		return NEXT(read)(fd, buf, n);
	return POSIX_CALL(posix_restarts(fd, SO_RCVTIMEO),
			  POSIX_READS(fd, uk_read(fd, buf, n)));
}
ALSO(read, __read);

LIBC_API ssize_t __read_chk(int fd, void *buf, size_t n, size_t room)
{
	posix_chk(n, room);
	return read(fd, buf, n);
}

LIBC_API ssize_t write(int fd, const void *buf, size_t n)
{
	if (!posix_user() || !n)
		return NEXT(write)(fd, buf, n);
	return POSIX_CALL(posix_restarts(fd, SO_SNDTIMEO), uk_write(fd, buf, n));
}
ALSO(write, __write);

LIBC_API ssize_t pread(int fd, void *buf, size_t n, off_t off)
{
	if (!posix_user())
		return NEXT(pread)(fd, buf, n, off);
	return POSIX_CALL(true, uk_pread(fd, buf, n, off));
}
ALSO(pread, pread64);
ALSO(pread, __pread64);

LIBC_API ssize_t __pread_chk(int fd, void *buf, size_t n, off_t off, size_t room)
{
	posix_chk(n, room);
	return pread(fd, buf, n, off);
}
ALSO(__pread_chk, __pread64_chk);

LIBC_API ssize_t pwrite(int fd, const void *buf, size_t n, off_t off)
{
	if (!posix_user())
		return NEXT(pwrite)(fd, buf, n, off);
	return POSIX_CALL(true, uk_pwrite(fd, buf, n, off));
}
ALSO(pwrite, pwrite64);
ALSO(pwrite, __pwrite64);

/* ---- vectors ---- */

LIBC_API ssize_t readv(int fd, const struct iovec *v, int n)
{
	if (!posix_user())
		return NEXT(readv)(fd, v, n);
	return POSIX_CALL(posix_restarts(fd, SO_RCVTIMEO),
			  POSIX_READS(fd, uk_readv(fd, v, n)));
}

LIBC_API ssize_t writev(int fd, const struct iovec *v, int n)
{
	if (!posix_user())
		return NEXT(writev)(fd, v, n);
	return POSIX_CALL(posix_restarts(fd, SO_SNDTIMEO), uk_writev(fd, v, n));
}

LIBC_API ssize_t preadv(int fd, const struct iovec *v, int n, off_t off)
{
	if (!posix_user())
		return NEXT(preadv)(fd, v, n, off);
	return POSIX_CALL(posix_restarts(fd, SO_RCVTIMEO), uk_preadv(fd, v, n, off));
}
ALSO(preadv, preadv64);

LIBC_API ssize_t pwritev(int fd, const struct iovec *v, int n, off_t off)
{
	if (!posix_user())
		return NEXT(pwritev)(fd, v, n, off);
	return POSIX_CALL(posix_restarts(fd, SO_SNDTIMEO), uk_pwritev(fd, v, n, off));
}
ALSO(pwritev, pwritev64);

/* With a flag, the call is for files (RWF_HIPRI, RWF_DSYNC, RWF_APPEND) or does not
 * block (RWF_NOWAIT). */
LIBC_API ssize_t preadv2(int fd, const struct iovec *v, int n, off_t off, int flags)
{
	if (flags)
		return POSIX_BRACKET(preadv2, fd, v, n, off, flags);
	return off == -1 ? readv(fd, v, n) : preadv(fd, v, n, off);
}
ALSO(preadv2, preadv64v2);

LIBC_API ssize_t pwritev2(int fd, const struct iovec *v, int n, off_t off, int flags)
{
	if (flags)
		return POSIX_BRACKET(pwritev2, fd, v, n, off, flags);
	return off == -1 ? writev(fd, v, n) : pwritev(fd, v, n, off);
}
ALSO(pwritev2, pwritev64v2);

/* ---- open ---- */

/* There is a mode only if the call may create a file. */
#define OPEN_MODE(flags)                                                               \
	({                                                                             \
		mode_t mode_ = 0;                                                      \
                                                                                       \
		if ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE) {             \
			va_list ap_;                                                   \
                                                                                       \
			va_start(ap_, flags);                                          \
			mode_ = va_arg(ap_, mode_t);                                   \
			va_end(ap_);                                                   \
		}                                                                      \
		mode_;                                                                 \
	})

static void marked_end(const bool *marked UNUSED)
{
	block_end(thread_self());
	rt_exit();
}

/* libc's own function, because the thread may be cancelled in it: it may wait for the
 * other end of a FIFO, and the kernel restarts it after handlers with SA_RESTART. */
static int open_marked(int dir, const char *path, int flags, mode_t mode)
{
	bool marked __attribute__((unused, cleanup(marked_end))) = true;

	block_begin(rt_enter(), false);
	return NEXT(openat)(dir, path, flags, mode);
}

static int open_at(int dir, const char *path, int flags, mode_t mode)
{
	int fd;

	if (!posix_user())
		return NEXT(openat)(dir, path, flags, mode);
	posix_testcancel();
	fd = open_marked(dir, path, flags, mode);
	if (fd >= 0)
		fd_hint_set(fd, 0);
	return fd;
}

LIBC_API int open(const char *path, int flags, ...)
{
	return open_at(AT_FDCWD, path, flags, OPEN_MODE(flags));
}
ALSO(open, open64);
ALSO(open, __open);
ALSO(open, __open64);

LIBC_API int openat(int dir, const char *path, int flags, ...)
{
	return open_at(dir, path, flags, OPEN_MODE(flags));
}
ALSO(openat, openat64);

LIBC_API int creat(const char *path, mode_t mode)
{
	return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
ALSO(creat, creat64);

/* FORTIFY's functions have no mode. */
LIBC_API int __open_2(const char *path, int flags)
{
	posix_chk(flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE, 0);
	return open_at(AT_FDCWD, path, flags, 0);
}
ALSO(__open_2, __open64_2);

LIBC_API int __openat_2(int dir, const char *path, int flags)
{
	posix_chk(flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE, 0);
	return open_at(dir, path, flags, 0);
}
ALSO(__openat_2, __openat64_2);

/* ---- fsync, locks ---- */

LIBC_API int fsync(int fd)
{
	return posix_user() ? (int)POSIX_CALL(false, uk_fsync(fd)) : NEXT(fsync)(fd);
}

LIBC_API int fdatasync(int fd)
{
	return posix_user() ? (int)POSIX_CALL(false, uk_fdatasync(fd))
			    : NEXT(fdatasync)(fd);
}

LIBC_API int msync(void *p, size_t n, int flags)
{
	return POSIX_BRACKET(msync, p, n, flags);
}

LIBC_API int flock(int fd, int how)
{
	if (how & LOCK_NB || how == LOCK_UN)
		return NEXT(flock)(fd, how);
	return POSIX_BRACKET(flock, fd, how);
}

LIBC_API int lockf(int fd, int cmd, off_t n)
{
	if (cmd != F_LOCK)
		return NEXT(lockf)(fd, cmd, n);
	return POSIX_BRACKET(lockf, fd, cmd, n);
}
ALSO(lockf, lockf64);

/* ---- whole, as natively ----
 *
 * The kernel ends these calls with a part, or with EINTR, if a signal is pending. The
 * notice to a carrier that an operation of its ring has completed (TIF_NOTIFY_SIGNAL)
 * looks the same to the kernel. So the calls here continue, unless there is a cause
 * that would have ended the native call, too: a handler, a socket's timeout,
 * RLIMIT_FSIZE; or the next call tells the cause (the end of the file, -EAGAIN). */

enum { IN, OUT };

struct whole {
	size_t n, done;
	long r; /* of the last call */
	int err;
	/* The rest is transferred on duplicates, because the fds may be closed
	 * meanwhile and reused for other files */
	struct io_op end[2];
	uint32_t life[2];
	/* The position, which the call takes once, at its beginning, and sets once, at
	 * its end */
	bool holds[2];
	off_t was[2], at[2];
	const off_t *copies_to; /* where copy_file_range writes */
	int limited, limit;     /* a socket, and the option that is its timeout */
	int64_t begin;
	uint32_t ran; /* handlers that had run before */
};

static struct whole whole_begin(int in, int out, size_t n)
{
	return (struct whole){ .n = n,
			       .err = errno,
			       .end = { { .fd = in }, { .fd = out } },
			       .life = { fd_life(in), fd_life(out) },
			       .limited = out,
			       .limit = SO_SNDTIMEO,
			       .begin = sys_now(),
			       .ran = posix_self_tls.signals.ran };
}

/* The offset to pass; NULL: the file has no position. */
static off_t *hold(struct whole *w, int i, off_t *off)
{
	if (off)
		return off;
	w->was[i] = w->at[i] = sys3(SYS_lseek, w->end[i].fd, 0, SEEK_CUR);
	w->holds[i] = w->at[i] >= 0;
	return w->holds[i] ? &w->at[i] : NULL;
}

static void let_go(const struct whole *w, int i)
{
	if (!w->holds[i] || w->at[i] == w->was[i])
		return;
	fd_use(w->end[i].fd);
	if (w->end[i].was || fd_life(w->end[i].fd) == w->life[i])
		sys3(SYS_lseek, w->end[i].fd, w->at[i], SEEK_SET);
	fd_unuse(w->end[i].fd);
}

static size_t left(const struct whole *w)
{
	return hostile_part(w->n - w->done);
}

/* Is the socket's timeout over? The kernel begins it anew with each call. */
static bool is_over(const struct whole *w)
{
	struct timeval tv = { 0, 0 };
	socklen_t len = sizeof(tv);

	if (sys5(SYS_getsockopt, w->limited, SOL_SOCKET, w->limit, &tv, &len) < 0 ||
	    (!tv.tv_sec && !tv.tv_usec))
		return false;
	return sys_now() - w->begin >= tv.tv_sec * NS_PER_SEC + tv.tv_usec * 1000;
}

/* Would one byte more at this offset raise SIGXFSZ? copy_file_range stops before it;
 * natively the other calls raise the signal, too. */
static bool is_at_size_limit(off_t at)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) && (rlim_t)at >= limit.rlim_cur;
}

static mode_t type_of(int fd)
{
	struct stat st;

	return sys2(SYS_fstat, fd, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

static bool part_goes_on(const struct whole *w)
{
	if (type_of(w->end[OUT].fd) == S_IFIFO)
		return false; /* a pipe takes what fits, once */
	return !is_over(w) && !(w->copies_to && is_at_size_limit(*w->copies_to));
}

/* Duplicates both files. False: one of them has been closed. */
static bool own(struct whole *w)
{
	int fd[2], limited = w->limited == w->end[IN].fd ? IN : OUT;

	if (w->end[IN].was)
		return true;
	for (int i = IN; i <= OUT; i++) {
		int was = w->end[i].fd;

		fd_use(was);
		fd[i] = fd_life(was) == w->life[i] ? fd_dup(was) : -1;
		fd_unuse(was);
	}
	if (fd[IN] < 0 || fd[OUT] < 0) {
		fd_drop(fd[IN]);
		fd_drop(fd[OUT]);
		return false;
	}
	w->limited = fd[limited];
	io_own(&w->end[IN], fd[IN]);
	io_own(&w->end[OUT], fd[OUT]);
	return true;
}

static COLD bool cut_goes_on(struct whole *w)
{
	if (posix_self_tls.signals.ran != w->ran)
		return false;
	if (w->r < 0 && is_over(w)) {
		errno = EAGAIN;
		return false;
	}
	return (w->r < 0 || part_goes_on(w)) && own(w);
}

/* A call gave r: ask for the rest? */
static bool whole_goes_on(struct whole *w, long r)
{
	w->r = r;
	if (r > 0)
		w->done += (size_t)r;
	if (likely(w->done >= w->n) || r == 0 || (r < 0 && errno != EINTR))
		return false;
	return cut_goes_on(w);
}

/* Also when the thread is cancelled in the middle. */
static void whole_drop(struct whole *w)
{
	for (int i = IN; i <= OUT; i++) {
		let_go(w, i);
		io_settle(&w->end[i]);
	}
}
#define WHOLE struct whole __attribute__((cleanup(whole_drop)))

/* An error is returned only if the first call gave it. */
static long whole_result(const struct whole *w)
{
	if (!w->done)
		return w->r;
	errno = w->err;
	return (long)w->done;
}

static ssize_t sendfile_whole(int out, int in, off_t *off, size_t n)
{
	WHOLE w = whole_begin(in, out, n);
	off_t *at = hold(&w, IN, off);
	ssize_t r;

	do
		r = POSIX_HANDOFF(
		    NEXT(sendfile)(w.end[OUT].fd, w.end[IN].fd, at, left(&w)));
	while (whole_goes_on(&w, r));
	return whole_result(&w);
}

/* A socket that takes bytes in any portions, or one that is known not to wait. */
static bool takes_portions(int fd)
{
	int type = 0;
	socklen_t len = sizeof(type);

	return known_ask(fd) & KNOWN_NONBLOCK ||
	       (!sys5(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &len) &&
		type == SOCK_STREAM);
}

LIBC_API ssize_t sendfile(int out, int in, off_t *off, size_t n)
{
	if (!posix_user())
		return NEXT(sendfile)(out, in, off, n);
	if (takes_portions(out))
		return POSIX_CALL(posix_restarts(out, SO_SNDTIMEO),
				  uk_sendfile(out, in, off, n));
	return sendfile_whole(out, in, off, n);
}
ALSO(sendfile, sendfile64);

static ssize_t copy_whole(int in, off_t *off_in, int out, off_t *off_out, size_t n,
			  unsigned flags)
{
	WHOLE w = whole_begin(in, out, n);
	off_t *from = hold(&w, IN, off_in), *to = hold(&w, OUT, off_out);
	ssize_t r;

	w.copies_to = to;
	do
		r = POSIX_HANDOFF(NEXT(copy_file_range)(
		    w.end[IN].fd, from, w.end[OUT].fd, to, left(&w), flags));
	while (whole_goes_on(&w, r));
	return whole_result(&w);
}

LIBC_API ssize_t copy_file_range(int in, off_t *off_in, int out, off_t *off_out,
				 size_t n, unsigned flags)
{
	return posix_user() ? copy_whole(in, off_in, out, off_out, n, flags)
			    : NEXT(copy_file_range)(in, off_in, out, off_out, n, flags);
}

static bool has_bytes(int fd)
{
	int n = 0;

	return sys3(SYS_ioctl, fd, FIONREAD, &n) == 0 && n > 0;
}

/* Out of a pipe, until it is empty; into a pipe, once. */
static ssize_t splice_whole(int in, off_t *off_in, int out, off_t *off_out, size_t n,
			    unsigned flags)
{
	WHOLE w = whole_begin(in, out, n);
	ssize_t r;

	if (type_of(in) == S_IFSOCK) {
		w.limited = in;
		w.limit = SO_RCVTIMEO;
	}
	do {
		if (w.done)
			flags |= SPLICE_F_NONBLOCK; /* of the pipe only */
		r = POSIX_HANDOFF(NEXT(splice)(w.end[IN].fd, off_in, w.end[OUT].fd,
					       off_out, left(&w), flags));
	} while (whole_goes_on(&w, r) && (!w.done || has_bytes(w.end[IN].fd)));
	return whole_result(&w);
}

LIBC_API ssize_t splice(int in, off_t *off_in, int out, off_t *off_out, size_t n,
			unsigned flags)
{
	if (posix_user() && !(flags & SPLICE_F_NONBLOCK))
		return splice_whole(in, off_in, out, off_out, n, flags);
	return POSIX_BRACKET(splice, in, off_in, out, off_out, n, flags);
}

#define RANDOM_ALWAYS_WHOLE 256 /* bytes */

LIBC_API ssize_t getrandom(void *buf, size_t n, unsigned flags)
{
	uint32_t ran = posix_self_tls.signals.ran;
	size_t done = 0;
	ssize_t r;

	if (!posix_user() || n <= RANDOM_ALWAYS_WHOLE)
		return NEXT(getrandom)(buf, n, flags);
	do {
		r = NEXT(getrandom)((char *)buf + done, hostile_part(n - done), flags);
		done += (size_t)MAX(r, 0l);
	} while (r > 0 && done < n && posix_self_tls.signals.ran == ran);
	return done ? (ssize_t)done : r;
}

/* ---- between pipes ---- */

LIBC_API ssize_t tee(int in, int out, size_t n, unsigned flags)
{
	return POSIX_BRACKET(tee, in, out, n, flags);
}

LIBC_API ssize_t vmsplice(int fd, const struct iovec *v, size_t n, unsigned flags)
{
	return POSIX_BRACKET(vmsplice, fd, v, n, flags);
}
