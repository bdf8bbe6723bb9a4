/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's own lock: for short sections inside the runtime, held by a carrier (or a
 * foreign kernel thread), never across a park. Spins a little, then sleeps in the kernel,
 * so that a preempted holder does not burn the processor.
 *
 *   word: 0 free | 1 held | 2 held, somebody may sleep
 *
 * Ranks are data: a debug build panics when a lock of a rank not above the highest held one
 * is taken (base/lock.c). Lower rank = taken first.
 */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include "base/base.h"

enum lock_rank {
	RANK_NONE, /* not checked */
	RANK_THREADS,
	RANK_VPSET,
	RANK_CHAN,
	RANK_FUTEX,
	RANK_SYNC,
	RANK_FD,
	RANK_WHEEL,
	RANK_SPARES,
	RANK_SLAB,
	RANK_STACK,
	RANK_MAX
};

struct lock {
	uint32_t word; /* whoever wins the CAS */
	uint32_t rank;
};

#define LOCK_INIT(r)                                                                   \
	{                                                                              \
		0, (r)                                                                 \
	}

void lock_slow(struct lock *l);
void lock_wake(struct lock *l);
#if UK_DEBUG
void lock_rank_enter(struct lock *l);
void lock_rank_leave(struct lock *l);
#else
#define lock_rank_enter(l) ((void)0)
#define lock_rank_leave(l) ((void)0)
#endif

static inline void lock_init(struct lock *l, enum lock_rank rank)
{
	l->word = 0;
	l->rank = rank;
}

static inline void lock_acquire(struct lock *l)
{
	uint32_t old = 0;

	lock_rank_enter(l);
	/* acquire: pairs with the release in lock_release */
	if (unlikely(!cas_acquire(&l->word, &old, 1)))
		lock_slow(l);
}

static inline bool lock_try(struct lock *l)
{
	uint32_t old = 0;

	if (!cas_acquire(&l->word, &old, 1))
		return false;
	lock_rank_enter(l);
	return true;
}

static inline void lock_release(struct lock *l)
{
	lock_rank_leave(l);
	/* release: the next holder sees all that we wrote */
	if (unlikely(__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2))
		lock_wake(l);
}

/* A second lock of the rank that is held already: in address order only. The rank stays
 * with the first one, which must be released last. */
static inline void lock_acquire_nested(struct lock *l)
{
	uint32_t old = 0;

	if (unlikely(!cas_acquire(&l->word, &old, 1)))
		lock_slow(l);
}

/* The same by trying, in any order. */
static inline bool lock_try_nested(struct lock *l)
{
	uint32_t old = 0;

	return cas_acquire(&l->word, &old, 1);
}

static inline void lock_release_nested(struct lock *l)
{
	if (unlikely(__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2))
		lock_wake(l);
}

#endif
