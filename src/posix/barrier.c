/* SPDX-License-Identifier: Apache-2.0 */
/* barrier.c - the barrier. Ours lies in libc's object as a uk_barrier at its begin, whose
 * spare word is where libc says whether it is shared; those that are, are libc's. After the
 * last thread has come nobody of ours looks at it again, so destroy has nothing to wait for.
 * Not a cancellation point. */
#include "posix/posix.h"
#include "sync/futex.h"

static uk_barrier *core(pthread_barrier_t *b)
{
	return (uk_barrier *)(void *)b;
}

static bool is_shared(pthread_barrier_t *b)
{
	return core(b)->spare != 0;
}

LIBC_API int pthread_barrier_init(pthread_barrier_t *b, const pthread_barrierattr_t *a,
				  unsigned n)
{
	int r = NEXT(pthread_barrier_init)(b, a, n);

	if (!r && !is_shared(b))
		uk_barrier_init(core(b), n);
	return r;
}

LIBC_API int pthread_barrier_destroy(pthread_barrier_t *b)
{
	return is_shared(b) ? POSIX_KERNEL(NEXT(pthread_barrier_destroy)(b)) : 0;
}

LIBC_API int pthread_barrier_wait(pthread_barrier_t *b)
{
	int r;

	if (is_shared(b))
		return POSIX_KERNEL(NEXT(pthread_barrier_wait)(b));
	if (core(b)->total == 1)
		return PTHREAD_BARRIER_SERIAL_THREAD;
	rt_adopt();
	do /* cut short he leaves and comes again: the count is right meanwhile */
		r = uk_barrier_wait(core(b));
	while (posix_waits_on(r));
	return r ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}
