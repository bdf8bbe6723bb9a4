/* SPDX-License-Identifier: Apache-2.0 */
/* pt_signal.c - signals for user threads: each has a mask, pending signals, and
 * handlers that run in its context. pt_interrupt.c reaches a thread wherever it is.
 *
 * There are two kinds of threads:
 *
 *   a kernel thread (main)   the kernel's own mask, pending set and delivery. The
 *                            kernel calls on_signal, which calls the program's handler
 *                            at once. If main is inside the runtime, or waits in it,
 *                            the handler runs when main leaves it (put_off), because a
 *                            handler may wait in its turn, or jump away. Modelled in
 *                            tests/model/putoff.pml
 *   a user thread            all of it is here. Its carrier blocks what is not
 *                            synchronous
 *
 * Sent by                             goes to
 *   pthread_kill, raise, tgkill       the thread's pending set, then thread_interrupt
 *   a fault, a write (TO_WRITER)      on_signal, which the kernel calls on the carrier;
 *                                     for TO_WRITER also without a handler, once a
 *                                     thread blocks it
 *   a timer of CPU time (TO_RUNNING)  the same, for profilers; see SIGPROF
 *   kill, sigqueue in the process     if main blocks it, to the sender or another user
 *                                     thread that lets it through, at once: such a
 *                                     thread may end before the receiver comes
 *   others, alarm, the terminal ...   the process. If main lets it through, the kernel
 *                                     gives it to main. If main blocks it, the kernel
 *                                     keeps it until a thread that may have it takes
 *                                     it: the receiver
 *
 * The receiver is a kernel thread of ours. It waits (rt_sigtimedwait) for the signals
 * that main blocks and a user thread lets through, or waits for in sigwait, and hands
 * each to one of these threads. It is started when there is such a signal. The set that
 * it waits for grows as threads let more through. If it finds nobody for a signal, it
 * computes the set anew and gives the signal back to the process.
 *
 * The lock is held only inside the runtime (rt_enter), where handlers are deferred.
 *
 * Each thread has its own alternate stack, and the kernel knows none of them. It calls
 * on_signal on the carrier's alternate stack (a stack that has overflowed takes no
 * frame), and we switch to the thread's (stack_for). The carrier's is disarmed
 * meanwhile.
 *
 * Before the first user thread all is libc's own, except that handlers are called by
 * on_signal from the first wait for a lock on. A program that has neither pays nothing.
 *
 * Rejected: carriers that let signals through while user code runs (a system call at
 * each switch between masks, and a parked thread would get none); main as a user thread
 * (the kernel handles the process's signals as long as main is a kernel thread). */
#include <stdlib.h>
#include <ucontext.h>

#include "arch/arch.h"
#include "base/at_load.h"
#include "base/lock.h"
#include "base/sys.h"
#include "debug/inspect.h"
#include "io/io.h"
#include "mem/slab.h"
#include "preload/pt_signal.h"
#include "sched/enter.h"

#define DEFAULT_IGNORED (BIT(SIGCHLD) | BIT(SIGURG) | BIT(SIGWINCH) | BIT(SIGCONT))
#define TO_WRITER (BIT(SIGPIPE) | BIT(SIGXFSZ)) /* sent to the thread that writes */
#define PUT_OFF 0x6b75 /* in si_errno: put_off has queued it, behind others */
#define RED_ZONE 256   /* bytes below a stack pointer that code may use, at most */
#define DEFAULT_STOPS (BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU) | BIT(SIGSTOP))

static struct lock lock = LOCK_INIT(RANK_SIGNAL);
static struct slab item_slab;
struct list signals_all = LIST_INIT(signals_all);
uint32_t signals_begun, handlers_begun;
struct sigaction signal_actions[SIGNAL_LAST + 1];
uint64_t signals_main_mask;
uint32_t posix_forker;
/* Under the lock: those of TO_WRITER that a thread has blocked, those of TO_RUNNING
 * that main blocks. The kernel calls on_signal for them even if their action is the
 * default. */
static uint64_t watched;
static uint32_t shut; /* a carrier blocks SIGPROF, or is about to; atomics */

bool signals_enter(void)
{
	if (unlikely(sched_unsettled()))
		return false;
	rt_enter();
	lock_acquire(&lock);
	return true;
}

void signals_lock(void)
{
	lock_acquire(&lock);
}

void signals_unlock(void)
{
	lock_release(&lock);
}

void signals_leave(bool entered)
{
	if (unlikely(!entered))
		return;
	lock_release(&lock);
	rt_exit();
}

