/* SPDX-License-Identifier: Apache-2.0 */
/* pt_interrupt.c - interrupts a user thread, so that a handler can run in its context.
 * pt_signal.c knows which handlers are to run, and whether the thread's mask lets them.
 *
 * A thread that has a signal for t sets ASK_SIGNAL with wait_cut, which ends t's wait,
 * and then looks where t is:
 *
 *   t parked, or about to         its wait ends with WAKE_SIGNAL; when it leaves the
 *                                 runtime it delivers (signals_arrived, exit_slow)
 *   t ready, or never ran         the same when its turn comes
 *   t runs, in the runtime        a kernel signal to its carrier: the handler defers
 *   t runs, outside, or sleeps    the same kernel signal: the handler delivers, and the
 *   in the kernel                 system call ends with EINTR or goes on
 *
 * A kernel thread's signals are the kernel's business, but it is cancelled in the same
 * way. The kernel signal goes to the thread itself. It takes effect at once if the
 * thread is outside the runtime and in no wait (a foreign thread parks with depth 0);
 * else when the thread leaves the runtime.
 *
 * No request is missed. t arrives on a carrier (the switch writes state and carrier,
 * then reads asked) either before the asker's membarrier: then the asker sees it run;
 * or after: then it sees the bit.
 *
 * The kernel signals are the two that libc keeps for itself: 32 (SIGCANCEL, whose other
 * senders the preload library replaces) and, with SA_RESTART, 33 (SIGSETXID; setxid.c,
 * whose handler comes first, tells it apart by how it was sent). No mask of the program
 * ever contains them. The same signals ask a carrier something (ask), whichever thread
 * runs there.
 *
 * While a handler runs that interrupted user code, its thread is a guest and does not
 * park (sched/guest.c). A handler that runs at the end of a call (the upper two rows)
 * is called like any function, and may park.
 *
 * Rejected: the program's own signals sent to carriers (a mask for each carrier,
 * changed at each switch); handlers only at the end of our calls (a garbage collector
 * that stops the world would wait for a thread that computes).
 */
#include <signal.h>

#include "base/at_load.h"
#include "base/libc.h"
#include "base/sys.h"
#include "preload/pt_signal.h"
#include "sched/enter.h"

#define SIG_INTERRUPT __SIGRTMIN
#define SIG_RESTART (__SIGRTMIN + 1)
#define SIG_BORROWED 64 /* for a moment, before there are threads */

/* Only their addresses count: they say that a kernel signal is ours, and for what. */
static uint32_t cookie, question;

/* The kernel's struct sigaction. */
struct action {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void *restorer;
	uint64_t mask;
};

static long send(int tid, bool restart, void *why, unsigned which)
{
	siginfo_t info = { .si_signo = restart ? SIG_RESTART : SIG_INTERRUPT,
			   .si_code = SI_QUEUE };

	info.si_ptr = why;
	info.si_uid = which;
	return sys4(SYS_rt_tgsigqueueinfo, sys0(SYS_getpid), tid, info.si_signo, &info);
}

static void send_to(int tid, bool restart)
{
	send(tid, restart, &cookie, 0);
}

static bool ask(const struct carrier *c, enum carrier_question q)
{
	return hooks.thread_signals && !send(c->tid, true, &question, q);
}

static const uint64_t interrupts =
    1ull << (SIG_INTERRUPT - 1) | 1ull << (SIG_RESTART - 1);

/* Called in a handler, before the program's code runs in it or it is left for good:
 * sets the mask of the interrupted code. The signals that interrupt are open in it,
 * even if they were blocked until a call that waits (interrupts_shut). */
static void mask_of_interrupted(void *context)
{
	uint64_t mask =
	    *(const uint64_t *)(const void *)&((ucontext_t *)context)->uc_sigmask &
	    ~interrupts;

	sys4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
}

void interrupts_shut(void *open)
{
	sys4(SYS_rt_sigprocmask, SIG_BLOCK, &interrupts, open, sizeof(interrupts));
}

void interrupts_open(const void *open)
{
	if (open)
		sys4(SYS_rt_sigprocmask, SIG_SETMASK, open, NULL, sizeof(uint64_t));
	else
		sys4(SYS_rt_sigprocmask, SIG_UNBLOCK, &interrupts, NULL,
		     sizeof(interrupts));
}

