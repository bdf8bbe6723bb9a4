/* SPDX-License-Identifier: Apache-2.0 */
/* pt_signal_calls.c - the program's calls: handlers, masks, waits for a handler,
 * sending. For kernel threads they are libc's; handlers are those of the process. */
#include "base/sys.h"
#include "io/io.h"
#include "preload/pt_signal.h"
#include "uk/time.h"

#define KERNEL_MINSIGSTKSZ 2048

/* ---- the program's calls ---- */

LIBC_API int sigaction(int sig, const struct sigaction *restrict a,
		       struct sigaction *restrict old)
{
	struct sigaction was;

	if (!load_acquire(&handlers_begun) || posix_borrowed() || sig < 1 ||
	    sig > SIGNAL_LAST || OURS & BIT(sig) || sig == SIGKILL || sig == SIGSTOP)
		return LIBC(sigaction)(sig, a, old);
	bool in = signals_enter();
	was = signal_actions[sig];
	if (a) {
		signal_actions[sig] = *a;
		signal_install(sig, a);
		if (what_of(a, sig) == IGNORE)
			signals_discard(sig);
	}
	signals_leave(in);
	if (a)
		signals_opened(BIT(sig));
	if (old)
		*old = was;
	return 0;
}
ALSO(sigaction, __sigaction);

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

void signals_kernel_mask(uint64_t mask)
{
	uint64_t more;

	if (!load_acquire(&signals_begun) || posix_borrowed() ||
	    sys_gettid() != (int)sys0(SYS_getpid))
		return;
	bool in = signals_enter();
	signals_main_mask = mask & ~NEVER_BLOCKED;
	signals_watch_main(mask);
	more = receiver_set();
	signals_leave(in);
	receiver_call(more);
}

/* libc's call, and what the new mask means for the receiver. */
static int kernel_mask(int how, const sigset_t *set, sigset_t *old)
{
	int r = LIBC(pthread_sigmask)(how, set, old);
	sigset_t now;

	if (!r && set && load_acquire(&signals_begun)) {
		LIBC(pthread_sigmask)(SIG_SETMASK, NULL, &now);
		signals_kernel_mask(word_of(&now));
	}
	return r;
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
	if (!posix_readable(old, sizeof(was)))
		return EFAULT;
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
	posix_call_begins();
	s->unmasked = s->mask;
	s->masked = posix_self_tls.thread != NULL;
	mask_set(s, word_of(mask));
	deliver_own();
	return s->ran != ran;
}

void posix_mask_end(const sigset_t *mask, uint64_t old)
{
	struct posix_signals *s = &posix_self_tls.signals;
	struct uk_thread *t = handler_thread();

	if (!mask)
		return;
	s->masked = false;
	if (t) /* ASK_SIGNAL was about this call; what came since is pending */
		thread_signals_seen(t);
	mask_set(s, old);
	deliver_own();
}

/* -- waiting -- */

/* Waits until a handler has run, in the caller's own context or as a guest. Inside the
 * runtime none runs at once, so none is missed between the check and the wait. */
static int wait_for_handler(const sigset_t *mask)
{
	struct posix_signals *s = &posix_self_tls.signals;
	uint32_t ran = s->ran;
	uint64_t old;

	posix_testcancel();
	if (!posix_mask_begin(mask, &old))
		while (s->ran == ran) {
			struct uk_thread *t = rt_enter();

			if (s->ran == ran)
				wait_park(t, wait_begin(t, WAIT_SLEEP, NULL),
					  TIME_NEVER);
			rt_exit();
			posix_cut(-ECANCELED, false);
		}
	posix_mask_end(mask, old);
	errno = EINTR;
	return -1;
}

LIBC_API int sigsuspend(const sigset_t *mask)
{
	if (!handler_thread())
		return NEXT(sigsuspend)(mask);
	if (!posix_readable(mask, sizeof(uint64_t)))
		return (int)posix_result(-EFAULT);
	return wait_for_handler(mask);
}
ALSO(sigsuspend, __sigsuspend);

LIBC_API int pause(void)
{
	return handler_thread() ? wait_for_handler(NULL) : NEXT(pause)();
}

/* -- sending -- */

