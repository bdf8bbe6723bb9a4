/* SPDX-License-Identifier: Apache-2.0 */
/* signal.c - signals for user threads: each has a mask, signals that are pending, and handlers
 * that run in its context. How one is reached, wherever it is, is sched/signal.c's.
 *
 * Two kinds of threads, two ways:
 *
 *   a kernel thread (main)   the kernel's own mask, pending set and delivery. The kernel
 *                            calls on_signal, which calls the program's handler at once; only
 *                            where main is inside the runtime, when it leaves it
 *   a user thread            all of it is here. Its carrier blocks what is not synchronous
 *
 * Who sends                          who gets it
 *   pthread_kill, raise, tgkill      its pending set, then thread_interrupt
 *   a fault, SIGPIPE                 the kernel calls on_signal on its carrier
 *   kill, alarm, the terminal ...    the process. The kernel gives it to main if main lets
 *                                    it through. If main blocks it, the kernel keeps it
 *                                    until a thread takes it that may: the receiver
 *
 * The receiver is a kernel thread of ours that waits (rt_sigtimedwait) for the signals that
 * main blocks and a user thread lets through, or waits for in sigwait; it hands each to one of
 * these. It is started when there is such a signal, and what it waits for only grows; finds it
 * nobody for a signal, it looks again, and gives the signal back to the process.
 *
 * What user threads let through, all together, is asked whenever main changes its mask, so they
 * are counted by mask: nearly all have the same.
 *
 * The lock is held in the runtime alone (rt_enter), where a handler waits until it is left.
 *
 * Before the first user thread all is libc's own: a program that has none pays nothing.
 *
 * Rejected: signals let through on carriers while user code runs (a system call at each switch
 * between masks, and a parked thread would get none); main as a user thread (the process's
 * signals are the kernel's own business as long as it is not). */
#include <limits.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "base/lock.h"
#include "base/panic.h"
#include "base/sys.h"
#include "mem/slab.h"
#include "posix/posix.h"
#include "sched/vp.h"
#include "uk/time.h"

#define BIT(sig) (1ull << ((sig)-1))
#define LAST 64
#define OURS (BIT(__SIGRTMIN) | BIT(__SIGRTMIN + 1))
#define NEVER_BLOCKED (OURS | BIT(SIGKILL) | BIT(SIGSTOP))
#define SYNCHRONOUS                                                                    \
	(BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE) | BIT(SIGTRAP) |       \
	 BIT(SIGSYS))
#define DEFAULT_IGNORED (BIT(SIGCHLD) | BIT(SIGURG) | BIT(SIGWINCH) | BIT(SIGCONT))
#define DEFAULT_STOPS (BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU) | BIT(SIGSTOP))
#define WAKE_RECEIVER __SIGRTMIN
#define GROUPS 64
#define RECEIVER_STACK ((size_t)64 << 10)

struct signal_item {
	struct signal_item *next;
	bool process; /* it was the process's, and is again if nobody takes it */
	siginfo_t info;
};

static struct lock lock = LOCK_INIT(RANK_SIGNAL);
static struct list all = LIST_INIT(all); /* lock */
static struct slab item_slab;
static uint32_t begun; /* set once */
static struct {
	struct sigaction now; /* the program's; lock to write */
} actions[LAST + 1];
static struct {
	uint64_t mask;
	uint64_t n;
} groups[GROUPS];          /* lock: how many have the mask */
static uint64_t crowd;     /* lock: who found no group, and so counts as open to all */
static uint64_t main_mask; /* lock; all, once it has left */
static uint64_t wanted;    /* atomics: what the receiver waits for; it grows */
static uint32_t receiver_tid; /* 0: none; atomics */

static uint64_t word_of(const sigset_t *set)
{
	uint64_t w;

	memcpy(&w, set, sizeof(w));
	return w;
}

static void word_to(sigset_t *set, uint64_t w)
{
	sigemptyset(set);
	memcpy(set, &w, sizeof(w));
}

/* ---- who lets through what ---- */

/* Under the lock. */
static uint16_t group_join(uint64_t mask)
{
	int empty = -1;

	for (int i = 0; i < GROUPS; i++) {
		if (groups[i].n && groups[i].mask == mask) {
			groups[i].n++;
			return (uint16_t)i;
		}
		if (!groups[i].n && empty < 0)
			empty = i;
	}
	if (empty < 0) {
		crowd++;
		return GROUPS;
	}
	groups[empty].mask = mask;
	groups[empty].n = 1;
	return (uint16_t)empty;
}

