/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest scheduler that can test thread blocks. Functions run on a stack and a
 * thread block of their own. A few kernel threads run them from one queue, so that a
 * fiber is on another kernel thread after nearly every yield. Usable from C and C++. */
#ifndef TESTS_THREAD_FIBERS_H
#define TESTS_THREAD_FIBERS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fiber;

/* Calls tls_init. Exits with 77 if the method that UK_DEBUG asks for does not exist. */
void fibers_init(void);
/* Runs fn(arg) once in each of n fibers, on `workers` kernel threads, until all have
 * ended. Each fiber runs its destructors at its end. */
void fibers_run(unsigned workers, unsigned n, void (*fn)(void *), void *const *args);
/* Runs one fiber on the calling kernel thread. */
void fiber_run_one(void (*fn)(void *), void *arg);
/* Called by a fiber: lets others run. It may return on another kernel thread. */
void fiber_yield(void);
int fiber_tid(void);
void *fiber_stack(size_t *size);
/* How often a fiber was continued by another kernel thread than before. */
unsigned long fibers_migrations(void);
/* Executes the program again for each method, with UK_DEBUG=tls set, and returns the
 * worst exit status. In such a run it returns -1 at once. */
int fibers_each_method(int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif
