/* SPDX-License-Identifier: Apache-2.0 */
/* async.h - what the files of this room share.
 *
 * Asynchronous calls: a request lives in its group, not on a stack, and no thread waits for it.
 * Two ways to carry one out, chosen at its submission:
 *
 *   RING    the reactor does it (an engine that holds its files: io_uring), its end comes to
 *           the group as a sink's (event/reactor.h)
 *   HELPER  a light thread makes the blocking call of the same name. So all that blocking calls
 *           are promised (memory that faults, close, deadlines, cancellation, fork, epoll)
 *           holds without a line more
 *
 * (A vector of one read of a file tries the call first: submit_read.)
 *
 *   FREE --submit--> RUNNING --end--> ENDED --collected--> FREE
 *                       +---end while pinned--> LATE --unpin--> ENDED
 *
 * What must wait for others of its group is held (drain.c), and then always the HELPERs'; so are
 * streams, each end of which but the last takes a request of its own (group_emit).
 *
 * All of a request's own state is under its group's lock, which is taken inside the runtime
 * only, so a fork never finds it held. Who asks for the end of a request of the RING goes to
 * its vp by message; for so long he pins the request, that it does not become another one: if
 * it ends meanwhile, it is he who delivers the end.
 *
 * Rejected: ends that are collected while pinned, their places free later (the next submission
 * to a group that was full found none, and took the one behind the last); requests in the
 * program's memory (the dispatcher would touch it); a kernel thread
 * for what no ring does (it knows none of our rules); linked time-outs and links of io_uring
 * (epoll has none, and a timer of ours costs less).
 */
#ifndef ASYNC_ASYNC_H
#define ASYNC_ASYNC_H

#include "base/list.h"
#include "base/lock.h"
#include "event/reactor.h"
#include "sched/vp.h"
#include "uk/async.h"
#include "uk/chan.h"

enum req_state { REQ_FREE, REQ_RUNNING, REQ_LATE, REQ_ENDED };

/* Three lines of the cache, and the message in a fourth that few touch: what hundreds in flight
 * cost is the memory that they push out of the cache. */
struct req {
	union {
		struct io_op op; /* RING */
		uk_op what;      /* HELPER: as submitted */
	};
	uint64_t tag, id;
	/* the line of who ends and collects it */
	struct uk_group *group;
	struct uk_vp *home; /* RING; NULL: HELPER */
	struct req *next;   /* in the list that it is in */
	int64_t res;
	uint32_t gen;
	uint32_t pins;
	uint32_t len;  /* RING: as submitted */
	uint8_t kind;  /* UK_OP_... */
	uint8_t state; /* enum req_state; ENDED is written without the lock */
	uint8_t asked; /* somebody wants its end; also read without the lock */
	bool polls;    /* RING: it was not ready, and waits as a poll; the home vp's */
	bool more;     /* UK_END_MORE */
	bool has_buf;
	bool frees;  /* UK_END_FREE */
	bool copies; /* RING: it can't be lent; the home vp's */
	union {
		struct vp_msg
		    msg; /* RING: its way to a vp that is not the submitter's */
		struct { /* HELPER */
			struct req *linked;       /* what begins after it */
			struct uk_thread *helper; /* who is at it now */
			uint32_t life[2]; /* of fd and fd2, when it was submitted */
			void *buf;        /* if has_buf */
		};
	};
} LINE_ALIGNED;

/* Who waits for something of a group's; under its lock. Who fires it takes it out. */
struct parked {
	struct uk_thread *thread; /* NULL: nobody */
	uint64_t token;
};

#define PLACES 256u

struct uk_group {
	struct op_sink sink;
	struct lock lock;
	unsigned depth;                /* constant */
	uint32_t forks;                /* sched_forks, as far as it knows */
	unsigned used;                 /* req[0..used) have been in use */
	struct req *free;              /* of them */
	struct req *ends, **ends_tail; /* oldest first */
	unsigned nends, running;       /* LATE ones run, too */
	unsigned pins;                 /* of all requests */
	uint64_t ended;                /* ever */
	uint64_t wake_at;              /* of ended: then the waiter is fired */
	struct parked waiter;
	/* drain.c */
	struct req *held, **held_tail; /* chains that wait for their turn, by next */
	unsigned nheld;                /* requests in them; of running */
	bool barrier;                  /* what began last drains */
	bool draining;                 /* the drainer is about */
	struct parked drainer;         /* it waits for all that has begun to end */
	/* courier.c */
	uk_chan *chan; /* the courier is about */
	struct uk_thread *courier;
	/* group.c */
	bool closing;
	struct parked closer;    /* waits for drainer or courier to be gone */
	uint64_t places[PLACES]; /* racy: pages that were there (submit.c) */
	struct req req[];
};

