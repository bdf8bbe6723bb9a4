/* SPDX-License-Identifier: Apache-2.0 */
/* stack.h - stacks of user threads: slabs of power-of-two stacks with a guard each.
 *
 *   | guard: faults ...... | stack ............... |
 *                      base^                       ^base + size
 *
 * A stack is [base, base + size). A frame that is larger than the guard can jump over
 * it into the neighbour's stack. Memory is reserved, not touched. The guard is
 * MADV_GUARD_INSTALL where the kernel has it (it splits no VMA, so vm.max_map_count is
 * no limit), else mprotect(PROT_NONE). It is installed lazily, when a stack is first
 * handed out.
 *
 * A thread that is to have fewer bytes than the power of two begins below the top. So
 * it overflows where it should, and the next thread with the stack may have another
 * size.
 *
 * The kind of a stack encodes both sizes: order % 32 | class << 5, size = 1 << order.
 * Class 0 is the default guard, class c one of PAGE << 2 * (c - 1). So an order below
 * 32 is a kind; there is no order 32, whose kind would be 0.
 *
 * Reuse is LIFO: first the caller's cache (owner only, no lock), then the shared pool
 * of the kind (lock), then a stack that gave its memory back, then a new one. */
#ifndef MEM_STACK_H
#define MEM_STACK_H

#include "base/base.h"
#include "mem/magazine.h"

#define STACK_MIN_ORDER 13 /* 8 KiB */
#define STACK_MAX_ORDER 40 /* 1 TiB: numerical programs ask for some GiB */
#define STACK_CLASSES 8
#define STACK_KINDS (32 * STACK_CLASSES)
#define STACK_MAX_GUARD (PAGE << 2 * (STACK_CLASSES - 2)) /* 16 MiB */

/* Free stacks of one vp, linked through their top words; owner only. */
struct stack_cache {
	struct magazine free[STACK_KINDS];
	uint64_t maps, reuses; /* counters, owner: new stacks, and used ones */
};

void stack_cache_init(struct stack_cache *c);
/* The lowest address of a stack of this kind, or NULL (out of memory). c may be NULL (a
 * foreign thread): the shared pool is used. */
void *stack_get(struct stack_cache *c, unsigned kind);
/* top: where the thread began. What describes the free stack lies there, in a line that
 * is hot. */
void stack_put_from(struct stack_cache *c, void *base, void *top, unsigned kind);
/* Gives the pages of a parked stack below sp back to the kernel; their contents are
 * lost. */
void stack_trim(void *base, void *sp);
/* Gives everything cached to the shared pools. Called by the owner. */
void stack_cache_flush(struct stack_cache *c);
/* Sets the default guard, before the first stack is made. */
void stack_set_guard(size_t bytes);
size_t stack_guard_size(unsigned kind);
/* Says that address space is rationed, so that free stacks do not keep much of it.
 * Called before the first stack is made. */
void stack_ration(void);
/* Unmaps the free stacks of all kinds, as far as possible. False: nothing was
 * unmapped. */
bool stack_release(void);
/* mlockall(2) is about to lock, and count, all that is mapped, or all that will be:
 * unmaps what no thread uses, and from now on reserves little ahead. */
void stack_lock_all(void);
/* It has locked all. Where guards are markers, the kernel has stopped at the first of
 * each slab: gives all stacks their pages. */
void stack_locked_all(void);
/* From now on guards are installed one by one, never by process_madvise(2). */
void stack_guards_singly(void);

/* For the keeper, one thread at a time (cold.c). A round is stack_keep_begin, then
 * stack_keep_step, one batch of stacks each, until it returns false. stack_keep_more: a
 * later round has something to do. */
void stack_keep_begin(void);
bool stack_keep_step(void);
bool stack_keep_more(void);

/* Is addr in the guard of a stack? Async-signal-safe, lock-free. Fills *base and
 * *size. */
bool stack_find_guard(const void *addr, void **base, size_t *size);
/* Around fork: no thread is inside the pools. The child must not use the caches of
 * others. */
void stack_fork_lock(void);
void stack_fork_unlock(void);
uint64_t stack_mapped(void); /* stacks that have their guard */
/* "MADV_GUARD_INSTALL", "PROT_NONE" or "none"; UK_DEBUG=guard=madvise|mprotect|none
 * forces it (tests). */
const char *stack_guard_kind(void);

/* The smallest order that holds bytes, or 0 if bytes is too large. */
static inline unsigned stack_order(size_t bytes)
{
	unsigned order;

	if (bytes <= (size_t)1 << STACK_MIN_ORDER)
		return STACK_MIN_ORDER;
	order = 64 - (unsigned)__builtin_clzll(bytes - 1);
	order += order == 32;
	return order <= STACK_MAX_ORDER ? order : 0;
}

static inline bool stack_guard_is_default(unsigned kind)
{
	return kind < 32;
}

static inline unsigned stack_kind_order(unsigned kind)
{
	unsigned order = kind & 31;

	return order < STACK_MIN_ORDER ? order + 32 : order;
}

static inline size_t stack_size(unsigned kind)
{
	return (size_t)1 << stack_kind_order(kind);
}

static inline void stack_put(struct stack_cache *c, void *base, unsigned kind)
{
	stack_put_from(c, base, (char *)base + stack_size(kind), kind);
}

/* The kind that holds bytes, with a guard of at least `guard` bytes (0: the default).
 * Returns 0 if one of them is too large. */
static inline unsigned stack_kind(size_t bytes, size_t guard)
{
	unsigned order = stack_order(bytes), class = 0;

	if (guard > STACK_MAX_GUARD || !order)
		return 0;
	while (guard && guard > PAGE << 2 * class)
		class ++;
	return order % 32 | (guard ? class + 1 : 0) << 5;
}

#endif
