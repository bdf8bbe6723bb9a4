/* SPDX-License-Identifier: Apache-2.0 */
/* pt_timer.c - timers that signal one user thread (SIGEV_THREAD_ID). The kernel's timer
 * signals the receiver, which sends the thread the signal that the program has asked
 * for. All other timers are libc's, except for their clock, if it is a user thread's
 * (pt_cpu_timer.c).
 *
 * A timer's signal is pending once. Further expirations count as its overruns, as in
 * the kernel, which counts those of the signal to the receiver. */
#include <limits.h>
#include <stdlib.h>
#include <time.h>

#include "base/sys.h"
#include "preload/pt_signal.h"
#include "preload/pt_tid.h"

struct directed {
	struct list all; /* lock */
	timer_t id;      /* libc's, and so the kernel's; constant, like the next two */
	int sig;
	union sigval value;
	struct posix_signals *to; /* lock; NULL: the thread has ended */
	int overrun;              /* lock: of the last signal that was taken */
};

static struct list timers = LIST_INIT(timers); /* lock: signals_enter's */

/* Under the lock. */
static struct directed *timer_find(timer_t id)
{
	list_each_safe(l, tmp, &timers)
	{
		struct directed *t = container_of(l, struct directed, all);

		if (t->id == id)
			return t;
	}
	return NULL;
}

/* libc's timer_t of a kernel timer is the kernel's number. */
static struct directed *timer_of(const siginfo_t *info)
{
	return timer_find((timer_t)(intptr_t)info->si_timerid);
}

static struct signal_item *pending_of(const struct directed *t)
{
	struct signal_item *it = t->to->items;

	while (it && (it->info.si_code != SI_TIMER ||
		      (timer_t)(intptr_t)it->info.si_timerid != t->id))
		it = it->next;
	return it;
}

static void directed_expired(struct directed *t, const siginfo_t *kernels, bool own)
{
	struct signal_item *it = t && t->to ? pending_of(t) : NULL;
	siginfo_t info = *kernels;

	if (!t || !t->to)
		return;
	info.si_overrun += (int)MIN(cpu_timer_overrun(t->id), INT_MAX / 2);
	if (it) {
		it->info.si_overrun += 1 + info.si_overrun;
		return;
	}
	info.si_signo = t->sig;
	info.si_value = t->value;
	if (own)
		item_put(t->to, &info, false);
	else
		signal_post(t->to, &info, false);
}

bool timer_signals(timer_t id, bool own)
{
	struct directed *t = timer_find(id);
	siginfo_t info = { .si_code = SI_TIMER };

	info.si_timerid = (int)(intptr_t)id;
	directed_expired(t, &info, own && t && t->to == &posix_self_tls.signals);
	return t;
}

void timer_expired(const siginfo_t *kernels)
{
	bool in = signals_enter();

	if (!cpu_timers_expired(kernels))
		directed_expired(timer_of(kernels), kernels, false);
	signals_leave(in);
}

void timer_taken(const siginfo_t *info)
{
	struct directed *t = info->si_code == SI_TIMER ? timer_of(info) : NULL;

	if (t)
		t->overrun = info->si_overrun;
}

void timers_gone(const struct posix_signals *to)
{
	list_each_safe(l, tmp, &timers)
	{
		struct directed *t = container_of(l, struct directed, all);

		if (t->to == to)
			t->to = NULL;
	}
}

void timers_forget(void)
{
	list_init(&timers);
}

/* ---- the program's calls ---- */

/* 0 or an error number. */
static int create(clockid_t clock, const struct sigevent *ev, timer_t *id)
{
	struct sigevent kernels = *ev;
	pid_t tid = ev->_sigev_un._tid;
	struct posix_thread *pt;
	struct directed *t;
	int err;

	if (!posix_by_tid(tid) || ev->sigev_signo < 1 || ev->sigev_signo > SIGNAL_LAST)
		return EINVAL;
	kernels.sigev_signo = WAKE_RECEIVER;
	kernels._sigev_un._tid = (pid_t)receiver_begin();
	t = malloc(sizeof(*t));
	if (!t || !kernels._sigev_un._tid) {
		free(t);
		return EAGAIN;
	}
	if (NEXT(timer_create)(clock, &kernels, id)) {
		err = errno;
		free(t);
		return err;
	}
	*t = (struct directed){ .id = *id,
				.sig = ev->sigev_signo,
				.value = ev->sigev_value };
	bool in = signals_enter();
	pt = signals_find(tid); /* the thread may have ended */
	t->to = pt ? &pt->signals : NULL;
	list_push_back(&timers, &t->all);
	signals_leave(in);
	return 0;
}

