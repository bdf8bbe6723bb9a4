/* SPDX-License-Identifier: Apache-2.0 */
/* pt_cpu_timer.c - timers on a user thread's CPU-time clock, as profilers use them. The
 * kernel cannot measure a thread that moves from carrier to carrier, so:
 *
 *   the program's timer   a kernel timer on CLOCK_MONOTONIC, with the program's
 *                         sigevent. It is never armed for a due time: we arm it for 1
 *                         ns when it has to expire. A timer that signals a user thread
 *                         expires without the kernel
 *   the thread's alarm    one for all of its timers (pt_cputime.c): it wakes the
 *                         receiver when the first of them may be due. The thread itself
 *                         is often earlier: it checks its timers whenever it checks for
 *                         signals
 *
 *   disarmed --settime--> due --the alarm, and the clock agrees--> expired
 *      ^                   ^                                          |
 *      +---- settime 0 ----+----------- an interval ------------------+- none: disarmed
 *
 * As in the kernel, a timer whose thread has ended never expires, and a timer that
 * expires late counts the expirations that it missed. */
#include <stdlib.h>
#include <time.h>

#include "base/sys.h"
#include "preload/pt_cputime.h"
#include "preload/pt_signal.h"
#include "preload/pt_tid.h"

struct cpu_timer {
	struct list all;
	timer_t id;              /* libc's; constant */
	struct posix_thread *of; /* NULL: the thread has ended */
	int64_t due;             /* in its CPU time, ns; 0: disarmed */
	int64_t interval;        /* ns; 0: it expires once */
	int64_t missed;          /* expirations since one was last taken */
};

static struct list cpu_timers =
    LIST_INIT(cpu_timers); /* lock: signals_enter's, for all fields */
static uint32_t begun;     /* a timer may exist; set once */

static struct cpu_timer *cpu_timer_find(timer_t id)
{
	list_each_safe(l, tmp, &cpu_timers)
	{
		struct cpu_timer *t = container_of(l, struct cpu_timer, all);

		if (t->id == id)
			return t;
	}
	return NULL;
}

static int64_t ns_of(const struct timespec *ts)
{
	if (ts->tv_sec > TIME_NEVER / NS_PER_SEC / 2)
		return TIME_NEVER / 2; /* CPU time never gets there */
	return ts->tv_sec * NS_PER_SEC + ts->tv_nsec;
}

/* Expires the timer now, whatever it does then. */
static void happens(timer_t id, bool own)
{
	static const struct itimerspec now = { .it_value = { 0, 1 } };

	if (!timer_signals(id, own))
		NEXT(timer_settime)(id, 0, &now, NULL);
}

static void expire(struct cpu_timer *t, int64_t now, bool own)
{
	int64_t n = 1;

	if (t->interval)
		n += (now - t->due) / t->interval;
	t->due = t->interval ? t->due + n * t->interval : 0;
	t->missed += n;
	happens(t->id, own);
}

/* Expires the timers of pt that are due, and sets its alarm for the next one. own: the
 * caller is pt, and checks for signals next. */
static void look(struct posix_thread *pt, bool own)
{
	int64_t now = cputime_inside(pt->thread), next = 0;

	list_each_safe(l, tmp, &cpu_timers)
	{
		struct cpu_timer *t = container_of(l, struct cpu_timer, all);

		if (t->of != pt || !t->due)
			continue;
		if (t->due <= now)
			expire(t, now, own);
		if (t->due && (!next || t->due < next))
			next = t->due;
	}
	cputime_alarm(pt->thread, pt->alarm - 1, next);
}

bool cpu_timers_expired(const siginfo_t *kernels)
{
	struct posix_thread *pt = signals_find(kernels->si_value.sival_int);

	if (!pt || !pt->alarm || pt->alarm - 1 != kernels->si_timerid)
		return false;
	look(pt, false);
	return true;
}

void cpu_timers_own(void)
{
	struct posix_thread *pt = &posix_self_tls;
	bool in;

	if (likely(!pt->alarm))
		return;
	in = signals_enter();
	if (pt->alarm)
		look(pt, true);
	signals_leave(in);
}

