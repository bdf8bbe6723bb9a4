/* SPDX-License-Identifier: Apache-2.0 */
/* pt_once.c - pthread_once and call_once, by sync/once.h. If fn is left by an exception
 * or by cancellation, it counts as not run: this file is compiled with -fexceptions,
 * and in both cases the unwinder runs the cleanup below. Waiting is not a cancellation
 * point. */
#include <threads.h>

#include "preload/pt.h"
#include "sync/once.h"

struct run {
	uk_once *once;
	bool completed;
};

static void end(struct run *r)
{
	once_end(r->once, r->completed);
}

static NOINLINE void run(uk_once *o, void (*fn)(void))
{
	struct run r __attribute__((cleanup(end))) = { o, false };

	fn();
	r.completed = true;
}

LIBC_API int pthread_once(pthread_once_t *once, void (*fn)(void))
{
	uk_once *o = (uk_once *)(void *)once;

	int r;

	if (likely(load_acquire(&o->state) == ONCE_DONE))
		return 0;
	rt_adopt();
	do
		r = once_begin(o, true);
	while (posix_waits_on(r));
	if (r)
		run(o, fn);
	return 0;
}
ALSO(pthread_once, __pthread_once);

LIBC_API void call_once(once_flag *flag, void (*fn)(void))
{
	pthread_once((pthread_once_t *)(void *)flag, fn);
}
