/* SPDX-License-Identifier: Apache-2.0 */
/* rwlock.c - the reader-writer lock. Ours lies in libc's object as a uk_rwlock at its begin;
 * __cur_writer, __shared and __flags (the kind) stay where libc has them, behind it. Those
 * that are shared between processes are libc's.
 *
 *   kind                            as libc has it
 *   PREFER_READER, PREFER_WRITER    readers go in whenever no writer is inside
 *   PREFER_WRITER_NONRECURSIVE      a writer that waits holds new readers back
 *
 * Not a cancellation point. */
#include "posix/posix.h"
#include "sync/rwlock.h"

_Static_assert(sizeof(uk_rwlock) <= offsetof(pthread_rwlock_t, __data.__cur_writer),
	       "behind ours is libc's");

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

/* libc looks at the time before it looks at the lock. */
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

LIBC_API int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
	if (unlikely(l->__data.__shared))
		return POSIX_KERNEL(NEXT(pthread_rwlock_rdlock)(l));
	return lock_until(l, RW_READ, CLOCK_REALTIME, NULL);
}

LIBC_API int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
	if (unlikely(l->__data.__shared))
		return POSIX_KERNEL(NEXT(pthread_rwlock_wrlock)(l));
	return lock_until(l, RW_WRITE, CLOCK_REALTIME, NULL);
}

LIBC_API int pthread_rwlock_clockrdlock(pthread_rwlock_t *l, clockid_t clock,
					const struct timespec *abs)
{
	if (unlikely(l->__data.__shared))
		return POSIX_KERNEL(NEXT(pthread_rwlock_clockrdlock)(l, clock, abs));
	return lock_until(l, RW_READ, clock, abs);
}

LIBC_API int pthread_rwlock_clockwrlock(pthread_rwlock_t *l, clockid_t clock,
					const struct timespec *abs)
{
	if (unlikely(l->__data.__shared))
		return POSIX_KERNEL(NEXT(pthread_rwlock_clockwrlock)(l, clock, abs));
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

LIBC_API int pthread_rwlock_trywrlock(pthread_rwlock_t *l)
{
	if (unlikely(l->__data.__shared))
		return NEXT(pthread_rwlock_trywrlock)(l);
	return take(l, RW_WRITE) ? 0 : EBUSY;
}

LIBC_API int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
	if (unlikely(l->__data.__shared))
		return NEXT(pthread_rwlock_unlock)(l);
	if (load_relaxed(&core(l)->state) & RW_WRITER)
		store_relaxed(&l->__data.__cur_writer, 0);
	rt_adopt();
	rwlock_unlock(core(l), how_of(l, RW_READ).lenient);
	return 0;
}
