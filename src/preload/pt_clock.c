/* SPDX-License-Identifier: Apache-2.0 */
/* pt_clock.c - CPU-time clocks. A user thread's clock is its own, not that of its
 * carrier, which also runs others: CLOCK_THREAD_CPUTIME_ID, what pthread_getcpuclockid
 * gives, and getrusage(RUSAGE_THREAD), through libc's functions and syscall(2). It
 * counts from the first query on (pt_cputime.c). All other clocks are libc's.
 *
 * The clockid of a thread's clock is OURS plus the thread's id, above all positive
 * clockids of the kernel. (The kernel's own form for its threads' clocks has too few
 * bits for our ids.) */
#include <limits.h>
#include <sys/resource.h>
#include <time.h>

#include "base/at_load.h"
#include "preload/pt_calls.h"
#include "preload/pt_cputime.h"
#include "preload/pt_tid.h"

#define OURS (1 << 30) /* ids of threads are smaller */

/* The user thread whose clock it is. NULL: it is no user thread's clock, or (*gone)
 * that thread has ended. */
static struct uk_thread *owner(clockid_t clock, bool *gone)
{
	struct uk_thread *t;

	*gone = false;
	if (posix_borrowed())
		return NULL;
	if (clock == CLOCK_THREAD_CPUTIME_ID)
		return handler_thread();
	if (clock < OURS)
		return NULL;
	t = posix_thread_by_tid(clock - OURS);
	*gone = !t;
	return t;
}

static int64_t cpu_time(struct uk_thread *t)
{
	rt_adopt();
	return cputime_of(t);
}

static long tell_time(struct uk_thread *t, struct timespec *ts)
{
	if (!posix_readable(ts, sizeof(*ts)))
		return -EFAULT;
	*ts = sys_timespec(cpu_time(t));
	return 0;
}

/* The carrier's usage, but with the thread's own CPU time, split into user and system
 * time as the carrier's is. */
static long tell_usage(struct uk_thread *t, struct rusage *u)
{
	long r = sys2(SYS_getrusage, RUSAGE_THREAD, u);
	int64_t all = r ? 0 : cpu_time(t) / NS_PER_US, user, system;

	if (r)
		return r;
	user = u->ru_utime.tv_sec * 1000000 + u->ru_utime.tv_usec;
	system = u->ru_stime.tv_sec * 1000000 + u->ru_stime.tv_usec;
	user = (int64_t)((double)all * (double)user / (double)MAX(user + system, 1));
	system = all - user;
	u->ru_utime = (struct timeval){ user / 1000000, user % 1000000 };
	u->ru_stime = (struct timeval){ system / 1000000, system % 1000000 };
	return 0;
}

bool clock_call(long n, const long *a, long *r)
{
	clockid_t clock =
	    n == SYS_getrusage ? CLOCK_THREAD_CPUTIME_ID : (clockid_t)a[0];
	void *p = (void *)(uintptr_t)a[1];
	struct uk_thread *t;
	bool gone;

	if (n == SYS_getrusage ? a[0] != RUSAGE_THREAD
			       : n != SYS_clock_gettime && n != SYS_clock_getres)
		return false;
	t = owner(clock, &gone);
	if (gone)
		*r = -EINVAL;
	else if (t && n == SYS_getrusage)
		*r = tell_usage(t, p);
	else if (t && n == SYS_clock_getres)
		*r = sys2(n, CLOCK_THREAD_CPUTIME_ID, p);
	else if (t)
		*r = tell_time(t, p);
	return gone || t;
}

int clock_counts(clockid_t clock, uint32_t *tid)
{
	bool gone;
	struct uk_thread *t = owner(clock, &gone);

	if (t) {
		cpu_time(t); /* it counts from now on */
		*tid = tls_tid(t->tp);
	}
	return gone ? -EINVAL : t != NULL;
}

/* ---- libc's names ---- */

clock_reader *clock_shown(void)
{
	return NEXT(clock_gettime);
}

/* Handlers may call it, so it is looked up before there are any. */
AT_LOAD(look_up)
{
	clock_shown();
}

static bool asks(long n, long which, void *to, long *r)
{
	const long a[] = { which, (long)(uintptr_t)to };

	return clock_call(n, a, r);
}

LIBC_API int clock_gettime(clockid_t clock, struct timespec *ts)
{
	long r;

	if (unlikely(clock >= OURS || clock == CLOCK_THREAD_CPUTIME_ID) &&
	    asks(SYS_clock_gettime, clock, ts, &r))
		return (int)posix_result(r);
	return clock_shown()(clock, ts);
}
ALSO(clock_gettime, __clock_gettime);

LIBC_API int clock_getres(clockid_t clock, struct timespec *ts)
{
	long r;

	return asks(SYS_clock_getres, clock, ts, &r) ? (int)posix_result(r)
						     : NEXT(clock_getres)(clock, ts);
}

LIBC_API int getrusage(__rusage_who_t which, struct rusage *u)
{
	long r;

	return asks(SYS_getrusage, which, u, &r) ? (int)posix_result(r)
						 : NEXT(getrusage)(which, u);
}

LIBC_API int pthread_getcpuclockid(pthread_t th, clockid_t *clock)
{
	struct uk_thread *t = posix_thread(th);

	if (!posix_of(th)->thread)
		return NEXT(pthread_getcpuclockid)(th, clock);
	if (!t)
		return ESRCH;
	cpu_time(t); /* it counts from now on */
	*clock = OURS + tls_tid((void *)th);
	return 0;
}
