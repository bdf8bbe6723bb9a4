/* SPDX-License-Identifier: Apache-2.0 */
/* cputime.h - the CPU time of one user thread: cputime.c. */
#ifndef SCHED_CPUTIME_H
#define SCHED_CPUTIME_H

#include "sched/vp.h"

extern uint32_t cputime_asked; /* somebody has asked for one's; set once */

/* After a switch, before anybody else may run who was left. */
void cputime_switched(struct carrier *c);
/* ns since it was first asked for. From anywhere; t is a user thread. */
int64_t cputime_of(struct uk_thread *t);
/* The kernel thread that runs t, or ran it last; 0: it never ran. */
int cputime_tid(const struct uk_thread *t);
void cputime_forked(struct uk_thread *survivor); /* the child; it may be NULL */

#endif
