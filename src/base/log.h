/* SPDX-License-Identifier: Apache-2.0 */
/* Panics on a broken invariant, warnings, and a formatter that is safe in signal
 * handlers and never allocates. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdarg.h>

#include "base/base.h"

/* Writes "ukthreads: panic: ..." to stderr, calls hooks.panic, aborts. */
void uk_panic(const char *fmt, ...) NORETURN __attribute__((format(printf, 1, 2)));

/* Writes a warning for the user: "ukthreads: ..." on stderr. */
void uk_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A subset of snprintf (%d %u %ld %lu %lld %llu %x %#x %lx %p %s %c %%, z for l, a
 * width and '-' for numbers and strings, '0' for numbers). Async-signal-safe. Returns
 * the length written, never more than n - 1. */
size_t fmt_to(char *buf, size_t n, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
size_t fmt_tov(char *buf, size_t n, const char *fmt, va_list ap);
/* Formats and writes to fd. */
void fmt_fd(int fd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define uk_assert(c)                                                                   \
	do {                                                                           \
		if (unlikely(!(c)))                                                    \
			uk_panic("%s:%d: %s", __FILE__, __LINE__, #c);                 \
	} while (0)
#if UK_CHECKS
#define dbg_assert(c) uk_assert(c)
#else
#define dbg_assert(c) ((void)0)
#endif

#endif