static void group_leave(uint16_t g)
{
	if (g < GROUPS)
		groups[g].n--;
	else
		crowd--;
}

static uint64_t open_to_some(void)
{
	uint64_t open = crowd ? ~0ull : 0;

	for (int i = 0; i < GROUPS; i++)
		if (groups[i].n)
			open |= ~groups[i].mask;
	return open;
}

/* ---- the receiver ---- */

static bool route(const siginfo_t *info);

static void *receive(void *arg UNUSED)
{
	sys2(SYS_prctl, 15 /* PR_SET_NAME */, "uk-signals");
	for (;;) {
		uint64_t set = load_acquire(&wanted) | BIT(WAKE_RECEIVER);
		siginfo_t info;
		long sig = sys4(SYS_rt_sigtimedwait, &set, &info, NULL, sizeof(set));

		if (sig <= 0 || sig == WAKE_RECEIVER)
			continue;
		if (!route(&info)) {
			/* not before nobody is waited for */
			struct timespec ms = { 0, NS_PER_MS };

			sys3(SYS_rt_sigqueueinfo, sys0(SYS_getpid), sig, &info);
			sys2(SYS_nanosleep, &ms, NULL);
		}
	}
	return NULL;
}

static void *receive_first(void *arg)
{
	thread_foreign();
	store_release(&receiver_tid, (uint32_t)sys_gettid());
	return receive(arg);
}

/* Outside the lock and the runtime: the receiver waits for what it is to wait for. */
static void receiver_call(uint64_t more)
{
	static uint32_t starting;
	uint32_t none = 0;
	uint64_t was;

	if (!more)
		return;
	was = fetch_or_acq_rel(&wanted, more);
	if ((was | more) == was)
		return;
	if (load_acquire(&receiver_tid)) {
		sys3(SYS_tgkill, sys0(SYS_getpid), load_relaxed(&receiver_tid),
		     WAKE_RECEIVER);
		return;
	}
	if (cas_acq_rel(&starting, &none, 1) &&
	    kernel_thread(receive_first, NULL, RECEIVER_STACK, NULL)) {
		store_release(&starting, 0);
		fetch_and_acq_rel(&wanted, was);
	}
}

/* Under the lock. */
static uint64_t for_receiver(void)
{
	uint64_t waits = 0;

	if (!main_mask)
		return 0;
	list_each_safe(l, tmp, &all) waits |=
	    container_of(l, struct posix_signals, all)->waits;
	return main_mask & (open_to_some() | waits) & ~NEVER_BLOCKED & ~SYNCHRONOUS;
}

/* ---- actions ---- */

enum what { IGNORE, DEFAULT, HANDLE };

static enum what what_of(const struct sigaction *a, int sig)
{
	if (a->sa_handler == SIG_IGN ||
	    (a->sa_handler == SIG_DFL && DEFAULT_IGNORED & BIT(sig)))
		return IGNORE;
	return a->sa_handler == SIG_DFL ? DEFAULT : HANDLE;
}

/* What the kernel would do. It comes back from a stop. */
static void default_action(int sig)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	uint64_t bit = BIT(sig);

	if (DEFAULT_STOPS & bit) {
		sys2(SYS_kill, sys0(SYS_getpid), SIGSTOP);
		return;
	}
	LIBC(sigaction)(sig, &dfl, NULL);
	sys4(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, NULL, sizeof(bit));
	sys3(SYS_tgkill, sys0(SYS_getpid), sys_gettid(), sig);
}

/* ---- pending ---- */

/* Under the lock. A signal of the first kind is pending once. */
static int item_put(struct posix_signals *s, const siginfo_t *info, bool process)
{
	struct signal_item *it, **end = &s->items;

	if (info->si_signo < __SIGRTMIN && s->pending & BIT(info->si_signo))
		return 0;
	it = slab_get(&item_slab, NULL);
	if (!it)
		return -EAGAIN;
	it->info = *info;
	it->process = process;
	it->next = NULL;
	while (*end)
		end = &(*end)->next;
	*end = it;
	s->pending |= BIT(info->si_signo);
	return 0;
}

/* Under the lock: the lowest signal of the set, the oldest of its kind. */
static bool item_take(struct posix_signals *s, uint64_t set, siginfo_t *info)
{
	uint64_t due = s->pending & set;
	struct signal_item **at, *it = NULL, *more;
	int sig;

	if (!due)
		return false;
	sig = __builtin_ctzll(due) + 1;
	for (at = &s->items; *at; at = &(*at)->next)
		if ((*at)->info.si_signo == sig)
			break;
	it = *at;
	if (it) {
		*info = it->info;
		*at = it->next;
		slab_put(&item_slab, NULL, it);
	}
	for (more = s->items; more && more->info.si_signo != sig; more = more->next)
		;
	if (!more)
		s->pending &= ~BIT(sig);
	return it;
}

