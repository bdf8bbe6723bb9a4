/* SPDX-License-Identifier: Apache-2.0 */
/* limit.h - how many threads may be alive: limit.c. */
#ifndef LIFE_LIMIT_H
#define LIFE_LIMIT_H

#include "sched/body.h"

/* Is there one, or are threads counted for another reason? */
static inline bool limit_on(void)
{
	return load_relaxed(&thread_dead) != NULL;
}
/* A place for one that is to be born: 0, -EAGAIN (nowait), -ECANCELED, -ETIMEDOUT. */
int limit_take(struct uk_thread *t, bool nowait);
/* Back. unborn: its creation failed, so it does not end, either. */
void limit_put(bool unborn);
/* The child of a fork; heir: a user thread forked, main is no more. */
void limit_rebuild(bool heir);

#endif
