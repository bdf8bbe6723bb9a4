/* SPDX-License-Identifier: Apache-2.0 */
/* pt_rwlock.c - the reader-writer lock. Ours is a uk_rwlock at the start of libc's
 * object; __cur_writer, __shared and __flags (the kind) stay where libc has them,
 * behind it.
 *
 * Process-shared locks are libc's, with one difference. __cur_writer is the writer's
 * id, by which libc finds a writer that would wait for itself. But a user thread of
 * another process may have the same id. So a user thread that holds such a lock leaves
 * SHARED_WRITER there, and stores its identity in a word that libc does not use; unlock
 * undoes that. If libc still sees another process's equal id, it is asked again: that
 * thread is between two stores, or was killed there. Rejected: the carrier's id in the
 * caller's block while libc's code runs (a thread that looks the caller up by its id
 * meanwhile would find nobody).
 *
 *   kind                            as in libc
 *   PREFER_READER, PREFER_WRITER    readers go in whenever no writer is inside
 *   PREFER_WRITER_NONRECURSIVE      a writer that waits holds new readers back
 *
 * Not a cancellation point. */
#include "base/sys.h"
#include "preload/pt.h"
#include "sync/rwlock.h"
#include "uk/time.h"

#define SHARED_WRITER -1 /* no thread's id */
#define SHARED_YIELDS 100u
#define SHARED_NAP (1 * NS_PER_MS)

_Static_assert(sizeof(uk_rwlock) <= offsetof(pthread_rwlock_t, __data.__cur_writer),
	       "ends before libc's fields");

static uk_rwlock *core(pthread_rwlock_t *l)
{
	return (uk_rwlock *)(void *)l;
}

static inline struct rw_how how_of(const pthread_rwlock_t *l, enum rw_role role)
{
	return (struct rw_how){ .role = role,
				.lenient =
				    l->__data.__flags !=
				    PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP };
}

static inline bool take(pthread_rwlock_t *l, enum rw_role role)
{
	if (!rwlock_try(core(l), how_of(l, role)))
		return false;
	if (role == RW_WRITE)
		store_relaxed(&l->__data.__cur_writer, (int)posix_tid());
	return true;
}

/* libc checks the time before it looks at the lock. */
static int lock_until(pthread_rwlock_t *l, enum rw_role role, clockid_t clock,
		      const struct timespec *abs)
{
	int r;

	if (abs && (!posix_clock_ok(clock) || !posix_time_ok(abs)))
		return EINVAL;
	if ((uint32_t)load_relaxed(&l->__data.__cur_writer) == posix_tid())
		return EDEADLK;
	if (take(l, role))
		return 0;
	rt_adopt();
	do
		r = rwlock_wait(core(l), how_of(l, role), posix_deadline(clock, abs));
	while (posix_waits_on(r));
	if (!r && role == RW_WRITE)
		store_relaxed(&l->__data.__cur_writer, (int)posix_tid());
	return -r;
}

/* ---- between processes ---- */

static unsigned long *shared_owner(pthread_rwlock_t *l)
{
	return &l->__data.__pad2;
}

static unsigned long shared_me(void)
{
	return (unsigned long)sys0(SYS_getpid) << 32 | posix_tid();
}

/* r == 0: libc has given the lock to the caller. */
static int shared_got(pthread_rwlock_t *l, int r)
{
	if (!r && posix_self_tls.thread) {
		store_relaxed(shared_owner(l), shared_me());
		store_release(&l->__data.__cur_writer, SHARED_WRITER);
	}
	return r;
}

/* libc takes another process's thread for the caller. That thread is between two
 * stores, or has ended there; in the latter case the caller waits until its deadline,
 * as for any owner that has ended. 0: ask libc again. */
static int shared_patience(unsigned n, int64_t deadline)
{
	int64_t next = sys_now() + SHARED_NAP;

	if (n < SHARED_YIELDS) {
		sched_yield();
		return 0;
	}
	if (sys_now() >= deadline)
		return ETIMEDOUT;
	uk_sleep_until(MIN(next, deadline));
	return 0;
}

