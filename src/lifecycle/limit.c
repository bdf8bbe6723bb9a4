/* SPDX-License-Identifier: Apache-2.0 */
/* limit.c - the limit on threads that are alive (uk_thread_limit), and which thread is
 * the last one of a forked child.
 *
 * Threads are counted only while that is needed, that is, while thread_dead is set. A
 * creator takes a place, and a thread that ends gives it back (limit_gone, called by
 * thread_reap). Creators wait in FIFO order, as in the founding model.
 */
#include <stdlib.h>

#include "base/at_load.h"
#include "base/env.h"
#include "base/list.h"
#include "lifecycle/limit.h"
#include "sched/body.h"
#include "uk/thread.h"

struct limit_waiter {
	struct list link;
	struct uk_thread *t;
	uint64_t token;
};

static struct {
	struct lock lock;
	uint64_t max;  /* lock; 0 = none, and thread_dead is not set */
	uint64_t live; /* lock; counted while max != 0 */
	/* written under the lock; not 0: in a forked child without main, its threads */
	uint64_t heirs;
	struct list waiters;
} limit = { LOCK_INIT(RANK_THREADS), 0, 0, 0, LIST_INIT(limit.waiters) };

#define NO_LIMIT ((uint64_t)INT64_MAX) /* no limit, but threads are counted */

/* Under the lock. */
static void heir_born(void)
{
	if (unlikely(limit.heirs))
		store_relaxed(&limit.heirs, limit.heirs + 1);
}

/* 0, -EAGAIN (nowait), -ECANCELED, -ETIMEDOUT. */
int limit_take(struct uk_thread *t, bool nowait)
{
	struct limit_waiter w = { .t = t };
	unsigned why;

	lock_acquire(&limit.lock);
	if (!limit.max || (limit.live < limit.max && list_empty(&limit.waiters))) {
		limit.live++;
		heir_born();
		lock_release(&limit.lock);
		return 0;
	}
	if (nowait) {
		lock_release(&limit.lock);
		return -EAGAIN;
	}
	w.token = wait_begin(t, WAIT_STACK, NULL);
	list_push_back(&limit.waiters, &w.link);
	lock_release(&limit.lock);
	why = wait_park(t, w.token, TIME_NEVER);
	if (why == WAKE_OK)
		return 0; /* the thread that fired us counted us */
	lock_acquire(&limit.lock);
	list_del(&w.link);
	lock_release(&limit.lock);
	return wake_error(why);
}

/* Under the lock: as many waiters as there are free places, first come, first
 * served. */
static void limit_serve(void)
{
	while (!list_empty(&limit.waiters) && (!limit.max || limit.live < limit.max)) {
		struct limit_waiter *w = container_of(list_pop_front(&limit.waiters),
						      struct limit_waiter, link);

		if (wait_fire(w->t, w->token, WAKE_OK)) {
			limit.live++;
			heir_born();
		}
	}
}

/* unborn: its creation failed, so heir_leaves will not run for it. */
void limit_put(bool unborn)
{
	lock_acquire(&limit.lock);
	if (limit.live)
		limit.live--;
	if (unborn && limit.heirs)
		store_relaxed(&limit.heirs, limit.heirs - 1);
	limit_serve();
	lock_release(&limit.lock);
}

static void limit_gone(void)
{
	limit_put(false);
}

/* In a forked child without main: the last of its threads ends the process. */
static void heir_leaves(void)
{
	bool last = false;

	lock_acquire(&limit.lock);
	if (limit.heirs) {
		store_relaxed(&limit.heirs, limit.heirs - 1);
		last = !limit.heirs;
	}
	lock_release(&limit.lock);
	if (last)
		exit(0);
}

/* Under the lock, or while only one thread exists. */
static void set_max(uint64_t max)
{
	limit.max = max;
	store_relaxed(&hooks.thread_dead, max ? limit_gone : NULL);
}

/* In a forked child: no thread waits any more, and at most one user thread is alive. If
 * that one forked (heir), there is no main to end the process: its last thread ends it,
 * as POSIX requires, and threads are counted for that. */
void limit_rebuild(bool heir)
{
	lock_init(&limit.lock, RANK_THREADS);
	list_init(&limit.waiters);
	limit.live = limit.heirs = heir;
	store_relaxed(&hooks.thread_leaves, heir ? heir_leaves : NULL);
	if (heir ? !limit.max : limit.max == NO_LIMIT)
		set_max(heir ? NO_LIMIT : 0);
}

static int count_alive(void *obj, void *arg)
{
	const struct uk_thread *t = obj;

	*(uint64_t *)arg += load_relaxed(&t->kind) == THREAD_USER &&
			    load_relaxed(&t->state) != T_EXITED;
	return 0;
}

UK_API int uk_thread_limit(size_t max_threads)
{
	uint64_t live = 0;
	int unable = rt_begin();

	if (unlikely(unable))
		return unable;
	rt_enter();
	slab_walk(&thread_slab, count_alive, &live);
	lock_acquire(&limit.lock);
	if (!limit.max)
		limit.live = live;
	set_max(max_threads || !limit.heirs ? max_threads : NO_LIMIT);
	limit_serve();
	lock_release(&limit.lock);
	rt_exit();
	return 0;
}

static void limit_start(void)
{
	unsigned old = env_number("UK_STACK_LIMIT", 0, 1u << 30); /* until 0.3 */

	if (old)
		uk_warn("UK_STACK_LIMIT is now UK_THREAD_LIMIT");
	set_max(env_number("UK_THREAD_LIMIT", old, 1u << 30));
}

AT_LOAD(limit_register)
{
	sched_on_start(limit_start);
}
