/* SPDX-License-Identifier: Apache-2.0 */
/* Who uses a descriptor's number between "it is ready" and the call that follows.
 *
 * A thread that was told so by the reactor makes the call by number. A close in between, and
 * the number may already be another file's: its bytes would be taken, or ours would go to
 * it. So each such thread counts itself, from before it asks until its call is over, and
 * uk_close, when the number is a dead one (close.c) and all waits on it have been ended,
 * gives the number back only once nobody uses it.
 *
 *   thread   count + 1; ask, wait; call; count - 1
 *   close    the number becomes dead; waits end; count = 0 seen; the number is free
 *
 * Who counts after the number is dead gets -EBADF from the kernel, who counted before is
 * waited for; not for ever: it may be suspended, or its call stand in a page fault that the
 * closing thread is to resolve.
 *
 * Rejected: a generation for each number, compared before the call (the close may come
 * between the comparison and the call).
 */
#include "io/io.h"

#include <sys/mman.h>

#define LOOK_FIRST (20 * NS_PER_US)
#define LOOK_MOST NS_PER_MS
#define WAIT_MOST (2 * NS_PER_SEC)

/* by number; anyone adds and subtracts. Pages of their own: a fork's child drops them. */
static uint32_t users[SCHED_AHEAD_FDS] __attribute__((aligned(PAGE)));

void using_fork_child(void)
{
	sys3(SYS_madvise, users, sizeof(users), MADV_DONTNEED);
}

void using_begin(int fd)
{
	/* seq_cst: pairs with using_wait, which looks after the number has died */
	if ((unsigned)fd < array_size(users))
		fetch_add_seq_cst(&users[fd], 1);
}

void using_end(int fd)
{
	if ((unsigned)fd < array_size(users))
		fetch_sub_acq_rel(&users[fd], 1);
}

bool using_any(int fd)
{
	return (unsigned)fd < array_size(users) && load_seq_cst(&users[fd]);
}

void using_wait(int fd)
{
	int64_t every = LOOK_FIRST, end = sys_now() + WAIT_MOST;

	while (using_any(fd) && sys_now() < end) {
		struct timespec ts = { 0, every };

		sys2(SYS_nanosleep, &ts, NULL);
		every = MIN(2 * every, LOOK_MOST);
	}
}
