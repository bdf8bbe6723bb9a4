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
int64_t
cputime_inside(struct uk_thread *t); /* the same, of who is inside the runtime */
/* Once t has spent `due` ns, or soon after, the kernel's timer expires, which is one of
 * CLOCK_MONOTONIC; it may expire before. 0: it does not. Where t is seen to have spent it, t looks
 * for signals. Inside the runtime; t was asked about. */
void cputime_alarm(struct uk_thread *t, int timer, int64_t due);
void cputime_forked(struct uk_thread *survivor); /* the child; it may be NULL */

#endif
