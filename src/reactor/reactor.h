/* SPDX-License-Identifier: Apache-2.0 */
/* reactor.h - the contract of the two engines (uring.c, epoll.c): operations go in,
 * completed operations come out.
 *
 * There is one reactor for each vp. Its owner is the carrier that holds the vp, inside
 * the runtime. All calls but kick are for the owner only. A vp may be handed to another
 * kernel thread between two calls, so nothing here may be bound to one kernel thread.
 *
 * An operation is a struct io_op. It is on the stack of the thread that parks on it, or
 * belongs to a sink. It may not be freed or reused before it has come back through
 * poll: on io_uring the kernel writes into its buffers until then.
 *
 *   state:  IDLE --submit--> PENDING --(kernel)--> DONE (returned by poll, once)
 *                               |--cancel/cancel_fd--> CANCELING --> DONE
 *
 * A completed op has res >= 0 or -errno. -ECANCELED appears only if cancel was called.
 * (If the kernel cancels an op because a kernel thread exits, the engine submits it
 * again.) After cancel_fd the result is -EBADF, REACTOR_MOVED or REACTOR_ANEW. The
 * engine completes no op with -EAGAIN or -EINTR, except with -EAGAIN where the op must
 * not wait (the file has O_NONBLOCK, or MSG_DONTWAIT). REACTOR_READY is explained
 * below.
 *
 * Both engines keep the pending ops of each fd linked (fdtab.h), so that close can find
 * them.
 */
#ifndef REACTOR_REACTOR_H
#define REACTOR_REACTOR_H

#include "base/base.h"
#include "base/fds.h"
#include "base/list.h"
#include "base/log.h"

enum io_kind {
	IO_NOP,
	IO_POLL, /* len = poll mask; res = ready mask */
	IO_READ, /* addr, len, off (-1: file position) */
	IO_WRITE,
	IO_READV, /* addr = iovec, len = count, off */
	IO_WRITEV,
	IO_RECV, /* addr, len, flags = MSG_... */
	/* as IO_RECV, of a stream that is received ahead (ahead.c); may turn into
	 * IO_RECV; flags = 0 */
	IO_RECV_AHEAD,
	IO_SEND,
	IO_RECVMSG, /* addr = msghdr, flags */
	IO_SENDMSG,
	IO_ACCEPT,  /* addr = sockaddr or NULL, addr2 = socklen_t *, flags = SOCK_... */
	IO_CONNECT, /* addr = sockaddr, len */
	IO_FSYNC,   /* flags = 1: data only */
	/* as IO_SEND, but the kernel reads the memory itself, later: the memory is lent
	 * until after the op has completed (op->lends) */
	IO_SEND_ZC,
	IO_SENDMSG_ZC,
	/* an op of the two above, submitted again to the same reactor after its
	 * completion: completes when none of its memory is lent any more; cannot be
	 * cancelled */
	IO_LENT,
	IO_SHOT, /* private to ahead.c */
	IO_CALL, /* not for reactors: a function that does not block (io/io.h); len */
	IO_KINDS
};

enum io_state { IO_IDLE, IO_PENDING, IO_CANCELING, IO_DONE };

/* The epoll engine cannot do the operation without blocking (a tty, say), or cannot
 * watch the fd. The caller makes the blocking call under a mark (IO_ACCEPT: through
 * io_accept_try, io/io.h). */
#define REACTOR_READY (-4095)

/* The fd was closed during the operation by a close that does not end it. op->fd2 is a
 * duplicate of the file, for the waiter alone: it makes the call again on fd2 and then
 * closes fd2. */
#define REACTOR_MOVED (-4094)
#define OP_MOVES 2 /* ebadf: duplicate the file of fd2 */

/* While the operation was about to begin, the fd became another file, or none, and this
 * engine may have lost the operation. The waiter makes the call again, by the fd. */
#define REACTOR_ANEW (-4093)
#define OP_ANEW 3 /* ebadf */

