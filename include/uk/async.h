/* SPDX-License-Identifier: Apache-2.0 */
/* async.h - asynchronous calls: submit many at once, go on, hear of their ends.
 *
 * A group holds up to so many operations, in flight or ended and not yet collected:
 *
 *	uk_submitv(g, ops, n)    hands them over; never waits for one
 *	uk_wait_any(g, ...)      collects what has ended, and waits for the first if nothing has
 *
 * An operation means what the blocking call of its name means (io.h), with its results, but:
 *  - O_NONBLOCK, SO_RCVTIMEO and SO_SNDTIMEO mean nothing to it: it waits. MSG_DONTWAIT does.
 *  - A transfer may be short wherever a system call's may.
 *  - Operations of a group run in no order, unless they are linked or drain it.
 * An operation means the file that its descriptor is when it is submitted, however late it
 * begins. uk_close ends those on it with -EBADF, as it does with blocking calls, and returns
 * when they have let go of it.
 *
 * Ownership: ops and their strings, lists and structures are the program's again as soon as
 * the operation has ended and not before, but struct uk_op itself is copied. A group is
 * nobody's: a thread that ends leaves its operations running. uk_group_destroy cancels what is
 * in flight and returns when all has ended: from then on nothing of the program's memory is
 * touched. After fork, in the child, what was in flight has ended with -ECANCELED (the
 * parent's goes on).
 *
 * Any thread may submit, cancel and collect; one thread at a time may wait. */
#ifndef UK_ASYNC_H
#define UK_ASYNC_H

#include <uk/chan.h>
#include <uk/types.h>

UK_BEGIN

typedef struct uk_group uk_group; /* opaque */
typedef struct uk_buf_pool uk_buf_pool;

/* kind              which fields it reads, beside fd */
#define UK_OP_NOP 0 /* none, nor fd */
#define UK_OP_READ                                                                     \
	1 /* addr, len, off (UK_OP_HERE: where the file stands; streams, too) */
#define UK_OP_WRITE 2   /* the same */
#define UK_OP_READV 3   /* addr = struct iovec [], len of them, off */
#define UK_OP_WRITEV 4  /* the same */
#define UK_OP_RECV 5    /* addr, len, flags = MSG_... */
#define UK_OP_SEND 6    /* the same; without SIGPIPE */
#define UK_OP_RECVMSG 7 /* addr = struct msghdr *, flags */
#define UK_OP_SENDMSG 8 /* the same; without SIGPIPE */
#define UK_OP_ACCEPT                                                                   \
	9 /* addr = struct sockaddr * or NULL, addr2 = socklen_t *, flags = SOCK_... */
#define UK_OP_CONNECT 10 /* addr = struct sockaddr *, len */
#define UK_OP_POLL 11    /* flags = POLL...: res = those that are ready */
#define UK_OP_TIMEOUT 12 /* deadline alone: res = 0 when it has come */
#define UK_OP_FSYNC 13   /* flags = 1: data only */
#define UK_OP_OPENAT                                                                   \
	14 /* fd = directory or AT_FDCWD, addr = path, flags = O_..., len = mode */
#define UK_OP_STATX                                                                    \
	15              /* fd = directory, addr = path, flags = AT_..., len = STATX_...,
			    addr2 = struct statx * */
#define UK_OP_RENAME 16 /* fd, addr = old directory and path; fd2, addr2 = new; flags */
#define UK_OP_CLOSE 17  /* none */
#define UK_OP_SPLICE                                                                   \
	18 /* len bytes from fd2 at off2 to fd at off (each may be UK_OP_HERE), one of them a
	      pipe, flags = SPLICE_F_... */
#define UK_OP_FUTEX 19 /* addr = uint32_t *: if it holds len, until uk_futex_wake */

#define UK_OP_HERE INT64_C(-1)

/* The next of the same uk_submitv begins when this one has ended with res >= 0; else it, and
 * all that are linked behind it, end with -ECANCELED. */
#define UK_OP_LINK 1u
/* It begins (with its chain) when all that the group was given before it has ended, and what
 * comes later when it has. */
#define UK_OP_DRAIN 2u
/* UK_OP_ACCEPT (addr = NULL), and UK_OP_RECV with UK_OP_POOL: again and again, an end with
 * UK_END_MORE for each; the last one has it not. That is the one that failed, the end of the
 * stream, or one for which the group had no room beside: then submit it again. */
