/* SPDX-License-Identifier: Apache-2.0 */
/* pt_sleep.c - the sleeps. None of them is restarted after a signal: they return what
 * was left. */
#include <time.h>
#include <unistd.h>

#include "preload/pt_calls.h"

/* A sleep of no time yields, because programs spin on it. */
static long sleep_to(int64_t end)
{
	if (end > sys_now())
		return uk_sleep_until(end);
	uk_yield();
	return 0;
}

/* Sleeps until then: 0 or an error number. *rem, if rem is not NULL, is what was left
 * after a signal. */
static int sleep_until(int64_t end, struct timespec *rem)
{
	long r;

	posix_testcancel();
	do
		r = sleep_to(end);
	while (posix_again(r, false));
	if (r == -EINTR && rem)
		*rem = sys_timespec(MAX(end - sys_now(), 0));
	return (int)-r;
}

/* False: the kernel is to say EFAULT. */
static bool is_there(const struct timespec *ts)
{
	return ts && posix_readable(ts, sizeof(*ts));
}

/* Clocks that always run, so that a span on them is a span on the runtime's clock. */
static bool runs(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC ||
	       clock == CLOCK_BOOTTIME || clock == CLOCK_TAI;
}

LIBC_API int clock_nanosleep(clockid_t clock, int flags, const struct timespec *req,
			     struct timespec *rem)
{
	bool abs = flags & TIMER_ABSTIME;
	int64_t end;

	if (!posix_user() || !is_there(req) || !posix_span_ok(req) ||
	    clock == CLOCK_THREAD_CPUTIME_ID)
		return NEXT(clock_nanosleep)(clock, flags, req, rem);
	if (!abs && runs(clock))
		return sleep_until(posix_after(req), rem);
	end = abs ? posix_deadline(clock, req) : -EINVAL;
	if (end == -EINVAL) /* another clock */
		return POSIX_HANDOFF(NEXT(clock_nanosleep)(clock, flags, req, rem));
	return sleep_until(end, NULL);
}

LIBC_API int nanosleep(const struct timespec *req, struct timespec *rem)
{
	if (!posix_user() || !is_there(req) || !posix_span_ok(req))
		return NEXT(nanosleep)(req, rem);
	return (int)posix_result(-sleep_until(posix_after(req), rem));
}
ALSO(nanosleep, __nanosleep);

LIBC_API int usleep(useconds_t us)
{
	if (!posix_user())
		return NEXT(usleep)(us);
	return (int)posix_result(-sleep_until(uk_after(us * NS_PER_US), NULL));
}

LIBC_API unsigned sleep(unsigned s)
{
	struct timespec rem = { 0, 0 };

	if (!posix_user())
		return NEXT(sleep)(s);
	sleep_until(uk_after(s * NS_PER_SEC), &rem);
	return (unsigned)rem.tv_sec;
}
