/* SPDX-License-Identifier: Apache-2.0 */
/* reactor.h - the contract of the two engines (uring.c, epoll.c): operations go in,
 * finished operations come out.
 *
 * One reactor per vp. "Owner" is the carrier that holds the vp, inside the runtime; all
 * calls but kick are the owner's alone. A vp may be handed to another kernel thread between
 * two calls, so nothing here may be bound to one kernel thread.
 *
 * An operation is a struct io_op that lives on the stack of the thread that parks on it.
 * It may not be freed or reused before it has come back through poll: on io_uring the
 * kernel writes into its buffers until then.
 *
 *   state:  IDLE --submit--> PENDING --(kernel)--> DONE (returned by poll, once)
 *                               |--cancel/cancel_fd--> CANCELING --> DONE
 *
 * A completed op has res >= 0 or -errno. -ECANCELED appears only if cancel was asked
 * (an unrequested one, from a kernel thread's exit, is retried by the engine); cancel_fd
 * turns into -EBADF. The engine never completes an op with -EAGAIN or -EINTR, unless the
 * file itself is O_NONBLOCK (-EAGAIN), with one exception: REACTOR_READY.
 *
 * Both engines keep the pending ops of each fd linked (fdtab.h), so that close can find
 * them.
 */
#ifndef EVENT_REACTOR_H
#define EVENT_REACTOR_H

#include "base/base.h"
#include "base/files.h"
#include "base/list.h"
#include "base/panic.h"

enum io_kind {
	IO_NOP,
	IO_POLL, /* len = poll mask; res = ready mask */
	IO_READ, /* addr, len, off (-1: file position) */
	IO_WRITE,
	IO_READV, /* addr = iovec, len = count, off */
	IO_WRITEV,
	IO_RECV, /* addr, len, flags = MSG_... */
	IO_RECV_AHEAD, /* the same, of a stream that is received ahead (ahead.c); may turn into
			  IO_RECV; flags = 0 */
	IO_SEND,
	IO_RECVMSG, /* addr = msghdr, flags */
	IO_SENDMSG,
	IO_ACCEPT,  /* addr = sockaddr or NULL, addr2 = socklen_t *, flags = SOCK_... */
	IO_CONNECT, /* addr = sockaddr, len */
	IO_FSYNC,   /* flags = 1: data only */
	IO_OPENAT,  /* fd = dir, addr = path, flags = open flags, len = mode */
	IO_OPENAT2, /* fd = dir, addr = path, addr2 = open_how, len = its size */
	IO_STATX,   /* fd = dir, addr = path, flags, len = mask, addr2 = statx buffer */
	IO_SPLICE,  /* fd = out, off = off_out, fd2 = in, off2 = off_in, len, flags */
	IO_SEND_ZC, /* as IO_SEND, but that the kernel reads the memory itself, later: it is lent,
		       also when the operation has ended (op->lends) */
	IO_SENDMSG_ZC,
	IO_LENT, /* op, as it was when one of the two had ended: until nothing of it is lent.
		    Can't be cancelled; submitted to the same reactor */
	IO_SHOT, /* private to ahead.c */
	IO_KINDS
};

enum io_state { IO_IDLE, IO_PENDING, IO_CANCELING, IO_DONE };

/* The epoll engine cannot do the operation itself without blocking (a tty, say), or cannot
 * watch the fd: the caller shall make the blocking call under a mark (IO_ACCEPT: through
 * accept_try, accept.h). */
#define REACTOR_READY (-4095)

/* The number has been closed under the operation, and was not to be ended by that: op->fd2 is a
 * duplicate of the file for the waiter alone, on which he does it again, and which he closes. */
#define REACTOR_MOVED (-4094)
#define OP_MOVES 2 /* ebadf: fd2 is what to duplicate */

/* The number has come to mean another file, or none, while the operation was about to begin, and
 * this engine may have lost sight of it: it begins again, by the number. */
#define REACTOR_ANEW (-4093)
#define OP_ANEW 3 /* ebadf */