#define UK_OP_MULTI 4u
/* UK_OP_RECV: into a buffer of the pool addr2, taken when there is something to receive; len =
 * 0 or at most so much of it. -ENOBUFS: there was none. */
#define UK_OP_POOL 8u
/* UK_OP_SEND, UK_OP_SENDMSG: without a copy, where kernel and socket can. Two ends: how much was
 * accepted, with UK_END_MORE; and 0 with UK_END_FREE, when the peer has it and the memory is
 * the program's again, which may take as long as the peer likes, whatever is cancelled or
 * closed. What failed, and what the group had no room for, has one, with UK_END_FREE. What is
 * linked begins after the first. */
#define UK_OP_ZEROCOPY 16u

/* All zero where not said. */
typedef struct uk_op {
	int kind; /* UK_OP_... */
	int fd;
	const void *addr;
	size_t len;
	int64_t off;
	void *addr2;
	int fd2;
	unsigned flags;
	unsigned options; /* UK_OP_LINK | ... */
	unsigned reserved0;
	uk_time deadline; /* it ends with -ETIMEDOUT then; 0 or UK_FOREVER: none */
	uint64_t tag;     /* the program's own, given back with the end */
	uint64_t id;      /* set by uk_submitv, for uk_async_cancel; never 0 */
	int64_t off2;
	uint64_t reserved;
} uk_op;

typedef struct uk_end {
	uint64_t tag, id;
	int64_t res;    /* >= 0, or -errno */
	void *buf;      /* of the pool, if one was used: give it back with uk_buf_put */
	unsigned flags; /* UK_END_... */
	unsigned reserved;
} uk_end;

#define UK_END_MORE 1u /* the operation goes on */
#define UK_END_FREE 2u /* what was sent with UK_OP_ZEROCOPY may be written to again */

/* A group with room for depth operations (1 to 2^24). -EINVAL, -ENOMEM. */
UK_API int uk_group_create(uk_group **out, unsigned depth);
/* Cancel what is in flight, wait for its end, free the group. Neither cancellation nor a
 * deadline of the caller's cuts that short. Nobody else may use it any more. */
UK_API void uk_group_destroy(uk_group *g);
/* Hand over ops[0..n): how many were taken, from the first on, as far as there is room (linked
 * ones whole or not at all). -EAGAIN: none. What is wrong with an operation is said by its end. */
UK_API int uk_submitv(uk_group *g, uk_op *ops, unsigned n);
/* Ask for an operation's end; it is collected as any, with its result or with -ECANCELED.
 * -ENOENT: it has ended. */
UK_API int uk_async_cancel(uk_group *g, uint64_t id);
/* Collect up to max ends. any: waits for one; min: for that many; all: for all that are in
 * flight; none waits for more than there is in flight or than max. How many were collected, 0:
 * nothing is in flight. -ETIMEDOUT, -ECANCELED: nothing was collected (those that had ended
 * are returned first). Deadline 0: does not wait. -EBUSY: another thread waits. -EINVAL. */
UK_API int uk_wait_any(uk_group *g, uk_end *out, unsigned max, uk_time deadline);
UK_API int uk_wait_min(uk_group *g, uk_end *out, unsigned max, unsigned min,
		       uk_time deadline);
UK_API int uk_wait_all(uk_group *g, uk_end *out, unsigned max, uk_time deadline);
/* From now on each end goes to c, a channel of uk_end, instead; while c is full they are kept,
 * and after uk_chan_close dropped. c outlives the group. In a forked child they are collected
 * again. -EBUSY: there is a channel, or a thread waits. -EINVAL: its elements are not uk_end. */
UK_API int uk_group_to_chan(uk_group *g, uk_chan *c);

/* n buffers of size bytes each. -EINVAL, -ENOMEM. Destroyed when nobody uses it any more. */
UK_API int uk_buf_pool_create(uk_buf_pool **out, unsigned n, size_t size);
UK_API void uk_buf_pool_destroy(uk_buf_pool *p);
UK_API void *uk_buf_get(uk_buf_pool *p); /* NULL: all are in use */
UK_API void uk_buf_put(uk_buf_pool *p, void *buf);

UK_END
#endif
