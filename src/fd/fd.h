/* SPDX-License-Identifier: Apache-2.0 */
/* fd.h - what the library knows of a file descriptor: one struct fd_state for each.
 *
 * A program, and libc, may open and close fds without our knowledge. So nothing here
 * says what an fd is: facts are hints (hint.h), or are recorded only where the library
 * sees every change (known.h). What the state does say is who uses the fd, so that an
 * fd that our calls close does not become another file under a thread that is still in
 * a call on it.
 *
 *   event                  by                            state
 *   opened                 uk_socket, uk_accept, ...     hints = 0
 *                          preload: socket, accept ...   and facts may be recorded
 *                          SCM_RIGHTS, raw system calls  unchanged
 *   used, from "is it      a user thread that waits      users + 1, - 1 at the end
 *   ready?" to the end     a foreign thread              foreign, likewise
 *   of the call            an asynchronous request       bound, likewise, if the life
 *                                                        is the one it was made for
 *   closed                 uk_close                      life + 1, facts forgotten; the
 *                                                        fd is a dead one until users,
 *                                                        bound and foreign are 0
 *   closed, or is another  preload: close, dup2, dup3,   life + 1, facts forgotten; an
 *   file                   close_range, closefrom        heir until users is 0
 *                          raw system calls              unchanged: calls that wait go
 *                                                        on with what the kernel has
 *   copied                 fork, in the child            users, bound, foreign, heir,
 *                                                        busy = 0; our own fds closed
 *   gone                   exec                          our own are close-on-exec
 *
 * The calls that close do it in io/close.c. Modelled in tests/model/fd.pml.
 *
 * Any thread reads and writes all fields, by atomics. The table grows by chunks, which
 * are never unmapped; the first is always there. An fd of FD_MOST and above is not
 * tracked, nor is one whose chunk could not be mapped, once for all: a count that was
 * not begun must not be ended.
 *
 * Rejected: a table of what each fd is (see above); one array (mlockall locks, and
 * counts, all that is mapped); an array for each field (a call uses several). */
#ifndef FD_FD_H
#define FD_FD_H

#include "base/base.h"
#include "base/sys.h"

#define FD_MOST (1u << 20) /* the kernel's default of fs.nr_open */
#define FD_CHUNK 1024u
#define FD_HIGH 1024 /* out of the way of programs that expect the lowest fds */

struct fd_state {
	/* life << 32 | FD_OURS | users. A life ends when our calls close the fd, or make
	 * it another file. */
	uint64_t word;
	uint64_t known;   /* known.h */
	uint32_t hints;   /* hint.h */
	uint32_t bound;   /* requests that go on in this life of the fd */
	uint32_t foreign; /* foreign threads in a call (io/raw.c) */
	uint16_t ahead;   /* where the stream is received ahead (sched/io.c) */
	uint8_t heir;     /* a duplicate for those that come to wait (io/close.c) */
	uint8_t busy;     /* FD_SENDING ...; the thread that sets a bit clears it */
};
_Static_assert(sizeof(struct fd_state) == 32, "two in a cache line");

#define FD_LIFE 32
#define FD_OURS (UINT64_C(1) << 31) /* the runtime's own, see ours.c */
#define FD_USERS (FD_OURS - 1)

/* -- the table -- */

extern struct fd_state *fd_chunks[FD_MOST / FD_CHUNK];
struct fd_state *fd_at_slow(int fd);

/* NULL: fd is not tracked, or nothing is known of it. */
static inline struct fd_state *fd_peek(int fd)
{
	unsigned n = (unsigned)fd;
	struct fd_state *c;

	if (unlikely(n >= FD_MOST))
		return NULL;
	/* acquire: pairs with the mapping in fd_at_slow */
	c = load_acquire(&fd_chunks[n / FD_CHUNK]);
	return likely((uintptr_t)c > 1) ? &c[n % FD_CHUNK] : NULL;
}

/* NULL: fd is not tracked. */
static inline struct fd_state *fd_at(int fd)
{
	struct fd_state *s = fd_peek(fd);

	return likely(s) ? s : fd_at_slow(fd);
}

/* The same, or a state that all other fds share: for `foreign` and `busy`. */
struct fd_state *fd_at_or_shared(int fd);

/* One more than the highest fd that a wait or a request has named, so that closing a
 * range need not look beyond it. It only grows. fd_named is called before the thread
 * looks up what the fd means. */
extern uint32_t fd_beyond;
void fd_named_slow(int fd);
static inline void fd_named(int fd)
{
	if (unlikely((uint32_t)fd >= load_relaxed(&fd_beyond)))
		fd_named_slow(fd);
}

/* In a forked child: nobody uses any fd. */
void fd_fork_child(void);

/* -- who uses an fd -- */

/* From before a thread asks whether fd is ready until its call on it is over. */
void fd_use(int fd);
void fd_unuse(int fd);
bool fd_used(int fd);
/* Outside the runtime; fd is a dead one, or a file's. Waits until no thread uses it and
 * no request is bound to it. */
void fd_wait_unused(int fd);
/* Pauses during such a wait, longer each time. False: it has lasted long enough. */
struct fd_pause {
	int64_t every, end; /* 0: the wait begins */
};
bool fd_pause(struct fd_pause *p);

uint32_t fd_life(int fd);
/* From here on fd refers to the file that it had in this life, until fd_unbind. False:
 * that life is over. */
bool fd_bind(int fd, uint32_t life);
void fd_unbind(int fd);
/* fd is about to be closed: no request binds itself to it any more. True: some are
 * bound. */
bool fd_end_life(int fd);

/* Taken for the time of a call. */
#define FD_SENDING 1u   /* a thread knows how much space there is (io/copy.c) */
#define FD_TICKING 2u   /* its send timeout is another one for a moment (io/sock.c) */
#define FD_ACCEPTING 4u /* a connection that is there is being taken (io/io_wait.c) */
bool fd_try(int fd, uint8_t what);
void fd_done(int fd, uint8_t what);

static inline bool fd_is_ahead(int fd)
{
	const struct fd_state *s = fd_peek(fd);

	return s && load_relaxed(&s->ahead);
}

/* -- ours.c: the fds of the runtime itself -- */

/* Claims and returns a duplicate of fd, closed on exec; -errno. It is FD_HIGH or above
 * if possible, else in the upper half of the fds that the program may have, else the
 * lowest free one. */
int fd_dup(int fd);
/* fd is open, and belongs to the runtime from now on. */
void fd_claim(int fd);
/* fd no longer belongs to the runtime: closes it. -1: does nothing. */
void fd_drop(int fd);
/* In a forked child: drops all but fd_kept. */
void fd_drop_all(void);
extern int fd_kept; /* preload/pt_children.c; -1: none */
bool fd_is_ours(int fd);
/* The first of ours from fd to last, or last + 1. */
unsigned fd_next_ours(unsigned fd, unsigned last);

/* Around the start of the runtime: meanwhile the process may have as many fds as the
 * hard limit allows. So the runtime gets its fds even if the program has used up all
 * that it may have, and takes none of these. *was: the limit before. */
struct rlimit;
bool fd_limit_raise(struct rlimit *was);
void fd_limit_restore(const struct rlimit *was);

#endif
