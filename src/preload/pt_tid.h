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
int tid_nice(const struct posix_thread *pt);
long tid_set_nice(struct posix_thread *pt, int to);

/* -- pt_policy.c -- */

/* What the calls about a policy give for a user thread; as the system calls. */
long policy_set(struct posix_thread *pt, int policy, const struct sched_param *param);
long policy_get_param(const struct posix_thread *pt, struct sched_param *param);
long policy_set_attr(struct posix_thread *pt, struct sched_own *from, unsigned flags);
long policy_get_attr(struct posix_thread *pt, struct sched_own *a, unsigned size,
		     unsigned flags);
/* 0 or EINVAL. */
int policy_check(int policy, int priority);
/* The policy of a user thread. */
int policy_of(const struct posix_thread *pt, int *priority);
/* Must a thread that is created with this policy be a kernel thread? */
bool policy_apart(int policy, int priority);
/* pt begins with this policy; NULL: with its creator's. */
void policy_begins(struct posix_thread *pt, const int *policy, int priority);
/* Under pt_signal.c's lock: pt, which is not bound, is to be bound and get a, if that
 * raises its priority; else it has what it has itself. */
void policy_lend(struct posix_thread *pt, const struct sched_own *a, bool raises);
/* The caller is bound: the kernel gets what was wished for it. True: the thread's own
 * policy. */
bool policy_wished(struct posix_thread *self);

#endif
