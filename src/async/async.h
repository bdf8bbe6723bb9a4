/* SPDX-License-Identifier: Apache-2.0 */
/* async.h - what the files of this directory share.
 *
 * Asynchronous calls: a request lives in its group, not on a stack, and no thread waits
 * for it. A request is carried out in one of two ways, chosen at its submission:
 *
 *   RING    by the reactor, if its engine holds a request's files (io_uring). Its
 *           completion reaches the group as that of an operation with a sink
 *           (reactor/reactor.h).
 *   HELPER  by a light thread, which makes the blocking call of the same name, for one
 *           request of the group after the other (helper.c). So all promises of
 *           blocking calls (memory that faults, close, deadlines, cancellation, fork,
 *           epoll) hold without further code.
 *
 * (A vector of one read of a file tries the call first: submit_read.)
 *
 *   FREE --submit--> RUNNING --completes--> ENDED --collected--> FREE
 *                       +---completes while pinned--> LATE --unpin--> ENDED
 *
 * Requests that must wait for others of their group are held (drain.c), and helpers
 * carry them out. The same holds for streams, each completion of which but the last
 * takes a request of its own (group_emit).
 *
 * All of a request's own state is under its group's lock, which is taken inside the
 * runtime only, so a fork never finds it held. A thread that cancels a RING request
 * sends a message to the request's vp. Meanwhile it pins the request, so that its place
 * is not used for another one; if the request completes meanwhile, that thread delivers
 * the completion.
 *
 * Rejected: completions that are collected while pinned and whose places become free
 * later (the next submission to a full group found none, and took the one behind the
 * last); requests in the program's memory (the dispatcher would touch it); a kernel
 * thread for what no ring does (it knows none of our rules); linked timeouts and links
 * of io_uring (epoll has none, and a timer of ours costs less).
 */
#ifndef ASYNC_ASYNC_H
#define ASYNC_ASYNC_H

#include "base/list.h"
#include "base/lock.h"
#include "reactor/reactor.h"
#include "sched/vp.h"
#include "uk/async.h"
#include "uk/chan.h"

enum req_state { REQ_FREE, REQ_RUNNING, REQ_LATE, REQ_ENDED };

/* Three cache lines, and the message in a fourth that is seldom touched: the cost of
 * hundreds of requests in flight is the memory that they push out of the cache. */
struct req {
	union {
		struct io_op op; /* RING */
		uk_op what;      /* HELPER: as submitted */
		struct {         /* a thread of the group (spawn.c) */
			int64_t (*run)(void *);
			void *arg;
		};
	};
	uint64_t tag, id;
	/* the line of the thread that completes and collects it */
	struct uk_group *group;
	struct uk_vp *home; /* RING; NULL: HELPER */
	struct req *next;   /* in the list that it is in */
	int64_t res;
	uint32_t gen;
	uint32_t pins;
	uint32_t len;  /* RING: as submitted */
	uint8_t kind;  /* UK_OP_... */
	uint8_t state; /* enum req_state; ENDED is written without the lock */
	uint8_t asked; /* it is to be cancelled; also read without the lock */
	bool polls;    /* RING: not ready, it waits as a poll; the home vp's */
	bool more;     /* UK_COMPLETION_MORE */
	bool has_buf;
	bool frees;  /* UK_COMPLETION_FREE */
	bool copies; /* RING: it cannot be lent; the home vp's */
	union {
		struct vp_msg
		    msg; /* RING: its way to another vp than the submitter's */
		struct { /* HELPER */
			struct req *linked;       /* what begins after it */
			struct uk_thread *helper; /* that carries it out now */
			uint32_t life[2];         /* of fd and fd2, at its submission */
			void *buf;                /* if has_buf */
		};
	};
} LINE_ALIGNED;

/* A thread that waits for an event of a group; under the group's lock. The thread that
 * fires it takes it out. */
struct parked {
	struct uk_thread *thread; /* NULL: none */
	uint64_t token;
};

#define PLACES 256u

struct uk_group {
	struct op_sink sink;
	struct lock lock;
	unsigned depth;                /* constant */
	uint32_t forks;                /* sched_forks when it was last locked */
	unsigned used;                 /* req[0..used) have been used */
	struct req *free;              /* those of them that are free */
	struct req *ends, **ends_tail; /* completions, oldest first */
	unsigned nends, running;       /* running includes the LATE ones */
	unsigned pins;                 /* of all requests */
	uint64_t ended;                /* how many ever */
	uint64_t wake_at; /* the value of ended at which the waiter is fired */
	struct parked waiter;
	/* helper.c */
	struct req *queue, **queue_tail; /* chains that no helper has taken, by next */
	bool coming;                     /* a helper is about to take one */
	unsigned helpers;                /* that exist; also threads of the group */
	/* drain.c */
	struct req *held, **held_tail; /* chains that wait for their turn, by next */
	unsigned nheld;                /* requests in them; part of running */
	bool barrier;                  /* the chain that began last drains */
	bool draining;                 /* the drainer exists */
	struct parked drainer; /* waits until all that has begun has completed */
	int error; /* uk_group_join: the first one so far; by the thread that waits */
	/* courier.c */
	uk_chan *chan; /* not NULL: the courier exists */
	struct uk_thread *courier;
	/* group.c */
	bool closing;
	struct parked closer;    /* waits until a thread of the group has left */
	uint64_t places[PLACES]; /* racy: pages that were resident (submit.c) */
	struct req req[];
};

