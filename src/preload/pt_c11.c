/* SPDX-License-Identifier: Apache-2.0 */
/* pt_c11.c - <threads.h>. libc's versions call the pthread functions by internal names,
 * past ours. So the ones that we replace are defined again here, on top of our
 * functions. What only initialises or queries (mtx_init, cnd_init, the destroy
 * functions, tss_*, thrd_equal, thrd_current) is libc's. call_once is in pt_once.c. */
#include <threads.h>

#include "preload/pt.h"
#include "sched/sched.h"

/* The thrd_... status for an error number. */
static int status(int r)
{
	switch (r) {
	case 0:
		return thrd_success;
	case ENOMEM:
		return thrd_nomem;
	case ETIMEDOUT:
		return thrd_timedout;
	case EBUSY:
		return thrd_busy;
	default:
		return thrd_error;
	}
}

LIBC_API int thrd_create(thrd_t *th, thrd_start_t fn, void *arg)
{
	/* thrd_join drops the upper half of the result */
	void *(*start)(void *) = (void *(*)(void *))(void (*)(void))fn;

	return status(pthread_create(th, NULL, start, arg));
}

LIBC_API int thrd_join(thrd_t th, int *result)
{
	void *r;
	int error = pthread_join(th, &r);

	if (!error && result)
		*result = (int)(intptr_t)r;
	return status(error);
}

LIBC_API int thrd_detach(thrd_t th)
{
	return status(pthread_detach(th));
}

LIBC_API NORETURN void thrd_exit(int result)
{
	pthread_exit((void *)(intptr_t)result);
}

LIBC_API void thrd_yield(void)
{
	sched_yield();
}

LIBC_API int thrd_sleep(const struct timespec *span, struct timespec *left)
{
	int r = clock_nanosleep(CLOCK_REALTIME, 0, span, left);

	return r == EINTR ? -1 : r ? -2 : 0;
}

LIBC_API int mtx_lock(mtx_t *m)
{
	return status(pthread_mutex_lock((pthread_mutex_t *)(void *)m));
}

LIBC_API int mtx_timedlock(mtx_t *m, const struct timespec *abs)
{
	return status(pthread_mutex_timedlock((pthread_mutex_t *)(void *)m, abs));
}

LIBC_API int mtx_trylock(mtx_t *m)
{
	return status(pthread_mutex_trylock((pthread_mutex_t *)(void *)m));
}

LIBC_API int mtx_unlock(mtx_t *m)
{
	return status(pthread_mutex_unlock((pthread_mutex_t *)(void *)m));
}

LIBC_API int cnd_wait(cnd_t *c, mtx_t *m)
{
	return status(pthread_cond_wait((pthread_cond_t *)(void *)c,
					(pthread_mutex_t *)(void *)m));
}

LIBC_API int cnd_timedwait(cnd_t *c, mtx_t *m, const struct timespec *abs)
{
	return status(pthread_cond_timedwait((pthread_cond_t *)(void *)c,
					     (pthread_mutex_t *)(void *)m, abs));
}

LIBC_API int cnd_signal(cnd_t *c)
{
	return status(pthread_cond_signal((pthread_cond_t *)(void *)c));
}

LIBC_API int cnd_broadcast(cnd_t *c)
{
	return status(pthread_cond_broadcast((pthread_cond_t *)(void *)c));
}
