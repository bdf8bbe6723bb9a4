/* SPDX-License-Identifier: Apache-2.0 */
/* barrier.h - the wait at a barrier for a thread that stays arrived while a signal
 * handler interrupts it. */
#ifndef SYNC_BARRIER_H
#define SYNC_BARRIER_H

#include "sync/futex.h"

struct barrier_stay {
	struct futex_node n;
	uint32_t phase; /* in which the thread arrived */
	bool away;      /* the thread was interrupted and is to come back */
};

/* 1: the caller was the last to arrive. 0: the barrier has opened. -ECANCELED, -EINTR:
 * the caller has arrived and is to call again with the same *s, which is zero at first.
 * *away counts the threads that are to come back; it is written under the bucket's
 * lock. The barrier must not be destroyed until it is 0. */
int barrier_stay(uk_barrier *b, uint32_t *away, struct barrier_stay *s);

#endif