struct group_wake {
	struct parked who[2];
};

/* group.c. group_lock: in the runtime. In a forked child the first call cancels what
 * ran in the parent. */
void group_lock(struct uk_group *g);
/* Under the lock: the n requests of the list from first to last have completed with
 * their res. *w: the threads to fire after the lock is released. */
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
void req_free(struct uk_group *g, struct req *q);
/* In the runtime: the thread of q, a request of spawn.c, could not be made. */
void group_take_back(struct uk_group *g, struct req *q);
unsigned group_collect(struct uk_group *g, uk_completion *out, unsigned max);
static inline unsigned group_room(const struct uk_group *g)
{
	return g->depth - g->running - g->nends;
}
/* Under the lock, which is released meanwhile: sleep until the thread that finds t in
 * *there fires it; returns the reason of the wake-up. group_park sleeps until k more
 * have completed. */
unsigned group_await(struct uk_group *g, struct parked *there, struct uk_thread *t,
		     uint64_t token, int64_t deadline);
unsigned group_park(struct uk_group *g, struct uk_thread *t, unsigned k, uint64_t token,
		    int64_t deadline);
/* Under the lock, which is released for good: a thread of the group has left. */
void group_left(struct uk_group *g);
/* In the runtime: one result of q, which goes on. False: the group has no space for
 * it. */
bool group_emit(struct req *q, int64_t res, void *buf);

/* Under the lock: of the list q of n requests, the pinned ones become LATE. Returns the
 * list of the others. */
struct req *group_unpinned(struct req *q, struct req **last, unsigned *n);

/* submit.c, under the lock, if there is room: a request for *o, with its id. */
struct req *req_make(struct uk_group *g, uk_op *o);
/* The sink's function. */
void group_take(struct op_sink *s, struct io_op *first);
/* The events of poll(2) that tell that it is ready; 0: there are none. */
uint32_t what_events(int kind, int64_t off);
/* The operation asks for nothing that only a later version has. */
static inline bool what_known(const uk_op *o)
{
	return !(o->options & ~(UK_OP_LINK | UK_OP_DRAIN | UK_OP_MULTI | UK_OP_POOL |
				UK_OP_ZEROCOPY)) &&
	       !o->reserved0 && !o->reserved;
}
/* How many files it uses: that of fd, or those of fd and fd2. */
int what_files(const uk_op *o);
/* It completes with -EAGAIN instead of waiting. */
bool what_dontwait(int kind, unsigned flags);

/* helper.c, under the lock: a chain for helpers. */
void helper_push(struct uk_group *g, struct req *chain);
/* Under the lock: is a helper to be started? Then helper_start does it, without the
 * lock. */
static inline bool helper_wanted(struct uk_group *g)
{
	bool wanted = g->queue && !g->coming;

	g->coming |= wanted;
	g->helpers += wanted;
	return wanted;
}
void helper_start(struct uk_group *g);
/* All of this, without the lock. */
void helper_give(struct uk_group *g, struct req *chain);
/* The chain completes, its first request with r. */
void helper_fail(struct req *q, int r);
/* A light thread; out NULL: detached. */
int helper_thread(uk_thread **out, const char *name, void *(*body)(void *), void *arg);
/* Cancels and joins it; neither cancellation nor a deadline of the caller ends that. */
void helper_end(uk_thread *t);

/* drain.c, under the lock. Must a chain with these options wait? If not, it begins. */
bool drain_may_hold(struct uk_group *g, unsigned options);
static inline bool drain_holds(struct uk_group *g, unsigned options)
{
	if (likely(!g->held && !g->barrier && !(options & UK_OP_DRAIN)))
		return false;
	return drain_may_hold(g, options);
}
void drain_hold(struct uk_group *g, struct req *chain, unsigned n);
/* If q is held and linked to nothing, take it out; else false. */
bool drain_let_go(struct uk_group *g, const struct req *q);
/* Is a drainer to be started? Then drain_start does it, without the lock. */
bool drain_wanted(struct uk_group *g);
void drain_start(struct uk_group *g);

/* stream.c: UK_OP_MULTI and UK_OP_POOL. Returns the last result, with q->buf. */
bool stream_wanted(const uk_op *o);
int64_t stream_run(struct req *q, int64_t (*accept_one)(const uk_op *o));

/* lend.c: UK_OP_ZEROCOPY. */
bool lend_possible(const uk_op *o);
/* The ring's operation for UK_OP_SEND and UK_OP_SENDMSG; else IO_KINDS. */
enum io_kind lend_kind(int kind);
/* RING: q's operation, which lends, has completed with r. True: that was not the last
 * completion; else q->res is set. */
bool lend_goes_on(struct req *q, int64_t r);
/* HELPER: returns how much was accepted. op must outlive lend_send and lend_over; copy
 * is the call that copies. */
int64_t lend_send(const uk_op *o, struct io_op *op, int64_t (*copy)(const uk_op *o));
/* HELPER: r is the result of lend_send. Emits it as a completion, if the group has
 * space, and returns the last result when the memory is the program's again. Afterwards
 * q->linked may be NULL: what was linked has been started. */
int64_t lend_over(struct req *q, struct io_op *op, int64_t r);

#endif
