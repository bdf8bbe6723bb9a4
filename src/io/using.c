/* SPDX-License-Identifier: Apache-2.0 */
/* Which threads use an fd between "it is ready" and the call that follows.
 *
 * A thread that the reactor told so makes its call by the fd. If the fd was closed in
 * between, it may already be another file's: the call would take that file's bytes, or
 * write ours to it. So each such thread counts itself, from before it asks until its
 * call is over. uk_close makes the fd a dead one (close.c), ends all waits on it, and
 * frees the fd only when no thread uses it.
 *
 *   thread   count + 1; ask, wait; call; count - 1
 *   close    the fd becomes dead; waits end; count = 0 seen; free
 *
 * A thread that counts itself after the fd is dead gets -EBADF from the kernel.
 * uk_close waits for threads that counted themselves before, but at most WAIT_MOST:
 * such a thread may be suspended, or its call may be in a page fault that the closing
 * thread has to resolve.
 *
 * An asynchronous request is for the file that the fd referred to when it was
 * submitted, but the helper that carries it out may begin late and make several calls
 * by the fd. So the request notes the life of the fd (each close of the fd, or dup2
 * onto it, begins a new life), and the helper binds itself to that life before its
 * first call, until the request has completed:
 *
 *   submitter  notes the life
 *   helper     bound + 1, and the life as it was then: another one is -EBADF
 *   close      the life ends; the fd becomes dead; waits end; bound = 0 seen; free
 *
 * Life and count are one word: a request is counted in the life that it was made for,
 * or not at all. The preload library's close does not wait for bound requests: they
 * stay with their files.
 *
 * Rejected: to compare the life before each call without a count (the close may come
 * between the comparison and the call).
 */
#include "io/io.h"

#define LOOK_FIRST (20 * NS_PER_US)
#define LOOK_MOST NS_PER_MS
#define WAIT_MOST (2 * NS_PER_SEC)

/* by fd; any thread adds and subtracts. On pages of their own, which a forked child
 * drops */
static struct files_u32 users __attribute__((aligned(PAGE)));

/* the life of an fd << 32 | the number of requests bound to it; likewise */
static struct files_u64 bound __attribute__((aligned(PAGE)));

#define BOUND_LIFE 32

void using_fork_child(void)
{
	files_zero(&bound);
	files_zero(&users);
}

void using_begin(int fd)
{
	uint32_t *n = files_at(&users, fd);

	sched_io_names(fd);
	/* seq_cst: pairs with using_wait, which looks after the fd has become a dead
	 * one */
	if (n)
		fetch_add_seq_cst(n, 1);
}

void using_end(int fd)
{
	uint32_t *n = files_at(&users, fd);

	if (n)
		fetch_sub_acq_rel(n, 1);
}

bool using_any(int fd)
{
	const uint32_t *n = files_at(&users, fd);

	return n && load_seq_cst(n);
}

uint32_t bound_life(int fd)
{
	const uint64_t *b = files_at(&bound, fd);

	sched_io_names(fd);
	return b ? (uint32_t)(load_seq_cst(b) >> BOUND_LIFE) : 0;
}

bool bound_begin(int fd, uint32_t life)
{
	uint64_t *b = files_at(&bound, fd);

	/* seq_cst: pairs with bound_over */
	if (!b || fetch_add_seq_cst(b, 1) >> BOUND_LIFE == life)
		return true;
	bound_end(fd);
	return false;
}

void bound_end(int fd)
{
	uint64_t *b = files_at(&bound, fd);

	if (b)
		fetch_sub_acq_rel(b, 1);
}

bool bound_over(int fd)
{
	uint64_t *b = files_at(&bound, fd);

	return b && (uint32_t)fetch_add_seq_cst(b, UINT64_C(1) << BOUND_LIFE);
}

static bool bound_any(int fd)
{
	const uint64_t *b = files_at(&bound, fd);

	return b && (uint32_t)load_seq_cst(b);
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
