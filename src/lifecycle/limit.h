/* SPDX-License-Identifier: Apache-2.0 */
/* limit.h - the limit on threads that are alive: limit.c. */
#ifndef LIFECYCLE_LIMIT_H
#define LIFECYCLE_LIMIT_H

#include "sched/body.h"

/* Is there a limit, or are threads counted for another reason? */
static inline bool limit_on(void)
{
	return load_relaxed(&hooks.thread_dead) != NULL;
}
/* Takes a place for a new thread: 0, -EAGAIN (nowait), -ECANCELED, -ETIMEDOUT. */
int limit_take(struct uk_thread *t, bool nowait);
/* Gives it back. unborn: the creation failed, so the thread will not end, either. */
void limit_put(bool unborn);
/* In the child of a fork. heir: a user thread forked, and main no longer exists. */
void limit_rebuild(bool heir);

#endif
