/* SPDX-License-Identifier: Apache-2.0 */
/* pt_receiver.c - the process's signals that main blocks: a kernel thread takes them
 * for the user threads that let them through, or wait for them in sigwait. The design
 * is in pt_signal.c.
 *
 * Whenever a user thread lets more through, we need the union of what all of them let
 * through. So threads are counted by mask: nearly all have the same. Threads in sigwait
 * are counted by signal. */
#include <limits.h>
#include <linux/futex.h>
#include <sys/prctl.h>

#include "base/sys.h"
#include "preload/pt_signal.h"
#include "sched/fuzz.h"
#include "sched/vp.h"
#include "uk/time.h"

#define GROUPS 64
#define RECEIVER_STACK ((size_t)64 << 10)
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#define SELF_THREAD -10000 /* PIDFD_SELF_THREAD */
#define TO_PROCESS 2       /* PIDFD_SIGNAL_THREAD_GROUP */

static struct {
	uint64_t mask;
	uint64_t n;
} groups[GROUPS];      /* lock: how many threads have the mask */
static uint64_t crowd; /* lock: threads without a group; they count as open to all */
uint64_t signals_open;
static uint32_t waiting[SIGNAL_LAST]; /* lock: how many wait for it in sigwait */
static uint64_t waited;               /* lock: the signals that a thread waits for */
static uint64_t wanted;               /* atomics: what the receiver waits for */
static uint32_t asked, heard; /* futex: how often it was told to read wanted, and did */
static uint32_t receiver_tid; /* 0: none; atomics */
static uint32_t starting;

/* ---- which signals are let through ---- */

static void open_changes(void)
{
	uint64_t open = crowd ? ~0ull : 0;

	for (int i = 0; i < GROUPS; i++)
		if (groups[i].n)
			open |= ~groups[i].mask;
	store_release(&signals_open, open);
}

/* Under the lock. */
uint16_t group_join(uint64_t mask)
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
		empty = GROUPS;
		crowd++;
	} else {
		groups[empty].mask = mask;
		groups[empty].n = 1;
	}
	open_changes();
	return (uint16_t)empty;
}

void group_leave(uint16_t g)
{
	uint64_t left = g < GROUPS ? --groups[g].n : --crowd;

	if (!left)
		open_changes();
}

/* ---- the receiver ---- */

static bool route(const siginfo_t *info);

/* Gives a signal back to the process, as it was. A signal from kill or the kernel can
 * be sent unchanged only by the first thread, by the process's id, or since Linux 6.15
 * by any thread, by PIDFD_SELF_THREAD. Before that it becomes a signal from kill. */
void signal_to_process(const siginfo_t *info)
{
	long pid = sys0(SYS_getpid);

	if (sys3(SYS_rt_sigqueueinfo, pid, info->si_signo, info) == -EPERM &&
	    sys4(SYS_pidfd_send_signal, SELF_THREAD, info->si_signo, info, TO_PROCESS))
		sys2(SYS_kill, pid, info->si_signo);
}

/* What the receiver is to wait for. Tells receiver_spare that it has looked. */
static uint64_t look(void)
{
	uint32_t now = load_acquire(&asked);
	uint64_t set = load_acquire(&wanted) | BIT(WAKE_RECEIVER);

	if (load_relaxed(&heard) != now) {
		store_release(&heard, now);
		sys3(SYS_futex, &heard, FUTEX_WAKE, INT_MAX);
	}
	return set;
}

/* Nobody may have the signal. It stays in wanted until it is back, so that
 * receiver_spare waits for that. */
static void give_back(const siginfo_t *info)
{
	struct timespec ms = { 0, NS_PER_MS }; /* do not spin if wanted keeps it */

	signal_to_process(info);
	bool in = signals_enter();
	store_relaxed(&wanted, receiver_set());
	signals_leave(in);
	sys2(SYS_nanosleep, &ms, NULL);
}

static void *receive(void *arg UNUSED)
{
	sys2(SYS_prctl, PR_SET_NAME, "uk-signals");
	for (;;) {
		uint64_t set = look();
		siginfo_t info;
		long sig = sys4(SYS_rt_sigtimedwait, &set, &info, NULL, sizeof(set));

		fuzz_pause(); /* only the receiver holds it now */
		if (sig == WAKE_RECEIVER && info.si_code == SI_TIMER)
			timer_expired(&info);
		if (sig == WAKE_RECEIVER && info.si_code >= POLL_IN &&
		    info.si_code <= POLL_HUP)
			owner_told(&info);
		if (sig <= 0 || sig == WAKE_RECEIVER)
			continue;
		if (!route(&info))
			give_back(&info);
	}
	return NULL;
}

