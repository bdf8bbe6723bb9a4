/* SPDX-License-Identifier: Apache-2.0 */
/* async.h - asynchronous calls: submit many at once, continue, collect their
 * completions. uk_group_submit(3) says what an operation means and which memory it owns.
 *
 * A group holds up to depth operations, in flight or completed and not yet collected:
 *
 *	uk_group_submit(g, ops, n)   hands them to the kernel; never waits for one
 *	uk_group_wait_any(g, ...)    collects completions, and waits if there is none
 *
 * ops itself is copied; the memory that it points to belongs to the operation until it
 * has completed. Any thread may submit, cancel and collect; one thread at a time may
 * wait. */
#ifndef UK_ASYNC_H
#define UK_ASYNC_H

#include <uk/chan.h>
#include <uk/thread.h>

UK_BEGIN

typedef struct uk_group uk_group; /* opaque */
typedef struct uk_buf_pool uk_buf_pool;

/* kinds, and the fields that they read beside fd */
#define UK_OP_NOP 0      /* none, not even fd */
#define UK_OP_READ 1     /* addr, len, off; UK_OP_HERE: current position, streams */
#define UK_OP_WRITE 2    /* the same */
#define UK_OP_READV 3    /* addr = struct iovec [], len of them, off */
#define UK_OP_WRITEV 4   /* the same */
#define UK_OP_RECV 5     /* addr, len, flags = MSG_... */
#define UK_OP_SEND 6     /* the same; no SIGPIPE */
#define UK_OP_RECVMSG 7  /* addr = struct msghdr *, flags */
#define UK_OP_SENDMSG 8  /* the same; no SIGPIPE */
#define UK_OP_ACCEPT 9   /* addr = struct sockaddr *, addr2 = socklen_t *, flags */
#define UK_OP_CONNECT 10 /* addr = struct sockaddr *, len */
#define UK_OP_POLL 11    /* flags = POLL...; res = those that are ready */
#define UK_OP_TIMEOUT 12 /* deadline, not fd; res = 0 when it has passed */
#define UK_OP_FSYNC 13   /* flags = 1: data only */
#define UK_OP_OPENAT 14  /* fd = directory, addr = path, flags, len = mode */
#define UK_OP_STATX 15   /* fd, addr = path, flags, len, addr2 = struct statx * */
#define UK_OP_RENAME 16  /* fd, addr = old path; fd2, addr2 = new path; flags */
#define UK_OP_CLOSE 17   /* none */
#define UK_OP_SPLICE 18  /* len bytes from fd2, off2 to fd, off; flags */
#define UK_OP_FUTEX 19   /* not fd; addr = uint32_t *: if it holds len, wait */

#define UK_OP_HERE INT64_C(-1)

/* The next operation of the vector begins when this one has completed with res >= 0;
 * else all that are linked behind it complete with -ECANCELED. */
#define UK_OP_LINK 1u
/* It begins, with its chain, when all that the group was given before has completed;
 * later operations begin when it has completed. */
#define UK_OP_DRAIN 2u
/* UK_OP_ACCEPT (addr = NULL), and UK_OP_RECV with UK_OP_POOL: repeats itself. Each
 * completion but the last has UK_COMPLETION_MORE. */
#define UK_OP_MULTI 4u
/* UK_OP_RECV: into a buffer of the pool addr2; len = 0, or a limit. -ENOBUFS: none. */
#define UK_OP_POOL 8u
/* UK_OP_SEND, UK_OP_SENDMSG: without a copy if possible. Two completions: the count,
 * with UK_COMPLETION_MORE, and 0 with UK_COMPLETION_FREE; on failure, or in a full
 * group, one with UK_COMPLETION_FREE. */
#define UK_OP_ZEROCOPY 16u

