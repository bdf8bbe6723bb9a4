/* SPDX-License-Identifier: Apache-2.0 */
/* file_table.c - the monitor's own table of files.
 *
 * The monitor reads /proc. A file that it opened in the program's table would have, for
 * a moment, the lowest free fd: the program's next open() would return another fd than
 * it counts on. (Opening and then moving does not help: the kernel gives only the
 * lowest free fd, except to duplicate one that is open in the same table.) So the
 * monitor leaves the program's table for one of its own. The new table is empty but for
 * the lowest 64 fds, which the kernel copies; the monitor closes them, because a copy
 * keeps files open that the program closes.
 *
 * Closing any fd of a message queue, copy or not, cancels what this process has asked
 * for by mq_notify. So if one of these 64 is a queue, the monitor opens nothing; and a
 * thread that calls mq_notify waits until the monitor has its table (preload/pt_ipc.c).
 *
 * Messages go to the program's current fd 2, which is fetched by a pidfd. If the kernel
 * has no such calls, or a filter forbids them, the monitor opens nothing at all.
 *
 * Known limit: rings, epoll instances and eventfds have the lowest free fd for
 * microseconds when the runtime or a set of vps starts, inside that call. Then they are
 * moved to 1024 and up, or to the upper half of what the program may have. */
#include "monitor/file_table.h"

#include <limits.h>
#include <linux/futex.h>

#include "base/fds.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/valgrind.h"
#include "sched/vp.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define CLOSE_UNSHARE 2u /* CLOSE_RANGE_UNSHARE */
#define COPIED 64        /* fds; the kernel's NR_OPEN_DEFAULT */

static long self; /* in the monitor's table: a pidfd of this process */
/* 1 + sched_forks once it is known whether the monitor has a table of its own;
 * atomic */
static uint32_t settled;

static int program_stderr(void)
{
	return (int)sys3(SYS_pidfd_getfd, self, 2, 0);
}

/* None of these calls changes anything. */
static bool may_leave(void)
{
	/* Are the calls there? A bad fd tells, and opens nothing. But valgrind, which
	 * may not know them, would report that at length. */
	if (on_valgrind() || sys3(SYS_pidfd_getfd, -1, 2, 0) != -EBADF ||
	    sys2(SYS_pidfd_open, -1, 0) != -EINVAL)
		return false;
	for (int fd = 0; fd < COPIED; fd++)
		if (!sys3(SYS_mq_getsetattr, fd, NULL, NULL))
			return false;
	return true;
}

static bool leave(void)
{
	store_relaxed(&files_apart, 0); /* the parent's, in a forked child */
	if (!may_leave() || sys3(SYS_close_range, 0, ~0u, CLOSE_UNSHARE))
		return false;
	self = sys2(SYS_pidfd_open, sys0(SYS_getpid), 0);
	hooks.stderr_fd = program_stderr;
	store_relaxed(&files_apart, sys_gettid());
	return true;
}

void files_none(void)
{
	store_release(&settled, sched_forks + 1); /* pairs with files_await */
	sys3(SYS_futex, &settled, FUTEX_WAKE, INT_MAX);
}

bool files_own(void)
{
	bool own = leave();

	files_none();
	return own;
}

void files_await(void)
{
	uint32_t s;

	if (!load_acquire(&vp_count_all) || sched_unsettled())
		return; /* the monitor has not started, and will look for queues */
	while ((s = load_acquire(&settled)) != sched_forks + 1)
		sys4(SYS_futex, &settled, FUTEX_WAIT, s, NULL);
}