/* ---- actions ---- */

enum what what_of(const struct sigaction *a, int sig)
{
	if (a->sa_handler == SIG_IGN ||
	    (a->sa_handler == SIG_DFL && DEFAULT_IGNORED & BIT(sig)))
		return IGNORE;
	return a->sa_handler == SIG_DFL ? DEFAULT : HANDLE;
}

/* Takes the default action by the kernel: sends the signal to this kernel thread. After
 * a stop it returns when the process continues. */
static void default_action(int sig)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	uint64_t bit = BIT(sig), old;

	if (!(DEFAULT_STOPS & bit))
		LIBC(sigaction)(sig, &dfl, NULL);
	sys4(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, &old, sizeof(bit));
	sys3(SYS_tgkill, sys0(SYS_getpid), sys_gettid(), sig);
	sys4(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof(old));
}

/* ---- pending ---- */

void item_free(struct signal_item *it)
{
	slab_put(&item_slab, NULL, it);
}

/* Under the lock. A signal below SIGRTMIN is pending only once. */
int item_put(struct posix_signals *s, const siginfo_t *info, bool process)
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

/* Under the lock: takes the lowest signal of the set, the oldest of its number. */
bool item_take(struct posix_signals *s, uint64_t set, siginfo_t *info)
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
		timer_taken(info);
		*at = it->next;
		item_free(it);
	}
	for (more = s->items; more && more->info.si_signo != sig; more = more->next)
		;
	if (!more)
		s->pending &= ~BIT(sig);
	return it;
}

void signals_discard(int sig)
{
	siginfo_t info;

	list_each_safe(l, tmp, &signals_all)
	{
		struct posix_signals *s = container_of(l, struct posix_signals, all);

		while (item_take(s, BIT(sig), &info))
			;
	}
}

/* Under the lock, in the runtime. */
int signal_post(struct posix_signals *s, const siginfo_t *info, bool process)
{
	int sig = info->si_signo, r;
	enum what what = what_of(&signal_actions[sig], sig);

	if (hand_to_waiter(s, info))
		return 0;
	if (what == IGNORE && !(s->mask & BIT(sig)))
		return 0;
	if (sig < __SIGRTMIN && s->pending & BIT(sig))
		return 0; /* pending once; the thread was interrupted for it */
	r = item_put(s, info, process);
	if (!r && !(s->mask & BIT(sig)))
		thread_interrupt(signals_thread(s)->thread,
				 what == HANDLE &&
				     signal_actions[sig].sa_flags & SA_RESTART);
	return r;
}

/* ---- handlers ---- */

/* Under the lock: changes for which signals watched tells the kernel to call us. */
static void watch_change(uint64_t change)
{
	watched ^= change;
	for (; unlikely(change); change &= change - 1) {
		int sig = __builtin_ctzll(change) + 1;

		signal_install(sig, &signal_actions[sig]);
	}
}

/* Under the lock. Carriers let these through, and their default action kills. If a
 * thread blocks one, the kernel must call us instead. */
static void watch(uint64_t mask)
{
	watch_change(mask & TO_WRITER & ~watched);
}

/* If main lets them through again, the kernel takes their default action without us. */
void signals_watch_main(uint64_t mask)
{
	watch_change((mask ^ watched) & TO_RUNNING);
}

static void mask_set_locked(struct posix_signals *s, uint64_t mask)
{
	mask &= ~NEVER_BLOCKED;
	if (mask == s->mask)
		return;
	watch(mask);
	group_leave(s->group);
	s->mask = mask;
	s->group = group_join(mask);
}

void mask_set(struct posix_signals *s, uint64_t mask)
{
	uint64_t more, opened, main_shuts;

	if ((mask & ~NEVER_BLOCKED) == s->mask)
		return;
	bool in = signals_enter();
	opened = ~mask & s->mask;
	main_shuts = signals_main_mask & ~SYNCHRONOUS;
	mask_set_locked(s, mask);
	if (unlikely(!in)) /* the kernel delivers: see child */
		sys4(SYS_rt_sigprocmask, SIG_SETMASK, &s->mask, NULL, sizeof(s->mask));
	more = opened ? receiver_set() : 0;
	signals_leave(in);
	signals_opened(opened);
	if (unlikely(opened & main_shuts))
		receiver_take(s, opened & main_shuts);
	receiver_call(more);
}

