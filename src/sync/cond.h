/* SPDX-License-Identifier: Apache-2.0 */
/* cond.h - the core of every condition: uk_cond, and the drop-in's in libc's object. */
#ifndef SYNC_COND_H
#define SYNC_COND_H

#include "sync/mutex.h"

struct cond {
	const void *key;
	uint32_t *waiters;   /* how many; NULL: nobody keeps count */
	enum wait_kind kind; /* for who asks what a thread waits for */
};

/* In the runtime, before the mutex is let go: t waits on c from now on. n->arg: the mutex's
 * word, n->tag its enum wait_kind, for whom c signals is moved to its queue; n->arg NULL:
 * he is just woken. Cancellation ends the wait. */
void cond_queue(const struct cond *c, struct uk_thread *t, struct futex_node *n);
/* After wait_park: was he signalled? *woken: he holds the mutex's WOKEN bit. n->state HANDED:
 * he holds the mutex. */
bool cond_settle(const struct cond *c, struct futex_node *n, unsigned why, bool *woken);
/* Signal up to most waiters; returns how many. */
uint32_t cond_wake(const struct cond *c, uint32_t most);

#endif
