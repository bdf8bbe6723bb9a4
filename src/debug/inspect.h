/* SPDX-License-Identifier: Apache-2.0 */
/* inspect.h - looking at threads from outside: snapshots, backtraces.
 * Async-signal-safe. */
#ifndef DEBUG_INSPECT_H
#define DEBUG_INSPECT_H

#include "thread/thread.h"
#include "uk/stat.h"

extern uint64_t monitor_passes, monitor_events; /* monitor/monitor.c */

/* False: not a live thread of the program. */
bool inspect_thread(const struct uk_thread *t, uk_thread_info *i);
/* Copy n bytes from src, which may have been unmapped meanwhile. */
bool inspect_read(void *dst, const void *src, size_t n);
/* A dump begins, one at a time; in it, frames that are alike are printed once. */
void backtrace_begin(void);
/* Print the modules of the frames above, from which `uk symbolize` finds functions and
 * lines. */
void backtrace_end(int fd);
/* Print the frames that a parked context will return to, or the thread of this dump
 * that has the same; t must not run meanwhile. */
void backtrace_parked(int fd, const struct uk_thread *t);
/* Print the frames of the code that a signal interrupted. */
void backtrace_here(int fd, const void *ucontext);

void crash_install(void); /* SIGSEGV on a guard page, SIGQUIT */
/* *a is the kernel's action for sig. If it is ours, replace it by the one that the
 * program had. */
struct sigaction;
void crash_replaced(int sig, struct sigaction *a);

#endif
