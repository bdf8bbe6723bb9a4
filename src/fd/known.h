/* SPDX-License-Identifier: Apache-2.0 */
/* known.h - what is known about a socket, so that the kernel need not be asked: whether
 * it has O_NONBLOCK, and that it has no time limits. See known.c. */
#ifndef FD_KNOWN_H
#define FD_KNOWN_H

#include "fd/fd.h"

/* The word of an fd:
 *
 *   63 ......... 32 | 31 .... 6 |   5      4      3       2         1         0
 *   the forks before    lives    NO_SND NO_RCV NONBLOCK BLOCKS MAY_LIMITS MAY_FLAGS
 *
 *   0, or of old forks  --known_born--> MAY_..., and BLOCKS or NONBLOCK
 *   MAY_LIMITS          --known_learn--> + NO_RCV, NO_SND: the kernel is not asked again
 *   MAY_FLAGS           --known_change--> without it and what it allowed, a life later
 *   that very word      --known_changed--> MAY_FLAGS, with what was set if that is known
 *   MAY_FLAGS           --known_learn--> + BLOCKS or NONBLOCK
 *   any                 --known_forget--> without the MAY and all that it allowed, for
 *                                         this life: the kernel is asked each time
 */
#define KNOWN_MAY_FLAGS 1u
#define KNOWN_MAY_LIMITS 2u
#define KNOWN_BLOCKS 4u   /* no O_NONBLOCK */
#define KNOWN_NONBLOCK 8u /* O_NONBLOCK */
#define KNOWN_NO_RCV 16u  /* no SO_RCVTIMEO */
#define KNOWN_NO_SND 32u
#define KNOWN_LIFE 64u
#define KNOWN_EPOCH 32

#define KNOWN_FLAGS (KNOWN_MAY_FLAGS | KNOWN_BLOCKS | KNOWN_NONBLOCK)
#define KNOWN_LIMITS (KNOWN_MAY_LIMITS | KNOWN_NO_RCV | KNOWN_NO_SND)
#define KNOWN_ALL (KNOWN_FLAGS | KNOWN_LIMITS)

/* Around everything that gives other processes our open files, that is, a fork of any
 * kind. A child with memory of its own need not call the end. Async-signal-safe. */
#define SHARE_EPOCH 24
#define SHARE_UNDER_WAY ((1u << SHARE_EPOCH) - 1)
extern uint64_t fd_shares; /* any thread, by fetch-and-add */
void fd_share_begin(void);
void fd_share_end(void);

static inline uint32_t known_epoch(uint64_t shares)
{
	return (uint32_t)(shares >> SHARE_EPOCH);
}

/* What is known about fd, and what may be recorded about it; to be called before asking
 * the kernel. 0: nothing. */
static inline uint64_t known_ask(int fd)
{
	const struct fd_state *s = fd_peek(fd);
	uint64_t w;

	if (unlikely(!s))
		return 0;
	/* acquire, both: neither is older than what made the caller ask */
	w = load_acquire(&s->known);
	return w >> KNOWN_EPOCH == known_epoch(load_acquire(&fd_shares)) ? w : 0;
}

/* Record the kernel's answer `what`; word: from known_ask before. */
static inline void known_learn(int fd, uint64_t word, unsigned what)
{
	unsigned may = what & KNOWN_FLAGS ? KNOWN_MAY_FLAGS : KNOWN_MAY_LIMITS;

	if (word & may) /* if the word has changed since, nothing is recorded */
		cas_acq_rel(&fd_peek(fd)->known, &word, word | what);
}

/* Before the call that makes a socket, and after it. flags: SOCK_NONBLOCK or not. */
static inline uint64_t known_before(void)
{
	return load_acquire(&fd_shares);
}
void known_born(int fd, uint64_t before, int flags);
/* Before `what` of fd may change, or the fd becomes another file, or other processes or
 * fds refer to its file. */
void known_forget(int fd, unsigned what);
/* Before and after a change of O_NONBLOCK of fd: forgotten in between. what:
 * KNOWN_BLOCKS or KNOWN_NONBLOCK, as it was set; 0: that is not known. */
uint64_t known_change(int fd);
void known_changed(int fd, uint64_t change, unsigned what);
/* For all sockets. */
void known_forget_all(void);

#endif
