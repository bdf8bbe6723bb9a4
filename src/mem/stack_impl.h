/* SPDX-License-Identifier: Apache-2.0 */
/* What stack.c and cold.c share. */
#ifndef MEM_STACK_IMPL_H
#define MEM_STACK_IMPL_H

#include "base/list.h"
#include "mem/stack.h"

#if UK_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

#define SLAB_MOST 1024u /* stacks in a slab */

/* Of a free stack; in the very line where its next thread starts (below the colour). */
struct idle {
	struct mag_node node;
	void *base;
};

/* One mapping. A descriptor's memory is never another thing: a signal handler looks it up. (The first word
 * of a slab object is not for data that readers without a lock use.)
 *
 *   fresh  --its stacks are handed out, `used` of them--> (neither list)
 *   any    --cold.c gives a stack's pages back----------> chilled, while ncold > 0
 *   chilled --all that were used are cold---------------> mapped anew, fresh
 *   the same, where address space is wanted (stack_release), or
 *   fresh, none of it used------------------------------> gone: unmapped, and the descriptor free
 */
struct stack_slab {
	void *link;
	uintptr_t base; /* the first guard's start; 0 until the rest is written */
	size_t bytes, stride;
	unsigned kind, n;
	/* all below: pool's lock */
	unsigned used; /* the first so many were handed out and have their guard */
	unsigned
	    ncold; /* bits set in cold: free, without pages: given back, or never had */
	struct list fresh, chilled;
	uint64_t cold[SLAB_MOST / 64];
};

struct pool {
	struct mag_pool mag;
	struct list fresh, chilled; /* slabs, see above; mag's lock */
	uint32_t nchilled; /* of them; mag's lock to write, anyone reads: a hint */
	size_t mapped;     /* mag's lock; stacks in all slabs */
} LINE_ALIGNED;

extern struct pool stack_pools[STACK_KINDS];
extern uint64_t stack_handed; /* stacks with a guard; atomic add */

static inline size_t stack_gap(unsigned kind)
{
	return stack_guard_size(kind) - STACK_GUARD;
}

struct idle *stack_idle(void *base, unsigned kind);
bool stack_map(struct stack_slab *s); /* at s->base, or anywhere if 0 */
/* It is in no list, and nobody has a stack of it: it goes. */
void stack_slab_end(struct pool *p, struct stack_slab *s);
extern bool stack_rationed;  /* set once, before the first stack */
extern uint64_t stack_spare; /* if so: bytes of free stacks in the pools; atomic add */
/* Under the pool's lock: a stack without pages, NULL if there is none. */
void *stack_cold_get(struct pool *p);
/* Likewise: n stacks of s, which have guards, are such ones. */
void stack_cold_put(struct pool *p, struct stack_slab *s, unsigned from, unsigned n);
bool stack_index_add(struct stack_slab *s);
void stack_index_lock(void);
void stack_index_unlock(void);

#endif
