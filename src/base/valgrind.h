/* SPDX-License-Identifier: Apache-2.0 */
/* valgrind.h - tells valgrind where our stacks are. Otherwise it takes a switch for a
 * function with a large frame, and each access of a user thread for one to unallocated
 * memory. This uses the requests in valgrind's own header, if the compiler found it: a
 * few instructions without effect outside valgrind. */
#ifndef BASE_VALGRIND_H
#define BASE_VALGRIND_H

#include "base/base.h"

#if UK_HAVE_VALGRIND
#include <valgrind/valgrind.h>

static inline bool on_valgrind(void)
{
	return RUNNING_ON_VALGRIND;
}

/* [low, low + size) is a stack from now on. */
static inline void valgrind_stack(uintptr_t low, size_t size)
{
	if (unlikely(on_valgrind()))
		(void)VALGRIND_STACK_REGISTER(low, low + size);
}
#else
static inline bool on_valgrind(void)
{
	return false;
}

static inline void valgrind_stack(uintptr_t low UNUSED, size_t size UNUSED) {}
#endif

#endif
