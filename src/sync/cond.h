/* SPDX-License-Identifier: Apache-2.0 */
/* cond.h - the core of every condition: uk_cond, and the preload library's in libc's
 * object. */
#ifndef SYNC_COND_H
#define SYNC_COND_H

#include "sync/mutex.h"

/* Threads that run a signal handler in the middle of their wait; zero while there are
 * none. Under the bucket's lock. */
struct cond_away {
	uint32_t threads;
	uint32_t wakes; /* signals and broadcasts since the first of them left */
};

struct cond {
	const void *key;
	uint32_t *waiters; /* how many, with those that are away; NULL: not counted */
	struct cond_away *away; /* or NULL */
	enum wait_kind kind;    /* what the thread is shown to wait for */
};

/* In the runtime, before the mutex is released: t waits on c from now on. n->arg is the
 * mutex's word and n->tag its enum wait_kind; a signalled waiter is moved to the queue
 * of that mutex. If n->arg is NULL, the waiter is only woken. Cancellation ends the
 * wait. */
void cond_queue(const struct cond *c, struct uk_thread *t, struct futex_node *n);
/* After wait_park: has the thread been signalled? *woken: it holds the mutex's WOKEN
 * bit. If n->state is HANDED, it holds the mutex. */
bool cond_settle(const struct cond *c, struct futex_node *n, unsigned why, bool *woken);
/* After a wait_park that a signal ended: the thread leaves the queue until the signal's
 * handler has run. False: it has been signalled. Afterwards it calls cond_return: it is
 * in the queue again and parks. False: a thread was signalled meanwhile, and this one
 * may have been meant. A thread that never comes back calls cond_gone, outside the
 * runtime. */
bool cond_leave(const struct cond *c, struct futex_node *n, uint32_t *wakes);
bool cond_return(const struct cond *c, struct uk_thread *t, struct futex_node *n,
		 uint32_t wakes);
void cond_gone(const struct cond *c);
/* All threads that left have returned: after a broadcast the object may be
 * destroyed. */
static inline bool cond_nobody_away(const struct cond_away *a)
{
	return !load_acquire(&a->threads);
}
/* Outside the runtime: sleeps for that, at most once. Returns 0 or why the sleep
 * ended. */
int cond_await_away(const struct cond_away *a);
/* Signal up to `most` waiters; returns how many. */
uint32_t cond_wake(const struct cond *c, uint32_t most);

#endif
