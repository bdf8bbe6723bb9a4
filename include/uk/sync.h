/* SPDX-License-Identifier: Apache-2.0 */
/* sync.h - mutex, condition, rwlock, semaphore, barrier, once, futex, spin locks.
 *
 * Objects are plain storage: zero or UK_..._INIT is ready to use (a barrier needs
 * uk_barrier_init), nothing needs to be destroyed, and they must not be moved while in
 * use. They work between user threads and foreign kernel threads of one process. Calls
 * return 0 or -errno; those that wait also -ETIMEDOUT and -ECANCELED, as uk.h says. */
#ifndef UK_SYNC_H
#define UK_SYNC_H

#include <uk/types.h>

UK_BEGIN

/* Futex: wait while *addr == expected. 0 when woken, -EAGAIN if the value differs. wake
 * returns how many it woke. */
UK_API int uk_futex_wait(const uint32_t *addr, uint32_t expected, uk_time deadline);
UK_API int uk_futex_wake(const uint32_t *addr, int n);

/* Mutex: a thread that arrives may overtake waiters of less than 1 ms. */
typedef struct uk_mutex {
	uint32_t word;
	uint32_t flags;
	uint64_t owner; /* address of the owner's thread descriptor, 0 = none */
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
UK_API int uk_mutex_lock(uk_mutex *m); /* -EDEADLK: the caller holds it */
UK_API int uk_mutex_lock_until(uk_mutex *m, uk_time deadline);
UK_API int uk_mutex_trylock(uk_mutex *m); /* -EBUSY: it is held */
UK_API int uk_mutex_unlock(uk_mutex *m);  /* -EPERM: the caller does not hold it */

typedef struct uk_cond {
	uint32_t spare;
	uint32_t waiters;
} uk_cond;
#define UK_COND_INIT                                                                   \
	{                                                                              \
		0, 0                                                                   \
	}
UK_API void uk_cond_init(uk_cond *c);
/* On return the caller holds m again, whatever the result. -EPERM: it did not hold. */
UK_API int uk_cond_wait(uk_cond *c, uk_mutex *m);
UK_API int uk_cond_wait_until(uk_cond *c, uk_mutex *m, uk_time deadline);
UK_API int uk_cond_signal(uk_cond *c);
UK_API int uk_cond_broadcast(uk_cond *c);

/* Reader-writer lock. A waiting writer holds new readers back, so a reader that locks
 * once more while a writer waits deadlocks. -EDEADLK: the caller holds it for writing;
 * -EBUSY (try); -EPERM (unlock): no thread holds it, or another one for writing. */
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
UK_API void uk_rwlock_init(uk_rwlock *l);
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
UK_API int uk_sem_init(uk_sem *s, uint32_t value); /* -EINVAL: above INT_MAX */
UK_API int uk_sem_wait(uk_sem *s);
UK_API int uk_sem_wait_until(uk_sem *s, uk_time deadline);
UK_API int uk_sem_trywait(uk_sem *s); /* -EAGAIN: it is 0 */
UK_API int uk_sem_post(uk_sem *s);    /* async-signal-safe; -EOVERFLOW: INT_MAX */

typedef struct uk_barrier {
	uint32_t total, arrived, phase, spare;
} uk_barrier;
UK_API int uk_barrier_init(uk_barrier *b, uint32_t n); /* -EINVAL: n is 0 */
/* 1 in the last of the n threads to arrive, 0 in the others. A cancelled or timed-out
 * thread takes its arrival back. */
UK_API int uk_barrier_wait(uk_barrier *b);

typedef struct uk_once {
	uint32_t state;
} uk_once;
#define UK_ONCE_INIT                                                                   \
	{                                                                              \
		0                                                                      \
	}
/* Returns 0 when fn has returned, here or in another thread; neither cancellation nor a
 * deadline ends that wait. fn must not end the thread. */
UK_API int uk_once_run(uk_once *o, void (*fn)(void));

/* Spin locks: they never park, the kernel thread spins. For a few instructions, without
 * any call of the library or the kernel inside. */
typedef struct uk_spin {
	uint32_t word;
} uk_spin;
#define UK_SPIN_INIT                                                                   \
	{                                                                              \
		0                                                                      \
	}
UK_API void uk_spin_lock(uk_spin *l);
UK_API int uk_spin_trylock(uk_spin *l); /* -EBUSY: it is held */
UK_API void uk_spin_unlock(uk_spin *l);

UK_END
#endif