struct io_op {
	struct io_op *next; /* in the list that poll returns */
	struct list link;   /* pending ops of this fd, in the owner's fdtab */
	uint8_t kind;       /* enum io_kind */
	uint8_t state;      /* enum io_state; owner */
	uint8_t ebadf;      /* 1: cancelled by cancel_fd; or OP_MOVES, OP_ANEW */
	uint8_t engine;     /* private to the engine */
	int fd;
	uint32_t len;
	uint32_t flags;
	const void *addr;
	void *addr2;
	int64_t off;
	int64_t off2;
	/* for src/io: when SO_RCVTIMEO or SO_SNDTIMEO ends the call; 0 = not looked up
	 * yet */
	int64_t until;
	int fd2;
	int res;
	/* for src/io. was: the caller's fd + 1, while fd is a duplicate on which the
	 * call goes on. parts: more calls on the same file follow. held: fd is counted
	 * as used (fd/fd.c). taken: FD_SENDING ..., of fd. listed: a jump out of the
	 * call releases all that; below: the next one in that list */
	int was;
	bool parts : 1, held : 1, listed : 1;
	uint8_t taken;
	struct io_op *below;
	/* likewise: nothing is known of fd; it was tried just now; addr is the runtime's
	 * own memory */
	bool fresh : 1, tried : 1, inside : 1;
	uint8_t lends;  /* how many times its memory is lent; the engine writes */
	uint64_t token; /* whose wait its completion ends; opaque here (sched/vp.h) */
	union {
		void *thread;         /* the waiter */
		struct op_sink *sink; /* or this, if no thread waits */
	};
	struct reactor *home; /* the reactor in which it is pending */
};

/* The poll(2) events that op waits for; 0: none. */
uint32_t op_events(const struct io_op *op);

/* A FIFO of ops, linked by next (engine.h). */
struct opq {
	struct io_op *head, **tail;
};

/* Receives completed ops that no thread waits for. */
struct op_sink {
	/* Takes a list of completed ops, linked by next, oldest first; they belong to
	 * the sink again. Called by the carrier that holds the vp in which they were
	 * pending, inside the runtime. It may not park. */
	void (*take)(struct op_sink *s, struct io_op *first);
};

struct reactor;

struct reactor_ops {
	const char *name;
	/* A pending op holds its file, as a sleeping system call does: a close of its
	 * fd does not affect it. */
	bool holds;
	/* All that was submitted goes to the kernel in one call, and the kernel does at
	 * once what it can. */
	bool together;
	/* 0 or -errno (-ENOSYS, -EPERM, -EACCES, -ENOMEM: the caller tries the next
	 * engine) */
	int (*init)(struct reactor *r);
	void (*fini)(struct reactor *r);
	/* Can this kind be submitted here? If not, the caller makes a blocking call
	 * under a mark. */
	bool (*can)(const struct reactor *r, enum io_kind kind);
	/* Queue op (op->state = PENDING). Never fails, never sleeps: if the kernel
	 * refuses, the op comes back through poll with the error. */
	void (*submit)(struct reactor *r, struct io_op *op);
	/* Copy to buf what has been received ahead on fd: the count, the error that
	 * ended the stream, or -EAGAIN if there is nothing (then submit
	 * IO_RECV_AHEAD). */
	int (*take)(struct reactor *r, int fd, void *buf, uint32_t len);
	/* Cancel op; it comes back through poll, with its result or -ECANCELED. */
	void (*cancel)(struct reactor *r, struct io_op *op);
	/* Cancel every op pending on fd; returns how many. With keep = KEEP_NONE they
	 * complete with -EBADF; with a duplicate of the same file (open until the last
	 * has completed), with REACTOR_MOVED; with KEEP_ANEW, with REACTOR_ANEW. */
#define KEEP_NONE (-1)
#define KEEP_ANEW (-2)
	unsigned (*cancel_fd)(struct reactor *r, int fd, int keep);
	/* Hand queued operations to the kernel and collect completed ones: a list
	 * linked by next, oldest first. timeout_ns: 0 = do not sleep, < 0 = no limit. A
	 * signal, a kick and the timeout all make it return, possibly with an empty
	 * list. */
	struct io_op *(*poll)(struct reactor *r, int64_t timeout_ns);
	/* A poll that never sleeps, made by a user thread of the vp on its own stack.
	 * NULL: this engine has none, and serves no sinks. */
	struct io_op *(*collect)(struct reactor *r);
	/* Any thread, async-signal-safe: a poll that sleeps, or the next one that would
	 * sleep, returns. Cheap when repeated before the poll returns. Called through
	 * reactor_kick. */
	void (*kick)(struct reactor *r);
	/* After fork, in the child, in two steps. fork_leave, at once: close what was
	 * inherited (later the program may have other files under these fds).
	 * fork_child, when a reactor is needed, through reactor_again: start anew.
	 * Pending ops are lost (their threads do not exist in the child). On failure
	 * nothing of the engine is left. */
	void (*fork_leave)(struct reactor *r);
	int (*fork_child)(struct reactor *r);
};

/* Counters; the owner writes, src/debug adds them to uk_stats. */
struct reactor_count {
	uint64_t polls, waits, syscalls, sqes, cqes, cancels;
};

/* The network processor of a vp set (a kernel thread that carries out what the rings of
 * the set ask for): what the set wants, and what came of it. Written by the thread that
 * makes a reactor. */
struct net_cpu {
	int cpu; /* -1: any */
	/* how long it looks for work before it sleeps; 0: the kernel's default */
	uint32_t idle_ms;
	uint32_t napi_us; /* how long it polls a network queue; 0: not at all */
	bool napi_prefer; /* no interrupts while it polls */
	/* a sleeping vp wakes after this many completions, or after this time */
	uint32_t batch, min_wait_us;
	int ring;     /* a ring of the set, whose thread it is; -1: none yet */
	int err;      /* why a vp of the set has a plain ring, or epoll: -errno */
	int napi_err; /* why network queues are not polled: -errno */
};

struct reactor {
	const struct reactor_ops *ops;
	void *priv;
	unsigned pending; /* ops not yet returned by poll; owner */
	struct reactor_count count;
	/* late.c, owner: ops not yet tried; completed ops for the next poll; the last
	 * poll left some untried */
	struct opq late, late_ended;
	bool late_left;
	struct fdtab *fds; /* the owner writes; closers on other vps peek (fdtab.h) */
	struct net_cpu *net_cpu; /* of its set, or NULL */
	/* A network processor carries out what is submitted, so a submission is only a
	 * store. The engine writes. */
	bool served;
	/* Kernel threads that lost this vp as hogs and still run user code. io_uring
	 * completes an op in the context of the thread that submitted it, and a hog
	 * does not enter the kernel. So while this is not 0, poll sleeps in short
	 * slices and interrupts the hogs (membarrier). Only a hint, which src/monitor adds
	 * to and subtracts from atomically; without it an op waits for the hog's next
	 * timer tick. */
	uint32_t hogs;
};

extern const struct reactor_ops uring_ops, epoll_ops;

/* Why the last vp that should have had io_uring got epoll: -errno; 0: none did. */
extern int reactor_dropped;
/* 1: the process has changed its user or group ids, and an older network processor may
 * still have the old ones. Any thread sets it. */
extern uint32_t reactor_other_ids;
/* A reactor with a network processor was made. Any thread sets it. */
extern uint32_t reactor_serves;
/* Choose and start an engine: want = "uring", "epoll" or NULL (automatic: io_uring if
 * the kernel and the seccomp filter allow it, else epoll). -EINVAL for another name. A
 * forced engine that does not start is an error, not a fallback. n: NULL, or the
 * network processor that it gets if the kernel allows it. */
int reactor_init(struct reactor *r, const char *want, struct net_cpu *n);
/* The second step in a forked child. Starts the same engine; if that was not forced and
 * does not start (the parent's rings use up what the user may lock), the other one. */
int reactor_again(struct reactor *r);
void reactor_fini(struct reactor *r);

/* -- late.c; for the owner -- */
/* Instead of submit, for a read: op is tried once, when nothing else is to be done. It
 * comes back soon, through reactor_poll: with its result, -EAGAIN if there was nothing
 * to read, REACTOR_READY if it cannot be tried, or as cancel_fd ends it. It cannot be
 * cancelled. */
void reactor_submit_late(struct reactor *r, struct io_op *op);
/* ops->poll, and the late ops. busy: the caller has other work anyhow. */
struct io_op *reactor_poll(struct reactor *r, int64_t timeout_ns, bool busy);
/* ops->cancel_fd, and the late ops. */
unsigned reactor_cancel_fd(struct reactor *r, int fd, int keep);

/* Only from threads that share the program's fd table (base/fds.h). The monitor does
 * not; it has the maker kick (maker_kick). */
static inline void reactor_kick(struct reactor *r)
{
	dbg_assert(files_are_the_programs());
	r->ops->kick(r);
}

/* Does a reactor, perhaps another vp's, seem to have ops pending on fd? A racy peek,
 * any thread. */
bool reactor_peek_fd(const struct reactor *r, int fd);

#endif
