/* SPDX-License-Identifier: Apache-2.0 */
/* What stands before and after vfork (vfork_CPU.S), and _Fork.
 *
 * The child of vfork runs on the caller's stack and thread block, with the caller held in
 * the kernel: a call of ours made by it would work in the parent's runtime, as a thread
 * that is asleep on a carrier that is asleep. So the thread is marked, and such a call ends
 * the child with a message. The child may do what POSIX lets it: exec, _exit. */
#include <unistd.h>

#include "base/sys.h"
#include "spawn/spawn.h"
#include "life/life.h"

/* Called by the assembly. */
const uint64_t *spawn_vfork_begin(void);
long spawn_vfork_end(long pid);

static __thread uint64_t child_mask;

/* The mask for the child to set, or NULL. */
const uint64_t *spawn_vfork_begin(void)
{
	bool set = sched_child_mask(&child_mask);

	sched_share_begin();
	sched_vfork_begin();
	return set ? &child_mask : NULL;
}

/* In the parent, once the child is gone or has become another program. */
long spawn_vfork_end(long pid)
{
	sched_vfork_end();
	sched_share_end();
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
	sched_fork_lost();
	if (set)
		sys4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
	return 0;
}