void thread_interrupt(struct uk_thread *t, bool restart)
{
	struct carrier *c;

	wait_cut(t, ASK_SIGNAL);
	if (t == thread_self()) {
		signals_arrived(t);
		return;
	}
	if (t == handler_thread()) {
		/* a guest signals itself; a tracer must not see a signal of ours */
		store_relaxed(&thread_self()->deferred, 1);
		return;
	}
	if (load_relaxed(&t->state) != T_RUNNING)
		return;
	if (load_relaxed(&t->kind) == THREAD_FOREIGN) {
		send_to((int)t->ktid, restart);
		return;
	}
	c = load_acquire(&t->carrier);
	if (c)
		send_to(c->tid, restart);
}

/* On a foreign kernel thread. */
static void foreign_interrupted(struct uk_thread *t, void *context)
{
	if (!thread_asked(t, ASK_SIGNAL) || t->depth ||
	    W_STATE(load_relaxed(&t->wait)) != W_IDLE)
		return;
	thread_signals_seen(t);
	mask_of_interrupted(context);
	hooks.thread_signals(context);
}

/* Was the signal sent by this file? */
static bool is_ours(const siginfo_t *info)
{
	return info->si_code == SI_QUEUE &&
	       (info->si_ptr == &cookie || info->si_ptr == &question);
}

/* On a carrier: does its thread have something to handle? Another thread that runs
 * there by now has no bit. The program's handlers run with the mask of the interrupted
 * code, because otherwise the next interruption would wait until this handler ends. */
static void interrupted(const siginfo_t *info, void *context)
{
	struct uk_thread *t = handler_thread(), *now = thread_self();

	if (info->si_ptr == &question) {
		hooks.carrier_answer[info->si_uid](context);
		return;
	}
	if (now && load_relaxed(&now->kind) == THREAD_FOREIGN && !now->carrier)
		foreign_interrupted(now, context);
	if (!t || !thread_asked(t, ASK_SIGNAL))
		return;
	/* in a call of the guest itself */
	if (now != t && (now->depth || wait_begun(now))) {
		store_relaxed(&now->deferred, 1);
		wait_interrupted(now);
		return;
	}
	if (t->depth) {
		store_relaxed(&t->carrier->deferred, 1);
		return;
	}
	/* before the mask is opened: further signals that wait find nothing, and do not
	 * nest */
	thread_signals_seen(t);
	mask_of_interrupted(context);
	hooks.thread_signals(context);
	if (now != t) /* a handler that sleeps, or is about to */
		wait_interrupted(now);
}

static bool interrupted_ours(const siginfo_t *info, void *context)
{
	if (!is_ours(info))
		return false;
	interrupted(info, context);
	return true;
}

static void (*libc_handler)(int, siginfo_t *, void *); /* or NULL; constant once set */

static void on_interrupt(int sig, siginfo_t *info, void *context)
{
	if (!interrupted_ours(info, context) && libc_handler)
		libc_handler(sig, info, context);
}

static void on_nothing(int sig UNUSED) {}

/* The flags and the restorer that libc gives to a handler: the kernel makes no frame
 * without a restorer. Before the first thread, libc has no handler of its own to copy
 * from. */
static int libc_way(struct action *a)
{
	struct sigaction mine = { .sa_handler = on_nothing };
	struct action old;
	long r = sys4(SYS_rt_sigaction, SIG_RESTART, NULL, a, sizeof(a->mask));

	if (r || a->flags)
		return (int)r;
	r = sys4(SYS_rt_sigaction, SIG_BORROWED, NULL, &old, sizeof(old.mask));
	if (r || LIBC(sigaction)(SIG_BORROWED, &mine, NULL))
		return -1;
	return (int)sys4(SYS_rt_sigaction, SIG_BORROWED, &old, a, sizeof(a->mask));
}

void thread_signals_init(void)
{
	struct action a, old;

	setxid_init();
	if (libc_way(&a))
		return;
	a.handler = on_interrupt;
	a.flags = (a.flags | SA_SIGINFO) & ~(unsigned long)(SA_RESTART | SA_ONSTACK);
	a.mask = 0;
	if (!sys4(SYS_rt_sigaction, SIG_INTERRUPT, &a, &old, sizeof(a.mask)) &&
	    (uintptr_t)old.handler > 1 && old.handler != on_interrupt)
		libc_handler = old.handler;
}

struct uk_thread *handler_left(void)
{
	struct uk_thread *t = handler_thread();

	if (!t || t == thread_self())
		return NULL;
	thread_self()->depth = 0; /* the guest's; a bound thread stays a guest */
	handler_end(t);
	carrier_sigstack(t->carrier); /* armed again, because no sigreturn will do it */
	return t;
}

AT_LOAD(interrupt_register)
{
	hooks.carrier_ask = ask;
	hooks.interrupted = interrupted_ours;
}
