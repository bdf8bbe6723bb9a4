/* SPDX-License-Identifier: Apache-2.0 */
/* The code before and after vfork (vfork_CPU.S), and _Fork.
 *
 * The child of vfork runs on the caller's stack and thread block, and the caller is
 * held in the kernel. A library call in the child would work in the parent's runtime,
 * as a thread that sleeps on a carrier that sleeps. So the thread is marked, and such a
 * call ends the child with a message. The child may do what POSIX allows: exec, _exit.
 *
 * Signals: the child sets the mask that a program started by the caller is to have. A
 * carrier blocks signals in any case. Any other kernel thread blocks them from before
 * the mark until after it. Otherwise a handler might run while the mark is set, and the
 * preload library would defer it, with the signal blocked in the child for good. */
#include <signal.h>
#include <unistd.h>

#include "base/sys.h"
#include "fd/known.h"
#include "preload/pt_spawn.h"
#include "lifecycle/life.h"

/* Called by the assembly. */
const uint64_t *spawn_vfork_begin(void);
long spawn_vfork_end(long pid);

static __thread uint64_t child_mask;
static __thread bool shut; /* child_mask is to be restored in the parent */

/* Returns the mask that the child is to set. */
const uint64_t *spawn_vfork_begin(void)
{
	uint64_t all = ~0ull;

	shut = !sched_child_mask(&child_mask);
	if (shut)
		sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &child_mask, sizeof(all));
	fd_share_begin();
	sched_vfork_begin();
	return &child_mask;
}

/* In the parent, once the child is gone or has become another program. */
long spawn_vfork_end(long pid)
{
	sched_vfork_end();
	fd_share_end();
	if (shut)
		sys4(SYS_rt_sigprocmask, SIG_SETMASK, &child_mask, NULL,
		     sizeof(child_mask));
	if (pid >= 0)
		return pid;
	errno = (int)-pid;
	return -1;
}

/* No fork handlers run, and the gate is not shut. So the child may only exec, like the
 * child of a signal handler that forked. */
LIBC_API pid_t _Fork(void)
{
	pid_t (*next)(void);
	uint64_t mask;
	bool set = sched_child_mask(&mask);
	pid_t pid;

	*(void **)(void *)&next = libc_next("_Fork");
	if (!next) {
		errno = ENOSYS;
		return -1;
	}
	fd_share_begin();
	pid = next();
	if (pid) {
		fd_share_end();
		return pid;
	}
	sched_fork_lost(set ? &mask : NULL);
	return 0;
}
