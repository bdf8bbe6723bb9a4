/* SPDX-License-Identifier: Apache-2.0 */
/* fork, and what this room marks as taken for the time of a system call.
 *
 * A thread in such a call stands outside the runtime, so a fork does not wait for it: in the
 * child, where it is no more, its slot would stay taken for ever. So the child frees all,
 * when its runtime is rebuilt and before anybody can have entered it.
 *
 * Rejected: slots that are taken inside the runtime only (the call is what they are for).
 */
#include "io/io.h"

#include "event/accept.h"
#include "sched/vp.h"

static void forget(void)
{
	accept_fork_child();
	close_fork_child();
	copy_fork_child();
	file_fork_child();
	raw_fork_child();
	sock_fork_child();
	using_fork_child();
}

__attribute__((constructor)) static void io_fork_register(void)
{
	sched_on_child(forget);
}
