/* SPDX-License-Identifier: Apache-2.0 */
/* timer.c - timers that signal one user thread (SIGEV_THREAD_ID): the kernel's, which signals
 * the receiver, and that sends the thread on its way what the program has asked for. So
 * timer_settime and timer_gettime are libc's, and all other kinds of timers are, too.
 *
 * A timer's signal is pending once. What expires meanwhile counts as overruns of it, here as
 * in the kernel, which has counted those of the receiver's own. */
#include <stdlib.h>
#include <time.h>

#include "base/sys.h"
#include "posix/signal.h"
#include "posix/tid.h"

struct directed {
	struct list all; /* lock */
	timer_t id;      /* libc's, and so the kernel's; constant, like the next two */
	int sig;
	union sigval value;
	struct posix_signals *to; /* lock; NULL: it has ended */
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

/* Libc's timer_t of a timer of the kernel's is the number. */
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

void timer_expired(const siginfo_t *kernels)
{
	bool in = signals_enter();
	struct directed *t = timer_of(kernels);
	struct signal_item *it = t && t->to ? pending_of(t) : NULL;

	if (it) {
		it->info.si_overrun += 1 + kernels->si_overrun;
	} else if (t && t->to) {
		siginfo_t info = *kernels;

		info.si_signo = t->sig;
		info.si_value = t->value;
		signal_post(t->to, &info, false);
	}
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
	pt = signals_find(tid); /* it may have ended since */
	t->to = pt ? &pt->signals : NULL;
	list_push_back(&timers, &t->all);
	signals_leave(in);
	return 0;
}

LIBC_API int timer_create(clockid_t clock, struct sigevent *restrict ev,
			  timer_t *restrict id)
{
	int r;

	clock = clock_of_timer(clock);
	if (ev && ev->sigev_notify == SIGEV_THREAD_ID &&
	    ev->_sigev_un._tid >= TLS_FIRST_TID && !posix_borrowed())
		return (int)posix_result(-create(clock, ev, id));
	r = NEXT(timer_create)(clock, ev, id);
	if (!r && ev && ev->sigev_notify == SIGEV_THREAD)
		posix_helper(HELPER_TIMER);
	return r;
}

LIBC_API int timer_delete(timer_t id)
{
	bool in = signals_enter();
	struct directed *t = timer_find(id);

	if (t)
		list_del(&t->all);
	signals_leave(in);
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
