/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's own lock: for short sections inside the runtime, held by a carrier (or a
 * foreign kernel thread), never across a park. Spins a little, then sleeps in the kernel,
 * so that a preempted holder does not burn the processor.
 *
 *   word: 0 free | 1 held | 2 held, somebody may sleep
 *
 * Ranks are data: a lock may be taken only while all that are held stand before it in the
 * list below; a debug build panics where that is broken (base/lock.c), and where a lock has
 * no rank. The note of what is held is the kernel thread's, as no lock is held across a
 * switch; the one exception says so (lock_ranks_put).
 */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include "base/base.h"

/* First those that are taken first. At a fork nearly all of them are (life/fork.c). */
#define LOCK_RANKS(X)                                                                  \
	X(SYSTEM)  /* system(3)'s signals */                                           \
	X(POPEN)   /* pipes of popen(3); held while a child starts */                  \
	X(FORK)    /* one fork at a time */                                            \
	X(KEEP)    /* a portion of the keeper's work */                                \
	X(WATCH)   /* a look of the monitor's */                                       \
	X(VPSET)   /* the start, and making sets */                                    \
	X(THREADS) /* the limit of threads */                                          \
	X(SIGNAL)  /* of the drop-in: masks and pending signals */                     \
	X(DEPUTY)  /* the drop-in's pool of deputies */                                \
	X(GROUP)   /* of asynchronous calls */                                         \
	X(GATHER)  /* who waits for memory */                                          \
	X(CHAN)                                                                        \
	X(FUTEX)       /* a bucket; several in address order, nested */                \
	X(WHEEL)       /* a vp's timers */                                             \
	X(INTERRUPT)   /* whoever signals foreign threads out of a call */             \
	X(SPARES)      /* carriers without a vp, vps without a carrier */              \
	X(PROBE)       /* what the kernel has, asked once */                           \
	X(CPUTIME)     /* of user threads */                                           \
	X(STACK)       /* a pool of stacks; at a fork all, nested */                   \
	X(STACK_INDEX) /* slabs of stacks by address */                                \
	X(SLAB)        /* descriptors; at a fork several, nested */                    \
	X(MODULES)     /* the table of TLS modules */                                  \
	X(TID)                                                                         \
	X(TLS)      /* the pool of thread blocks */                                    \
	X(TLS_LIST) /* our part of libc's list of threads */

#define X(r) RANK_##r,
enum lock_rank { RANK_MISSING, LOCK_RANKS(X) RANK_END };
#undef X

struct lock {
	uint32_t word; /* whoever wins the CAS */
	uint32_t rank; /* constant */
};

/* Does not compile without a rank. */
#define LOCK_INIT(r)                                                                   \
	{                                                                              \
		0, (r) +                                                               \
		       0 * sizeof(char[(r) > RANK_MISSING && (r) < RANK_END ? 1 : -1]) \
	}

void lock_slow(struct lock *l);
void lock_wake(struct lock *l);
#if UK_DEBUG
void lock_rank_enter(const struct lock *l);
void lock_rank_nested(const struct lock *l);
void lock_rank_leave(const struct lock *l);
/* A thread that may come to another carrier, with locks: it puts the note of them down
 * before, and takes it up there. */
uint32_t lock_ranks_put(void);
void lock_ranks_take(uint32_t ranks);
#else
#define lock_rank_enter(l) ((void)0)
#define lock_rank_nested(l) ((void)0)
#define lock_rank_leave(l) ((void)0)
#define lock_ranks_put() 0
#define lock_ranks_take(ranks) ((void)(ranks))
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

static inline void lock_release(struct lock *l)
{
	lock_rank_leave(l);
	/* release: the next holder sees all that we wrote */
	if (unlikely(__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2))
		lock_wake(l);
}

/* A second lock of a rank that is held already: always in the same order among them, by
 * address for one. The rank stays with the first one, which is released last. */
static inline void lock_acquire_nested(struct lock *l)
{
	uint32_t old = 0;

	lock_rank_nested(l);
	if (unlikely(!cas_acquire(&l->word, &old, 1)))
		lock_slow(l);
}

/* Waits for nobody, so in any order, and by a signal handler; given back as a nested one. */
static inline bool lock_try(struct lock *l)
{
	uint32_t old = 0;

	return cas_acquire(&l->word, &old, 1);
}

/* The same for who holds one of its rank. */
static inline bool lock_try_nested(struct lock *l)
{
	lock_rank_nested(l);
	return lock_try(l);
}

static inline void lock_release_nested(struct lock *l)
{
	if (unlikely(__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2))
		lock_wake(l);
}

#endif
