/* SPDX-License-Identifier: Apache-2.0 */
/* pt_memory.c - may a pointer of the program's be followed? Where libc passes it to the
 * kernel, a bad one must give EFAULT, not SIGSEGV. And what mlockall locks. */
#include <sys/mman.h>

#include "base/sys.h"
#include "mem/stack.h"
#include "preload/pt.h"

/* The words at both ends suffice: the range touches at most two pages, and an aligned
 * word lies in one. */
bool posix_readable_slow(const void *p, size_t n)
{
	uintptr_t word = ~(sizeof(uint64_t) - 1);
	uintptr_t first = (uintptr_t)p & word, last = ((uintptr_t)p + n - 1) & word;

	dbg_assert(n && n <= PAGE);
	return sys_readable((void *)first) &&
	       (first == last || sys_readable((void *)last));
}

LIBC_API int mlockall(int flags)
{
	bool user = posix_user() != NULL;
	int r;

	if (user)
		rt_enter();
	stack_lock_all();
	if (user)
		rt_exit();
	r = NEXT(mlockall)(flags);
	if (!r && flags & MCL_CURRENT && !(flags & MCL_ONFAULT))
		stack_locked_all();
	return r;
}
