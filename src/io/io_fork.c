/* SPDX-License-Identifier: Apache-2.0 */
/* fork, and what this directory marks as taken during a system call.
 *
 * A thread in such a call is outside the runtime, so a fork does not wait for it. The
 * thread does not exist in the child, where its slot would remain taken for ever. So
 * the child frees all slots, when its runtime is rebuilt and before a thread can have
 * entered it.
 *
 * Rejected: slots that are taken inside the runtime only (the call is what they are
 * for).
 */
#include "io/io.h"

#include "base/at_load.h"
#include "reactor/accept.h"
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

AT_LOAD(io_fork_register)
{
	sched_on_child(forget);
}
