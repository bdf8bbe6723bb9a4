/* SPDX-License-Identifier: Apache-2.0 */
/* tid.h - calls that name a thread by its id: tid.c, for syscall(2) and the end of a thread. */
#ifndef POSIX_TID_H
#define POSIX_TID_H

#include "posix/posix.h"

#define NAME_SIZE 16 /* of a thread, as the kernel has it */

/* Is the system call n about a user thread? Then *r is what it gives. */
bool tid_call(long n, const long *a, long *r);
/* The processors that a thread may be bound to: their bytes, or -errno. */
long tid_processors(cpu_set_t *may);
/* clock.c: the same for clocks of CPU time. */
bool clock_call(long n, const long *a, long *r);
/* timer.c: the same for timers on such a clock, or that signal a user thread. */
bool timer_call(long n, const long *a, long *r);
/* 1: it is the clock of the user thread with this gettid(); 0: of none; -EINVAL: that has ended. */
int clock_counts(clockid_t clock, uint32_t *tid);
/* What it has remembered for a thread that ends. */
void tid_died(struct posix_thread *pt);

#endif
