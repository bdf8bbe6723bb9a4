/* SPDX-License-Identifier: Apache-2.0 */
/* body.h - what a thread gets for its first run, and gives back after its last: body.c. */
#ifndef SCHED_BODY_H
#define SCHED_BODY_H

#include "sched/vp.h"

extern size_t sched_stack_size;
extern bool
    stacks_eager; /* a stack comes at creation; set once, before any thread exists */
void stacks_init(void);

/* Give t, which has not run yet, its stack, TLS block and context. False: no memory. */
bool thread_start(struct uk_vp *vp, struct uk_thread *t);
/* The same for its creator; me: the drop-in's, see block_get. */
bool thread_prepare(struct uk_vp *vp, struct uk_thread *me, struct uk_thread *t);
/* t has switched away for good; joined: its joiner runs already. The owner of vp. */
void thread_reap(struct uk_vp *vp, struct uk_thread *t, bool joined);

/* The room above sets these (life/limit.c); NULL: nobody counts. Each death, in the runtime; who
 * ends, before it enters for the last time. */
extern void (*thread_dead)(void);
extern void (*thread_leaves)(void);

/* The descriptor of one that is dead and joined, or never was born. */
INLINE void thread_put(struct uk_vp *vp, struct uk_thread *t)
{
	if (unlikely(t->lasting) && t->tp) {
		tls_put(vp ? &vp->tls : NULL, t->tp);
		t->tp = NULL;
	}
	store_release(&t->kind, THREAD_FREE);
	slab_put(&thread_slab, vp ? &vp->threads : NULL, t);
	if (unlikely(!vp))
		monitor_notice(); /* something to keep, and no vp that tells of it */
}

#endif
