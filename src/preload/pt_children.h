/* SPDX-License-Identifier: Apache-2.0 */
/* pt_children.h - what ties a child to the thread that made it (pt_children.c). */
#ifndef PRELOAD_PT_CHILDREN_H
#define PRELOAD_PT_CHILDREN_H

#include <stdbool.h>

/* Before a fork without handlers (clone). */
void children_fork(void);
/* A fd that becomes readable when a child is traced; -1: one may be already, so only
 * the kernel can wait for a child. */
int children_notice(void);
/* The calling user thread ends. */
void children_orphaned(void);
/* The calling user thread has just been bound to its kernel thread. */
void children_bound(void);
/* ptrace(2) and its four arguments; the result or -errno. */
long children_ptrace(const long *a);
/* Before prctl(2). False, with ENOMEM: it must not be made. */
bool children_prctl(const long *a);

#endif