static void *receive_first(void *arg)
{
	uint64_t wake = BIT(WAKE_RECEIVER);

	thread_foreign();
	fuzz_pause(); /* wanted may change meanwhile */
	/* libc never blocks it: between two waits a handler would take it, for
	 * nothing */
	sys4(SYS_rt_sigprocmask, SIG_BLOCK, &wake, NULL, sizeof(wake));
	store_release(&receiver_tid, (uint32_t)sys_gettid());
	/* a thread that finds no receiver has changed wanted, which is read next */
	fence_seq_cst();
	sys3(SYS_futex, &receiver_tid, FUTEX_WAKE, INT_MAX);
	return receive(arg);
}

/* Starts the receiver, unless that was done. False: it cannot be made. */
static bool receiver_start(void)
{
	uint32_t none = 0;

	if (!cas_acq_rel(&starting, &none, 1) ||
	    !kernel_thread(receive_first, NULL, RECEIVER_STACK, NULL))
		return true;
	store_release(&starting, 0);
	return false;
}

uint32_t receiver_begin(void)
{
	struct timespec ms = { 0, NS_PER_MS }; /* another thread's start may fail */

	while (!load_acquire(&receiver_tid)) {
		if (!receiver_start())
			return 0;
		sys4(SYS_futex, &receiver_tid, FUTEX_WAIT, 0, &ms);
	}
	return load_relaxed(&receiver_tid);
}

/* After a change of wanted. False: the receiver is not made yet, or has yet to look for
 * the first time. */
static bool receiver_is_there(void)
{
	fence_seq_cst(); /* pairs with the fence of receive_first */
	return load_acquire(&receiver_tid);
}

/* Outside the lock and the runtime: from now on the receiver waits for these, too. */
void receiver_call(uint64_t more)
{
	uint64_t was;

	if (!more)
		return;
	was = fetch_or_acq_rel(&wanted, more);
	if ((was | more) == was)
		return;
	if (receiver_is_there()) {
		sys3(SYS_tgkill, sys0(SYS_getpid), load_relaxed(&receiver_tid),
		     WAKE_RECEIVER);
		return;
	}
	if (!receiver_start())
		fetch_and_acq_rel(&wanted, was);
}

/* Under the lock. */
uint64_t receiver_set(void)
{
	if (!signals_main_mask)
		return 0;
	return signals_main_mask & (signals_open | waited) & ~NEVER_BLOCKED &
	       ~SYNCHRONOUS;
}

/* Under the lock: if s is parked in sigwait for this signal, it gets it. */
bool hand_to_waiter(struct posix_signals *s, const siginfo_t *info)
{
	if (!(s->waits & BIT(info->si_signo)) || !s->got)
		return false;
	*s->got = *info;
	s->got = NULL;
	timer_taken(info);
	wait_fire(s->waiter, s->token, WAKE_OK);
	return true;
}

bool signal_route(const siginfo_t *info)
{
	uint64_t bit = BIT(info->si_signo);
	struct posix_signals *who = NULL;

	list_each_safe(l, tmp, &signals_all)
	{
		struct posix_signals *s = container_of(l, struct posix_signals, all);

		if (s->waits & bit) {
			who = s;
			break;
		}
		if (!who && !(s->mask & bit))
			who = s;
	}
	if (who && who->waits & bit) /* else it is about to look at them */
		return hand_to_waiter(who, info) || !item_put(who, info, true);
	return who && !signal_post(who, info, true);
}

static bool route(const siginfo_t *info)
{
	bool in = signals_enter(), anybody = signal_route(info);

	signals_leave(in);
	return anybody;
}

/* Takes a signal that the kernel has pending for the process, without waiting. */
static bool from_process(uint64_t set, siginfo_t *info)
{
	struct timespec none = { 0, 0 };

	return sys4(SYS_rt_sigtimedwait, &set, info, &none, sizeof(set)) > 0;
}

void receiver_take(struct posix_signals *s, uint64_t set)
{
	siginfo_t info;

	while (from_process(set, &info)) {
		bool in = signals_enter();

		signal_post(s, &info, true);
		signals_leave(in);
	}
}

void receiver_spare(uint64_t bit)
{
	uint32_t gen, at;
	bool in;

	if (!(load_acquire(&wanted) & bit) &&
	    load_acquire(&asked) == load_acquire(&heard))
		return;
	in = signals_enter();
	store_relaxed(&wanted, receiver_set());
	gen = fetch_add_acq_rel(&asked, 1) + 1;
	signals_leave(in);
	if (!receiver_is_there())
		return;
	sys3(SYS_tgkill, sys0(SYS_getpid), load_relaxed(&receiver_tid), WAKE_RECEIVER);
	while ((int32_t)((at = load_acquire(&heard)) - gen) < 0)
		sys4(SYS_futex, &heard, FUTEX_WAIT, at, NULL);
}

