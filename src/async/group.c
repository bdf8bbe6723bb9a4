/* SPDX-License-Identifier: Apache-2.0 */
/* A group: the requests of asynchronous calls, their completions, and the threads that
 * wait for them. The design is in async.h.
 *
 * Completions are counted. A thread that waits for k more says at which count it is to
 * be fired, so only one of many completions wakes it, and a batch of completions takes
 * the lock once.
 *
 * Rejected: a list of completions that is pushed to without the lock (the pusher would
 * touch the group after its waiter may have destroyed it).
 */
#include "async/async.h"

#include <stdlib.h>

#include "base/touch.h"

#define DEPTH_MAX (1u << 24)
#define JOIN_BATCH 8

static void end_one(struct uk_group *g, struct req *q, struct group_wake *w)
{
	q->state = REQ_ENDED;
	group_ended(g, q, q, 1, w);
}

/* In a forked child: nothing here could complete what runs in the parent. */
static COLD void group_child(struct uk_group *g)
{
	struct group_wake nobody;

	g->forks = sched_forks;
	g->waiter.thread = g->drainer.thread = g->closer.thread = g->courier = NULL;
	g->chan = NULL;
	g->held = NULL;
	g->held_tail = &g->held;
	g->nheld = 0;
	g->queue = NULL;
	g->queue_tail = &g->queue;
	g->helpers = 0;
	g->barrier = g->draining = g->coming = g->closing = false;
	g->pins = 0;
	for (unsigned i = 0; i < g->used; i++) {
		struct req *q = &g->req[i];

		q->pins = 0;
		if (q->state == REQ_RUNNING)
			q->res = -ECANCELED;
		if (q->state == REQ_RUNNING || q->state == REQ_LATE)
			end_one(g, q, &nobody);
	}
}

void group_lock(struct uk_group *g)
{
	lock_acquire(&g->lock);
	if (unlikely(g->forks != sched_forks))
		group_child(g);
}

static struct parked take_out(struct parked *there)
{
	struct parked who = *there;

	there->thread = NULL;
	return who;
}

void group_ended(struct uk_group *g, struct req *first, struct req *last, unsigned n,
		 struct group_wake *w)
{
	*w = (struct group_wake){ 0 };
	last->next = NULL;
	*g->ends_tail = first;
	g->ends_tail = &last->next;
	g->nends += n;
	g->running -= n;
	g->ended += n;
	if (g->ended >= g->wake_at)
		w->who[0] = take_out(&g->waiter);
	if (unlikely(g->drainer.thread) && g->running == g->nheld)
		w->who[1] = take_out(&g->drainer);
}

struct req *group_unpinned(struct req *q, struct req **last, unsigned *n)
{
	struct req *rest = NULL, **tail = &rest;

	for (struct req *next; q; q = next) {
		next = q->next;
		if (q->pins) {
			store_relaxed(&q->state, (uint8_t)REQ_LATE);
			--*n;
		} else {
			*tail = *last = q;
			tail = &q->next;
		}
	}
	*tail = NULL;
	return rest;
}

struct req *group_get(struct uk_group *g)
{
	struct req *q = g->free;

	if (q) {
		g->free = q->next;
		return q;
	}
	q = &g->req[g->used++];
	q->gen = q->pins = 0;
	return q;
}

void req_free(struct uk_group *g, struct req *q)
{
	q->state = REQ_FREE;
	q->next = g->free;
	g->free = q;
}

void group_take_back(struct uk_group *g, struct req *q)
{
	struct group_wake w = { 0 };

	group_lock(g);
	g->running--;
	g->helpers--;
	req_free(g, q);
	/* they may have waited for nothing else */
	w.who[0] = take_out(&g->waiter);
	w.who[1] = take_out(&g->drainer);
	group_left(g);
	group_fire(&w);
}

