/* SPDX-License-Identifier: Apache-2.0 */
/* os.h - the one door to the kernel's odd jobs: memory by the page. Each is a raw system call,
 * safe in a signal handler and inside the runtime. */
#ifndef BASE_OS_H
#define BASE_OS_H

#include <sys/mman.h>

#include "base/sys.h"

/* Is what a call gave that returns addresses an error? */
static inline bool os_failed(long r)
{
	return r < 0 && r >= -4095;
}

/* Zeroed pages; NULL: there are none. */
static inline void *os_map(size_t n)
{
	long p = sysn(SYS_mmap, NULL, n, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return os_failed(p) ? NULL : (void *)(uintptr_t)p;
}

/* The same for stacks: at base, over what is there, or anywhere (NULL). Pages cost nothing, not
 * even a promise, before they are touched. */
static inline void *os_map_stack(void *base, size_t n)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
	long p = sysn(SYS_mmap, base, n, PROT_READ | PROT_WRITE,
		      base ? flags | MAP_FIXED : flags, -1, 0);

	return os_failed(p) ? NULL : (void *)(uintptr_t)p;
}

/* NULL is nothing. */
static inline void os_unmap(void *p, size_t n)
{
	if (p)
		sys2(SYS_munmap, p, n);
}

#endif
