/* SPDX-License-Identifier: Apache-2.0 */
/* What stands before and after vfork (vfork_CPU.S), and _Fork.
 *
 * The child of vfork runs on the caller's stack and thread block, with the caller held in
 * the kernel: a call of ours made by it would work in the parent's runtime, as a thread
 * that is asleep on a carrier that is asleep. So the thread is marked, and such a call ends
 * the child with a message. The child may do what POSIX lets it: exec, _exit.
 *
 * Signals: the child sets the mask that its maker has. A carrier blocks them in any case; a kernel
 * thread does from before the mark until after it, or a handler of the parent's would find the
 * mark, and the drop-in would put it off, with the signal blocked in the child for good. */
#include <signal.h>
#include <unistd.h>

#include "base/sys.h"
#include "spawn/spawn.h"
#include "life/life.h"

/* Called by the assembly. */
const uint64_t *spawn_vfork_begin(void);
long spawn_vfork_end(long pid);

static __thread uint64_t child_mask;
static __thread bool shut; /* child_mask is to be the parent's again */

/* The mask for the child to set. */
const uint64_t *spawn_vfork_begin(void)
{
	uint64_t all = ~0ull;

	shut = !sched_child_mask(&child_mask);
	if (shut)
		sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &child_mask, sizeof(all));
	sched_share_begin();
	sched_vfork_begin();
	return &child_mask;
}

/* In the parent, once the child is gone or has become another program. */
long spawn_vfork_end(long pid)
{
	sched_vfork_end();
	sched_share_end();
	if (shut)
		sys4(SYS_rt_sigprocmask, SIG_SETMASK, &child_mask, NULL,
		     sizeof(child_mask));
	if (pid >= 0)
		return pid;
	errno = (int)-pid;
	return -1;
}

/* No handlers are run, nobody stands at the gate: like the child of a signal handler that
 * forked, it may exec. */
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
	sched_share_begin();
	pid = next();
	if (pid) {
		sched_share_end();
		return pid;
	}
	sched_fork_lost(set ? &mask : NULL);
	return 0;
}