unsigned group_collect(struct uk_group *g, uk_completion *out, unsigned max)
{
	unsigned n = 0;

	for (struct req *q; n < max && (q = g->ends); n++) {
		g->ends = q->next;
		if (!g->ends)
			g->ends_tail = &g->ends;
		out[n] =
		    (uk_completion){ .tag = q->tag,
				     .id = q->id,
				     .res = q->res,
				     .buf = q->has_buf ? q->buf : NULL,
				     .flags = (q->more ? UK_COMPLETION_MORE : 0) |
					      (q->frees ? UK_COMPLETION_FREE : 0) };
		req_free(g, q);
	}
	g->nends -= n;
	return n;
}

unsigned group_await(struct uk_group *g, struct parked *there, struct uk_thread *t,
		     uint64_t token, int64_t deadline)
{
	unsigned why;

	*there = (struct parked){ t, token };
	lock_release(&g->lock);
	why = wait_park(t, token, deadline);
	group_lock(g);
	if (there->thread == t)
		there->thread = NULL;
	return why;
}

unsigned group_park(struct uk_group *g, struct uk_thread *t, unsigned k, uint64_t token,
		    int64_t deadline)
{
	g->wake_at = g->ended + k;
	return group_await(g, &g->waiter, t, token, deadline);
}

/* -- waiting -- */

/* Under the lock. True: there is nothing to wait for. */
static bool enough(const struct uk_group *g, unsigned min)
{
	return g->nends >= min || !g->running;
}

static int wait_locked(struct uk_group *g, struct uk_thread *t, unsigned min,
		       int64_t deadline)
{
	bool looked = false;

	if (g->chan)
		return -EBUSY;
	while (!enough(g, min)) {
		unsigned k = MIN(min - g->nends, g->running), why;

		if (!looked) { /* collect what has completed before parking */
			looked = true;
			lock_release(&g->lock);
			sched_collect(t);
			group_lock(g);
			continue;
		}
		if (deadline == 0)
			return -ETIMEDOUT;
		if (g->waiter.thread)
			return -EBUSY;
		why = group_park(g, t, k, wait_begin(t, WAIT_IO, NULL), deadline);
		if (why != WAKE_OK && why != WAKE_SIGNAL)
			return wake_error(why);
		if (why == WAKE_SIGNAL) { /* its handler runs in rt_exit */
			lock_release(&g->lock);
			rt_exit();
			rt_enter();
			group_lock(g);
		}
	}
	return 0;
}

static int wait_ends(uk_group *g, uk_completion *out, unsigned max, unsigned min,
		     int64_t deadline)
{
	struct uk_thread *t;
	int r = rt_begin();
	unsigned n;

	if (unlikely(r))
		return r;
	if (!max || min > max)
		return -EINVAL;
	touch_write(out, max * sizeof(*out));
	t = rt_enter();
	group_lock(g);
	r = wait_locked(g, t, min, deadline);
	n = g->chan ? 0 : group_collect(g, out, max);
	lock_release(&g->lock);
	sched_inline(t, MAX(n, 1u));
	rt_exit();
	return n ? (int)n : r;
}

int uk_group_wait_any(uk_group *g, uk_completion *out, unsigned max, uk_time deadline)
{
	return wait_ends(g, out, max, 1, deadline);
}

int uk_group_wait_all(uk_group *g, uk_completion *out, unsigned max, uk_time deadline)
{
	return wait_ends(g, out, max, max, deadline);
}

/* Notes the first error among n completions; true: there is one now. */
static bool note_error(uk_group *g, const uk_completion *e, int n)
{
	for (int i = 0; i < n && !g->error; i++)
		g->error = e[i].res < 0 ? (int)e[i].res : 0;
	return g->error;
}

int uk_group_join(uk_group *g, unsigned flags, uk_time deadline)
{
	uk_completion e[JOIN_BATCH];
	int r;

	if (flags & ~UK_GROUP_CANCEL)
		return -EINVAL;
	while ((r = uk_group_wait_any(g, e, JOIN_BATCH, deadline)) > 0)
		if (note_error(g, e, r) && flags & UK_GROUP_CANCEL) {
			flags = 0;
			uk_group_cancel(g, UK_GROUP_ALL);
		}
	if (r == 0) {
		r = g->error;
		g->error = 0;
	}
	return r;
}

