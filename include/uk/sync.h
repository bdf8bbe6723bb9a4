/* SPDX-License-Identifier: Apache-2.0 */
/* sync.h - mutex, condition, rwlock, semaphore, barrier, once, futex, vp-level locks.
 *
 * Objects are plain storage: zero-initialised (or the UK_..._INIT) is ready to use, no
 * destroy is needed, and they may not be moved while in use. All work between user threads
 * and foreign kernel threads of one process. */
#ifndef UK_SYNC_H
#define UK_SYNC_H

#include <uk/types.h>

UK_BEGIN

/* Futex: sleep while *addr == expected. 0 when woken, -EAGAIN when the value differs,
 * -ETIMEDOUT, -ECANCELED. wake returns how many were woken, requeue how many were woken or
 * moved. */
UK_API int uk_futex_wait(const uint32_t *addr, uint32_t expected, uk_time deadline);
UK_API int uk_futex_wake(const uint32_t *addr, int n);
UK_API int uk_futex_requeue(const uint32_t *from, int wake, int requeue,
			    const uint32_t *to);

/* Mutex: barging, with direct hand-off to a waiter that starved for 1 ms. */
typedef struct uk_mutex {
	uint32_t word;
	uint32_t flags;
	uint64_t owner; /* address of the owner's descriptor, 0 = none */
	uint32_t depth;
	uint32_t spare;
} uk_mutex;
#define UK_MUTEX_INIT                                                                  \
	{                                                                              \
		0, 0, 0, 0, 0                                                          \
	}
#define UK_MUTEX_RECURSIVE_INIT                                                        \
	{                                                                              \
		0, 1, 0, 0, 0                                                          \
	}
#define UK_MUTEX_RECURSIVE 1u
UK_API void uk_mutex_init(uk_mutex *m, unsigned flags);
UK_API int
uk_mutex_lock(uk_mutex *m); /* -EDEADLK (own it, not recursive), -ECANCELED */
UK_API int uk_mutex_lock_until(uk_mutex *m, uk_time deadline);
UK_API int uk_mutex_trylock(uk_mutex *m); /* -EBUSY */
UK_API int uk_mutex_unlock(uk_mutex *m);  /* -EPERM */

typedef struct uk_cond {
	uint32_t spare;
	uint32_t waiters;
} uk_cond;
#define UK_COND_INIT                                                                   \
	{                                                                              \
		0, 0                                                                   \
	}
/* m is held again when it returns, whatever it returns. -EPERM: the caller had not got it. */
UK_API int uk_cond_wait(uk_cond *c, uk_mutex *m);
UK_API int uk_cond_wait_until(uk_cond *c, uk_mutex *m, uk_time deadline);
UK_API int uk_cond_signal(uk_cond *c);
UK_API int uk_cond_broadcast(uk_cond *c);

/* Reader-writer lock: a waiting writer holds new readers back, so a reader that locks once
 * more while a writer waits blocks on itself. -EDEADLK: the caller has it for writing;
 * -EPERM (unlock): nobody has it, or another thread for writing. */
typedef struct uk_rwlock {
	uint32_t state;
	uint32_t writers_waiting;
	uint32_t readers_waiting;
	uint32_t spare;
	uint64_t owner; /* of the writer, as in uk_mutex */
} uk_rwlock;
#define UK_RWLOCK_INIT                                                                 \
	{                                                                              \
		0, 0, 0, 0, 0                                                          \
	}
UK_API int uk_rwlock_rdlock(uk_rwlock *l);
UK_API int uk_rwlock_rdlock_until(uk_rwlock *l, uk_time deadline);
UK_API int uk_rwlock_tryrdlock(uk_rwlock *l);
UK_API int uk_rwlock_wrlock(uk_rwlock *l);
UK_API int uk_rwlock_wrlock_until(uk_rwlock *l, uk_time deadline);
UK_API int uk_rwlock_trywrlock(uk_rwlock *l);
UK_API int uk_rwlock_unlock(uk_rwlock *l);

typedef struct uk_sem {
	uint32_t value;
	uint32_t waiters;
} __attribute__((aligned(8))) uk_sem; /* one atomic word */
#define UK_SEM_INIT(n)                                                                 \
	{                                                                              \
		(n), 0                                                                 \
	}
UK_API int uk_sem_init(uk_sem *s, uint32_t value);
UK_API int uk_sem_wait(uk_sem *s);
UK_API int uk_sem_wait_until(uk_sem *s, uk_time deadline);
UK_API int uk_sem_trywait(uk_sem *s); /* -EAGAIN */
UK_API int uk_sem_post(uk_sem *s);    /* async-signal-safe; -EOVERFLOW */

typedef struct uk_barrier {
	uint32_t total, arrived, phase, spare;
} uk_barrier;
UK_API int uk_barrier_init(uk_barrier *b, uint32_t n);
/* 1 in exactly one of the n threads, 0 in the others; a cancelled or timed-out thread
 * takes its arrival back. */
UK_API int uk_barrier_wait(uk_barrier *b);
UK_API int uk_barrier_wait_until(uk_barrier *b, uk_time deadline);

typedef struct uk_once {
	uint32_t state;
} uk_once;
#define UK_ONCE_INIT                                                                   \
	{                                                                              \
		0                                                                      \
	}
/* Returns 0 when fn has returned, here or in another thread; waiting for that is neither
 * cancelled nor bounded by a deadline. fn must not end the thread. */
UK_API int uk_once_run(uk_once *o, void (*fn)(void));

/* Locks of the vp level: they never park, the kernel thread spins. For sections of a few
 * instructions without any runtime call inside. */
typedef struct uk_spin {
	uint32_t word;
} uk_spin;
#define UK_SPIN_INIT                                                                   \
	{                                                                              \
		0                                                                      \
	}
UK_API void uk_spin_lock(uk_spin *l);
UK_API int uk_spin_trylock(uk_spin *l); /* -EBUSY */
UK_API void uk_spin_unlock(uk_spin *l);

/* FIFO spin lock (ticket): nobody overtakes. */
typedef struct uk_fifo {
	uint32_t next, serving;
} uk_fifo;
#define UK_FIFO_INIT                                                                   \
	{                                                                              \
		0, 0                                                                   \
	}
UK_API void uk_fifo_lock(uk_fifo *l);
UK_API void uk_fifo_unlock(uk_fifo *l);

UK_END
#endif
