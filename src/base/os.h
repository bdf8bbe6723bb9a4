/* SPDX-License-Identifier: Apache-2.0 */
/* os.h - memory from the kernel by the page. Each function is a raw system call, safe
 * in a signal handler and inside the runtime. */
#ifndef BASE_OS_H
#define BASE_OS_H

#include <sys/mman.h>

#include "base/sys.h"

/* Is r, from a system call that returns an address, an error? */
static inline bool os_failed(long r)
{
	return r < 0 && r >= -4095;
}

/* Zeroed pages; NULL: no memory. */
static inline void *os_map(size_t n)
{
	long p = sysn(SYS_mmap, NULL, n, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return os_failed(p) ? NULL : (void *)(uintptr_t)p;
}

/* The same for stacks: at base, replacing what is mapped there, or anywhere if base is
 * NULL. The pages cost nothing before they are touched, not even a commitment of
 * memory. */
static inline void *os_map_stack(void *base, size_t n)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
	long p = sysn(SYS_mmap, base, n, PROT_READ | PROT_WRITE,
		      base ? flags | MAP_FIXED : flags, -1, 0);

	return os_failed(p) ? NULL : (void *)(uintptr_t)p;
}

/* p may be NULL. */
static inline void os_unmap(void *p, size_t n)
{
	if (p)
		sys2(SYS_munmap, p, n);
}

#endif
