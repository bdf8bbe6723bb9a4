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
 * An asynchronous request means the file that the number stood for when it was submitted, and
 * whoever carries it out may begin late and makes several calls by number. So it notes the
 * life of the number, and binds itself to that before its first call, until it has ended:
 *
 *   submitter  notes the life
 *   helper     bound + 1, and the life as it was then: another one is -EBADF
 *   close      the life ends; the number becomes dead; waits end; bound = 0 seen; it is free
 *
 * Life and count are one word: a request is counted in the life that it means, or not at all.
 * The drop-in's close does not wait for those that are bound: they stay with their files.
 *
 * Rejected: to compare the life before each call without a count (the close may come between
 * the comparison and the call).
 */
#include "io/io.h"

#include <sys/mman.h>

#define LOOK_FIRST (20 * NS_PER_US)
#define LOOK_MOST NS_PER_MS
#define WAIT_MOST (2 * NS_PER_SEC)

/* by number; anyone adds and subtracts. Pages of their own: a fork's child drops them. */
static uint32_t users[SCHED_AHEAD_FDS] __attribute__((aligned(PAGE)));

/* the life of a number << 32 | those bound to it; likewise */
static uint64_t bound[SCHED_AHEAD_FDS] __attribute__((aligned(PAGE)));

#define BOUND_LIFE 32

void using_fork_child(void)
{
	sys3(SYS_madvise, bound, sizeof(bound), MADV_DONTNEED);
	sys3(SYS_madvise, users, sizeof(users), MADV_DONTNEED);
}

void using_begin(int fd)
{
	sched_io_names(fd);
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

uint32_t bound_life(int fd)
{
	sched_io_names(fd);
	if ((unsigned)fd >= array_size(bound))
		return 0;
	return (uint32_t)(load_seq_cst(&bound[fd]) >> BOUND_LIFE);
}

bool bound_begin(int fd, uint32_t life)
{
	if ((unsigned)fd >= array_size(bound))
		return true;
	/* seq_cst: pairs with bound_over */
	if (fetch_add_seq_cst(&bound[fd], 1) >> BOUND_LIFE == life)
		return true;
	bound_end(fd);
	return false;
}

void bound_end(int fd)
{
	if ((unsigned)fd < array_size(bound))
		fetch_sub_acq_rel(&bound[fd], 1);
}

bool bound_over(int fd)
{
	return (unsigned)fd < array_size(bound) &&
	       (uint32_t)fetch_add_seq_cst(&bound[fd], UINT64_C(1) << BOUND_LIFE);
}

static bool bound_any(int fd)
{
	return (unsigned)fd < array_size(bound) && (uint32_t)load_seq_cst(&bound[fd]);
}

bool using_pause(struct using_pause *p)
{
	struct timespec ts;

	if (!p->end)
		*p = (struct using_pause){ LOOK_FIRST, sys_now() + WAIT_MOST };
	if (sys_now() >= p->end)
		return false;
	ts = sys_timespec(p->every);
	sys2(SYS_nanosleep, &ts, NULL);
	p->every = MIN(2 * p->every, LOOK_MOST);
	return true;
}

void using_wait(int fd)
{
	struct using_pause p = { 0, 0 };

	while (using_any(fd) || bound_any(fd))
		if (!using_pause(&p))
			break;
}
