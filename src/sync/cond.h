/* SPDX-License-Identifier: Apache-2.0 */
/* cond.h - the core of every condition: uk_cond, and the drop-in's in libc's object. */
#ifndef SYNC_COND_H
#define SYNC_COND_H

#include "sync/mutex.h"

/* Who runs a handler in the midst of his wait; zero when nobody does. Bucket's lock. */
struct cond_away {
	uint32_t threads;
	uint32_t wakes; /* signals and broadcasts since the first of them went */
};

struct cond {
	const void *key;
	uint32_t *waiters;      /* how many, also away; NULL: nobody keeps count */
	struct cond_away *away; /* or NULL */
	enum wait_kind kind;    /* for who asks what a thread waits for */
};

/* In the runtime, before the mutex is let go: t waits on c from now on. n->arg: the mutex's
 * word, n->tag its enum wait_kind, for whom c signals is moved to its queue; n->arg NULL:
 * he is just woken. Cancellation ends the wait. */
void cond_queue(const struct cond *c, struct uk_thread *t, struct futex_node *n);
/* After wait_park: was he signalled? *woken: he holds the mutex's WOKEN bit. n->state HANDED:
 * he holds the mutex. */
bool cond_settle(const struct cond *c, struct futex_node *n, unsigned why, bool *woken);
/* After wait_park: he was cut short by a handler's signal, and leaves the queue until the handler
 * has run; false: he has been signalled. Then cond_return: he is in the queue again, to park;
 * false: somebody was signalled meanwhile, and it may have been meant for him. Or, if he never
 * comes back, cond_gone, outside the runtime. */
bool cond_leave(const struct cond *c, struct futex_node *n, uint32_t *wakes);
bool cond_return(const struct cond *c, struct uk_thread *t, struct futex_node *n,
		 uint32_t wakes);
void cond_gone(const struct cond *c);
/* All who left have returned: after a broadcast the object may go. */
static inline bool cond_nobody_away(const struct cond_away *a)
{
	return !load_acquire(&a->threads);
}
/* One sleep until then, at most, outside the runtime: 0 or what cut it. */
int cond_await_away(const struct cond_away *a);
/* Signal up to most waiters; returns how many. */
uint32_t cond_wake(const struct cond *c, uint32_t most);

#endif