/* ---- SIGPROF ----
 *
 * The kernel sends it to the thread that runs when a timer of the process's CPU time
 * expires, and profilers depend on that. So carriers let it through. If the thread
 * blocks it, it is passed on to one that does not. If there is none, it goes back to
 * the process, and the carrier blocks it, too, because the kernel would give it the
 * same signal again. When a thread lets it through later, or a handler is installed,
 * all those carriers are asked to unblock it.
 *
 *   open --its thread blocks it, as do all--> shut --QUESTION_MASK--> open
 *
 * Rejected: SIGPROF blocked on carriers and taken by the receiver, as others are (the
 * profile would show main alone, because the kernel would try main next). */

/* Does the carrier that the caller runs on block SIGPROF? */
static bool is_shut(void)
{
	const struct uk_thread *t = thread_self();

	return t && t->carrier && load_relaxed(&t->carrier->shut);
}

/* The caller's carrier is about to block it. A thread that lets it through sees this,
 * or is seen by us: by the lock, or by the fence that pairs with signals_opened. */
static void shut_here(void)
{
	store_relaxed(&thread_self()->carrier->shut, 1);
	store_relaxed(&shut, 1);
	fence_seq_cst();
}

void signals_opened(uint64_t bits)
{
	if (!(bits & TO_RUNNING))
		return;
	fence_seq_cst();
	if (likely(!load_relaxed(&shut)) || !xchg_acq_rel(&shut, 0))
		return;
	for (const struct carrier *c = load_acquire(&carriers_all); c; c = c->next_all)
		if (load_relaxed(&c->shut))
			hooks.carrier_ask(c, QUESTION_MASK);
}

static void answer_mask(void *context)
{
	ucontext_t *uc = context;
	uint64_t mask = word_of(&uc->uc_sigmask) & ~TO_RUNNING;

	if (!is_shut())
		return;
	store_relaxed(&thread_self()->carrier->shut, 0);
	memcpy(&uc->uc_sigmask, &mask, sizeof(mask)); /* only the kernel's 8 bytes */
}

static void count(struct posix_signals *s, const struct sigaction *a)
{
	s->ran++;
	if (!(a->sa_flags & SA_RESTART))
		s->kept++;
}

typedef void info_handler(int, siginfo_t *, void *);

static void call_program(void *action, void *info, void *uc)
{
	const struct sigaction *a = action;
	int sig = ((siginfo_t *)info)->si_signo;

	if (a->sa_flags & SA_SIGINFO)
		((info_handler *)(void *)a->sa_sigaction)(sig, info, uc);
	else
		a->sa_handler(sig);
}

/* Where the handler's stack begins; NULL: here. With SA_ONSTACK the kernel has called
 * us on the carrier's alternate stack, if there is one, whatever alternate stack the
 * thread has. */
static void *stack_for(struct handler_frame *f, const struct sigaction *a,
		       const stack_t *st)
{
	const struct uk_thread *t = handler_thread();
	bool there = on_stack(st, f->sp), here = on_stack(st, (uintptr_t)&there);

	if (!(a->sa_flags & SA_ONSTACK) || here)
		return NULL;
	if (!(st->ss_flags & SS_DISABLE) && !there) {
		f->low = (uintptr_t)st->ss_sp;
		f->high = f->low + st->ss_size;
		return (void *)f->high;
	}
	/* if that overflows, the kernel can't call us there, and kills the program, as
	 * natively */
	return there || (t && carrier_on_sigstack(t->carrier, &there))
		   ? (void *)(f->sp - RED_ZONE)
		   : NULL;
}

/* Back to the mask that the thread had before a handler. What that lets through waits
 * until the caller of call() has its frame back: natively, too, the next handler takes
 * the place of the one that has returned. If it ran here, a handler that always finds
 * another signal pending would use up the stack. */
static void mask_back(struct posix_signals *s, uint64_t mask)
{
	if (unlikely(sched_unsettled())) { /* the kernel's mask follows: see call */
		mask_set_locked(s, mask);
		return;
	}
	s->returning = true;
	fence_compiler();
	mask_set(s, mask);
	fence_compiler();
	s->returning = false;
}

/* What the thread blocks while the handler runs, besides its mask. */
static uint64_t blocked_by(const struct sigaction *a, int sig)
{
	return word_of(&a->sa_mask) | (a->sa_flags & SA_NODEFER ? 0 : BIT(sig));
}

/* Calls a's handler as the kernel would. The caller then looks for what has come
 * meanwhile: held, or pending. was: not NULL if the handler has interrupted user code,
 * and so the caller is a guest. */