void signals_child_ended(void)
{
	struct posix_signals *s = &posix_self_tls.signals;
	uint64_t bit = BIT(SIGCHLD);

	if (!load_acquire(&signals_begun) || !handler_thread() || sched_unsettled() ||
	    !(load_relaxed(&signals_main_mask) & bit))
		return;
	if (!(s->mask & bit) && !sigwait_anybody(bit))
		receiver_take(s, bit);
	receiver_spare(bit);
	deliver_own();
}

/* Under the lock: s waits for these signals from now on. */
static void sigwait_set(struct posix_signals *s, uint64_t set)
{
	uint64_t change = s->waits ^ set;

	s->waits = set;
	for (; change; change &= change - 1) {
		int i = __builtin_ctzll(change);

		waiting[i] += set >> i & 1 ? 1 : -1u;
		if (waiting[i])
			waited |= 1ull << i;
		else
			waited &= ~(1ull << i);
	}
}

void sigwait_end(struct posix_signals *s)
{
	struct signal_item **at = &s->items, *it;

	sigwait_set(s, 0);
	s->pending = 0;
	while ((it = *at)) {
		if (it->process) {
			*at = it->next;
			signal_to_process(&it->info);
			item_free(it);
		} else {
			s->pending |= BIT(it->info.si_signo);
			at = &it->next;
		}
	}
}

void sigwait_left(struct posix_signals *s)
{
	bool in = signals_enter();

	sigwait_end(s);
	signals_leave(in);
}

/* From now on the receiver takes these signals for us. */
static void waits_for(struct posix_signals *s, uint64_t set)
{
	uint64_t more;

	bool in = signals_enter();
	sigwait_set(s, set);
	more = receiver_set();
	signals_leave(in);
	receiver_call(more);
}

bool sigwait_anybody(uint64_t set)
{
	return waited & set;
}

/* 0: a signal was taken; -EAGAIN, -EINTR, -ECANCELED. */
static long wait_once(struct posix_signals *s, uint64_t set, siginfo_t *info,
		      int64_t deadline)
{
	unsigned why = WAKE_OK;
	bool in = signals_enter();

	if (!item_take(s, set, info)) {
		s->got = info;
		s->waiter = thread_self();
		s->token = wait_begin(s->waiter, WAIT_SLEEP, NULL);
		signals_unlock();
		why = wait_park(s->waiter, s->token, deadline);
		signals_lock();
		if (!s->got) /* handed to us, whatever woke us */
			why = WAKE_OK;
		s->got = NULL;
	}
	signals_leave(in);
	return why == WAKE_TIMEOUT ? -EAGAIN : wake_error(why);
}

static int wait_signal(const sigset_t *set, siginfo_t *info, int64_t deadline)
{
	struct posix_signals *s = &posix_self_tls.signals;
	uint64_t want = word_of(set) & ~NEVER_BLOCKED;
	long r = 0;

	sched_settle();
	posix_testcancel();
	posix_call_begins();
	/* before the receiver knows of it: else it could hold a signal that a poll (no
	 * timeout) must find */
	if (from_process(want, info))
		return info->si_signo;
	waits_for(s, want);
	fuzz_pause(); /* the receiver may be quicker */
	do {
		if (from_process(want, info))
			break;
		r = wait_once(s, want, info, deadline);
	} while (posix_again(r, false));
	sigwait_left(s);
	if (r)
		return (int)posix_result(r);
	if (info->si_code == SI_TKILL) /* as libc does */
		info->si_code = SI_USER;
	return info->si_signo;
}

LIBC_API int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
			  const struct timespec *restrict timeout)
{
	siginfo_t own;

	if (!posix_signalled())
		return NEXT(sigtimedwait)(set, info, timeout);
	if (!posix_readable(set, sizeof(uint64_t)) ||
	    !posix_readable(timeout, sizeof(*timeout)) ||
	    !posix_readable(info, sizeof(*info)))
		return (int)posix_result(-EFAULT);
	if (timeout && !posix_span_ok(timeout))
		return (int)posix_result(-EINVAL);
	return wait_signal(set, info ? info : &own, posix_after(timeout));
}

LIBC_API int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info)
{
	return posix_signalled() ? sigtimedwait(set, info, NULL)
				 : NEXT(sigwaitinfo)(set, info);
}

LIBC_API int sigwait(const sigset_t *restrict set, int *restrict sig)
{
	siginfo_t info;
	int r;

	if (!posix_signalled())
		return NEXT(sigwait)(set, sig);
	do
		r = wait_signal(set, &info, TIME_NEVER);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return errno;
	*sig = r;
	return 0;
}

void receiver_forget(void)
{
	memset(groups, 0, sizeof(groups));
	memset(waiting, 0, sizeof(waiting));
	waited = 0;
	crowd = 0;
	signals_open = 0;
	wanted = 0;
	receiver_tid = starting = 0;
	asked = heard = 0;
	timers_forget();
	owners_forget();
	cpu_timers_forget();
}