/* Begin with UK_OP_INIT; fields that the kind does not read stay zero. */
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
	uk_time deadline; /* ns, uk_now(); past it -ETIMEDOUT; 0: do not wait */
	uint64_t tag;     /* the program's own, returned by the completion */
	uint64_t id;      /* set by uk_group_submit, for uk_group_cancel; never 0 */
	int64_t off2;
	uint64_t reserved;
} uk_op;
/* An operation without a deadline. */
#define UK_OP_INIT                                                                     \
	{                                                                              \
		0, 0, UK_NULL, 0, 0, UK_NULL, 0, 0, 0, 0, UK_FOREVER, 0, 0, 0, 0       \
	}
/* The same with other fields set, in C: UK_OP(.kind = UK_OP_READ, .fd = fd, ...). */
#define UK_OP(...) ((uk_op){ .deadline = UK_FOREVER, __VA_ARGS__ })

typedef struct uk_completion {
	uint64_t tag, id;
	int64_t res;    /* >= 0, or -errno */
	void *buf;      /* of the pool, if used: give it back by uk_buf_put */
	unsigned flags; /* UK_COMPLETION_... */
	unsigned reserved;
} uk_completion;

#define UK_COMPLETION_MORE 1u /* the operation continues */
#define UK_COMPLETION_FREE 2u /* memory sent with UK_OP_ZEROCOPY may be written to */

/* A group for depth operations (1 to 2^24). -EINVAL, -ENOMEM. */
UK_API int uk_group_create(uk_group **out, unsigned depth);
/* Cancel what is in flight, wait until all has completed, free the group. Neither
 * cancellation nor a deadline ends the wait. No other call may use g any more. */
UK_API void uk_group_destroy(uk_group *g);
/* Hand over ops[0..n): returns how many were taken, from the first on (a chain whole or
 * not at all). -EAGAIN: the group is full. An invalid operation has an error as res. */
UK_API int uk_group_submit(uk_group *g, uk_op *ops, unsigned n);
/* Run fn(arg) in a new user thread of the group, an operation like the others: its
 * completion has what fn returns as res, and arg as tag. *id (NULL: not wanted) is for
 * uk_group_cancel, which cancels the thread. Errors of uk_thread_create, and -EAGAIN:
 * the group is full. */
UK_API int uk_group_spawn(uk_group *g, uint64_t *id, const uk_thread_attr *a,
			  int64_t (*fn)(void *), void *arg);
/* Ask for the end of operation id, or UK_GROUP_ALL; it is collected as any, with its
 * result or -ECANCELED. -ENOENT: it has completed. */
UK_API int uk_group_cancel(uk_group *g, uint64_t id);
#define UK_GROUP_ALL 0
/* Wait until nothing is in flight, and drop all completions: the first error among
 * them, or 0. UK_GROUP_CANCEL: the first error cancels the rest. Also as
 * uk_group_wait_any: call again after -ETIMEDOUT. */
UK_API int uk_group_join(uk_group *g, unsigned flags, uk_time deadline);
#define UK_GROUP_CANCEL 1u
/* Collect up to max completions: any waits for one, all for max of them, or for as many
 * as are in flight. Returns how many; 0: none is in flight. deadline: ns, uk_now(); 0:
 * do not wait. -ETIMEDOUT, -ECANCELED (only if nothing was collected), -EBUSY (another
 * thread waits, or there is a channel), -EINVAL. */
UK_API int uk_group_wait_any(uk_group *g, uk_completion *out, unsigned max,
			     uk_time deadline);
UK_API int uk_group_wait_all(uk_group *g, uk_completion *out, unsigned max,
			     uk_time deadline);
/* From now on completions go to c, a channel of uk_completion that outlives the group.
 * -EBUSY: there is a channel, or a thread waits; -EINVAL: other elements; -ENOMEM,
 * -EAGAIN. */
UK_API int uk_group_to_chan(uk_group *g, uk_chan *c);

/* n buffers of size bytes each. -EINVAL, -ENOMEM. Destroy an unused pool only. */
UK_API int uk_buf_pool_create(uk_buf_pool **out, unsigned n, size_t size);
UK_API void uk_buf_pool_destroy(uk_buf_pool *p);
UK_API void *uk_buf_get(uk_buf_pool *p); /* NULL: all are in use */
UK_API void uk_buf_put(uk_buf_pool *p, void *buf);

UK_END
#endif
