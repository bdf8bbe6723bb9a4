/* SPDX-License-Identifier: Apache-2.0 */
/* pt_cputime.h - the CPU time of one user thread: pt_cputime.c. */
#ifndef PRELOAD_PT_CPUTIME_H
#define PRELOAD_PT_CPUTIME_H

#include "sched/vp.h"

/* ns spent since it was first asked for. Called from anywhere; t is a user thread. */
int64_t cputime_of(struct uk_thread *t);
int64_t cputime_inside(struct uk_thread *t); /* The same, called inside the runtime. */
/* When t has spent `due` ns, or soon after, the kernel's timer, of CLOCK_MONOTONIC,
 * expires; it may expire earlier. due 0: no alarm. Where the library sees that t has
 * spent it, t looks for signals. Called inside the runtime; t is counted already. */
void cputime_alarm(struct uk_thread *t, int timer, int64_t due);

#endif