struct io_op {
	struct io_op *next; /* in the list that poll returns */
	struct list link;   /* pending ops of this fd, owner's fdtab */
	uint8_t kind;       /* enum io_kind */
	uint8_t state;      /* enum io_state; owner */
	uint8_t ebadf;  /* 1: cancelled by cancel_fd; OP_MOVES, OP_ANEW: and goes on */
	uint8_t engine; /* private to the engine */
	int fd;
	uint32_t len;
	uint32_t flags;
	const void *addr;
	void *addr2;
	int64_t off;
	int64_t off2;
	int64_t
	    until; /* the io room's: SO_RCVTIMEO or SO_SNDTIMEO end the call; 0 = not
			  looked up yet */
	int fd2;
	int res;
	/* the io room's: the caller's number + 1, while fd is a duplicate that the call goes on
	 * with; more calls on the same file follow; fd is counted as used */
	int was;
	bool parts, held;
	uint8_t lends;  /* how often its memory is lent; the engine writes */
	uint64_t token; /* who hears of its end, opaque here (sched/vp.h) */
	union {
		void *thread;         /* a waiter */
		struct op_sink *sink; /* or this, whom no thread waits for */
	};
	struct reactor *home; /* the reactor that it is pending in */
};

/* A FIFO of ops through next (engine.h). */
struct opq {
	struct io_op *head, **tail;
};

/* Where ops go that have no waiter. */
struct op_sink {
	/* A run of ended ops, linked by next, oldest first: they are the sink's again. By the
	 * carrier that holds the vp they were pending in, inside the runtime; it may not park. */
	void (*take)(struct op_sink *s, struct io_op *first);
};

struct reactor;

struct reactor_ops {
	const char *name;
	/* A pending op holds its file, as a system call that sleeps does: that its number is
	 * closed does not touch it. */
	bool holds;
	/* What is submitted goes to the kernel in one call, and what can be done at once is done
	 * there. */
	bool together;
	/* 0 or -errno (-ENOSYS, -EPERM, -EACCES, -ENOMEM: the caller takes the next engine) */
	int (*init)(struct reactor *r);
	void (*fini)(struct reactor *r);
	/* Can this kind be submitted here? If not, the caller blocks under a mark. */
	bool (*can)(const struct reactor *r, enum io_kind kind);
	/* Queue op (op->state = PENDING). Never fails, never sleeps: if the kernel refuses,
	 * the op comes back through poll with the error. */
	void (*submit)(struct reactor *r, struct io_op *op);
	/* What has been received ahead on fd: how many bytes went to buf, the error that ended
	 * it, -EAGAIN if there is nothing (then submit IO_RECV_AHEAD). */
	int (*take)(struct reactor *r, int fd, void *buf, uint32_t len);
	/* Ask for op's end; it comes back through poll, with its result or -ECANCELED. */
	void (*cancel)(struct reactor *r, struct io_op *op);
	/* The same for every op pending on fd; returns how many. keep: KEEP_NONE: with -EBADF;
	 * a descriptor of the same file (until the last has ended): with REACTOR_MOVED;
	 * KEEP_ANEW: with REACTOR_ANEW. */
#define KEEP_NONE (-1)
#define KEEP_ANEW (-2)
	unsigned (*cancel_fd)(struct reactor *r, int fd, int keep);
	/* Hand queued operations to the kernel, collect finished ones: a list linked by next,
	 * oldest first. timeout_ns: 0 = do not sleep, < 0 = no limit. EINTR, a kick and the
	 * time-out all return, possibly with an empty list. */
	struct io_op *(*poll)(struct reactor *r, int64_t timeout_ns);
	/* A poll that never sleeps, by a thread of the vp's on its own stack. NULL: this engine
	 * has none, and serves no sinks. */
	struct io_op *(*collect)(struct reactor *r);
	/* Any thread, async-signal-safe: a poll that sleeps, or the next one that would,
	 * returns. Cheap when repeated before the poll returns. Through reactor_kick. */
	void (*kick)(struct reactor *r);
	/* After fork, in the child, in two steps. At once: close what was inherited (later the
	 * program may have other files under these numbers). When a reactor is needed: start
	 * anew, by reactor_again; pending ops are lost (their threads do not exist in the
	 * child). On failure nothing of the engine's is left. */
	void (*fork_leave)(struct reactor *r);
	int (*fork_child)(struct reactor *r);
};

