/* SPDX-License-Identifier: Apache-2.0 */
/* cputime.h - the CPU time of one user thread: cputime.c. */
#ifndef SCHED_CPUTIME_H
#define SCHED_CPUTIME_H

#include "sched/vp.h"

extern uint32_t cputime_asked; /* 1: some thread is counted; set once */

/* Called after a switch, before any carrier can run the thread that was left. */
void cputime_switched(struct carrier *c);
/* ns spent since it was first asked for. Called from anywhere; t is a user thread. */
int64_t cputime_of(struct uk_thread *t);
int64_t cputime_inside(struct uk_thread *t); /* The same, called inside the runtime. */
/* When t has spent `due` ns, or soon after, the kernel's timer, of CLOCK_MONOTONIC,
 * expires; it may expire earlier. due 0: no alarm. Where the library sees that t has
 * spent it, t looks for signals. Called inside the runtime; t is counted already. */
void cputime_alarm(struct uk_thread *t, int timer, int64_t due);
void cputime_forked(struct uk_thread *survivor); /* the child; survivor may be NULL */

#endif