static struct posix_thread *thread_of(struct posix_signals *s)
{
	return container_of(s, struct posix_thread, signals);
}

/* Under the lock: s is parked in sigwait for it, and gets it. */
static bool hand_to_waiter(struct posix_signals *s, const siginfo_t *info)
{
	if (!(s->waits & BIT(info->si_signo)) || !s->got)
		return false;
	*s->got = *info;
	s->got = NULL;
	wait_fire(thread_of(s)->thread, s->token, WAKE_OK);
	return true;
}

/* Under the lock, in the runtime. */
static int post(struct posix_signals *s, const siginfo_t *info)
{
	int sig = info->si_signo, r;
	enum what what = what_of(&actions[sig].now, sig);

	if (hand_to_waiter(s, info))
		return 0;
	if (what == IGNORE && !(s->mask & BIT(sig)))
		return 0;
	r = item_put(s, info, false);
	if (!r && !(s->mask & BIT(sig)))
		thread_interrupt(thread_of(s)->thread,
				 what == HANDLE &&
				     actions[sig].now.sa_flags & SA_RESTART);
	return r;
}

/* A signal of the process's for one of those who may have it. False: nobody may. */
static bool route(const siginfo_t *info)
{
	uint64_t bit = BIT(info->si_signo);
	struct posix_signals *who = NULL;

	rt_enter();
	lock_acquire(&lock);
	list_each_safe(l, tmp, &all)
	{
		struct posix_signals *s = container_of(l, struct posix_signals, all);

		if (s->waits & bit) {
			who = s;
			break;
		}
		if (!who && !(s->mask & bit))
			who = s;
	}
	if (who && who->waits & bit) {
		if (!hand_to_waiter(who, info)) /* it is about to look */
			item_put(who, info, true);
	} else if (who) {
		post(who, info);
	} else
		store_relaxed(&wanted, for_receiver());
	lock_release(&lock);
	rt_exit();
	return who;
}

/* ---- handlers ---- */

static void mask_set_locked(struct posix_signals *s, uint64_t mask)
{
	mask &= ~NEVER_BLOCKED;
	if (mask == s->mask)
		return;
	group_leave(s->group);
	s->mask = mask;
	s->group = group_join(mask);
}

/* The caller's mask, if it is a user thread that lives. */
static void mask_set(struct posix_signals *s, uint64_t mask)
{
	uint64_t more = 0;

	if ((mask & ~NEVER_BLOCKED) == s->mask)
		return;
	rt_enter();
	lock_acquire(&lock);
	if (~mask & s->mask)
		more = 1;
	mask_set_locked(s, mask);
	more = more ? for_receiver() : 0;
	lock_release(&lock);
	rt_exit();
	receiver_call(more);
}

static void count(struct posix_signals *s, const struct sigaction *a)
{
	s->ran++;
	if (!(a->sa_flags & SA_RESTART))
		s->kept++;
}

typedef void info_handler(int, siginfo_t *, void *);

/* A handler that runs, for who leaves it by a jump. */
struct handler_frame {
	struct handler_frame *prev;
	uint64_t mask; /* before it */
	struct uk_thread *was;
};

/* a's handler, as the kernel would call it. was: it has interrupted user code, and the caller
 * is a guest. */
static void call(struct posix_signals *s, const struct sigaction *a, siginfo_t *info,
		 ucontext_t *uc, struct uk_thread *was)
{
	struct handler_frame f = { s->frames, s->mask, was };
	uint64_t old = s->mask, kernels = word_of(&uc->uc_sigmask);
	stack_t stack = uc->uc_stack;
	int sig = info->si_signo, err = errno;

	mask_set(s, old | word_of(&a->sa_mask) |
			(a->sa_flags & SA_NODEFER ? 0 : BIT(sig)));
	memcpy(&uc->uc_sigmask, &old, sizeof(old));
	uc->uc_stack = s->stack;
	s->frames = &f;
	if (a->sa_flags & SA_SIGINFO)
		((info_handler *)(void *)a->sa_sigaction)(sig, info, uc);
	else
		a->sa_handler(sig);
	old = word_of(&uc->uc_sigmask);
	memcpy(&uc->uc_sigmask, &kernels, sizeof(kernels));
	uc->uc_stack = stack;
	s->frames = f.prev;
	count(s, a);
	mask_set(s, old);
	errno = err;
}

