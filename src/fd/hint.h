/* SPDX-License-Identifier: Apache-2.0 */
/* hint.h - what an fd was when we last looked.
 *
 *   bit 0  STREAM      bits 4-6   misses          bits 16-19  score of late tries
 *       1  FILE        bit  7     NOSOCK          bits 20-26  waits without a late try
 *       2  MORE        bits 8-14  tries to skip   bit  27     ENDLESS
 *       3  SOCK        bit  15    DEVICE          bit  28     TERMINAL
 *                                                 bit  29     NO_TRY
 *
 * Racy, and out of date after a close without our knowledge. They choose between ways
 * that are all correct. Only HINT_FILE is trusted, and only where the library sees
 * every close (io_sees_closes).
 *
 * When to try: a read is tried at once if the last one filled its buffer. If such tries
 * fail (a protocol of small fixed messages fills its buffer each time), the next 1, 3,
 * 7 ... 127 chances are skipped; a success resets that. A late try (reactor/late.c) is
 * due by the same rule, but the first one only after 7 waits: that is score 0; a
 * success sets score 1. */
#ifndef FD_HINT_H
#define FD_HINT_H

#include "fd/fd.h"

#define HINT_STREAM 1u /* no position: pipe, socket, tty, ... */
/* a file that always has an answer: regular, block device, directory, memory device */
#define HINT_FILE 2u
/* the last read filled its buffer, so the next one is likely to succeed */
#define HINT_MORE 4u
#define HINT_SOCK 8u            /* a socket's call has worked on it */
#define HINT_NOSOCK 0x80u       /* the kernel said that it has no socket options */
#define HINT_DEVICE 0x8000u     /* a stream that may be a terminal */
#define HINT_ENDLESS 0x8000000u /* a file without an end: /dev/zero, /dev/urandom */
#define HINT_TERMINAL 0x10000000u
/* it refused RWF_NOWAIT: an eventfd, a tty; before Linux 6.4 also a pipe or a socket */
#define HINT_NO_TRY 0x20000000u
#define HINT_FLAGS 0x3800808fu
#define HINT_MISSES(h) (((h) >> 4) & 7u)
#define HINT_SKIP 0x100u
#define HINT_TRIES 0x7f70u /* misses, and tries to skip */
#define HINT_SKIPS(h) ((h)&0x7f00u)
#define HINT_MISSES_MAX 7u
#define HINT_LATES 0x7ff0000u
#define HINT_SCORE(h) (((h) >> 16) & 15u)
#define HINT_SCORE_MAX 8u
#define HINT_WAIT 0x100000u
#define HINT_WAITS(h) (((h) >> 20) & 127u)
#define HINT_WAITS_MAX 127u

/* 0: nothing is known */
static inline unsigned fd_hint(int fd)
{
	const struct fd_state *s = fd_peek(fd);

	return likely(s) ? load_relaxed(&s->hints) : 0;
}

static inline void fd_hint_store(int fd, unsigned h)
{
	struct fd_state *s = h ? fd_at(fd) : fd_peek(fd);

	if (s && load_relaxed(&s->hints) != h)
		store_relaxed(&s->hints, h);
}

/* Change the flags; 0 forgets everything. */
static inline void fd_hint_set(int fd, unsigned flags)
{
	fd_hint_store(fd, flags ? (fd_hint(fd) & ~HINT_FLAGS) | flags : 0);
}

/* Should this read be tried at once? */
static inline bool fd_hint_likely(int fd)
{
	unsigned h = fd_hint(fd);

	if (!(h & HINT_MORE))
		return false;
	if (HINT_SKIPS(h))
		fd_hint_store(fd, h - HINT_SKIP);
	return !HINT_SKIPS(h);
}

/* The result of such a try. */
static inline void fd_hint_tried(int fd, bool hit)
{
	unsigned h = fd_hint(fd);
	unsigned misses = hit ? 0 : MIN(HINT_MISSES(h) + 1, HINT_MISSES_MAX);

	fd_hint_store(fd, ((1u << misses) - 1) * HINT_SKIP | misses << 4 |
			      (h & (HINT_FLAGS | HINT_LATES)));
}

/* A read found nothing: should it be tried late? */
static inline bool fd_late_due(int fd)
{
	unsigned h = fd_hint(fd), score = HINT_SCORE(h);
	unsigned skip = score ? (1u << (score - 1)) - 1 : 7;

	return HINT_WAITS(h) >= skip;
}

/* A call waits in the kernel. Calls on files with O_NONBLOCK are not counted here, so
 * they are never due: they should not wait for other threads either. */
static inline void fd_late_waits(int fd)
{
	unsigned h = fd_hint(fd);

	if (HINT_WAITS(h) < HINT_WAITS_MAX)
		fd_hint_store(fd, h + HINT_WAIT);
}

static inline void fd_late_tried(int fd, bool hit)
{
	unsigned h = fd_hint(fd);
	unsigned score = hit ? 1 : MIN(MAX(HINT_SCORE(h), 1u) + 1, HINT_SCORE_MAX);

	fd_hint_store(fd, (h & ~HINT_LATES) | score << 16);
}

/* Record, after a read of n bytes that returned r, the kind, and whether more is
 * likely. */
static inline void fd_hint_read(int fd, unsigned kind, long r, size_t n)
{
	fd_hint_set(fd, kind | (r > 0 && (size_t)r == n ? HINT_MORE : 0));
}

#endif