/* Counters, owner writes; folded into uk_stats by the look room. */
struct reactor_count {
	uint64_t polls, waits, syscalls, sqes, cqes, cancels;
};

/* A network processor: a kernel thread that carries out what the rings of a vp set ask for, and
 * what has become of it. The set's; who makes a reactor writes. */
struct net_cpu {
	int cpu; /* -1: any */
	uint32_t
	    idle_ms; /* it looks in vain for so long before it sleeps; 0: kernel's */
	uint32_t napi_us; /* it polls a network queue for so long; 0: not */
	bool napi_prefer; /* and wants no interrupts while it does */
	uint32_t batch,
	    min_wait_us; /* a sleeping vp wakes for so many, or after that */
	int ring;        /* whose thread it is; -1: none yet */
	int err;         /* why a vp of the set has a plain reactor: -errno */
	int napi_err;    /* why queues are not polled */
};

struct reactor {
	const struct reactor_ops *ops;
	void *priv;
	unsigned pending; /* ops not yet returned by poll; owner */
	struct reactor_count count;
	/* late.c, owner: not yet tried; ended, to be returned by the next poll; a poll has left some */
	struct opq late, late_ended;
	bool late_left;
	struct fdtab *fds;       /* owner writes; closers of other vps peek (fdtab.h) */
	struct net_cpu *net_cpu; /* its set's, or NULL */
	bool
	    served; /* a thread of the kernel's carries out what is submitted: to ask it is a
			store; the engine writes */
	/* Kernel threads that lost this vp as hogs and still run user code. A ring's ops end in
	 * the context of the thread that submitted them, and such a one does not look: while
	 * this is not 0, poll sleeps in short slices and interrupts them (membarrier). A hint:
	 * act adds and subtracts, atomically; without it an op waits for the hog's next timer
	 * tick. */
	uint32_t hogs;
};

extern const struct reactor_ops uring_ops, epoll_ops;

/* Choose and start an engine: want = "uring", "epoll" or NULL (automatic: uring if the
 * kernel and the seccomp filter let us, else epoll). -EINVAL for another name; a forced
 * engine that does not start is an error, not a fallback. n: NULL, or a network processor that
 * it shall have if the kernel lets it. */
/* Why the last vp that wanted io_uring got epoll: -errno; 0: none has. */
extern int reactor_dropped;
/* 1: the process has changed its ids, and a network processor that is older may have others.
 * Anyone sets it. */
extern uint32_t reactor_other_ids;
int reactor_init(struct reactor *r, const char *want, struct net_cpu *n);
/* The second step in a forked child: the same engine, or, where it was not forced and does not
 * start (the parent's rings have what the user may lock), the other one. */
int reactor_again(struct reactor *r);
void reactor_fini(struct reactor *r);

/* -- late.c: the owner, for its engine -- */
/* Instead of submit: op, a read, is tried when nothing else is to be done, once. It comes back
 * through reactor_poll, soon: with its result, -EAGAIN if there was nothing, REACTOR_READY if it
 * cannot be tried, or as cancel_fd ends it. It cannot be cancelled. */
void reactor_submit_late(struct reactor *r, struct io_op *op);
/* ops->poll, and what is late. busy: the caller has something to do anyhow. */
struct io_op *reactor_poll(struct reactor *r, int64_t timeout_ns, bool busy);
/* ops->cancel_fd, and what is late. */
unsigned reactor_cancel_fd(struct reactor *r, int fd, int keep);

/* By who shares the program's table of files (base/files.h): not the monitor, for which the
 * maker does it (maker_kick). */
static inline void reactor_kick(struct reactor *r)
{
	dbg_assert(files_are_the_programs());
	r->ops->kick(r);
}

/* Does another vp's reactor seem to have ops pending on fd? A racy peek, any thread. */
bool reactor_peek_fd(const struct reactor *r, int fd);

#endif
