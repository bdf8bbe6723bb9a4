/* SPDX-License-Identifier: Apache-2.0 */
/* read, write and what else is done to a descriptor, whatever it is.
 *
 * read and write go to the runtime, which knows streams from files. Of what follows the
 * vector forms are vetted by the kernel first (vet): the runtime looks into the list. Files
 * are the disk's business: their calls are made as they are, bracketed where they may take
 * long (fsync, locks) and marked where they seldom do (open: of a FIFO it may wait for ever).
 *
 * stat and its like are left to libc: they wait for a disk at most, and what is not wrapped
 * never stalls a vp. */
#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "posix/calls.h"
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

/* The kernel's verdict on a call with this list, without the call: it looks at descriptor and
 * list first, and then refuses a flag that does not exist. 0: nothing is wrong. */
static long vet(long nr, int fd, const struct iovec *v, int n)
{
	long r = sysn(nr, fd, v, n, -1, 0, 1 << 30);

	return r == -EOPNOTSUPP || r == -ENOSYS ? 1 : r;
}

#define VECTOR(name, nr, fd, v, n, limit, call)                                        \
	({                                                                             \
		long vet_;                                                             \
                                                                                       \
		if (!posix_user())                                                     \
			return name;                                                   \
		vet_ = vet(nr, fd, v, n);                                              \
		if (unlikely(vet_ <= 0)) /* 0: of no bytes */                          \
			return posix_result(vet_);                                     \
		POSIX_CALL(posix_restarts(fd, limit), call);                           \
	})

LIBC_API ssize_t readv(int fd, const struct iovec *v, int n)
{
	return VECTOR(NEXT(readv)(fd, v, n), SYS_preadv2, fd, v, n, SO_RCVTIMEO,
		      POSIX_READS(fd, uk_readv(fd, v, n)));
}

LIBC_API ssize_t writev(int fd, const struct iovec *v, int n)
{
	return VECTOR(NEXT(writev)(fd, v, n), SYS_pwritev2, fd, v, n, SO_SNDTIMEO,
		      uk_writev(fd, v, n));
}

LIBC_API ssize_t preadv(int fd, const struct iovec *v, int n, off_t off)
{
	return VECTOR(NEXT(preadv)(fd, v, n, off), SYS_preadv2, fd, v, n, SO_RCVTIMEO,
		      uk_preadv(fd, v, n, off));
}
ALSO(preadv, preadv64);

LIBC_API ssize_t pwritev(int fd, const struct iovec *v, int n, off_t off)
{
	return VECTOR(NEXT(pwritev)(fd, v, n, off), SYS_pwritev2, fd, v, n, SO_SNDTIMEO,
		      uk_pwritev(fd, v, n, off));
}
ALSO(pwritev, pwritev64);

/* With a flag the call is one for files (RWF_HIPRI, RWF_DSYNC, RWF_APPEND) or does not block
 * (RWF_NOWAIT). */
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

/* The mode is there only if a file may be made. */
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

/* libc's, for it may be where the thread is cancelled: a FIFO is waited for, and handlers let the
 * kernel go on with that. */
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
		io_hint_set(fd, 0);
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

/* FORTIFY's: without a mode. */
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

/* ---- to the disk, locks ---- */

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

/* ---- from descriptor to descriptor ---- */

LIBC_API ssize_t sendfile(int out, int in, off_t *off, size_t n)
{
	return POSIX_BRACKET(sendfile, out, in, off, n);
}
ALSO(sendfile, sendfile64);

LIBC_API ssize_t splice(int in, off_t *off_in, int out, off_t *off_out, size_t n,
			unsigned flags)
{
	return POSIX_BRACKET(splice, in, off_in, out, off_out, n, flags);
}

LIBC_API ssize_t tee(int in, int out, size_t n, unsigned flags)
{
	return POSIX_BRACKET(tee, in, out, n, flags);
}

LIBC_API ssize_t vmsplice(int fd, const struct iovec *v, size_t n, unsigned flags)
{
	return POSIX_BRACKET(vmsplice, fd, v, n, flags);
}

LIBC_API ssize_t copy_file_range(int in, off_t *off_in, int out, off_t *off_out,
				 size_t n, unsigned flags)
{
	return POSIX_BRACKET(copy_file_range, in, off_in, out, off_out, n, flags);
}
