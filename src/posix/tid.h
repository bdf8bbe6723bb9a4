/* SPDX-License-Identifier: Apache-2.0 */
/* tid.h - calls that name a thread by its id: tid.c, for syscall(2) and the end of a thread. */
#ifndef POSIX_TID_H
#define POSIX_TID_H

#include "posix/posix.h"

/* Is the system call n about a user thread? Then *r is what it gives. */
bool tid_call(long n, const long *a, long *r);
/* The processors that a thread may be bound to: their bytes, or -errno. */
long tid_processors(cpu_set_t *may);
/* What it has remembered for a thread that ends. */
void tid_died(struct posix_thread *pt);

#endif
