/* SPDX-License-Identifier: Apache-2.0 */
/* touch.h - have memory of the program's be there before the runtime uses it.
 *
 * Inside the runtime a page fault keeps the vp, however long it takes (law 1; io/place.c has
 * the story), so what a call copies to and from, or looks at, is touched first, outside, in
 * the caller's own context: there the fault is his, and hand-off saves the vp. A bad pointer
 * is his, too: a signal, as with any function that is no system call. */
#ifndef BASE_TOUCH_H
#define BASE_TOUCH_H

#include "base/base.h"

/* One byte of each page of p[0..n). */
static inline void touch_read(const void *p, size_t n)
{
	const volatile char *at = p, *end = at + n;

	for (; at < end; at = (const char *)(((uintptr_t)at | (PAGE - 1)) + 1))
		(void)*at;
}

/* The same for what is to be written; the bytes stay as they are. */
static inline void touch_write(void *p, size_t n)
{
	char *at = p, *end = at + n;

	for (; at < end; at = (char *)(((uintptr_t)at | (PAGE - 1)) + 1))
		__atomic_fetch_or(at, 0, __ATOMIC_RELAXED);
}

#endif