/* At the end of a call of ours: the context is that of this place. */
static NOINLINE void call_here(struct posix_signals *s, const struct sigaction *a,
			       siginfo_t *info)
{
	ucontext_t here;

	getcontext(&here);
	call(s, a, info, &here, NULL);
}

/* What came when nothing could be done about it. */
static void take_late(struct posix_signals *s)
{
	uint64_t bits = xchg_acq_rel(&s->late, 0);

	for (; bits; bits &= bits - 1) {
		siginfo_t info = { .si_signo = __builtin_ctzll(bits) + 1,
				   .si_code = SI_USER };

		item_put(s, &info, false);
	}
}

/* The next one to handle. */
static bool next_signal(struct posix_signals *s, siginfo_t *info, struct sigaction *a)
{
	bool any;

	rt_enter();
	lock_acquire(&lock);
	take_late(s);
	any = item_take(s, ~s->mask, info);
	if (any) {
		*a = actions[info->si_signo].now;
		if (a->sa_flags & (int)SA_RESETHAND &&
		    what_of(a, info->si_signo) == HANDLE)
			actions[info->si_signo].now.sa_handler = SIG_DFL;
	}
	lock_release(&lock);
	rt_exit();
	return any;
}

/* In the context of a user thread, outside the runtime. */
static void deliver(void *context)
{
	struct posix_signals *s = &posix_self_tls.signals;
	struct sigaction a;
	siginfo_t info;

	struct uk_thread *was = context ? handler_begin() : NULL;

	thread_signals_seen(handler_thread());
	while (next_signal(s, &info, &a)) {
		enum what what = what_of(&a, info.si_signo);

		if (what == IGNORE)
			continue;
		if (what == DEFAULT) {
			default_action(info.si_signo);
			continue;
		}
		if (context)
			call(s, &a, &info, context, was);
		else
			call_here(s, &a, &info);
	}
	handler_end(was);
}

/* The caller's mask has changed: what it lets through comes now. */
static void deliver_own(void)
{
	if (posix_self_tls.signals.pending & ~posix_self_tls.signals.mask)
		deliver(NULL);
}

/* -- the kernel's -- */

static void call_plain(const struct sigaction *a, int sig, siginfo_t *info,
		       void *context)
{
	if (a->sa_flags & SA_SIGINFO)
		((info_handler *)(void *)a->sa_sigaction)(sig, info, context);
	else if (a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN)
		a->sa_handler(sig);
	count(&posix_self_tls.signals, a);
}

/* On the carrier of t, or its dispatcher's. */
static void on_carrier(struct uk_thread *now, struct uk_thread *t,
		       const struct sigaction *a, siginfo_t *info, void *context)
{
	struct posix_signals *s = &posix_self_tls.signals;
	int sig = info->si_signo;

	if (sig == SIGPROF || sig == SIGABRT) { /* whoever runs is asked */
		call_plain(a, sig, info, context);
		return;
	}
	if (!t || now->depth) {
		if (SYNCHRONOUS & BIT(sig) && info->si_code > 0) {
			call_plain(a, sig, info, context); /* of ours: to report it */
			return;
		}
		fetch_or_acq_rel(&s->late, BIT(sig));
		if (t) {
			fetch_or_acq_rel(&t->asked, ASK_SIGNAL);
			signals_arrived(t);
		}
		return;
	}
	if (s->mask & BIT(sig)) {
		if (SYNCHRONOUS & BIT(sig) && info->si_code > 0)
			default_action(sig);
		fetch_or_acq_rel(&s->late, BIT(sig));
		return;
	}
	sys4(SYS_rt_sigprocmask, SIG_SETMASK, &((ucontext_t *)context)->uc_sigmask,
	     NULL, sizeof(uint64_t));
	t = handler_begin();
	call(s, a, info, context, t);
	handler_end(t);
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	struct uk_thread *now = thread_self();
	struct sigaction a = actions[sig].now;
	int err = errno;

	if (a.sa_flags & (int)SA_RESETHAND)
		actions[sig].now.sa_handler = SIG_DFL;
	if (now && (load_relaxed(&now->kind) != THREAD_FOREIGN || now->carrier)) {
		on_carrier(now, handler_thread(), &a, info, context);
	} else if (now && now->depth) { /* main, in the runtime: when it leaves */
		fetch_or_acq_rel(&posix_self_tls.signals.late, BIT(sig));
		store_relaxed(&now->deferred, 1);
	} else {
		call_plain(&a, sig, info, context);
	}
	errno = err;
}

