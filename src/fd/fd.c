/* SPDX-License-Identifier: Apache-2.0 */
/* The table of struct fd_state, and who uses an fd between "it is ready" and the end of
 * the call that follows.
 *
 * A thread that the reactor told "ready" makes its call by the fd. If the fd was closed
 * in between, it may already be another file's: the call would take that file's bytes,
 * or write ours to it. So each such thread counts itself, from before it asks until its
 * call is over. uk_close makes the fd a dead one (io/close.c), ends all waits on it,
 * and frees the fd only when no thread uses it.
 *
 *   thread   users + 1; ask, wait; call; users - 1
 *   close    the fd becomes dead; waits end; users = 0 seen; free
 *
 * A thread that counts itself after the fd is dead gets -EBADF from the kernel.
 * uk_close waits for threads that counted themselves before, but at most WAIT_MOST:
 * such a thread may be suspended, or its call may be in a page fault that the closing
 * thread has to resolve.
 *
 * An asynchronous request is for the file that the fd referred to when it was
 * submitted, but the helper that carries it out may begin late and make several calls
 * by the fd. So the request notes the life of the fd, and the helper binds itself to
 * that life before its first call, until the request has completed:
 *
 *   submitter  notes the life
 *   helper     bound + 1, then compares the life: another one is -EBADF
 *   close      the life ends; the fd becomes dead; waits end; bound = 0 seen; free
 *
 * The preload library's close does not wait for bound requests: they stay with their
 * files.
 *
 * Rejected: to compare the life before each call without a count (the close may come
 * between the comparison and the call).
 */
#include "fd/fd.h"

#include "base/os.h"

#define LOOK_FIRST (20 * NS_PER_US)
#define LOOK_MOST NS_PER_MS
#define WAIT_MOST (2 * NS_PER_SEC)

static struct fd_state first[FD_CHUNK] __attribute__((aligned(PAGE)));
static struct fd_state shared;
struct fd_state *fd_chunks[FD_MOST / FD_CHUNK] = { first };
uint32_t fd_beyond;

static struct fd_state *const no_memory = (struct fd_state *)1;

COLD struct fd_state *fd_at_slow(int fd)
{
	struct fd_state **at, *chunk, *none = NULL;

	if ((unsigned)fd >= FD_MOST)
		return NULL;
	at = &fd_chunks[(unsigned)fd / FD_CHUNK];
	if (!load_acquire(at)) {
		chunk = os_map(sizeof(first));
		/* release: a thread that finds the chunk finds zeroes in it */
		if (!cas_acq_rel(at, &none, chunk ? chunk : no_memory))
			os_unmap(chunk, sizeof(first));
	}
	return fd_peek(fd);
}

struct fd_state *fd_at_or_shared(int fd)
{
	struct fd_state *s = fd_at(fd);

	return likely(s) ? s : &shared;
}

COLD void fd_named_slow(int fd)
{
	uint32_t now = load_relaxed(&fd_beyond), n = (uint32_t)fd + 1;

	while (fd >= 0 && now < n && !cas_acq_rel(&fd_beyond, &now, n))
		;
}

/* Writes to those only that were in use: the others' pages stay the parent's. */
static void nobody_uses(struct fd_state *s)
{
	if (s->word & FD_USERS)
		s->word &= ~FD_USERS;
	if (s->bound || s->foreign)
		s->bound = s->foreign = 0;
	if (s->heir || s->busy)
		s->heir = s->busy = 0;
}

void fd_fork_child(void)
{
	for (unsigned i = 0; i < FD_MOST / FD_CHUNK; i++)
		if ((uintptr_t)fd_chunks[i] > 1)
			for (unsigned j = 0; j < FD_CHUNK; j++)
				nobody_uses(&fd_chunks[i][j]);
	nobody_uses(&shared);
}

void fd_use(int fd)
{
	struct fd_state *s = fd_at(fd);

	fd_named(fd);
	/* seq_cst: pairs with fd_wait_unused, which looks after the fd has become a dead
	 * one, and with the heir (io/close.c) */
	if (likely(s))
		fetch_add_seq_cst(&s->word, 1);
}

void fd_unuse(int fd)
{
	struct fd_state *s = fd_at(fd);

	if (likely(s))
		fetch_sub_acq_rel(&s->word, 1);
}

bool fd_used(int fd)
{
	const struct fd_state *s = fd_peek(fd);

	return s && load_seq_cst(&s->word) & FD_USERS;
}

uint32_t fd_life(int fd)
{
	const struct fd_state *s = fd_at(fd);

	fd_named(fd);
	return s ? (uint32_t)(load_seq_cst(&s->word) >> FD_LIFE) : 0;
}

bool fd_bind(int fd, uint32_t life)
{
	struct fd_state *s = fd_at(fd);

	if (!s)
		return true;
	/* seq_cst: fd_end_life sees us, or we see that the life is over */
	fetch_add_seq_cst(&s->bound, 1);
	if (load_seq_cst(&s->word) >> FD_LIFE == life)
		return true;
	fd_unbind(fd);
	return false;
}

void fd_unbind(int fd)
{
	struct fd_state *s = fd_at(fd);

	if (s)
		fetch_sub_acq_rel(&s->bound, 1);
}

static bool is_bound(int fd)
{
	const struct fd_state *s = fd_peek(fd);

	return s && load_seq_cst(&s->bound);
}

bool fd_end_life(int fd)
{
	struct fd_state *s = fd_at(fd);

	/* seq_cst: pairs with fd_bind */
	return s && (fetch_add_seq_cst(&s->word, UINT64_C(1) << FD_LIFE), is_bound(fd));
}

bool fd_pause(struct fd_pause *p)
{
	struct timespec ts;

	if (!p->end)
		*p = (struct fd_pause){ LOOK_FIRST, sys_now() + WAIT_MOST };
	if (sys_now() >= p->end)
		return false;
	ts = sys_timespec(p->every);
	sys2(SYS_nanosleep, &ts, NULL);
	p->every = MIN(2 * p->every, LOOK_MOST);
	return true;
}

void fd_wait_unused(int fd)
{
	struct fd_pause p = { 0, 0 };

	while ((fd_used(fd) || is_bound(fd)) && fd_pause(&p))
		;
}

bool fd_try(int fd, uint8_t what)
{
	/* acquire: what the previous holder did is over */
	return !(fetch_or_acq_rel(&fd_at_or_shared(fd)->busy, what) & what);
}

void fd_done(int fd, uint8_t what)
{
	fetch_and_acq_rel(&fd_at_or_shared(fd)->busy, (uint8_t)~what);
}
