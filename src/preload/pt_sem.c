/* SPDX-License-Identifier: Apache-2.0 */
/* pt_sem.c - the semaphore. libc's private ones have the layout of a uk_sem (value and
 * waiters in one word), so trywait, getvalue, init and destroy are libc's; the calls
 * that wait and post are ours. Shared semaphores, and so named ones, are libc's.
 *
 * A wait is a cancellation point, and ends with EINTR as natively: after a handler with
 * SA_RESTART it continues if it has no timeout, as in the kernel. */
#include <semaphore.h>

#include "base/at_load.h"
#include "preload/pt.h"
#include "sync/futex.h"

struct libc_sem {
	uk_sem core;
	int shared;
};
_Static_assert(sizeof(struct libc_sem) <= sizeof(sem_t), "fits in libc's object");

static bool is_shared(sem_t *s)
{
	return ((struct libc_sem *)(void *)s)->shared != 0;
}

static __typeof__(&sem_post) libc_post(void)
{
	return NEXT(sem_post);
}

/* Signal handlers call sem_post, and must not look it up. */
AT_LOAD(look_up)
{
	libc_post();
}

LIBC_API int sem_post(sem_t *s)
{
	if (unlikely(is_shared(s)))
		return libc_post()(s);
	return (int)posix_result(uk_sem_post((uk_sem *)(void *)s));
}

static int wait_until(sem_t *s, int64_t deadline)
{
	rt_adopt();
	return (int)POSIX_CALL(deadline == TIME_NEVER,
			       uk_sem_wait_until((uk_sem *)(void *)s, deadline));
}

LIBC_API int sem_wait(sem_t *s)
{
	if (unlikely(is_shared(s)))
		return POSIX_KERNEL(NEXT(sem_wait)(s));
	return wait_until(s, TIME_NEVER);
}

LIBC_API int sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *abs)
{
	if (unlikely(is_shared(s)))
		return POSIX_KERNEL(NEXT(sem_clockwait)(s, clock, abs));
	if (!posix_clock_ok(clock) || !posix_time_ok(abs))
		return (int)posix_result(-EINVAL);
	if (!uk_sem_trywait((uk_sem *)(void *)s))
		return 0;
	return wait_until(s, posix_deadline(clock, abs));
}

LIBC_API int sem_timedwait(sem_t *s, const struct timespec *abs)
{
	if (posix_time_ok(abs))
		posix_testcancel(); /* before taking one, unlike libc's sem_clockwait */
	return sem_clockwait(s, CLOCK_REALTIME, abs);
}
