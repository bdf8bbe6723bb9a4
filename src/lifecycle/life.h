/* SPDX-License-Identifier: Apache-2.0 */
/* life.h - birth and fork of threads, for the layers above. */
#ifndef LIFECYCLE_LIFE_H
#define LIFECYCLE_LIFE_H

#include "sched/sched.h"

/* For the preload library: a thread that has its stack and its thread block at once.
 * The block stays until the thread is joined or detached, because the program knows the
 * thread by the block's address. */
struct birth {
	void *stack; /* the program's own; NULL: one of ours */
	size_t size;
	void **block; /* set before the thread runs */
};
int thread_bear(struct uk_thread **out, const uk_thread_attr *attr,
		const struct birth *b, void *(*fn)(void *), void *arg);
/* A thread that thread_bear has made does not run before this. */
void thread_begin(struct uk_thread *t);

/* For code that starts programs (posix, spawn). Does the caller run with a carrier's
 * signal mask? Then *mask is the mask that a program is to inherit: the process's when
 * the runtime started, with the changes that the thread itself has made since.
 * Async-signal-safe. */
bool sched_child_mask(uint64_t *mask);
/* Around vfork, in the parent: while the child borrows this thread, the thread cannot
 * enter the runtime. */
void sched_vfork_begin(void);
void sched_vfork_end(void);
/* In the child of a fork without our handlers: it may exec, but not enter the runtime.
 * mask: what sched_child_mask gave before, or NULL. */
void sched_fork_lost(const uint64_t *mask);

#endif
