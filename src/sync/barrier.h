/* SPDX-License-Identifier: Apache-2.0 */
/* barrier.h - the wait at a barrier, for who may be cut short and has arrived all the same. */
#ifndef SYNC_BARRIER_H
#define SYNC_BARRIER_H

#include "sync/futex.h"

struct barrier_stay {
	struct futex_node n;
	uint32_t phase; /* in which he arrived */
	bool away;      /* he was cut short, and is to come back */
};

/* 1: the caller was the last to arrive. 0: the barrier has opened. -ECANCELED, -EINTR: he has
 * arrived, and comes back with the same stay, which begins as zero. *away: how many are to come
 * back; bucket's lock to write. Until it is 0 the barrier must not go. */
int barrier_stay(uk_barrier *b, uint32_t *away, struct barrier_stay *s);

#endif
