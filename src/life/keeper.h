/* SPDX-License-Identifier: Apache-2.0 */
/* keeper.h - the kernel thread that gives memory back: keeper.c. */
#ifndef LIFE_KEEPER_H
#define LIFE_KEEPER_H

#include "base/base.h"
#include "base/lock.h"

/* A round; false: one is being made. The monitor. */
bool keeper_call(int64_t every);
/* A round is being made, or the last one left something, or somebody has since. */
bool keeper_left(void);
void keeper_forget(void);     /* a forked child */
extern struct lock keep_lock; /* held by the keeper for a portion of its work */
extern uint64_t keeper_portions, keeper_cuts;

#endif
