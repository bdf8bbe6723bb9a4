/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is preloaded beside ours (run.py). It shows the program a time twenty
 * years ahead, as faketime does, and takes as long for it as run_probe.c says. It counts
 * the calls of recv. It looks up the next pthread_cond_timedwait by libc's symbol
 * version. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

#define SHIFT (20L * 365 * 86400)
#ifdef __x86_64__
#define VERSION "GLIBC_2.3.2"
#else
#define VERSION "GLIBC_2.17"
#endif

static unsigned long calls;
long clock_takes; /* nanoseconds before the clock is read; run_probe.c sets it */

static long now(__typeof__(&clock_gettime) reader)
{
	struct timespec ts;

	reader(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000L + ts.tv_nsec;
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	__typeof__(&clock_gettime) next =
	    (__typeof__(next))dlsym(RTLD_NEXT, "clock_gettime");
	long begin = clock_takes ? now(next) : 0;
	int r;

	while (clock_takes && now(next) - begin < clock_takes)
		;
	r = next(clock, ts);
	if (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC)
		ts->tv_sec += SHIFT;
	return r;
}

int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
			   const struct timespec *abs)
{
	__typeof__(&pthread_cond_timedwait) next =
	    (__typeof__(next))dlvsym(RTLD_NEXT, "pthread_cond_timedwait", VERSION);
	struct timespec real = { abs->tv_sec - SHIFT, abs->tv_nsec };

	return next(c, m, &real);
}

ssize_t recv(int fd, void *buf, size_t n, int flags)
{
	__typeof__(&recv) next = (__typeof__(next))dlsym(RTLD_NEXT, "recv");

	__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
	return next(fd, buf, n, flags);
}

__attribute__((destructor)) static void tell(void)
{
	if (calls)
		printf("%lu calls\n", calls);
}
