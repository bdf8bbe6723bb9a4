/* SPDX-License-Identifier: Apache-2.0 */
/* pt_cancel.c - pthread_cancel. The state, the type and the unwinding are libc's own,
 * in its struct pthread. Our part is to wake a cancelled thread that is parked.
 *
 *   the canceller            sets CANCELED in libc's word, then the runtime's flag, and
 *                            fires the wait
 *   the thread, in our call  each call that is a cancellation point checks libc's word
 *                            when it begins, and again when its wait was cut short
 *   outside the runtime      the thread is interrupted, as by a signal. It is cancelled
 *                            there if its type is asynchronous (libc before 2.41 sets
 *                            this while a call of its own sleeps in the kernel), or if
 *                            it is in the one function by which a newer libc makes such
 *                            calls, before the system call begins or where it is
 *                            restarted. After EINTR, libc checks its word itself
 *   inside, asynchronous     the thread is cancelled at the end of the call or of its
 *                            wait (also for a lock), where handlers run
 *
 * That function has no exported name. It is found by its bytes, when a thread is first
 * cancelled. (Rejected: EINTR for every interrupted call. A thread that is interrupted
 * between libc's check and the system call would sleep for ever.)
 *
 * So the runtime's flag only ends a wait. A wait that is not a cancellation point, or
 * of a thread that has disabled cancellation, clears the flag and continues.
 *
 * main, a kernel thread, is cancelled in the same way once it has called the runtime.
 * libc sends its signal only to a thread that sleeps in a call of its own, or is of
 * asynchronous type, and would unwind that one in the middle of the runtime. */
#include <link.h>
#include <string.h>

#include "arch/arch.h"
#include "io/io.h"
#include "preload/pt_signal.h"
#include "thread/glibc.h"

/* cancelhandling in libc's struct pthread: the same bits since 2.4 */
#define CANCEL_DISABLED 0x01u
#define CANCEL_ASYNC 0x02u
#define CANCELING 0x04u
#define CANCELED 0x08u
#define EXITING 0x10u

/* bounds of libc's function; both 0: it has none, or nobody has looked */
static uintptr_t point, point_end;

static uint32_t *cancel_word(pthread_t th)
{
	return (uint32_t *)(void *)((char *)th + glibc.cancel);
}

static bool due(uint32_t w)
{
	return (w & (CANCEL_DISABLED | CANCELED | EXITING)) == CANCELED;
}

/* Unwinds, also out of a call with a temporary signal mask. */
static COLD void end_now(void)
{
	posix_self_tls.signals.masked = false;
	io_release(NULL);
	NEXT(pthread_testcancel)();
}

void posix_testcancel(void)
{
	if (unlikely(glibc.cancel != NOWHERE &&
		     due(load_relaxed(cancel_word(pthread_self())))))
		end_now();
}

/* As libc does when a thread ends: from now on nothing may unwind to where it began. */
void posix_cancel_end(void)
{
	if (glibc.cancel != NOWHERE)
		fetch_or_acq_rel(cancel_word(pthread_self()), EXITING);
}

/* -ECANCELED: the runtime's flag has ended the wait, and is cleared. */
bool posix_cut(long r, bool restarts)
{
	if (r == -ECANCELED)
		uk_thread_cancel_clear();
	if (posix_self_tls.signals.cut)
		posix_cut_done();
	posix_testcancel();
	return r == -ECANCELED || posix_handlers_let(restarts);
}

static int find_point(struct dl_phdr_info *info, size_t size UNUSED, void *inside)
{
	struct arch_bytes b = arch_libc_cancel_point();

	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t text = info->dlpi_addr + ph->p_vaddr;
		uintptr_t at;

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X) ||
		    (uintptr_t)inside - text >= ph->p_memsz)
			continue;
		at = (uintptr_t)memmem((void *)text, ph->p_filesz, b.bytes, b.len);
		store_relaxed(&point_end, at ? at + b.len : 0);
		/* release: a thread that sees point sees point_end (pairs with
		 * stands_at_point) */
		store_release(&point, at ? at - b.before : 0);
		return 1;
	}
	return 0;
}

/* Two threads may look at once: they find the same bounds. */
static void learn_point(void)
{
	static uint32_t looked;

	if (!load_relaxed(&looked) && arch_libc_cancel_point().len)
		dl_iterate_phdr(find_point, (void *)NEXT(pthread_testcancel));
	store_relaxed(&looked, 1);
}

static bool stands_at_point(const void *context)
{
	uintptr_t at = arch_ucontext_ip(context), begin = load_acquire(&point);

	return begin && at >= begin && at < load_relaxed(&point_end);
}

void posix_cancel_now(const void *context)
{
	uint32_t w;

	if (glibc.cancel == NOWHERE)
		return;
	w = load_relaxed(cancel_word(pthread_self()));
	if (due(w) && (w & CANCEL_ASYNC || (context && stands_at_point(context))))
		end_now();
}

/* libc installs its handler when a thread is first cancelled. We make it do so now, so
 * that ours is installed after it and can call it. The caller, a kernel thread, notices
 * nothing. */
void posix_cancel_begin(void)
{
	uint32_t *w = cancel_word(pthread_self()), was;
	int state;

	if (!glibc.cancel || glibc.cancel == NOWHERE) /* not known yet, or never */
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	was = load_relaxed(w);
	NEXT(pthread_cancel)(pthread_self());
	fetch_and_acq_rel(w, was | ~(CANCELING | CANCELED));
	pthread_setcancelstate(state, NULL);
}

/* th's descriptor. NULL for a kernel thread that has never called the runtime: libc
 * cancels that one. */
static struct uk_thread *descriptor_of(pthread_t th)
{
	struct uk_thread **its = tls_address_in((void *)th, &thread_self_tls);

	if (posix_of(th)->thread)
		return posix_thread(th);
	return load_acquire(&signals_begun) ? load_relaxed(its) : NULL;
}

LIBC_API int pthread_cancel(pthread_t th)
{
	struct uk_thread *t = descriptor_of(th);
	uint32_t w;

	if (!posix_of(th)->thread && (!t || glibc.cancel == NOWHERE))
		return NEXT(pthread_cancel)(th);
	if (!t)
		return ESRCH;
	if (load_relaxed(&t->state) == T_EXITED)
		return 0;
	w = fetch_or_acq_rel(cancel_word(th), CANCELING | CANCELED);
	if (w & (CANCELED | EXITING))
		return 0;
	if (th == pthread_self()) {
		if (w & CANCEL_ASYNC)
			posix_testcancel();
		return 0;
	}
	if (!(w & CANCEL_DISABLED)) {
		learn_point();
		uk_thread_cancel(t);
		rt_enter();
		sched_cancel_bound(t);
		thread_interrupt(t, true); /* leads to posix_cancel_now */
		rt_exit();
	}
	return 0;
}
