/* SPDX-License-Identifier: Apache-2.0 */
/* Used by every file: attributes, container_of, sizes. */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include <errno.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define NOINLINE __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))
#define COLD __attribute__((cold, noinline))
#define UNUSED __attribute__((unused))
#define NORETURN __attribute__((noreturn))
#define CACHE_LINE 64
#define LINE_ALIGNED __attribute__((aligned(CACHE_LINE)))

#define container_of(p, type, member) ((type *)((char *)(p)-offsetof(type, member)))
#define array_size(a) (sizeof(a) / sizeof((a)[0]))
/* These evaluate each argument once: it may be a clock, or a field that other threads
 * write. */
#define MIN(a, b)                                                                      \
	({                                                                             \
		__auto_type min_a = (a);                                               \
		__auto_type min_b = (b);                                               \
		min_a < min_b ? min_a : min_b;                                         \
	})
#define MAX(a, b)                                                                      \
	({                                                                             \
		__auto_type max_a = (a);                                               \
		__auto_type max_b = (b);                                               \
		max_a > max_b ? max_a : max_b;                                         \
	})

#define PAGE ((size_t)4096)
#define NS_PER_US 1000LL
#define NS_PER_MS 1000000LL
#define NS_PER_SEC 1000000000LL
#define TIME_NEVER INT64_MAX

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UK_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define UK_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define UK_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define UK_TSAN 1
#endif
#ifndef UK_ASAN
#define UK_ASAN 0
#endif
#ifndef UK_TSAN
#define UK_TSAN 0
#endif
#ifndef UK_CHECKS
#define UK_CHECKS 0
#endif
#ifndef UK_HOSTILE
#define UK_HOSTILE 0
#endif

#endif
