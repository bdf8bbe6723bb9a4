/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by stack.c and cold.c. */
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

/* Describes a free stack. It lies in the cache line where the next thread starts. */
struct idle {
	struct mag_node node;
	void *base;
};

/* One mapping. The memory of its descriptor never becomes anything else, because a
 * signal handler looks slabs up. (Readers without a lock must not use the first word of
 * a slab object.)
 *
 *   fresh  --its stacks are handed out, `used` of them--> (neither list)
 *   any    --cold.c gives a stack's pages back----------> chilled, while ncold > 0
 *   chilled --all that were used are cold---------------> mapped anew, fresh
 *   the same, when address space is wanted (stack_release), or
 *   fresh, none of it used------------------------------> gone: unmapped, its
 *                                                         descriptor free
 */
struct stack_slab {
	void *link;
	uintptr_t base; /* the first guard's start; 0 until the rest is written */
	size_t bytes, stride;
	unsigned kind, n;
	/* all below: pool's lock */
	/* the first `used` stacks were handed out and have their guard */
	unsigned used;
	/* bits set in cold: free stacks without pages, given back or never touched */
	unsigned ncold;
	struct list fresh, chilled;
	uint64_t cold[SLAB_MOST / 64];
};

struct pool {
	struct mag_pool mag;
	struct list fresh, chilled; /* slabs, see above; mag's lock */
	uint32_t nchilled;          /* in chilled; mag's lock to write, anyone reads */
	size_t mapped;              /* mag's lock; stacks in all slabs */
} LINE_ALIGNED;

extern struct pool stack_pools[STACK_KINDS];
extern uint64_t stack_handed; /* stacks with a guard; atomic add */

bool stack_map(struct stack_slab *s); /* at s->base, or anywhere if 0 */
/* Unmaps s, which is in no list and of which no thread has a stack. */
void stack_slab_end(struct pool *p, struct stack_slab *s);
extern uint32_t stack_locked; /* stack_lock_all was called; atomic */
extern bool stack_rationed;   /* set once, before the first stack */
/* if rationed: bytes of free stacks in the pools; atomic add */
extern uint64_t stack_spare;
/* Under the pool's lock. Takes a stack without pages; NULL: there is none. */
void *stack_cold_get(struct pool *p);
/* Likewise. Adds n stacks of s from `from` on, which have guards, to these. */
void stack_cold_put(struct pool *p, struct stack_slab *s, unsigned from, unsigned n);
bool stack_index_add(struct stack_slab *s);
void stack_index_lock(void);
void stack_index_unlock(void);

#endif