static int create_any(clockid_t clock, struct sigevent *ev, timer_t *id)
{
	int r;

	if (ev && ev->sigev_notify == SIGEV_THREAD_ID &&
	    posix_users_tid(ev->_sigev_un._tid) && !posix_borrowed())
		return (int)posix_result(-create(clock, ev, id));
	r = NEXT(timer_create)(clock, ev, id);
	if (!r && ev && ev->sigev_notify == SIGEV_THREAD)
		posix_helper(HELPER_TIMER);
	return r;
}

LIBC_API int timer_create(clockid_t clock, struct sigevent *restrict ev,
			  timer_t *restrict id)
{
	uint32_t of = 0;
	int r = clock_counts(clock, &of);

	if (r < 0)
		return (int)posix_result(r);
	if (!r)
		return create_any(clock, ev, id);
	r = create_any(CLOCK_MONOTONIC, ev, id);
	if (!r && !cpu_timer_begin(*id, of)) {
		timer_delete(*id);
		return (int)posix_result(-EAGAIN);
	}
	return r;
}

LIBC_API int timer_delete(timer_t id)
{
	bool in = signals_enter();
	struct directed *t = timer_find(id);
	void *counts = cpu_timer_end(id);

	if (t)
		list_del(&t->all);
	signals_leave(in);
	free(counts);
	free(t);
	return NEXT(timer_delete)(id);
}

LIBC_API int timer_getoverrun(timer_t id)
{
	bool in = signals_enter();
	const struct directed *t = timer_find(id);
	int n = t ? t->overrun : -1;

	signals_leave(in);
	return t ? n : NEXT(timer_getoverrun)(id);
}

/* ---- by syscall(2) ---- */

/* Is the clock, or the thread to signal, one that the kernel does not know? */
static bool asks_us(clockid_t clock, const struct sigevent *ev)
{
	uint32_t of;

	if (!ev || posix_borrowed() || !posix_readable(ev, sizeof(*ev)) ||
	    ev->sigev_notify == SIGEV_THREAD) /* only libc makes these */
		return false;
	return clock_counts(clock, &of) || (ev->sigev_notify == SIGEV_THREAD_ID &&
					    posix_users_tid(ev->_sigev_un._tid));
}

static int create_raw(clockid_t clock, struct sigevent *ev, int *id)
{
	timer_t t;
	int r;

	if (!posix_readable(id, sizeof(*id))) {
		errno = EFAULT;
		return -1;
	}
	r = timer_create(clock, ev, &t);
	if (!r)
		*id = (int)(intptr_t)t;
	return r;
}

/* libc's timer_t is the kernel's number; a negative one is an address. */
bool timer_call(long n, const long *a, long *r)
{
	timer_t id = (timer_t)(intptr_t)(int)a[0];
	void *p[] = { (void *)a[1], (void *)a[2], (void *)a[3] };

	if (n != SYS_timer_create && (int)a[0] < 0)
		return false;
	if (n == SYS_timer_create && asks_us((clockid_t)a[0], p[0]))
		*r = create_raw((clockid_t)a[0], p[0], p[1]);
	else if (n == SYS_timer_settime)
		*r = timer_settime(id, (int)a[1], p[1], p[2]);
	else if (n == SYS_timer_gettime)
		*r = timer_gettime(id, p[0]);
	else if (n == SYS_timer_getoverrun)
		*r = timer_getoverrun(id);
	else if (n == SYS_timer_delete)
		*r = timer_delete(id);
	else
		return false;
	if (*r < 0)
		*r = -errno;
	return true;
}
