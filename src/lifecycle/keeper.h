/* SPDX-License-Identifier: Apache-2.0 */
/* keeper.h - the kernel thread that gives unused memory back to the kernel:
 * keeper.c. */
#ifndef LIFECYCLE_KEEPER_H
#define LIFECYCLE_KEEPER_H

#include "base/base.h"
#include "base/lock.h"

/* Asks for a round; false: one is under way. Called by the monitor. */
bool keeper_call(int64_t every);
/* True: a round is under way, or the last one left something, or something was freed
 * since. */
bool keeper_left(void);
void keeper_forget(void);     /* in a forked child */
extern struct lock keep_lock; /* held by the keeper for a portion of its work */
extern uint64_t keeper_portions, keeper_cuts;

#endif
