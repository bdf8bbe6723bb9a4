/* SPDX-License-Identifier: Apache-2.0 */
/* life.h - birth and fork, for the rooms above. */
#ifndef LIFE_LIFE_H
#define LIFE_LIFE_H

#include "sched/sched.h"

/* For the drop-in: a thread that has its stack and its block at once, and whose block stays
 * until it is joined or detached, for the program knows it by the block's address. */
struct birth {
	void *stack; /* the program's own; NULL: one of ours */
	size_t size;
	void **block; /* gets it before the thread runs */
};
int thread_bear(struct uk_thread **out, const uk_attr *attr, const struct birth *b,
		void *(*fn)(void *), void *arg);

/* For who starts programs (the posix room). Does the caller run with a carrier's signal
 * mask? Then *mask is what a program is to inherit: what the process had when the runtime
 * started, and what the thread itself has changed since. Async-signal-safe. */
bool sched_child_mask(uint64_t *mask);
/* Around vfork, in the parent: while the child borrows this thread it cannot enter. */
void sched_vfork_begin(void);
void sched_vfork_end(void);
/* The child of a fork that nobody was told of: it may exec, but not enter the runtime. mask: what
 * sched_child_mask gave before, or NULL. */
void sched_fork_lost(const uint64_t *mask);

#endif
