/* SPDX-License-Identifier: Apache-2.0 */
/* stack.h - stacks of user threads: slabs of power-of-two stacks with a guard each.
 *
 * A stack is [base, base + size); its lowest guard_size bytes fault. Sizes: powers of
 * two, STACK_MIN .. STACK_MAX, given as an order (size = 1 << order). Memory is
 * reserved, not touched. The guard is MADV_GUARD_INSTALL where the kernel has it (no
 * VMA split, no vm.max_map_count wall), else mprotect(PROT_NONE); installed lazily,
 * when a stack is first handed out, and never removed.
 *
 * Reuse is LIFO: first the caller's cache (owner only, no lock), then the shared pool
 * of the order (lock), then a new slab.
 */
#ifndef MEM_STACK_H
#define MEM_STACK_H

#include "base/base.h"
#include "mem/magazine.h"

#define STACK_MIN_ORDER 13 /* 8 KiB: one guard page, one page of stack */
#define STACK_MAX_ORDER 30
#define STACK_GUARD PAGE
#define STACK_ORDERS (STACK_MAX_ORDER + 1)

/* Free stacks of one vp, linked through their top words; owner only. */
struct stack_cache {
	struct magazine free[STACK_ORDERS];
	uint64_t maps, reuses; /* counters, owner: stacks new and used before */
};

void stack_cache_init(struct stack_cache *c);
/* Lowest address of a stack of 1 << order bytes, or NULL (out of memory). c may be NULL
 * (a foreign thread): the shared pool is used. *color gets a stack-specific offset in
 * bytes (multiple of 64, < 1024) to subtract from the initial stack pointer, so that
 * the hot tops of many power-of-two stacks do not share one cache set. */
void *stack_get(struct stack_cache *c, unsigned order, unsigned *color);
void stack_put(struct stack_cache *c, void *base, unsigned order);
/* Give everything cached back to the shared pools (a vp that idles for long). */
void stack_cache_flush(struct stack_cache *c);
/* Give the pages of a parked stack below sp back to the kernel; contents below sp are
 * lost. */
void stack_trim(void *base, unsigned order, void *sp);
/* Give the pages of all stacks in the shared pools back to the kernel (a process that
 * idles, memory pressure). One system call per stack; returns their number. */
size_t stack_pool_trim(void);
/* Is addr in the guard of some stack? Async-signal-safe, lock-free. Fills base and
 * size. */
bool stack_find_guard(const void *addr, void **base, size_t *size);
/* Around fork: nobody is inside the pools. The child must not use caches of others. */
void stack_fork_lock(void);
void stack_fork_unlock(void);
uint64_t stack_mapped(void); /* stacks in existence */
/* "MADV_GUARD_INSTALL", "PROT_NONE" or "none"; UK_GUARD=madvise|mprotect|none in the
 * environment forces it (tests). */
const char *stack_guard_kind(void);

/* The smallest order that holds bytes, or 0 if too big. */
static inline unsigned stack_order(size_t bytes)
{
	unsigned order;

	if (bytes <= (size_t)1 << STACK_MIN_ORDER)
		return STACK_MIN_ORDER;
	order = 64 - (unsigned)__builtin_clzll(bytes - 1);
	return order <= STACK_MAX_ORDER ? order : 0;
}

#endif
