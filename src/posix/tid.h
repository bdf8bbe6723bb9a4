/* SPDX-License-Identifier: Apache-2.0 */
/* tid.h - calls that name a thread by its id: tid.c, for syscall(2) and the end of a thread. */
#ifndef POSIX_TID_H
#define POSIX_TID_H

#include "posix/posix.h"

/* Is the system call n about a user thread? Then *r is what it gives. */
bool tid_call(long n, const long *a, long *r);
/* The processors that a thread may be bound to: their bytes, or -errno. */
long tid_processors(cpu_set_t *may);
/* clock.c: the same for clocks of CPU time. */
bool clock_call(long n, const long *a, long *r);
/* A timer cannot count a user thread's time: the clock of the kernel thread that runs it. */
clockid_t clock_of_timer(clockid_t clock);
/* What it has remembered for a thread that ends. */
void tid_died(struct posix_thread *pt);

#endif