/* What a kernel thread has put off, outside the runtime. */
static void deliver_late(void)
{
	struct posix_signals *s = &posix_self_tls.signals;
	uint64_t bits;

	if (posix_self_tls.thread)
		return;
	for (bits = xchg_acq_rel(&s->late, 0); bits; bits &= bits - 1) {
		int sig = __builtin_ctzll(bits) + 1;
		siginfo_t info = { .si_signo = sig, .si_code = SI_USER };
		struct sigaction a = actions[sig].now;
		ucontext_t here;

		getcontext(&here);
		call_plain(&a, sig, &info, &here);
	}
}

/* ---- the beginning ---- */

static void install(int sig, const struct sigaction *a)
{
	struct sigaction ours = *a;

	if (what_of(a, sig) == HANDLE) {
		ours.sa_sigaction = on_signal;
		ours.sa_flags |= SA_SIGINFO;
	}
	LIBC(sigaction)(sig, &ours, NULL);
}

void signals_begin(void)
{
	sigset_t set;

	if (likely(load_acquire(&begun)) || rt_begin())
		return;
	rt_enter();
	lock_acquire(&lock);
	if (!begun) {
		slab_init(&item_slab, sizeof(struct signal_item));
		thread_signals = deliver;
		foreign_signals = deliver_late;
		LIBC(pthread_sigmask)(SIG_SETMASK, NULL, &set);
		main_mask = word_of(&set);
		for (int sig = 1; sig <= LAST; sig++) {
			struct sigaction *a = &actions[sig].now;

			if (OURS & BIT(sig) || LIBC(sigaction)(sig, NULL, a))
				continue;
			if (what_of(a, sig) == HANDLE)
				install(sig, a);
		}
		thread_signals_init();
		store_release(&begun, 1);
	}
	lock_release(&lock);
	rt_exit();
}

/* The creator's mask is the new one's. */
void signals_born(struct posix_thread *pt)
{
	struct posix_signals *s = &pt->signals;
	struct uk_thread *me = handler_thread();
	sigset_t set;
	uint64_t mask, more;

	if (me) {
		mask = posix_self_tls.signals.mask;
	} else {
		LIBC(pthread_sigmask)(SIG_SETMASK, NULL, &set);
		mask = word_of(&set) & ~NEVER_BLOCKED;
	}
	rt_enter();
	lock_acquire(&lock);
	s->mask = mask;
	s->group = group_join(mask);
	s->stack.ss_flags = SS_DISABLE;
	list_push_back(&all, &s->all);
	more = for_receiver();
	lock_release(&lock);
	rt_exit();
	receiver_call(more);
}

void signals_gone(struct posix_thread *pt)
{
	struct posix_signals *s = &pt->signals;
	struct signal_item *it;

	rt_enter();
	lock_acquire(&lock);
	list_del(&s->all);
	list_init(&s->all);
	group_leave(s->group);
	s->mask = ~0ull;
	while ((it = s->items)) {
		s->items = it->next;
		slab_put(&item_slab, NULL, it);
	}
	s->pending = 0;
	lock_release(&lock);
	rt_exit();
}

void signals_main_left(void)
{
	uint64_t more;

	if (!load_acquire(&begun))
		return;
	rt_enter();
	lock_acquire(&lock);
	main_mask = ~0ull;
	more = for_receiver();
	lock_release(&lock);
	rt_exit();
	receiver_call(more);
}

/* ---- the program's calls ---- */

LIBC_API int sigaction(int sig, const struct sigaction *restrict a,
		       struct sigaction *restrict old)
{
	struct sigaction was;

	if (!load_acquire(&begun) || sig < 1 || sig > LAST || OURS & BIT(sig) ||
	    sig == SIGKILL || sig == SIGSTOP)
		return LIBC(sigaction)(sig, a, old);
	rt_enter();
	lock_acquire(&lock);
	was = actions[sig].now;
	if (a) {
		actions[sig].now = *a;
		install(sig, a);
	}
	lock_release(&lock);
	rt_exit();
	if (old)
		*old = was;
	return 0;
}

typedef void (*handler_fn)(int);

static handler_fn set_handler(int sig, handler_fn fn, int flags)
{
	struct sigaction a = { .sa_handler = fn, .sa_flags = flags }, old;

	return sigaction(sig, &a, &old) ? SIG_ERR : old.sa_handler;
}