static int send_one(pthread_t th, const siginfo_t *info)
{
	struct uk_thread *t = posix_thread(th);
	int r = 0;

	if (info->si_signo < 0 || info->si_signo > SIGNAL_LAST ||
	    (info->si_signo && OURS & BIT(info->si_signo)))
		return EINVAL;
	if (!t)
		return ESRCH;
	if (!info->si_signo || load_relaxed(&t->state) == T_EXITED)
		return 0;
	if (info->si_signo == SIGSTOP && t == handler_thread()) /* at once */
		return -(int)sys3(SYS_tgkill, sys0(SYS_getpid), sys_gettid(), SIGSTOP);
	if (BIT(info->si_signo) & (BIT(SIGKILL) | BIT(SIGSTOP)))
		return -(int)sys2(SYS_kill, sys0(SYS_getpid), info->si_signo);
	if (unlikely(sched_unsettled())) /* a forked child's only thread: see child */
		return -(int)sys4(SYS_rt_tgsigqueueinfo, sys0(SYS_getpid), sys_gettid(),
				  info->si_signo, info);
	bool in = signals_enter();
	if (posix_of(th)->signals.all.next != &posix_of(th)->signals.all)
		r = -signal_post(&posix_of(th)->signals, info, false);
	signals_leave(in);
	return r;
}

static siginfo_t from_us(int sig, int code)
{
	siginfo_t info = { .si_signo = sig, .si_code = code };

	info.si_pid = (pid_t)sys0(SYS_getpid);
	info.si_uid = (uid_t)sys0(SYS_getuid);
	return info;
}

LIBC_API int pthread_kill(pthread_t th, int sig)
{
	siginfo_t info;

	if (!posix_of(th)->thread)
		return NEXT(pthread_kill)(th, sig);
	info = from_us(sig, SI_TKILL);
	return send_one(th, &info);
}

LIBC_API int pthread_sigqueue(pthread_t th, int sig, const union sigval value)
{
	siginfo_t info;

	if (!posix_of(th)->thread)
		return NEXT(pthread_sigqueue)(th, sig, value);
	info = from_us(sig, SI_QUEUE);
	info.si_value = value;
	return send_one(th, &info);
}

LIBC_API int raise(int sig)
{
	int r;

	if (!handler_thread())
		return NEXT(raise)(sig);
	r = pthread_kill(pthread_self(), sig);
	return r ? (int)posix_result(-r) : 0;
}

/* What main blocks now: in sigsuspend or sigwait that is less than its mask. */
static uint64_t main_blocks(pid_t pid)
{
	return load_relaxed(&signals_main_mask) & kernel_blocks(pid);
}

/* Is this a signal for the own process that main blocks? The kernel would keep it for
 * the receiver, and a user thread that lets it through could end before that comes. */
static bool is_ours(pid_t pid, int sig)
{
	uint64_t kernels = BIT(SIGKILL) | BIT(SIGSTOP) | BIT(SIGCONT) | OURS;

	return load_acquire(&signals_begun) && sig >= 1 && sig <= SIGNAL_LAST &&
	       pid == sys0(SYS_getpid) && !sched_unsettled() && !rt_in_runtime() &&
	       !rt_begin() && !(BIT(sig) & kernels) &&
	       load_relaxed(&signals_main_mask) & BIT(sig);
}

/* A signal for the process. A sender that lets it through gets it before the call
 * returns, else any other user thread that does. False: the kernel is to send it, and
 * chooses, because main lets it through, nobody does, or a thread waits for it in
 * sigwait. */
static bool send_here(pid_t pid, int sig, int code, union sigval value)
{
	bool user = handler_thread(), waited, sent = false;
	siginfo_t info;
	uint64_t bit;

	if (!is_ours(pid, sig))
		return false;
	bit = BIT(sig);
	info = from_us(sig, code);
	info.si_value = value;
	if (user && !(bit & posix_self_tls.signals.mask)) {
		bool in = signals_enter();
		waited = sigwait_anybody(bit);
		signals_leave(in);
		return !waited && main_blocks(pid) & bit &&
		       !send_one(pthread_self(), &info);
	}
	if (load_acquire(&signals_open) & bit && main_blocks(pid) & bit) {
		bool in = signals_enter();
		sent = !sigwait_anybody(bit) && signal_route(&info);
		signals_leave(in);
	}
	if (!sent && user)
		receiver_spare(bit); /* sigpending must see it */
	return sent;
}

