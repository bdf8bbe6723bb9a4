/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's own lock, for short sections inside the runtime. A carrier or a foreign
 * thread holds it, never across a park. A waiter spins a little, then sleeps in the
 * kernel, so that a preempted holder does not make it burn CPU time.
 *
 *   word: 0 free | 1 held | 2 held, a thread may be asleep
 *
 * Ranks define the lock order: a thread may take a lock only if all locks it holds come
 * before it in the list below. A debug build panics on a violation, and on a lock
 * without a rank (base/lock.c). The record of held ranks belongs to the kernel thread,
 * because no lock is held across a switch; for the one exception see lock_ranks_put. */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include "base/base.h"

/* In lock order. A fork takes nearly all of them (lifecycle/fork.c). */
#define LOCK_RANKS(X)                                                                  \
	X(SYSTEM)  /* signals during system(3) */                                      \
	X(POPEN)   /* pipes of popen(3); held while a child starts */                  \
	X(FORK)    /* one fork at a time */                                            \
	X(KEEP)    /* one portion of the keeper's work */                              \
	X(WATCH)   /* one look of the monitor */                                       \
	X(VPSET)   /* the runtime's start; making vp sets */                           \
	X(THREADS) /* the limit of threads */                                          \
	X(SIGNAL)  /* preload library: masks and pending signals */                    \
	X(DEPUTY)  /* preload library: the pool of deputies */                         \
	X(GROUP)   /* a group of asynchronous requests */                              \
	X(GATHER)  /* threads that wait for memory */                                  \
	X(CHAN)                                                                        \
	X(FUTEX)       /* a bucket; several in address order, nested */                \
	X(WHEEL)       /* a vp's timers */                                             \
	X(INTERRUPT)   /* signalling foreign threads out of a call */                  \
	X(SPARES)      /* carriers without a vp, vps without a carrier */              \
	X(PROBE)       /* features of the kernel, probed once */                       \
	X(CPUTIME)     /* CPU time of user threads */                                  \
	X(STACK)       /* a pool of stacks; at a fork all, nested */                   \
	X(STACK_INDEX) /* slabs of stacks by address */                                \
	X(SLAB)        /* descriptors and the like; at a fork several, nested */       \
	X(MODULES)     /* the table of TLS modules */                                  \
	X(TID)                                                                         \
	X(TLS)      /* the pool of thread blocks */                                    \
	X(TLS_LIST) /* our part of libc's list of threads */

#define X(r) RANK_##r,
enum lock_rank { RANK_MISSING, LOCK_RANKS(X) RANK_END };
#undef X

struct lock {
	uint32_t word; /* atomics */
	uint32_t rank; /* constant */
};

/* Does not compile if r is not a rank. */
#define LOCK_INIT(r)                                                                   \
	{                                                                              \
		0, (r) +                                                               \
		       0 * sizeof(char[(r) > RANK_MISSING && (r) < RANK_END ? 1 : -1]) \
	}

void lock_slow(struct lock *l);
void lock_wake(struct lock *l);
#if UK_CHECKS
void lock_rank_enter(const struct lock *l);
void lock_rank_nested(const struct lock *l);
void lock_rank_leave(const struct lock *l);
/* For a thread that may continue on another carrier while it holds locks:
 * lock_ranks_put takes the record off this kernel thread, lock_ranks_take puts it on
 * the next one. */
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
	/* release: the next holder sees all our writes */
	if (unlikely(__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2))
		lock_wake(l);
}

/* Takes a second lock of a rank that the caller already holds. Such locks need an order
 * of their own, by address for example. The record of the rank goes with the first
 * lock, which is released last. */
static inline void lock_acquire_nested(struct lock *l)
{
	uint32_t old = 0;

	lock_rank_nested(l);
	if (unlikely(!cas_acquire(&l->word, &old, 1)))
		lock_slow(l);
}

/* Never waits, so it may be called in any order and in a signal handler. The lock is
 * released with lock_release_nested. */
static inline bool lock_try(struct lock *l)
{
	uint32_t old = 0;

	return cas_acquire(&l->word, &old, 1);
}

/* The same for a caller that holds a lock of the same rank. */
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
