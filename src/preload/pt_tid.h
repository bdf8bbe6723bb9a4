/* SPDX-License-Identifier: Apache-2.0 */
/* pt_tid.h - calls that name a thread by its id (pt_tid.c), for syscall(2) and a
 * thread's end. */
#ifndef PRELOAD_PT_TID_H
#define PRELOAD_PT_TID_H

#include "preload/pt.h"

#define NAME_SIZE 16 /* of a thread's name in the kernel */

/* Is system call n about a user thread? Then *r is its result. */
bool tid_call(long n, const long *a, long *r);
/* The CPUs that a thread may be bound to: their bytes, or -errno. */
long tid_processors(cpu_set_t *may);
/* pt_clock.c: the same for CPU-time clocks. */
bool clock_call(long n, const long *a, long *r);
/* pt_timer.c: the same for timers on such a clock, or that signal a user thread. */
bool timer_call(long n, const long *a, long *r);
/* 1: it is the clock of the user thread with this gettid(), and counts from now on; 0:
 * of none; -EINVAL: that thread has ended. */
int clock_counts(clockid_t clock, uint32_t *tid);
/* Frees what is remembered for a thread that ends. */
void tid_died(struct posix_thread *pt);

#endif
