/* SPDX-License-Identifier: Apache-2.0 */
/* setxid.c - setuid(), setgid(), setgroups() and similar calls change the credentials
 * of one kernel thread. libc applies them to the process by a signal to every thread in
 * its lists. Its handler makes the same call and marks its thread as done, in the
 * struct pthread that it finds at the thread pointer. On a carrier that runs a full
 * user thread, that is the user thread's: the carrier is never marked, and is signalled
 * for ever.
 *
 * So our handler runs before libc's and gives it the carrier's own thread pointer. All
 * carriers are libc's threads, in its lists and with the signal open, including
 * dispatchers and spares. In a forked child, carrier_renew puts a thread that is no
 * longer libc's into the lists (tls_adopt).
 *
 * Runs in a signal handler, with all other signals blocked, on whatever stack was
 * current.
 *
 * Rejected: to interpose the calls and broadcast ourselves: initgroups() and other
 * callers in libc are not interposed, and libc's handler would still come.
 */
#include <signal.h>

#include "arch/arch.h"
#include "base/sys.h"
#include "sched/vp.h"

#define SIGSETXID (__SIGRTMIN + 1) /* the second of the two that libc keeps */

/* The kernel's struct sigaction. */
struct action {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void *restorer;
	uint64_t mask;
};

static void (*libc_handler)(int, siginfo_t *, void *); /* constant once set */

static void on_setxid(int sig, siginfo_t *info, void *context)
{
	struct uk_thread *t = handler_thread();
	void *tp = NULL;

	if (hooks.interrupted && hooks.interrupted(info, context))
		return;
	if (t && t->tp && !t->carrier->renew) {
		tp = t->tp;
		arch_set_tp(t->carrier->tp);
	}
	/* the thread of a network processor keeps the old credentials */
	store_relaxed(&reactor_other_ids, 1);
	libc_handler(sig, info, context);
	if (tp)
		arch_set_tp(tp);
}

void setxid_init(void)
{
	struct action a;

	if (sys4(SYS_rt_sigaction, SIGSETXID, NULL, &a, sizeof(a.mask)) ||
	    (uintptr_t)a.handler <= 1)
		/* libc has made no thread yet: then there are no thread blocks */
		return;
	if (a.handler != on_setxid)
		libc_handler = a.handler;
	a.handler = on_setxid;
	a.mask = ~0ull;
	/* the program's handlers run inside it, on the thread's stack */
	if (hooks.thread_signals)
		a.flags &= ~(unsigned long)SA_ONSTACK;
	sys4(SYS_rt_sigaction, SIGSETXID, &a, NULL, sizeof(a.mask));
}
