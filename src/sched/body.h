/* SPDX-License-Identifier: Apache-2.0 */
/* body.h - what a thread gets before its first run and gives back after its last:
 * body.c. */
#ifndef SCHED_BODY_H
#define SCHED_BODY_H

#include "sched/vp.h"

extern size_t sched_stack_size;
/* stacks come at creation; set once, before any thread exists */
extern bool stacks_eager;
void stacks_init(void);

/* Gives t, which has not run yet, its stack, thread block and context. False: no
 * memory. */
bool thread_start(struct uk_vp *vp, struct uk_thread *t);
/* The same, called by t's creator. me: see block_get. */
bool thread_prepare(struct uk_vp *vp, struct uk_thread *me, struct uk_thread *t);
/* t has exited and switched away. joined: its joiner already runs. Called by the owner
 * of vp. */
void thread_reap(struct uk_vp *vp, struct uk_thread *t, bool joined);

/* Frees the descriptor of a dead thread that was joined or detached. */
INLINE void thread_put(struct uk_vp *vp, struct uk_thread *t)
{
	if (unlikely(t->lasting) && t->tp) {
		tls_put(vp ? &vp->tls : NULL, t->tp);
		t->tp = NULL;
	}
	store_release(&t->kind, THREAD_FREE);
	slab_put(&thread_slab, vp ? &vp->threads : NULL, t);
	if (unlikely(!vp))
		/* the keeper may give memory back, and no vp reports it */
		monitor_notice();
}

#endif