static void call(struct posix_signals *s, const struct sigaction *a, siginfo_t *info,
		 ucontext_t *uc, struct uk_thread *was)
{
	struct handler_frame f = { .prev = s->frames,
				   .mask = s->masked ? s->unmasked : s->mask,
				   .was = was,
				   .sp = arch_ucontext_sp(uc),
				   .outer = io_holders() };
	uint64_t old = s->mask, kernels = word_of(&uc->uc_sigmask);
	stack_t kernels_stack = uc->uc_stack, own = s->stack;
	void *top = stack_for(&f, a, &own);
	bool masked = s->masked, calling = s->calling, cut = s->cut;
	bool returning = s->returning; /* the kernel calls handlers then, too */
	bool apart = sched_unsettled(), was_shut = is_shut();
	int err = errno;

	mask_set(s, old | blocked_by(a, info->si_signo));
	memcpy(&uc->uc_sigmask, &old, sizeof(old));
	uc->uc_stack = own;
	s->frames = &f;
	s->masked = s->calling = s->cut = s->returning = false;
	if (f.low && own.ss_flags & SS_AUTODISARM) {
		f.disarmed = own;
		s->stack = (stack_t){ .ss_flags = SS_DISABLE };
	}
	if (top)
		arch_call_on(top, call_program, (void *)(uintptr_t)a, info, uc);
	else
		call_program((void *)(uintptr_t)a, info, uc);
	if (f.disarmed.ss_sp)
		s->stack = own;
	old = word_of(&uc->uc_sigmask);
	if (unlikely(sched_unsettled())) /* the handler has forked: see child */
		kernels = old;
	else if (unlikely(apart))
		kernels = carrier_mask;
	else if (unlikely(was_shut) && !is_shut())
		kernels &= ~TO_RUNNING;
	memcpy(&uc->uc_sigmask, &kernels, sizeof(kernels));
	uc->uc_stack = kernels_stack;
	s->frames = f.prev;
	count(s, a);
	mask_back(s, old);
	s->returning = returning;
	s->masked = masked;
	s->calling = calling;
	s->cut = cut;
	if (masked)
		s->unmasked = f.mask;
	errno = err;
}

/* At the end of a call of ours: the context is that of this place, to which a handler
 * may return by setcontext. */
static NOINLINE void call_here(struct posix_signals *s, const struct sigaction *a,
			       siginfo_t *info)
{
	volatile bool called = false, masked = s->masked, calling = s->calling;
	ucontext_t here;

	getcontext(&here);
	if (called) {
		s->masked = masked;
		s->calling = calling;
		count(s, a);
		return;
	}
	called = true;
	call(s, a, info, &here, NULL);
	if (unlikely(sched_unsettled())) /* the handler has forked */
		sys4(SYS_rt_sigprocmask, SIG_SETMASK, &s->mask, NULL, sizeof(s->mask));
}

/* Takes what came when no handler could run. */
static void take_late(struct posix_signals *s)
{
	uint64_t bits = xchg_acq_rel(&s->late, 0);

	for (; bits; bits &= bits - 1) {
		siginfo_t info = { .si_signo = __builtin_ctzll(bits) + 1,
				   .si_code = SI_USER };

		if (likely(!(bits & -bits & TO_RUNNING & s->mask))) {
			item_put(s, &info, false);
		} else if (!signal_route(&info)) {
			uint64_t bit = TO_RUNNING;

			shut_here();
			sys4(SYS_rt_sigprocmask, SIG_BLOCK, &bit, NULL, sizeof(bit));
			signal_to_process(&info);
		}
	}
}

/* The handler is about to be called: with SA_RESETHAND for the last time. The kernel
 * has reset its own action. */
static void called(const struct sigaction *a, int sig)
{
	if (a->sa_flags & (int)SA_RESETHAND)
		signal_actions[sig].sa_handler = SIG_DFL;
}

/* The same if only we call it: resets the kernel's action, too. Under the lock. */
static void called_by_us(const struct sigaction *a, int sig)
{
	called(a, sig);
	if (a->sa_flags & (int)SA_RESETHAND)
		signal_install(sig, &signal_actions[sig]);
}

/* Takes the next signal to handle, with its action. */
static bool next_signal(struct posix_signals *s, siginfo_t *info, struct sigaction *a)
{
	bool any;

	bool in = signals_enter();
	take_late(s);
	any = item_take(s, ~s->mask, info);
	if (any) {
		*a = signal_actions[info->si_signo];
		if (what_of(a, info->si_signo) == HANDLE)
			called_by_us(a, info->si_signo);
	}
	signals_leave(in);
	return any;
}

