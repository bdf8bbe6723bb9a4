/* SPDX-License-Identifier: Apache-2.0 */
/* pt_barrier.c - pthread_barrier. Ours is a uk_barrier at the start of libc's object.
 * Its spare word is where libc notes whether the barrier is process-shared; shared
 * barriers are libc's.
 *
 * Once the last thread has arrived, our code does not touch the object again, except
 * for threads that run a signal handler in the middle of their wait.
 * pthread_barrier_destroy waits for these (for ever if such a handler was left by a
 * jump, as natively). Not a cancellation point. */
#include "preload/pt.h"
#include "sync/barrier.h"

struct libc_barrier {
	uk_barrier core;
	uint32_t away;
};
_Static_assert(sizeof(struct libc_barrier) <= sizeof(pthread_barrier_t),
	       "fits in libc's object");

static struct libc_barrier *ours(pthread_barrier_t *b)
{
	return (struct libc_barrier *)(void *)b;
}

static bool is_shared(pthread_barrier_t *b)
{
	return ours(b)->core.spare != 0;
}

LIBC_API int pthread_barrier_init(pthread_barrier_t *b, const pthread_barrierattr_t *a,
				  unsigned n)
{
	int r = NEXT(pthread_barrier_init)(b, a, n);

	if (!r && !is_shared(b)) {
		uk_barrier_init(&ours(b)->core, n);
		ours(b)->away = 0;
	}
	return r;
}

LIBC_API int pthread_barrier_destroy(pthread_barrier_t *b)
{
	const uint32_t *away = &ours(b)->away;
	uint32_t n;

	if (is_shared(b))
		return POSIX_KERNEL(NEXT(pthread_barrier_destroy)(b));
	while (unlikely((n = load_acquire(away)))) /* pairs with opened */
		posix_waits_on(futex_wait(away, n, FUTEX_ANY, TIME_NEVER));
	return 0;
}

LIBC_API int pthread_barrier_wait(pthread_barrier_t *b)
{
	struct barrier_stay s = { .away = false };
	int r;

	if (is_shared(b))
		return POSIX_KERNEL(NEXT(pthread_barrier_wait)(b));
	if (ours(b)->core.total == 1)
		return PTHREAD_BARRIER_SERIAL_THREAD;
	rt_adopt();
	do
		r = barrier_stay(&ours(b)->core, &ours(b)->away, &s);
	while (posix_waits_on(r));
	return r ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}