LIBC_API handler_fn signal(int sig, handler_fn fn)
{
	return set_handler(sig, fn, SA_RESTART);
}

LIBC_API handler_fn bsd_signal(int sig, handler_fn fn);
LIBC_API handler_fn bsd_signal(int sig, handler_fn fn)
{
	return set_handler(sig, fn, SA_RESTART);
}

LIBC_API handler_fn __sysv_signal(int sig, handler_fn fn)
{
	return set_handler(sig, fn, (int)SA_RESETHAND | SA_NODEFER);
}

LIBC_API handler_fn sysv_signal(int sig, handler_fn fn)
{
	return __sysv_signal(sig, fn);
}

LIBC_API int siginterrupt(int sig, int interrupt)
{
	struct sigaction a;

	if (sigaction(sig, NULL, &a))
		return -1;
	a.sa_flags = interrupt ? a.sa_flags & ~SA_RESTART : a.sa_flags | SA_RESTART;
	return sigaction(sig, &a, NULL);
}

/* -- masks -- */

/* libc's, and what it means for the receiver. */
static int kernel_mask(int how, const sigset_t *set, sigset_t *old)
{
	int r = LIBC(pthread_sigmask)(how, set, old);
	uint64_t more;
	sigset_t now;

	if (r || !set || !load_acquire(&begun) || sys_gettid() != (int)sys0(SYS_getpid))
		return r;
	LIBC(pthread_sigmask)(SIG_SETMASK, NULL, &now);
	rt_enter();
	lock_acquire(&lock);
	main_mask = word_of(&now);
	more = for_receiver();
	lock_release(&lock);
	rt_exit();
	receiver_call(more);
	return 0;
}

static int mask_of(int how, uint64_t now, const sigset_t *set, uint64_t *to)
{
	uint64_t w = word_of(set);

	if (how == SIG_BLOCK)
		*to = now | w;
	else if (how == SIG_UNBLOCK)
		*to = now & ~w;
	else if (how == SIG_SETMASK)
		*to = w;
	else
		return EINVAL;
	return 0;
}

LIBC_API int pthread_sigmask(int how, const sigset_t *restrict set,
			     sigset_t *restrict old)
{
	struct posix_signals *s = &posix_self_tls.signals;
	uint64_t was = s->mask, to;

	if (!handler_thread())
		return kernel_mask(how, set, old);
	if (set) {
		int r = mask_of(how, was, set, &to);

		if (r)
			return r;
		mask_set(s, to);
		deliver_own();
	}
	if (old)
		word_to(old, was);
	return 0;
}

LIBC_API int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
	int r = pthread_sigmask(how, set, old);

	return r ? (int)posix_result(-r) : 0;
}

LIBC_API int sigpending(sigset_t *set)
{
	const struct posix_signals *s = &posix_self_tls.signals;
	int r = NEXT(sigpending)(set);

	if (!r && handler_thread())
		word_to(set, (word_of(set) & s->mask) | s->pending);
	return r;
}

bool posix_mask_begin(const sigset_t *mask, uint64_t *old)
{
	struct posix_signals *s = &posix_self_tls.signals;
	uint32_t ran = s->ran;

	*old = s->mask;
	if (!mask)
		return false;
	mask_set(s, word_of(mask));
	deliver_own();
	return s->ran != ran;
}

void posix_mask_end(const sigset_t *mask, uint64_t old)
{
	if (!mask)
		return;
	mask_set(&posix_self_tls.signals, old);
	deliver_own();
}

/* -- waiting -- */

/* Until a handler has run; in the caller's own context, or as a guest. */
static int wait_for_handler(const sigset_t *mask)
{
	struct posix_signals *s = &posix_self_tls.signals;
	uint32_t ran = s->ran;
	uint64_t old;

	posix_testcancel();
	if (!posix_mask_begin(mask, &old))
		while (s->ran == ran) {
			uk_sleep_until(TIME_NEVER);
			posix_cut(-ECANCELED, false);
		}
	posix_mask_end(mask, old);
	errno = EINTR;
	return -1;
}

LIBC_API int sigsuspend(const sigset_t *mask)
{
	return handler_thread() ? wait_for_handler(mask) : NEXT(sigsuspend)(mask);
}

LIBC_API int pause(void)
{
	return handler_thread() ? wait_for_handler(NULL) : NEXT(pause)();
}