/* libc's call, repeated while libc takes another process's thread for the caller. */
#define SHARED(l, call, clock, abs)                                                    \
	({                                                                             \
		int r_ = EDEADLK, wait_ = 0;                                           \
                                                                                       \
		if (!posix_self_tls.thread ||                                          \
		    load_relaxed(shared_owner(l)) != shared_me())                      \
			for (unsigned n_ = 0;                                          \
			     !wait_ && (r_ = POSIX_KERNEL(call)) == EDEADLK &&         \
			     posix_self_tls.thread;                                    \
			     n_++)                                                     \
				wait_ =                                                \
				    shared_patience(n_, posix_deadline(clock, abs));   \
		wait_ ? wait_ : r_;                                                    \
	})

static int shared_unlock(pthread_rwlock_t *l)
{
	if (posix_self_tls.thread && load_relaxed(shared_owner(l)) == shared_me()) {
		store_relaxed(shared_owner(l), 0);
		store_relaxed(&l->__data.__cur_writer, tls_tid((void *)pthread_self()));
	}
	return NEXT(pthread_rwlock_unlock)(l);
}

/* ---- the calls ---- */

LIBC_API int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
	if (unlikely(l->__data.__shared))
		return SHARED(l, NEXT(pthread_rwlock_rdlock)(l), CLOCK_REALTIME, NULL);
	return lock_until(l, RW_READ, CLOCK_REALTIME, NULL);
}
ALSO(pthread_rwlock_rdlock, __pthread_rwlock_rdlock);

LIBC_API int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
	if (unlikely(l->__data.__shared))
		return shared_got(
		    l, SHARED(l, NEXT(pthread_rwlock_wrlock)(l), CLOCK_REALTIME, NULL));
	return lock_until(l, RW_WRITE, CLOCK_REALTIME, NULL);
}
ALSO(pthread_rwlock_wrlock, __pthread_rwlock_wrlock);

LIBC_API int pthread_rwlock_clockrdlock(pthread_rwlock_t *l, clockid_t clock,
					const struct timespec *abs)
{
	if (unlikely(l->__data.__shared))
		return SHARED(l, NEXT(pthread_rwlock_clockrdlock)(l, clock, abs), clock,
			      abs);
	return lock_until(l, RW_READ, clock, abs);
}

LIBC_API int pthread_rwlock_clockwrlock(pthread_rwlock_t *l, clockid_t clock,
					const struct timespec *abs)
{
	if (unlikely(l->__data.__shared))
		return shared_got(
		    l, SHARED(l, NEXT(pthread_rwlock_clockwrlock)(l, clock, abs), clock,
			      abs));
	return lock_until(l, RW_WRITE, clock, abs);
}

LIBC_API int pthread_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *abs)
{
	return pthread_rwlock_clockrdlock(l, CLOCK_REALTIME, abs);
}

LIBC_API int pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *abs)
{
	return pthread_rwlock_clockwrlock(l, CLOCK_REALTIME, abs);
}

LIBC_API int pthread_rwlock_tryrdlock(pthread_rwlock_t *l)
{
	if (unlikely(l->__data.__shared))
		return NEXT(pthread_rwlock_tryrdlock)(l);
	return take(l, RW_READ) ? 0 : EBUSY;
}
ALSO(pthread_rwlock_tryrdlock, __pthread_rwlock_tryrdlock);

LIBC_API int pthread_rwlock_trywrlock(pthread_rwlock_t *l)
{
	if (unlikely(l->__data.__shared))
		return shared_got(l, NEXT(pthread_rwlock_trywrlock)(l));
	return take(l, RW_WRITE) ? 0 : EBUSY;
}
ALSO(pthread_rwlock_trywrlock, __pthread_rwlock_trywrlock);

LIBC_API int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
	if (unlikely(l->__data.__shared))
		return shared_unlock(l);
	if (load_relaxed(&core(l)->state) & RW_WRITER)
		store_relaxed(&l->__data.__cur_writer, 0);
	rt_adopt();
	rwlock_unlock(core(l), how_of(l, RW_READ).lenient);
	return 0;
}
ALSO(pthread_rwlock_unlock, __pthread_rwlock_unlock);
