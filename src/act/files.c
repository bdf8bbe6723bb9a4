/* SPDX-License-Identifier: Apache-2.0 */
/* files.c - the monitor's own table of files.
 *
 * It reads /proc, and what it opened in the program's table would have, for a moment, the
 * lowest free number: the program's next open() would get another one than it counts on.
 * (To open and then to move is no way out: the kernel gives no descriptor but the lowest,
 * except from one that is open in the same table.) So the monitor leaves the program's
 * table for one of its own, empty from the first moment on: a copy, even for an instant,
 * would keep files open that the program closes.
 *
 * Messages go to the program's descriptor 2 as it is then, fetched by a pidfd. Where the
 * kernel has no such calls, or a filter forbids them, the monitor opens nothing at all.
 *
 * What is left: rings, epoll and eventfds have the lowest number for microseconds when the
 * runtime or a set of vps starts, inside that call; then they are moved to 1024 and
 * up, or to the upper half of what the program may have. */
#include "act/files.h"

#include "base/files.h"
#include "base/panic.h"
#include "base/sys.h"
#include "base/valgrind.h"

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

static long self; /* in the monitor's table: this process */

static int program_stderr(void)
{
	return (int)sys3(SYS_pidfd_getfd, self, 2, 0);
}

bool files_own(void)
{
	store_relaxed(&files_apart, 0); /* the parent's, in a forked child */
	/* are the calls there? A bad descriptor tells, and opens nothing; but valgrind, which
	 * may not know them, would say so at length */
	if (on_valgrind() || sys3(SYS_pidfd_getfd, -1, 2, 0) != -EBADF ||
	    sys2(SYS_pidfd_open, -1, 0) != -EINVAL ||
	    sys3(SYS_close_range, 0, ~0u, CLOSE_UNSHARE))
		return false;
	self = sys2(SYS_pidfd_open, sys0(SYS_getpid), 0);
	stderr_door = program_stderr;
	store_relaxed(&files_apart, sys_gettid());
	return true;
}