struct group_wake {
	struct parked who[2];
};

/* group.c. The lock: in the runtime; a forked child finds the group as it is to be there. */
void group_lock(struct uk_group *g);
/* Under the lock: q[0]..., a list of n, have ended with their res, last is the last; who is to
 * be fired without it. */
void group_ended(struct uk_group *g, struct req *first, struct req *last, unsigned n,
		 struct group_wake *w);
static inline void group_fire(const struct group_wake *w)
{
	for (unsigned i = 0; i < 2; i++)
		if (w->who[i].thread)
			wait_fire(w->who[i].thread, w->who[i].token, WAKE_OK);
}
/* Under the lock. */
struct req *group_get(struct uk_group *g);
unsigned group_collect(struct uk_group *g, uk_end *out, unsigned max);
static inline unsigned group_room(const struct uk_group *g)
{
	return g->depth - g->running - g->nends;
}
/* Under the lock, which is let go meanwhile: until who finds t there fires it, or why not; and
 * until k more have ended. */
unsigned group_await(struct uk_group *g, struct parked *there, struct uk_thread *t,
		     uint64_t token, int64_t deadline);
unsigned group_park(struct uk_group *g, struct uk_thread *t, unsigned k, uint64_t token,
		    int64_t deadline);
/* Under the lock, which is let go for good: a thread of the group's own is gone. */
void group_left(struct uk_group *g);
/* A result of q, which goes on. False: there is no room for it. In the runtime. */
bool group_emit(struct req *q, int64_t res, void *buf);

/* Under the lock. Those of the list q of n that are pinned end LATE; the rest of it. */
struct req *group_unpinned(struct req *q, struct req **last, unsigned *n);

/* submit.c: the sink's. */
void group_take(struct op_sink *s, struct io_op *first);
/* What it is ready by, POLL...; 0: nothing that it could wait for. */
uint32_t what_events(int kind, int64_t off);
/* It asks for nothing that only a later version has. */
static inline bool what_known(const uk_op *o)
{
	return !(o->options & ~(UK_OP_LINK | UK_OP_DRAIN | UK_OP_MULTI | UK_OP_POOL |
				UK_OP_ZEROCOPY)) &&
	       !o->reserved0 && !o->reserved;
}
/* Its -EAGAIN is its end. */
bool what_dontwait(int kind, unsigned flags);

/* helper.c: q, and all that are linked behind it, in a light thread. */
void helper_start(struct req *q);
/* They end, the first with r. */
void helper_fail(struct req *q, int r);
int helper_thread(void *(*body)(void *), void *arg);

/* drain.c, under the lock. Must a chain with these options wait? If not, it begins. */
bool drain_may_hold(struct uk_group *g, unsigned options);
static inline bool drain_holds(struct uk_group *g, unsigned options)
{
	if (likely(!g->held && !g->barrier && !(options & UK_OP_DRAIN)))
		return false;
	return drain_may_hold(g, options);
}
void drain_hold(struct uk_group *g, struct req *chain, unsigned n);
/* q has not begun, and is linked to nothing: it is not held any more. */
bool drain_let_go(struct uk_group *g, const struct req *q);
/* A drainer is wanted; then, without the lock, it is started. */
bool drain_wanted(struct uk_group *g);
void drain_start(struct uk_group *g);

/* stream.c: what MULTI and POOL ask for; its last result, with q->buf. */
bool stream_wanted(const uk_op *o);
int64_t stream_run(struct req *q, int64_t (*accept_one)(const uk_op *o));

/* lend.c: what ZEROCOPY asks for. */
bool lend_possible(const uk_op *o);
/* A ring's, for UK_OP_SEND and UK_OP_SENDMSG; else IO_KINDS. */
enum io_kind lend_kind(int kind);
/* RING: q's operation, which lends, has ended with r. True: that was not the last of it; else
 * q->res is set. */
bool lend_goes_on(struct req *q, int64_t r);
/* HELPER: op outlives both; copy: the call that copies. */
/* How much was accepted. */
int64_t lend_send(const uk_op *o, struct io_op *op, int64_t (*copy)(const uk_op *o));
/* That was r: says so, if there is room, and returns the last result when the memory is the
 * program's again. Then q may be linked to nothing any more. */
int64_t lend_over(struct req *q, struct io_op *op, int64_t r);

#endif
