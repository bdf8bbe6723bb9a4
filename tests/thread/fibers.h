/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest scheduler that can show what thread blocks are worth: functions on a
 * stack and a block of their own, run by a few kernel threads from one queue, so that a
 * fiber is on another kernel thread after nearly every yield. Usable from C and C++. */
#ifndef TESTS_THREAD_FIBERS_H
#define TESTS_THREAD_FIBERS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fiber;

/* tls_init, or exit 77 where the method that UK_TLS asks for does not exist. */
void fibers_init(void);
/* Run fn(arg) once per fiber on `workers` kernel threads, until all have ended. Each
 * runs its destructors at its end. */
void fibers_run(unsigned workers, unsigned n, void (*fn)(void *), void *const *args);
/* One fiber on the calling kernel thread. */
void fiber_run_one(void (*fn)(void *), void *arg);
/* By a fiber: let others run; returns maybe on another kernel thread. */
void fiber_yield(void);
int fiber_tid(void);
void *fiber_stack(size_t *size);
/* How often a fiber was continued by another kernel thread than before. */
unsigned long fibers_migrations(void);
/* Re-executes the program once per method with UK_TLS set, and returns the worst
 * status; inside such a run returns -1: go on. */
int fibers_each_method(int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif
