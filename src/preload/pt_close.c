/* SPDX-License-Identifier: Apache-2.0 */
/* pt_close.c - an fd is closed, or becomes another file.
 *
 * A thread that waits on the old file continues to wait, as natively: io/close.c.
 *
 * Some fds are the runtime's own (fd/ours.c). Natively nothing is open there, and
 * that is what the program sees: close and dup2 to it fail with EBADF, and close_range
 * leaves it out. Programs that close all fds that they may have inherited do so before
 * their first thread, after it, or in a child. In a child of fork the reactors' fds are
 * closed already, and exec closes all of the runtime's, because they are close-on-exec.
 *
 * Rejected: moving an fd of the runtime out of the way of dup2 (a thread that kicks a
 * reactor has read its fd a moment ago, and would write into the program's file). */
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fd/fd.h"
#include "fd/known.h"
#include "preload/pt_calls.h"
#include "sched/vp.h"

#define UNSHARE 2u /* CLOSE_RANGE_UNSHARE */
#define ON_EXEC 4u /* CLOSE_RANGE_CLOEXEC */
#define RANGE_MAX 1024u

/* False before the runtime starts: then nobody waits. Also false where it may not be
 * entered: in a child of vfork, in a handler that interrupted it, in a forked child
 * that has not used it yet. */
bool posix_runs(void)
{
	const struct uk_thread *t = thread_self_tls;

	return load_acquire(&vp_count_all) && !(t && t->depth) && !sched_unsettled();
}

bool posix_leave(int fd)
{
	known_forget(fd, KNOWN_ALL);
	if (unlikely(fd_is_ours(fd)))
		return false;
	if (posix_runs())
		io_leave(fd);
	return true;
}

void posix_left(int fd)
{
	if (posix_runs())
		io_leave_end(fd);
}

static void leave_range(unsigned first, unsigned last)
{
	if (!posix_runs())
		return;
	for (unsigned fd = first; fd <= last && fd < load_relaxed(&fd_beyond); fd++)
		if (!fd_is_ours((int)fd))
			io_leave((int)fd);
}

static void left_range(unsigned first, unsigned last)
{
	if (!posix_runs() || sched_io_holds())
		return;
	for (unsigned fd = first; fd <= last && fd < load_relaxed(&fd_beyond); fd++)
		if (!fd_is_ours((int)fd))
			io_leave_end((int)fd);
}

LIBC_API int close(int fd)
{
	int r;

	if (unlikely(!posix_leave(fd)))
		return (int)posix_result(-EBADF);
	r = NEXT(close)(fd);
	posix_left(fd);
	return r;
}
ALSO(close, __close);

bool posix_may_dup(int fd, int at)
{
	known_forget(fd, KNOWN_ALL);
	known_forget(at, KNOWN_ALL);
	return fd == at || sys2(SYS_fcntl, fd, F_GETFD) < 0 || posix_leave(at);
}

LIBC_API int dup2(int fd, int at)
{
	int r;

	if (unlikely(!posix_may_dup(fd, at)))
		return (int)posix_result(-EBADF);
	r = NEXT(dup2)(fd, at);
	posix_left(at);
	return r;
}
ALSO(dup2, __dup2);

LIBC_API int dup3(int fd, int at, int flags)
{
	int r;

	if (!(flags & ~O_CLOEXEC) && unlikely(!posix_may_dup(fd, at)))
		return (int)posix_result(-EBADF);
	r = NEXT(dup3)(fd, at, flags);
	posix_left(at);
	return r;
}

static void forget_range(unsigned first, unsigned last)
{
	if (last - first >= RANGE_MAX)
		known_forget_all();
	else
		for (unsigned i = 0; i <= last - first; i++)
			known_forget((int)(first + i), KNOWN_ALL);
}

/* Closes all but the runtime's fds. */
static long close_around(unsigned first, unsigned last, unsigned how)
{
	long r = 0;

	for (unsigned ours; first <= last && r == 0; first = ours + 1) {
		ours = fd_next_ours(first, last);
		if (ours != first) {
			r = sys3(SYS_close_range, first, ours - 1, how);
			how = 0;
		}
		if (ours == last + 1)
			break;
	}
	return r;
}

/* A user thread cannot have an fd table of its own: its carrier shares one with the
 * others. */
long posix_close_range(unsigned first, unsigned last, unsigned flags)
{
	unsigned how = flags;
	long r;

	if (flags & ~(UNSHARE | ON_EXEC) || first > last || flags & ON_EXEC)
		return sys3(SYS_close_range, first, last, flags);
	if (flags & UNSHARE && posix_runs()) {
		if (posix_alone()) /* no other thread uses the table */
			how = 0;
		else if (posix_user())
			return -ENOMEM;
	}
	forget_range(first, last);
	leave_range(first, last);
	r = close_around(first, last, how);
	left_range(first, last);
	return r;
}

LIBC_API int close_range(unsigned first, unsigned last, int flags)
{
	return (int)posix_result(posix_close_range(first, last, (unsigned)flags));
}

LIBC_API void closefrom(int low)
{
	struct rlimit lim = { .rlim_cur = 0 };
	unsigned first = (unsigned)MAX(low, 0);

	if (!posix_close_range(first, ~0u, 0))
		return;
	sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &lim); /* there is no close_range */
	for (; first < lim.rlim_cur; first++)
		close((int)first);
}
