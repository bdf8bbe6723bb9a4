/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - may the program's pointer be followed? Where libc hands it to the kernel, a bad one
 * is EFAULT and no SIGSEGV. */
#include "base/sys.h"
#include "posix/posix.h"

/* By the words with its ends, which are not two pages apart; an aligned word is in one page. */
bool posix_readable_slow(const void *p, size_t n)
{
	uintptr_t word = ~(sizeof(uint64_t) - 1);
	uintptr_t first = (uintptr_t)p & word, last = ((uintptr_t)p + n - 1) & word;

	dbg_assert(n && n <= PAGE);
	return sys_readable((void *)first) &&
	       (first == last || sys_readable((void *)last));
}
