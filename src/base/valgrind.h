/* SPDX-License-Identifier: Apache-2.0 */
/* valgrind.h - valgrind is told where our stacks are: else it takes a switch for a function
 * with a large frame, and all that a thread does for an access to memory that is nobody's.
 * By the requests of valgrind's own header, where the compiler found it; they are a few
 * instructions without effect outside of valgrind. */
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
