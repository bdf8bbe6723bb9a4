/* SPDX-License-Identifier: Apache-2.0 */
/* A broken invariant: say so with the thread's name, dump, abort. Also the one formatter
 * that is safe in signal handlers and never allocates. */
#ifndef BASE_PANIC_H
#define BASE_PANIC_H

#include <stdarg.h>

#include "base/base.h"

/* Writes "ukthreads: panic: ..." to stderr, calls the hook (the look room sets it to print
 * the current thread), aborts. */
void uk_panic(const char *fmt, ...) NORETURN __attribute__((format(printf, 1, 2)));
extern void (*panic_hook)(void); /* set once at start */

/* Set before files_apart (files.h): the program's descriptor 2 for the thread that does not share
 * the program's, to be closed, or -errno. */
extern int (*stderr_door)(void);

/* Warn once-style messages for the user: "ukthreads: ..." on stderr. */
void uk_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* snprintf subset (%d %u %ld %lu %lld %llu %x %#x %lx %p %s %c %%, width and '-' for
 * numbers and strings), async-signal-safe; returns the length, never more than n - 1. */
size_t fmt_to(char *buf, size_t n, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
size_t fmt_tov(char *buf, size_t n, const char *fmt, va_list ap);
/* Format and write(2) to fd. */
void fmt_fd(int fd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define uk_assert(c)                                                                   \
	do {                                                                           \
		if (unlikely(!(c)))                                                    \
			uk_panic("%s:%d: %s", __FILE__, __LINE__, #c);                 \
	} while (0)
#if UK_DEBUG
#define dbg_assert(c) uk_assert(c)
#else
#define dbg_assert(c) ((void)0)
#endif

#endif