/* What is pending for the process as the kernel knows it, at once. */
static bool from_process(uint64_t set, siginfo_t *info)
{
	struct timespec none = { 0, 0 };

	return sys4(SYS_rt_sigtimedwait, &set, info, &none, sizeof(set)) > 0;
}

/* What the receiver has given to s, and s did not take, is the process's again. */
static void give_back(struct posix_signals *s)
{
	struct signal_item **at = &s->items, *it;

	s->pending = 0;
	while ((it = *at)) {
		if (it->process) {
			*at = it->next;
			sys3(SYS_rt_sigqueueinfo, sys0(SYS_getpid), it->info.si_signo,
			     &it->info);
			slab_put(&item_slab, NULL, it);
		} else {
			s->pending |= BIT(it->info.si_signo);
			at = &it->next;
		}
	}
}

/* The receiver takes these for us from now on; 0: no more. */
static void waits_for(struct posix_signals *s, uint64_t set)
{
	uint64_t more;

	rt_enter();
	lock_acquire(&lock);
	s->waits = set;
	if (!set)
		give_back(s);
	more = set ? for_receiver() : 0;
	lock_release(&lock);
	rt_exit();
	receiver_call(more);
}

/* 0: got it; -EAGAIN, -EINTR, -ECANCELED. */
static long wait_once(struct posix_signals *s, uint64_t set, siginfo_t *info,
		      int64_t deadline)
{
	struct uk_thread *t = rt_enter();
	unsigned why = WAKE_OK;

	lock_acquire(&lock);
	if (!item_take(s, set, info)) {
		s->got = info;
		s->token = wait_begin(t, WAIT_SLEEP, NULL);
		lock_release(&lock);
		why = wait_park(t, s->token, deadline);
		lock_acquire(&lock);
		if (!s->got) /* handed to us, whatever woke us */
			why = WAKE_OK;
		s->got = NULL;
	}
	lock_release(&lock);
	rt_exit();
	return why == WAKE_TIMEOUT ? -EAGAIN : wake_error(why);
}

static int wait_signal(const sigset_t *set, siginfo_t *info, int64_t deadline)
{
	struct posix_signals *s = &posix_self_tls.signals;
	uint64_t want = word_of(set) & ~NEVER_BLOCKED;
	long r = 0;

	posix_testcancel();
	posix_call_begins();
	waits_for(s, want);
	do {
		if (from_process(want, info))
			break;
		r = wait_once(s, want, info, deadline);
	} while (posix_again(r, false));
	waits_for(s, 0);
	return r ? (int)posix_result(r) : info->si_signo;
}

LIBC_API int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
			  const struct timespec *restrict timeout)
{
	siginfo_t own;

	if (!posix_user())
		return NEXT(sigtimedwait)(set, info, timeout);
	if (timeout && (timeout->tv_nsec < 0 || timeout->tv_nsec >= NS_PER_SEC))
		return (int)posix_result(-EINVAL);
	return wait_signal(
	    set, info ? info : &own,
	    timeout ? uk_after(timeout->tv_sec * NS_PER_SEC + timeout->tv_nsec)
		    : TIME_NEVER);
}

LIBC_API int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info)
{
	return posix_user() ? sigtimedwait(set, info, NULL)
			    : NEXT(sigwaitinfo)(set, info);
}

LIBC_API int sigwait(const sigset_t *restrict set, int *restrict sig)
{
	siginfo_t info;
	int r;

	if (!posix_user())
		return NEXT(sigwait)(set, sig);
	do
		r = wait_signal(set, &info, TIME_NEVER);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return errno;
	*sig = r;
	return 0;
}

/* -- sending -- */

static int send(pthread_t th, siginfo_t *info)
{
	struct uk_thread *t = posix_thread(th);
	int r = 0;

	if (info->si_signo < 0 || info->si_signo > LAST ||
	    (info->si_signo && OURS & BIT(info->si_signo)))
		return EINVAL;
	if (!t)
		return ESRCH;
	if (!info->si_signo || load_relaxed(&t->state) == T_EXITED)
		return 0;
	info->si_pid = (pid_t)sys0(SYS_getpid);
	info->si_uid = (uid_t)sys0(SYS_getuid);
	if (BIT(info->si_signo) & (BIT(SIGKILL) | BIT(SIGSTOP)))
		return -(int)sys2(SYS_kill, info->si_pid, info->si_signo);
	rt_enter();
	lock_acquire(&lock);
	if (posix_of(th)->signals.all.next != &posix_of(th)->signals.all)
		r = -post(&posix_of(th)->signals, info);
	lock_release(&lock);
	rt_exit();
	return r;
}