/* -- cancelling -- */

/* Under the lock, which is released meanwhile. */
static void deliver(struct uk_group *g, struct req *q)
{
	struct group_wake w;

	end_one(g, q, &w);
	if (g->drainer.thread) /* a chain behind it may begin */
		w.who[1] = take_out(&g->drainer);
	lock_release(&g->lock);
	group_fire(&w);
	group_lock(g);
}

/* The same; q may run in the reactor of another vp. */
static void ask_reactor(struct uk_group *g, struct uk_thread *t, struct req *q)
{
	q->pins++;
	g->pins++;
	lock_release(&g->lock);
	sched_io_cancel(t, &q->op, q->home);
	group_lock(g);
	g->pins--;
	if (--q->pins == 0 && load_relaxed(&q->state) == REQ_LATE)
		deliver(g, q);
}

/* The same; q runs. */
static void ask_end(struct uk_group *g, struct uk_thread *t, struct req *q)
{
	store_relaxed(&q->asked, 1);
	if (q->home) {
		ask_reactor(g, t, q);
	} else if (q->helper) {
		wait_cut(q->helper, ASK_CANCEL);
	} else if (drain_let_go(g, q)) {
		q->res = -ECANCELED;
		deliver(g, q);
	}
}

/* The same; all that run. */
static void ask_all(struct uk_group *g, struct uk_thread *t)
{
	for (unsigned i = 0; g->running && i < g->used; i++)
		if (load_relaxed(&g->req[i].state) == REQ_RUNNING)
			ask_end(g, t, &g->req[i]);
}

int uk_group_cancel(uk_group *g, uint64_t id)
{
	uint32_t i = (uint32_t)id - 1;
	struct uk_thread *t;
	struct req *q;
	int r = rt_begin();

	if (unlikely(r))
		return r;
	t = rt_enter();
	group_lock(g);
	q = i < g->used ? &g->req[i] : NULL;
	if (id == UK_GROUP_ALL)
		ask_all(g, t);
	else if (q && load_relaxed(&q->state) == REQ_RUNNING && q->id == id)
		ask_end(g, t, q);
	else
		r = -ENOENT;
	lock_release(&g->lock);
	rt_exit();
	return r;
}

/* -- create and destroy -- */

int uk_group_create(uk_group **out, unsigned depth)
{
	struct uk_group *g;

	if (!out || !depth || depth > DEPTH_MAX)
		return -EINVAL;
	g = aligned_alloc(CACHE_LINE, sizeof(*g) + depth * sizeof(g->req[0]));
	if (!g)
		return -ENOMEM;
	*g = (struct uk_group){ .sink.take = group_take,
				.depth = depth,
				.forks = sched_forks };
	g->ends_tail = &g->ends;
	g->held_tail = &g->held;
	g->queue_tail = &g->queue;
	lock_init(&g->lock, RANK_GROUP);
	*out = g;
	return 0;
}

void group_left(struct uk_group *g)
{
	struct parked closer = take_out(&g->closer);

	lock_release(&g->lock);
	if (closer.thread)
		wait_fire(closer.thread, closer.token, WAKE_OK);
}

/* Under the lock, which is released meanwhile: until one of its threads has left. */
static void await_left(struct uk_group *g, struct uk_thread *t)
{
	group_await(g, &g->closer, t, wait_begin_uncancelable(t, WAIT_CLOSE, NULL),
		    TIME_NEVER);
}

void uk_group_destroy(uk_group *g)
{
	struct uk_thread *t;

	if (!g)
		return;
	t = rt_enter();
	group_lock(g);
	g->closing = true;
	if (g->courier)
		wait_cut(g->courier, ASK_CANCEL);
	while (g->chan)
		await_left(g, t);
	ask_all(g, t);
	while (g->running)
		group_park(g, t, g->running,
			   wait_begin_uncancelable(t, WAIT_CLOSE, NULL), TIME_NEVER);
	while (g->draining || g->helpers)
		await_left(g, t);
	lock_release(&g->lock);
	rt_exit();
	free(g);
}
