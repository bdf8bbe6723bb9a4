/* SPDX-License-Identifier: Apache-2.0 */
/* pt_time.c - times of the program's clocks, and spans, converted to the runtime's
 * clock. */
#include <time.h>

#include "base/sys.h"
#include "preload/pt.h"
#include "uk/time.h"

static int64_t shown_now(clockid_t clock)
{
	struct timespec now;

	clock_shown()(clock, &now);
	return now.tv_sec * NS_PER_SEC + now.tv_nsec;
}

int64_t posix_deadline(clockid_t clock, const struct timespec *abs)
{
	int64_t end, shown;

	if (!abs)
		return TIME_NEVER;
	if (!posix_time_ok(abs) || !posix_clock_ok(clock))
		return -EINVAL;
	if (abs->tv_sec < 0)
		return 0;
	if (abs->tv_sec >= TIME_NEVER / NS_PER_SEC / 2)
		return TIME_NEVER;
	end = abs->tv_sec * NS_PER_SEC + abs->tv_nsec;
	if (clock == CLOCK_MONOTONIC && clock_shown() == LIBC(clock_gettime))
		return end;
	/* In this order: the caller may be preempted between the two clocks, and a wait
	 * may end late, but not early. */
	shown = shown_now(clock);
	return MAX(sys_now() + end - shown, 0);
}

int64_t posix_after(const struct timespec *span)
{
	if (!span || span->tv_sec >= TIME_NEVER / NS_PER_SEC / 2)
		return TIME_NEVER;
	return uk_after(span->tv_sec * NS_PER_SEC + span->tv_nsec);
}
