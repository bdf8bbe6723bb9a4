/* SPDX-License-Identifier: Apache-2.0 */
/* touch.h - touch the program's memory before the runtime uses it.
 *
 * A page fault inside the runtime keeps the vp for as long as it lasts (law 1,
 * docs/ARCHITECTURE.md; io/place.c says more). So a caller touches the memory that a
 * call copies from or to, or looks at, before it enters the runtime: there the fault is
 * the caller's own, and a hand-off saves the vp. A bad pointer then raises a signal in
 * the caller, as with any function that is not a system call. */
#ifndef BASE_TOUCH_H
#define BASE_TOUCH_H

#include "base/base.h"

/* Reads one byte of each page of p[0..n). */
static inline void touch_read(const void *p, size_t n)
{
	const volatile char *at = p, *end = at + n;

	for (; at < end; at = (const char *)(((uintptr_t)at | (PAGE - 1)) + 1))
		(void)*at;
}

/* The same for memory that is to be written; the bytes do not change. */
static inline void touch_write(void *p, size_t n)
{
	char *at = p, *end = at + n;

	for (; at < end; at = (char *)(((uintptr_t)at | (PAGE - 1)) + 1))
		__atomic_fetch_or(at, 0, __ATOMIC_RELAXED);
}

#endif