/* context: the code that was interrupted; NULL: the end of a call. */
static void deliver_pending(struct posix_signals *s, void *context)
{
	struct sigaction a;
	siginfo_t info;
	uint32_t ran = s->ran;
	struct uk_thread *was;

	thread_signals_seen(handler_thread());
	bound_own();
	was = context ? handler_begin() : NULL;
	cpu_timers_own();
	while (next_signal(s, &info, &a)) {
		enum what what = what_of(&a, info.si_signo);

		if (what == IGNORE)
			continue;
		if (what == DEFAULT) {
			default_action(info.si_signo);
			continue;
		}
		if (context) {
			call(s, &a, &info, context, was);
			continue;
		}
		if (!posix_user()) /* a guest's handler may leave by a jump */
			interrupts_open(NULL);
		call_here(s, &a, &info);
	}
	/* natively no handler runs before the call ends; here one ran between two steps
	 * of it */
	if (s->calling && s->ran != ran)
		s->cut = true;
	if (s->cut || (s->masked && s->ran != s->ran_before))
		fetch_or_acq_rel(&handler_thread()->asked, ASK_SIGNAL);
	handler_end(was);
}

/* Runs in the context of a user thread, outside the runtime. */
static void deliver(void *context)
{
	struct posix_signals *s = &posix_self_tls.signals;

	if (!posix_self_tls.thread) { /* the kernel runs a kernel thread's handlers */
		posix_cancel_now(context);
		return;
	}
	if (s->returning) {
		s->held = true;
		return;
	}
	do {
		s->held = false;
		deliver_pending(s, context);
	} while (s->held);
	posix_cancel_now(context);
}

/* After a change of the caller's mask: delivers what it lets through now. */
void deliver_own(void)
{
	if (posix_self_tls.signals.pending & ~posix_self_tls.signals.mask)
		deliver(NULL);
}

void posix_cut_done(void)
{
	posix_self_tls.signals.cut = false;
	thread_signals_seen(handler_thread());
	deliver_own(); /* what has come since does not ask again */
}

/* -- signals from the kernel -- */

static void call_plain(const struct sigaction *a, siginfo_t *info, void *context)
{
	enum what what = what_of(a, info->si_signo);

	called(a, info->si_signo);
	if (what == HANDLE)
		call_program((void *)(uintptr_t)a, info, context);
	else if (what == DEFAULT)
		default_action(info->si_signo);
	count(&posix_self_tls.signals, a);
}

/* It becomes pending for the caller, whose mask blocks it and whose carrier does
 * not. */
static void keep(struct posix_signals *s, const siginfo_t *info)
{
	struct uk_thread *t = handler_begin();
	bool in = signals_enter();

	item_put(s, info, false);
	signals_leave(in);
	handler_end(t);
}

/* The thread blocks it: gives it to another thread, or back to the process. A
 * question to this carrier comes only when this handler has ended, and so finds what
 * it leaves. */
static void pass_on(const siginfo_t *info, ucontext_t *uc)
{
	uint64_t mask = word_of(&uc->uc_sigmask) | TO_RUNNING, all = ~0ull;
	struct uk_thread *t;
	bool in, anybody;

	sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
	t = handler_begin();
	in = signals_enter();
	anybody = signal_route(info);
	if (!anybody)
		shut_here();
	signals_leave(in);
	handler_end(t);
	if (anybody)
		return;
	memcpy(&uc->uc_sigmask, &mask, sizeof(mask));
	signal_to_process(info);
}

/* In the dispatcher, which must not take the lock. True: the carrier blocks it now. */
static bool dispatcher_shuts(const struct sigaction *a, const siginfo_t *info,
			     ucontext_t *uc)
{
	uint64_t mask = word_of(&uc->uc_sigmask) | TO_RUNNING, all = ~0ull;

	if (a->sa_handler != SIG_DFL && load_acquire(&signals_open) & TO_RUNNING)
		return false;
	sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
	shut_here();
	memcpy(&uc->uc_sigmask, &mask, sizeof(mask));
	signal_to_process(info);
	if (load_acquire(&signals_open) & TO_RUNNING &&
	    signal_actions[info->si_signo].sa_handler != SIG_DFL) /* by now */
		answer_mask(uc);
	return true;
}

