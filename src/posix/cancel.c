/* SPDX-License-Identifier: Apache-2.0 */
/* cancel.c - pthread_cancel. The state, the type and the unwinding are libc's own, in its
 * struct pthread; ours is that a cancelled thread which is parked wakes up.
 *
 *   canceller   sets CANCELED in libc's word, then the runtime's flag, and fires the wait
 *   the thread  each call of ours that is a cancellation point looks at libc's word when it
 *               begins, and again when its wait was cut short
 *
 *   the thread  outside the runtime is interrupted, as by a signal; if it may be cancelled
 *               where it stands, it is: its type is asynchronous, or libc has made it so
 *               while a call of its own sleeps in the kernel
 *
 * So the runtime's flag is only the way to end a wait. A wait that is no cancellation
 * point, or of a thread that has disabled cancellation, clears it and waits on. */
#include "posix/posix.h"
#include "thread/glibc.h"

/* libc's struct pthread, cancelhandling: the same since 2.4 */
#define CANCEL_DISABLED 0x01u
#define CANCEL_ASYNC 0x02u
#define CANCELING 0x04u
#define CANCELED 0x08u
#define EXITING 0x10u

static uint32_t *word_of(pthread_t th)
{
	return (uint32_t *)(void *)((char *)th + glibc.cancel);
}

static bool due(uint32_t w)
{
	return (w & (CANCEL_DISABLED | CANCELED | EXITING)) == CANCELED;
}

void posix_testcancel(void)
{
	if (unlikely(glibc.cancel != NOWHERE &&
		     due(load_relaxed(word_of(pthread_self())))))
		NEXT(pthread_testcancel)();
}

/* The runtime's flag has done its work. */
bool posix_cut(long r, bool restarts)
{
	if (r == -ECANCELED)
		uk_thread_cancel_clear();
	posix_testcancel();
	return r == -ECANCELED || posix_handlers_let(restarts);
}

void posix_cancel_now(void)
{
	const uint32_t all = CANCEL_DISABLED | CANCEL_ASYNC | CANCELED | EXITING;

	if (glibc.cancel != NOWHERE &&
	    (load_relaxed(word_of(pthread_self())) & all) == (CANCEL_ASYNC | CANCELED))
		NEXT(pthread_testcancel)();
}

LIBC_API int pthread_cancel(pthread_t th)
{
	struct uk_thread *t = posix_thread(th);
	uint32_t w;

	if (!posix_of(th)->thread)
		return NEXT(pthread_cancel)(th);
	if (!t)
		return ESRCH;
	if (load_relaxed(&t->state) == T_EXITED)
		return 0;
	w = fetch_or_acq_rel(word_of(th), CANCELING | CANCELED);
	if (w & (CANCELED | EXITING))
		return 0;
	if (th == pthread_self()) {
		if (w & CANCEL_ASYNC)
			posix_testcancel();
		return 0;
	}
	if (!(w & CANCEL_DISABLED)) {
		uk_thread_cancel(t);
		rt_enter();
		thread_interrupt(t, true); /* posix_cancel_now looks there */
		rt_exit();
	}
	return 0;
}