LIBC_API int pthread_kill(pthread_t th, int sig)
{
	siginfo_t info = { .si_signo = sig, .si_code = SI_TKILL };

	if (!posix_of(th)->thread)
		return NEXT(pthread_kill)(th, sig);
	return send(th, &info);
}

LIBC_API int pthread_sigqueue(pthread_t th, int sig, const union sigval value)
{
	siginfo_t info = { .si_signo = sig, .si_code = SI_QUEUE };

	if (!posix_of(th)->thread)
		return NEXT(pthread_sigqueue)(th, sig, value);
	info.si_value = value;
	return send(th, &info);
}

LIBC_API int raise(int sig)
{
	int r;

	if (!handler_thread())
		return NEXT(raise)(sig);
	r = pthread_kill(pthread_self(), sig);
	return r ? (int)posix_result(-r) : 0;
}

/* The thread with an id of gettid's. */
static pthread_t by_tid(long tid)
{
	pthread_t found = 0;

	rt_enter();
	lock_acquire(&lock);
	list_each_safe(l, tmp, &all)
	{
		const struct uk_thread *t =
		    thread_of(container_of(l, struct posix_signals, all))->thread;

		if (tls_tid(t->tp) == tid)
			found = (pthread_t)t->tp;
	}
	lock_release(&lock);
	rt_exit();
	return found;
}

long posix_tgkill(long pid, long tid, int sig)
{
	pthread_t th;

	if (tid < TLS_FIRST_TID || !load_acquire(&begun))
		return sys3(SYS_tgkill, pid, tid, sig);
	th = pid == sys0(SYS_getpid) ? by_tid(tid) : 0;
	return th ? -pthread_kill(th, sig) : -ESRCH;
}

LIBC_API int tgkill(pid_t pid, pid_t tid, int sig)
{
	return (int)posix_result(posix_tgkill(pid, tid, sig));
}

/* -- the rest -- */

LIBC_API int sigaltstack(const stack_t *restrict stack, stack_t *restrict old)
{
	stack_t *mine = &posix_self_tls.signals.stack;

	if (!handler_thread())
		return NEXT(sigaltstack)(stack, old);
	if (old)
		*old = *mine;
	if (!stack)
		return 0;
	if (stack->ss_flags &
	    ~(SS_DISABLE | SS_ONSTACK | (int)(1u << 31) /* SS_AUTODISARM */))
		return (int)posix_result(-EINVAL);
	if (!(stack->ss_flags & SS_DISABLE) && stack->ss_size < 2048)
		return (int)posix_result(-ENOMEM);
	*mine = *stack;
	if (stack->ss_flags & SS_DISABLE)
		*mine = (stack_t){ .ss_flags = SS_DISABLE };
	return 0;
}

/* -- jumps out of handlers -- */

#if defined(__x86_64__)
/* Where the stack will be, as libc hides it. */
static uintptr_t stack_of_jump(const struct __jmp_buf_tag *env)
{
	uintptr_t v = (uintptr_t)env->__jmpbuf[6], guard;

	__asm__("mov %%fs:0x30, %0" : "=r"(guard));
	return (v >> 17 | v << 47) ^ guard;
}
#else
static uintptr_t stack_of_jump(const struct __jmp_buf_tag *env)
{
	(void)env;
	return UINTPTR_MAX;
}
#endif

/* Handlers whose frames the jump leaves are over; the mask is the one before them, where the
 * buffer has one. A jump from another stack leaves all of them. */
static void jump_begins(const struct __jmp_buf_tag *env)
{
	struct posix_signals *s = &posix_self_tls.signals;
	uintptr_t sp = stack_of_jump(env);
	struct uk_thread *was = NULL;
	uint64_t mask = s->mask;

	if (likely(!s->frames))
		return;
	for (; s->frames && (uintptr_t)s->frames < sp; s->frames = s->frames->prev) {
		mask = s->frames->mask;
		was = s->frames->was ? s->frames->was : was;
	}
	if (env->__mask_was_saved)
		mask_set(s, mask);
	if (was)
		handler_left();
}

#define JUMP(name)                                                                     \
	extern NORETURN void name(struct __jmp_buf_tag env[1], int value);             \
	LIBC_API NORETURN void name(struct __jmp_buf_tag env[1], int value)            \
	{                                                                              \
		jump_begins(env);                                                      \
		NEXT(name)(env, value);                                                \
		__builtin_unreachable();                                               \
	}

JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)