/* SIGPROF on the carrier of t, or in its dispatcher (t is NULL). True: it is done. */
static bool takes_prof(const struct uk_thread *now, const struct uk_thread *t,
		       const struct sigaction *a, siginfo_t *info, void *context)
{
	const struct posix_signals *s = &posix_self_tls.signals;

	if (!sched_unsettled()) {
		if (!t && dispatcher_shuts(a, info, context))
			return true;
		if (t && (a->sa_handler == SIG_DFL || s->mask & TO_RUNNING)) {
			if (now->depth)
				return false; /* handled when it leaves the runtime */
			pass_on(info, context);
			return true;
		}
	}
	call_plain(a, info, context);
	return true;
}

/* A signal from the kernel on the carrier of t, or in its dispatcher (t is NULL). */
static void on_carrier(struct uk_thread *now, struct uk_thread *t,
		       const struct sigaction *a, siginfo_t *info, void *context)
{
	struct posix_signals *s = &posix_self_tls.signals;
	uint64_t mask;
	int sig = info->si_signo;

	if (sig == SIGPROF && takes_prof(now, t, a, info, context))
		return;
	if (sig == SIGABRT) { /* abort(), whatever runs here */
		call_plain(a, info, context);
		return;
	}
	if (!t || now->depth) {
		if (SYNCHRONOUS & BIT(sig) && info->si_code > 0) {
			call_plain(a, info, context); /* a fault of ours */
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
		keep(s, info);
		return;
	}
	if (what_of(a, sig) == DEFAULT) {
		default_action(sig);
		return;
	}
	mask = word_of(&((ucontext_t *)context)->uc_sigmask);
	if (unlikely(sched_unsettled())) /* the kernel delivers: it must not nest */
		mask |= blocked_by(a, sig);
	sys4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
	called(a, sig);
	t = handler_begin();
	call(s, a, info, context, t);
	handler_end(t);
	if (s->held || s->pending & ~s->mask) /* what came meanwhile */
		deliver(context);
}

static bool send_to_self(siginfo_t *info)
{
	return !sys4(SYS_rt_tgsigqueueinfo, sys0(SYS_getpid), sys_gettid(),
		     info->si_signo, info);
}

/* The oldest pending one of this number becomes the youngest. */
static bool turn(int sig, siginfo_t *info)
{
	static const struct timespec none;
	uint64_t bit = BIT(sig);

	return sys4(SYS_rt_sigtimedwait, &bit, info, &none, sizeof(bit)) == sig &&
	       send_to_self(info);
}

/* info, which has been marked and queued, came before the others of its number: queues
 * them behind it. All signals are blocked. */
static void queue_first(const siginfo_t *info)
{
	siginfo_t other;
	int others = 0;

	while (turn(info->si_signo, &other) && other.si_errno != PUT_OFF)
		others++;
	while (others-- && turn(info->si_signo, &other))
		;
}

/* A kernel thread is in the runtime, or waits in a queue of it, and has to leave that
 * first. Until then the signal is blocked, and pending as it was sent. */
static void put_off(struct uk_thread *now, siginfo_t *info, ucontext_t *uc)
{
	uint64_t bit = BIT(info->si_signo), all = ~0ull, pending = 0;
	uint64_t mask = word_of(&uc->uc_sigmask) | bit;

	sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
	if (info->si_signo >= __SIGRTMIN)
		sys2(SYS_rt_sigpending, &pending, sizeof(pending));
	if (pending & bit)
		info->si_errno = PUT_OFF;
	if (!send_to_self(info))
		sys3(SYS_tgkill, sys0(SYS_getpid), sys_gettid(), info->si_signo);
	else if (pending & bit)
		queue_first(info);
	memcpy(&uc->uc_sigmask, &mask, sizeof(mask));
	fetch_or_acq_rel(&posix_self_tls.signals.late, bit);
	store_relaxed(&now->deferred, 1);
	wait_interrupted(now);
}

static bool computes(const struct carrier *c)
{
	const struct uk_vp *vp = load_relaxed(&c->vp);

	if (load_relaxed(&c->ended) || load_relaxed(&c->shut) ||
	    load_relaxed(&c->in_rt) || load_relaxed(&c->mark))
		return false;
	return load_relaxed(&c->hog) ||
	       (vp && load_relaxed(&vp->owner) == (uintptr_t)c);
}

/* A kernel thread that waits got SIGPROF. The timer has expired while a thread of the
 * library ran that blocks it, so the kernel has chosen another one. Natively it would
 * be one that computes: sends it to a carrier that does. False: there is none. */
static bool sent_to_running(const struct sigaction *a, const siginfo_t *info)
{
	static uint32_t turn;
	uint32_t n = 0, nth;

	if (info->si_signo != SIGPROF || info->si_code != SI_KERNEL ||
	    a->sa_flags & (int)SA_RESETHAND)
		return false;
	for (const struct carrier *c = load_acquire(&carriers_all); c; c = c->next_all)
		n += computes(c);
	if (!n)
		return false;
	nth = fetch_add_relaxed(&turn, 1) % n;
	for (const struct carrier *c = load_acquire(&carriers_all); c; c = c->next_all)
		if (computes(c) && !nth--)
			return !sys3(SYS_tgkill, sys0(SYS_getpid), c->tid, SIGPROF);
	return false;
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	struct uk_thread *now = thread_self();
	struct sigaction a = signal_actions[sig];
	int err = errno;

	if (unlikely(info->si_errno == PUT_OFF))
		info->si_errno = 0;
	if (posix_borrowed()) { /* a child of vfork, which never leaves the runtime */
		call_plain(&a, info, context);
	} else if (now &&
		   (load_relaxed(&now->kind) != THREAD_FOREIGN || now->carrier)) {
		on_carrier(now, handler_thread(), &a, info, context);
	} else if (now && (now->depth || wait_begun(now)) &&
		   !(SYNCHRONOUS & BIT(sig) && info->si_code > 0)) {
		if (!wait_begun(now) || !sent_to_running(&a, info))
			put_off(now, info, context);
	} else {
		call_plain(&a, info, context);
	}
	errno = err;
}

/* The kernel has reset the actions with SA_RESETHAND when it called on_signal. Installs
 * them again, because their handlers are still to be called. */
static void set_again(uint64_t bits)
{
	bool in = signals_enter();

	for (; bits; bits &= bits - 1) {
		int sig = __builtin_ctzll(bits) + 1;

		if (signal_actions[sig].sa_flags & (int)SA_RESETHAND)
			signal_install(sig, &signal_actions[sig]);
	}
	signals_leave(in);
}

/* Delivers what a kernel thread has put off, outside the runtime. The kernel does it,
 * with mask, stack and context as it always does. */
static void deliver_late(void)
{
	struct uk_thread *t;
	uint64_t bits;

	if (posix_self_tls.thread) { /* a handler that interrupted a user thread */
		t = handler_thread();
		if (t && thread_asked(t, ASK_SIGNAL)) {
			deliver(NULL);
			wait_interrupted(thread_self());
		}
		return;
	}
	bits = xchg_acq_rel(&posix_self_tls.signals.late, 0);
	if (!bits)
		return;
	set_again(bits);
	sys4(SYS_rt_sigprocmask, SIG_UNBLOCK, &bits, NULL, sizeof(bits));
}

/* ---- the beginning ---- */

void handlers_begin(void)
{
	if (likely(load_acquire(&handlers_begun)))
		return;
	bool in = signals_enter();
	for (int sig = 1; sig <= SIGNAL_LAST && !handlers_begun; sig++) {
		struct sigaction *a = &signal_actions[sig];

		if (OURS & BIT(sig) || LIBC(sigaction)(sig, NULL, a))
			continue;
		crash_replaced(sig, a);
		if (what_of(a, sig) == HANDLE)
			signal_install(sig, a);
	}
	store_release(&handlers_begun, 1);
	signals_leave(in);
}

/* Also without user threads, a signal ends a kernel thread's wait with EINTR. */
AT_LOAD(end_waits)
{
	hooks.foreign_signals = deliver_late;
	hooks.foreign_adopted = handlers_begin;
	/* the process's signals; abort() unblocks its own */
	carrier_shuts = BIT(SIGABRT) | BIT(SIGURG);
	hooks.carrier_answer[QUESTION_MASK] = answer_mask;
}

void signal_install(int sig, const struct sigaction *a)
{
	struct sigaction ours = *a;
	enum what what = what_of(a, sig);

	if (a->sa_handler == SIG_DFL && watched & BIT(sig)) {
		ours = (struct sigaction){ .sa_flags = SA_SIGINFO | SA_ONSTACK };
		ours.sa_sigaction = on_signal;
	} else if (what == HANDLE) {
		ours.sa_sigaction = on_signal;
		ours.sa_flags |= SA_SIGINFO;
	}
	LIBC(sigaction)(sig, &ours, NULL);
}

static uint64_t my_mask(void)
{
	return posix_self_tls.signals.mask;
}

void signals_begin(void)
{
	sigset_t set;

	if (likely(load_acquire(&signals_begun)) || rt_begin())
		return;
	posix_cancel_begin();
	posix_end_counts();
	handlers_begin();
	LIBC(pthread_sigmask)(SIG_SETMASK, NULL, &set); /* nothing is put off now */
	bool in = signals_enter();
	if (!signals_begun) {
		slab_init(&item_slab, sizeof(struct signal_item));
		hooks.thread_signals = deliver;
		hooks.thread_mask = my_mask;
		signals_main_mask = word_of(&set);
		signals_watch_main(signals_main_mask);
		thread_signals_init();
		store_release(&signals_begun, 1);
	}
	signals_leave(in);
}

void signals_born(struct posix_thread *pt, const sigset_t *own)
{
	struct posix_signals *s = &pt->signals;
	struct uk_thread *me = handler_thread();
	sigset_t set;
	uint64_t mask, more;

	if (own) {
		mask = word_of(own) & ~NEVER_BLOCKED;
	} else if (me) {
		mask = posix_self_tls.signals.mask;
	} else {
		LIBC(pthread_sigmask)(SIG_SETMASK, NULL, &set);
		mask = word_of(&set) & ~NEVER_BLOCKED;
	}
	bool in = signals_enter();
	watch(mask);
	s->mask = mask;
	s->group = group_join(mask);
	s->stack.ss_flags = SS_DISABLE;
	list_push_back(&signals_all, &s->all);
	more = receiver_set();
	signals_leave(in);
	signals_opened(~mask);
	receiver_call(more);
}

void signals_gone(struct posix_thread *pt)
{
	struct posix_signals *s = &pt->signals;
	struct signal_item *it;

	bool in = signals_enter();
	list_del(&s->all);
	list_init(&s->all);
	group_leave(s->group);
	timers_gone(s);
	owners_gone(s);
	cpu_timers_gone(pt);
	s->mask = ~0ull;
	sigwait_end(s);
	while ((it = s->items)) {
		s->items = it->next;
		item_free(it);
	}
	s->pending = 0;
	signals_leave(in);
}

void signals_main_left(void)
{
	uint64_t more;

	if (!load_acquire(&signals_begun))
		return;
	bool in = signals_enter();
	signals_main_mask = ~0ull;
	signals_watch_main(~0ull);
	more = receiver_set();
	signals_leave(in);
	receiver_call(more);
}

/* ---- fork ---- */

/* A forked child has one thread, and nothing pending. The kernel thread of a user
 * thread is the only one in the process, and has the user thread's mask
 * (user_survives in lifecycle/fork.c): the kernel delivers to it until the runtime
 * begins anew (settled). */
static void child(void)
{
	struct posix_signals *s = &posix_self_tls.signals;
	sigset_t set;

	posix_forker = posix_self_tls.thread ? (uint32_t)sys0(SYS_getpid) : 0;

	if (!posix_self_tls.thread && s->late) /* put off in the parent */
		sys4(SYS_rt_sigprocmask, SIG_UNBLOCK, &s->late, NULL, sizeof(s->late));
	s->late = 0;
	lock_init(&lock, RANK_SIGNAL);
	if (!signals_begun)
		return;
	list_init(&signals_all);
	receiver_forget();
	s->items = NULL;
	s->pending = s->waits = 0;
	s->got = NULL;
	signals_main_mask = 0;
	shut = 0;
	if (posix_self_tls.thread) {
		s->group = group_join(s->mask);
		list_push_back(&signals_all, &s->all);
	} else {
		LIBC(pthread_sigmask)(SIG_SETMASK, NULL, &set);
		signals_main_mask = word_of(&set);
	}
}

/* The runtime runs again: the kernel thread of a user thread that forked is a
 * carrier. */
static void settled(void)
{
	uint64_t all = ~0ull;

	if (!signals_begun || !posix_self_tls.thread)
		return;
	signals_main_mask = all;
	signals_watch_main(all); /* no other thread runs yet */
	sys4(SYS_rt_sigprocmask, SIG_SETMASK, &carrier_mask, NULL, sizeof(all));
	thread_self()->carrier->masked = true;
	thread_self()->carrier->shut = 0;
	receiver_call(receiver_set());
}

AT_LOAD(fork_register)
{
	pthread_atfork(NULL, NULL, child);
	sched_on_child(settled);
	tls_child_is_process = true;
}
