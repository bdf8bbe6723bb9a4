/* SPDX-License-Identifier: Apache-2.0 */
/* alarm.c - what wakes the monitor when there may be something to watch.
 *
 * While all vps sleep, no carrier can be blocked or compute, so the monitor sleeps
 * without a limit. A vp that leaves idleness does not wake it: most vps are idle again
 * within microseconds, and the monitor, which has to look twice to see anything, would
 * have come for nothing. Instead the vp sets a kernel timer, and the last vp that
 * becomes idle stops it (0.3 us each; a wake-up costs both sides ten times that).
 *
 * The timer's signal goes to the monitor's kernel thread alone, which blocks it and
 * waits for it: no handler runs, and no call of the program is interrupted. It is
 * libc's first internal signal (SIGTIMER, which libc uses in the same way for its own
 * timers, and SIGCANCEL), because a thread that waits for a signal also takes those
 * that are sent to the process: a program never sends this one, and may send any other.
 *
 * The cost for others: a signal to any thread of a process also wakes, for nothing,
 * each thread that polls a signalfd there (some 5 us for each alarm).
 *
 * If the kernel gives no timer (RLIMIT_SIGPENDING), a vp that leaves idleness wakes the
 * monitor at once, and the monitor then sleeps for a period.
 *
 * Rejected: a timerfd (the monitor has a table of files of its own, and programs close
 * fds that they did not open); an alarm that comes later each time it comes in vain (it
 * also finds a thread that waits behind one that computes). */
#include "monitor/alarm.h"

#include <fcntl.h>
#include <signal.h>

#include "base/sys.h"

#define SIGEV_TO_THREAD 4 /* SIGEV_THREAD_ID */

static int timer;      /* written by the monitor, before any thread may set it */
static bool has_timer; /* likewise, and so is the next */
static int sleeper;    /* the monitor's kernel thread id */
static int64_t after;  /* written by the monitor, read by others */
static uint32_t woken; /* without a timer: futex; 1: wake up */

void alarm_init(void)
{
	static const uint64_t set = UINT64_C(1) << (ALARM_SIGNAL - 1);
	struct sigevent ev = { .sigev_notify = SIGEV_TO_THREAD,
			       .sigev_signo = ALARM_SIGNAL };

	/* libc leaves this signal open in all masks that it sets */
	sys4(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 8);
	sleeper = sys_gettid();
	ev._sigev_un._tid = sleeper;
	has_timer = !sys3(SYS_timer_create, CLOCK_MONOTONIC, &ev, &timer);
	woken = 0;
}

void alarm_after(int64_t ns)
{
	store_relaxed(&after, ns);
}

void alarm_ring(void)
{
	sys3(SYS_tgkill, sys0(SYS_getpid), sleeper, ALARM_SIGNAL);
}

bool alarm_hears(void)
{
	return has_timer;
}

void alarm_call(bool set)
{
	struct itimerspec it = { .it_value =
				     sys_timespec(set ? load_relaxed(&after) : 0) };

	if (likely(has_timer)) {
		/* a later seccomp filter of the program may refuse it: ring at once */
		if (unlikely(sys4(SYS_timer_settime, timer, 0, &it, NULL) && set))
			alarm_ring();
		return;
	}
	if (!set)
		return;
	store_release(&woken, 1);
	sys_futex_wake(&woken, 1);
}

int alarm_by(int fd)
{
	struct f_owner_ex monitor = { F_OWNER_TID, sleeper };
	int r = (int)sys3(SYS_fcntl, fd, F_SETOWN_EX, &monitor);

	if (!r)
		r = (int)sys3(SYS_fcntl, fd, F_SETSIG, ALARM_SIGNAL);
	if (!r)
		r = (int)sys3(SYS_fcntl, fd, F_SETFL, O_ASYNC);
	return r;
}

/* Waits for the one signal; a broadcast to all threads of the process also ends the
 * wait. si_code tells the sources apart: the timer, alarm_ring, and an fd. */
static int signal_wait(int64_t deadline)
{
	static const uint64_t set = UINT64_C(1) << (ALARM_SIGNAL - 1);
	int64_t left = deadline == TIME_NEVER ? 0 : MAX(deadline - sys_now(), 0);
	struct timespec ts = sys_timespec(left);
	siginfo_t info;

	if (sys4(SYS_rt_sigtimedwait, &set, &info, deadline == TIME_NEVER ? NULL : &ts,
		 8) != ALARM_SIGNAL)
		return -1;
	return info.si_code >= POLL_IN && info.si_code <= POLL_HUP ? info.si_fd : -1;
}

int alarm_wait(int64_t deadline)
{
	struct timespec ts = sys_timespec(load_relaxed(&after));

	if (has_timer)
		return signal_wait(deadline);
	if (load_acquire(&woken) || sys_futex_wait(&woken, 0, deadline) != -ETIMEDOUT)
		sys4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
	store_relaxed(&woken, 0);
	return -1;
}