LIBC_API int kill(pid_t pid, int sig)
{
	union sigval none = { .sival_ptr = NULL };

	return send_here(pid, sig, SI_USER, none) ? 0 : NEXT(kill)(pid, sig);
}

LIBC_API int sigqueue(pid_t pid, int sig, const union sigval value)
{
	return send_here(pid, sig, SI_QUEUE, value) ? 0
						    : NEXT(sigqueue)(pid, sig, value);
}

struct posix_thread *signals_find(long tid)
{
	list_each_safe(l, tmp, &signals_all)
	{
		struct posix_thread *pt =
		    signals_thread(container_of(l, struct posix_signals, all));

		if (tls_tid(pt->thread->tp) == tid)
			return pt;
	}
	return NULL;
}

struct uk_thread *posix_thread_by_tid(long tid)
{
	const struct posix_thread *pt;
	struct uk_thread *t;

	if (!load_acquire(&signals_begun))
		return NULL;
	bool in = signals_enter();
	pt = signals_find(tid);
	t = pt ? pt->thread : NULL;
	signals_leave(in);
	return t;
}

pthread_t posix_by_tid(long tid)
{
	const struct uk_thread *t = posix_thread_by_tid(tid);

	return t ? (pthread_t)t->tp : 0;
}

long posix_tgkill(long pid, long tid, int sig)
{
	pthread_t th;

	if (!posix_users_tid(tid))
		return sys3(SYS_tgkill, pid, tid, sig);
	th = pid == sys0(SYS_getpid) ? posix_by_tid(tid) : 0;
	return th ? -pthread_kill(th, sig) : -ESRCH;
}

/* Sends what the caller has passed. */
long posix_tgsigqueueinfo(long pid, long tid, int sig, const void *said)
{
	siginfo_t info;
	pthread_t th;

	if (!posix_users_tid(tid))
		return sys4(SYS_rt_tgsigqueueinfo, pid, tid, sig, said);
	if (!said || !posix_readable(said, sizeof(info)))
		return -EFAULT;
	info = *(const siginfo_t *)said;
	info.si_signo = sig;
	th = pid == sys0(SYS_getpid) ? posix_by_tid(tid) : 0;
	return th ? -send_one(th, &info) : -ESRCH;
}

LIBC_API int tgkill(pid_t pid, pid_t tid, int sig)
{
	return (int)posix_result(posix_tgkill(pid, tid, sig));
}

/* -- the rest -- */

/* The kernel's rules: `to` is asked for, mine is the present stack, and sp the stack
 * pointer. */
static long change_stack(stack_t *mine, const stack_t *to, uintptr_t sp)
{
	int mode = to->ss_flags & ~SS_AUTODISARM;

	if (on_stack(mine, sp))
		return -EPERM;
	if (mode != SS_DISABLE && mode != SS_ONSTACK && mode != 0)
		return -EINVAL;
	if (mode == SS_DISABLE) {
		*mine = (stack_t){ .ss_flags = to->ss_flags };
		return 0;
	}
	if (to->ss_size < KERNEL_MINSIGSTKSZ)
		return -ENOMEM;
	*mine = *to;
	mine->ss_flags &= SS_AUTODISARM;
	return 0;
}

LIBC_API int sigaltstack(const stack_t *restrict stack, stack_t *restrict old)
{
	stack_t *mine = &posix_self_tls.signals.stack, was = *mine, to;
	uintptr_t sp = (uintptr_t)&was;
	long r;

	if (!handler_thread())
		return NEXT(sigaltstack)(stack, old);
	if (!posix_readable(stack, sizeof(*stack)) ||
	    !posix_readable(old, sizeof(*old)))
		return (int)posix_result(-EFAULT);
	if (on_stack(&was, sp))
		was.ss_flags |= SS_ONSTACK;
	if (stack) {
		to = *stack;
		r = change_stack(mine, &to, sp);
		if (r)
			return (int)posix_result(r);
	}
	if (old)
		*old = was;
	return 0;
}
