/* SPDX-License-Identifier: Apache-2.0 */
/* shared.c - mutexes and conditions between processes: libc's own code, for the others may
 * not run under us, and the kernel is who they meet in. */
#include "posix/lock.h"

int shared_lock(pthread_mutex_t *m, clockid_t clock, const struct timespec *abs)
{
	int r = abs ? EBUSY : NEXT(pthread_mutex_trylock)(m);

	if (r != EBUSY)
		return r;
	if (abs)
		return POSIX_KERNEL(NEXT(pthread_mutex_clocklock)(m, clock, abs));
	return POSIX_KERNEL(NEXT(pthread_mutex_lock)(m));
}

int shared_trylock(pthread_mutex_t *m)
{
	return NEXT(pthread_mutex_trylock)(m);
}

int shared_unlock(pthread_mutex_t *m)
{
	return NEXT(pthread_mutex_unlock)(m);
}

int shared_wait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
		const struct timespec *abs)
{
	if (abs)
		return POSIX_KERNEL(NEXT(pthread_cond_clockwait)(c, m, clock, abs));
	return POSIX_KERNEL(NEXT(pthread_cond_wait)(c, m));
}