int64_t cpu_timer_overrun(timer_t id)
{
	struct cpu_timer *t = cpu_timer_find(id);
	int64_t n = t && t->missed ? t->missed - 1 : 0;

	if (t)
		t->missed = 0;
	return n;
}

/* Makes pt's alarm, if it has none. False: it cannot be made. */
static bool has_alarm(struct posix_thread *pt)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID,
			       .sigev_signo = WAKE_RECEIVER };
	int id;

	if (pt->alarm)
		return true;
	ev.sigev_value.sival_int = tls_tid(pt->thread->tp);
	ev._sigev_un._tid = (pid_t)receiver_begin();
	if (!ev._sigev_un._tid || sys3(SYS_timer_create, CLOCK_MONOTONIC, &ev, &id) < 0)
		return false;
	pt->alarm = 1 + id;
	return true;
}

bool cpu_timer_begin(timer_t id, uint32_t tid)
{
	struct cpu_timer *t = calloc(1, sizeof(*t));
	struct posix_thread *pt;
	bool ok;

	if (!t || !receiver_begin()) {
		free(t);
		return false;
	}
	t->id = id;
	store_release(&begun, 1); /* before any thread knows the id */
	bool in = signals_enter();
	pt = signals_find(tid); /* the thread may have ended */
	ok = !pt || has_alarm(pt);
	if (ok) {
		t->of = pt;
		list_push_back(&cpu_timers, &t->all);
	}
	signals_leave(in);
	if (!ok)
		free(t);
	return ok;
}

void *cpu_timer_end(timer_t id)
{
	struct cpu_timer *t = cpu_timer_find(id);

	if (t)
		list_del(&t->all);
	return t;
}

void cpu_timers_gone(struct posix_thread *pt)
{
	if (!pt->alarm)
		return;
	cputime_alarm(pt->thread, 0, 0);
	sys1(SYS_timer_delete, pt->alarm - 1);
	pt->alarm = 0;
	list_each_safe(l, tmp, &cpu_timers)
	{
		struct cpu_timer *t = container_of(l, struct cpu_timer, all);

		if (t->of == pt)
			t->of = NULL;
	}
}

void cpu_timers_forget(void)
{
	list_init(&cpu_timers);
	posix_self_tls.alarm = 0;
}

/* ---- the program's calls ---- */

static struct itimerspec left(const struct cpu_timer *t)
{
	struct itimerspec v = { .it_interval = sys_timespec(t->interval) };

	if (t->of && t->due)
		v.it_value =
		    sys_timespec(MAX(t->due - cputime_inside(t->of->thread), 1));
	return v;
}

/* due: an absolute time, or a span from now. */
static void arm(struct cpu_timer *t, int64_t due, int64_t interval, bool abs)
{
	t->interval = interval;
	t->missed = 0;
	t->due = due;
	if (!t->of)
		return;
	if (due && !abs)
		t->due += cputime_inside(t->of->thread);
	look(t->of, false);
}

static bool is_time(const struct itimerspec *v)
{
	return v && posix_readable(v, sizeof(*v)) && posix_span_ok(&v->it_value) &&
	       posix_span_ok(&v->it_interval);
}

/* Is id one of these timers? Then *now is what is left of it, and it is armed anew if
 * `to` is not NULL. */
static bool ask(timer_t id, const struct itimerspec *to, bool abs,
		struct itimerspec *now)
{
	struct cpu_timer *t;

	if (!load_acquire(&begun) || posix_borrowed())
		return false;
	bool in = signals_enter();
	t = cpu_timer_find(id);
	if (t)
		*now = left(t);
	if (t && to)
		arm(t, ns_of(&to->it_value), ns_of(&to->it_interval), abs);
	signals_leave(in);
	return t;
}

LIBC_API int timer_settime(timer_t id, int flags, const struct itimerspec *restrict to,
			   struct itimerspec *restrict was)
{
	struct itimerspec before;

	if (!is_time(to) || !ask(id, to, flags & TIMER_ABSTIME, &before))
		return NEXT(timer_settime)(id, flags, to, was);
	if (was)
		*was = before;
	return 0;
}

LIBC_API int timer_gettime(timer_t id, struct itimerspec *v)
{
	struct itimerspec now;

	if (!ask(id, NULL, false, &now))
		return NEXT(timer_gettime)(id, v);
	*v = now;
	return 0;
}
