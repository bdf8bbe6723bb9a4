/* SPDX-License-Identifier: Apache-2.0 */
/* setuid(), setgid(), setgroups() and their kin change the credentials of one kernel
 * thread; libc makes it the process's by a signal to every thread in its lists, whose
 * handler makes the same call and checks its thread off, in the struct pthread that it
 * finds at the thread pointer. On a carrier that runs a full user thread that is the user
 * thread's: the carrier is never checked off, and is signalled for ever.
 *
 * So our handler stands before libc's: it lends it the carrier's own thread pointer. All
 * carriers are libc's threads, in its lists and with the signal open, dispatchers and
 * spares among them; a thread of a forked child that is libc's no more is put into the
 * lists by carrier_renew (tls_adopt).
 *
 * Runs in a signal handler, all other signals blocked, on whatever stack was current.
 *
 * Rejected: the calls interposed, with a broadcast of our own: initgroups() and whatever
 * else in libc makes them is not interposed, and libc's handler would still come. */
#include <signal.h>

#include "arch/arch.h"
#include "base/sys.h"
#include "sched/vp.h"

#define SIGSETXID (__SIGRTMIN + 1) /* the second of the two that libc keeps */

/* As the kernel has it. */
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

	if (signal_is_ours(info)) {
		signal_interrupted(info, context);
		return;
	}
	if (t && t->tp && !t->carrier->renew) {
		tp = t->tp;
		arch_set_tp(t->carrier->tp);
	}
	/* a network processor's thread keeps the ones of before */
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
		return; /* libc has made no thread yet: then there are no blocks */
	if (a.handler != on_setxid)
		libc_handler = a.handler;
	a.handler = on_setxid;
	a.mask = ~0ull;
	if (thread_signals) /* the program's handlers run in it, on the thread's stack */
		a.flags &= ~(unsigned long)SA_ONSTACK;
	sys4(SYS_rt_sigaction, SIGSETXID, &a, NULL, sizeof(a.mask));
}
