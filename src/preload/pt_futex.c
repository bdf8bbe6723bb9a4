/* SPDX-License-Identifier: Apache-2.0 */
/* pt_futex.c - syscall(2), for programs with locks of their own: Rust's standard
 * library, C++20's atomics, allocators, language runtimes.
 *
 *   FUTEX_..._PRIVATE   wait, wake, requeue and wake-op use the futex table, for user
 *                       threads and kernel threads alike: no other process can wake
 *                       these waiters
 *   FUTEX_... shared    the kernel's, also in private memory: another process may wake
 *                       it, or the kernel itself (a raw clone's CLEARTID, robust
 *                       lists). So a waiter holds its carrier. Programs do not omit the
 *                       private flag by accident: natively too, a private wake finds no
 *                       shared waiter
 *   FUTEX_..._PI        lock, trylock and unlock of private ones: pt_pi.c. The others are
 *                       the kernel's, where a user thread cannot own one
 *   futex_waitv         the kernel's: a waiter holds its carrier. From the first such
 *                       call on, a private wake that finds too few waiters in the table
 *                       wakes the rest of its count in the kernel
 *   gettid, tkill, tgkill, sched_yield   as the functions of these names
 *   sched_setscheduler and the like, setpriority, prctl   of a user thread: pt_tid.c
 *   clock_gettime, getrusage   of a user thread's CPU time: pt_clock.c
 *   timer_create and the like   on such a clock, or to signal a user thread: pt_timer.c
 *   set_tid_address     returns the caller's id. When a user thread ends, nothing is
 *                       cleared: the address may be bad by then, which only the kernel
 *                       survives
 *   rseq                there is none for a user thread (pt_bound.c)
 *   close, dup2, dup3, close_range   spare the runtime's fds, as these functions do
 *   exit                of a user thread: it ends as by pthread_exit; its carrier lives
 *                       on
 *   fork, clone         no fork handler has run: the child may only exec
 *   semtimedop, epoll_wait and the like   the kernel's, which never restarts them. They
 *                       are repeated here if they are interrupted and no handler has
 *                       run
 *   setresuid, unshare, capset and the like   the thread is bound to its kernel thread
 *                       first (pt_bound.c)
 *   all others          the kernel's, marked as a call that may block
 *
 * Rejected: shared waits in private memory in our table, with wake-ups of both kinds
 * (the kernel's own wake-ups would be lost); asking the kernel what is mapped there
 * (the same). */
#include <linux/sched.h>
#include <signal.h>
#include <stdarg.h>

#include "base/sys.h"
#include "fd/known.h"
#include "preload/pt_calls.h"
#include "preload/pt_children.h"
#include "preload/pt_owner.h"
#include "preload/pt_pi.h"
#include "preload/pt_tid.h"
#include "sync/futex.h"
#include "uk/sync.h"

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#define CMD(op) ((op) & ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME))

struct call {
	long n, a[6];
};

static const uint32_t *word_at(long a)
{
	return (const uint32_t *)(uintptr_t)a;
}

/* ---- futex ---- */

/* The deadline of the wait, or -EINVAL. */
static int64_t deadline_of(long op, const struct timespec *ts)
{
	bool real = op & FUTEX_CLOCK_REALTIME || CMD(op) == FUTEX_LOCK_PI;
	clockid_t clock = real ? CLOCK_REALTIME : CLOCK_MONOTONIC;
	int64_t now;

	if (!ts)
		return TIME_NEVER;
	if (ts->tv_sec < 0)
		return -EINVAL;
	if (CMD(op) != FUTEX_WAIT || !posix_time_ok(ts))
		return posix_deadline(clock, ts);
	now = sys_now(); /* a relative timeout */
	return ts->tv_sec >= (TIME_NEVER - now) / NS_PER_SEC - 1
		   ? TIME_NEVER
		   : now + ts->tv_sec * NS_PER_SEC + ts->tv_nsec;
}

/* Not a cancellation point. */
static long wait(const struct call *c)
{
	uint32_t bits = CMD(c->a[1]) == FUTEX_WAIT ? FUTEX_ANY : (uint32_t)c->a[5];
	int64_t deadline =
	    deadline_of(c->a[1], (const struct timespec *)(uintptr_t)c->a[3]);
	long r;

	if (deadline == -EINVAL || !bits)
		return -EINVAL;
	posix_call_begins();
	do
		r = futex_wait(word_at(c->a[0]), (uint32_t)c->a[2], bits, deadline);
	while (r == -ECANCELED
		   ? posix_waits_on(r)
		   : r == -EINTR && posix_handlers_let(deadline == TIME_NEVER));
	return r;
}

static long kernel(const struct call *c)
{
	struct uk_thread *t = posix_user();
	const long *a = c->a;
	long r;

	if (t) {
		rt_enter();
		block_begin(t, false);
	}
	r = sys6(c->n, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (t) {
		block_end(t);
		rt_exit();
	}
	return r;
}

/* The call, after posix_leave(fd). */
static long kernel_left(const struct call *c, int fd)
{
	long r = kernel(c);

	posix_left(fd);
	return r;
}

/* A call that the kernel never restarts, and the argument that is its timeout. */
struct limit {
	bool is; /* it is such a call */
	bool ms; /* an int of milliseconds; else a timespec's address, or NULL */
	uint8_t arg;
};

static struct limit limit_of(long n)
{
	switch (n) {
	case SYS_rt_sigtimedwait:
		return (struct limit){ true, false, 2 };
#ifdef SYS_epoll_wait
	case SYS_epoll_wait:
#endif
	case SYS_epoll_pwait:
		return (struct limit){ true, true, 3 };
	case SYS_epoll_pwait2:
	case SYS_semtimedop:
		return (struct limit){ true, false, 3 };
	case SYS_semop: /* it has no timeout, and no fourth argument */
		return (struct limit){ true, true, 3 };
	case SYS_io_getevents:
	case SYS_io_pgetevents:
		return (struct limit){ true, false, 4 };
	default:
		return (struct limit){ 0 };
	}
}

/* Stores in c what the timeout of whole has left after ns. */
static void shorten(struct call *c, const struct call *whole, struct limit l,
		    int64_t ns, struct timespec *left)
{
	const struct timespec *span = (const void *)(uintptr_t)whole->a[l.arg];

	if (l.ms) {
		if ((int)whole->a[l.arg] > 0)
			c->a[l.arg] = MAX((int)whole->a[l.arg] - ns / NS_PER_MS, 0);
		return;
	}
	if (!span || span->tv_sec > TIME_NEVER / NS_PER_SEC - 1)
		return;
	*left = sys_timespec(MAX(span->tv_sec * NS_PER_SEC + span->tv_nsec - ns, 0));
	c->a[l.arg] = (long)(uintptr_t)left;
}

/* When an operation of a ring completes, the kernel interrupts the carrier that
 * submitted it. Then such a call returns EINTR though no handler has run, and is
 * repeated. */
static long kernel_calmly(const struct call *whole)
{
	struct limit l = limit_of(whole->n);
	struct call c = *whole;
	struct timespec left;
	int64_t begun;
	long r;

	if (likely(!l.is))
		return kernel(&c);
	begun = sys_now();
	posix_call_begins();
	while ((r = kernel(&c)) == -EINTR && posix_self_tls.thread &&
	       posix_handlers_let(false))
		shorten(&c, whole, l, sys_now() - begun, &left);
	return r;
}

static bool kernel_sleeps; /* futex_waitv was called; it stays set */

static long wait_many(const struct call *c)
{
	store_relaxed(&kernel_sleeps, true);
	fence_seq_cst(); /* pairs with wake_word: it sees that, or we its new value */
	return kernel(c);
}

/* Wakes in the table, and then in the kernel. Returns how many. */
static long wake_word(const uint32_t *word, long arg, uint32_t bits)
{
	int n = MAX((int)arg, 1);
	long woken, more = 0;

	rt_enter();
	woken = futex_wake(word, n, bits);
	rt_exit();
	fence_seq_cst(); /* pairs with wait_many */
	if (unlikely(load_relaxed(&kernel_sleeps)) && woken < n)
		more =
		    sys6(SYS_futex, (long)(uintptr_t)word,
			 FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, n - woken, 0, 0, bits);
	return woken + MAX(more, 0);
}

static long wake(const struct call *c, uint32_t bits)
{
	return bits ? wake_word(word_at(c->a[0]), c->a[2], bits) : -EINVAL;
}

static long requeue(const struct call *c, const uint32_t *expected)
{
	long r;

	if ((int)c->a[2] < 0 || (int)c->a[3] < 0)
		return -EINVAL;
	rt_enter();
	r = futex_requeue(word_at(c->a[0]), (int)c->a[2], (int)c->a[3],
			  word_at(c->a[4]), expected);
	rt_exit();
	return r;
}

/* The operation on the second word, as the kernel encodes it. *wakes: wake there,
 * too. */
static int operate(uint32_t *word, uint32_t code, bool *wakes)
{
	int arg = (int)(code << 8) >> 20, with = (int)(code << 20) >> 20, old;
	unsigned op = code >> 28 & 7, compare = code >> 24 & 15;

	if (code >> 28 & FUTEX_OP_OPARG_SHIFT)
		arg = (int)(1u << (arg & 31));
	switch (op) {
	case FUTEX_OP_SET:
		old = (int)xchg_seq_cst(word, (uint32_t)arg);
		break;
	case FUTEX_OP_ADD:
		old = (int)__atomic_fetch_add(word, (uint32_t)arg, __ATOMIC_SEQ_CST);
		break;
	case FUTEX_OP_OR:
		old = (int)__atomic_fetch_or(word, (uint32_t)arg, __ATOMIC_SEQ_CST);
		break;
	case FUTEX_OP_ANDN:
		old = (int)__atomic_fetch_and(word, ~(uint32_t)arg, __ATOMIC_SEQ_CST);
		break;
	case FUTEX_OP_XOR:
		old = (int)__atomic_fetch_xor(word, (uint32_t)arg, __ATOMIC_SEQ_CST);
		break;
	default:
		return -ENOSYS;
	}
	*wakes = compare == FUTEX_OP_CMP_EQ   ? old == with
		 : compare == FUTEX_OP_CMP_NE ? old != with
		 : compare == FUTEX_OP_CMP_LT ? old < with
		 : compare == FUTEX_OP_CMP_LE ? old <= with
		 : compare == FUTEX_OP_CMP_GT ? old > with
					      : old >= with;
	return compare <= FUTEX_OP_CMP_GE ? 0 : -ENOSYS;
}

static long wake_op(const struct call *c)
{
	uint32_t *second = (uint32_t *)(uintptr_t)c->a[4];
	bool both = false;
	long r = operate(second, (uint32_t)c->a[5], &both);

	if (r)
		return r;
	r = wake_word(word_at(c->a[0]), c->a[2], FUTEX_ANY);
	if (both)
		r += wake_word(second, c->a[3], FUTEX_ANY);
	return r;
}

static long lock_pi(const struct call *c)
{
	int64_t deadline =
	    deadline_of(c->a[1], (const struct timespec *)(uintptr_t)c->a[3]);

	return deadline == -EINVAL
		   ? -EINVAL
		   : pi_lock((uint32_t *)(uintptr_t)c->a[0], true, deadline);
}

static bool clock_may_be_real(long op)
{
	return CMD(op) == FUTEX_WAIT_BITSET || CMD(op) == FUTEX_LOCK_PI2;
}

/* A field of a NULL pointer's object: the kernel is to report it. */
static bool nowhere(long address)
{
	return (unsigned long)address < PAGE;
}

static bool points_nowhere(const long *a)
{
	switch (CMD(a[1])) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return nowhere(a[0]) || (a[3] && nowhere(a[3]));
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
	case FUTEX_WAKE_OP:
		return nowhere(a[0]) || nowhere(a[4]);
	default:
		return nowhere(a[0]);
	}
}

/* Is it ours? Then *r is what the system call would return. */
static bool futex(const struct call *c, long *r)
{
	uint32_t expected = (uint32_t)c->a[5];
	long op = c->a[1];

	if (!(op & FUTEX_PRIVATE_FLAG) || rt_in_runtime() || rt_adopt() ||
	    c->a[0] & 3 || points_nowhere(c->a) ||
	    (op & FUTEX_CLOCK_REALTIME && !clock_may_be_real(op)))
		return false;
	switch (CMD(op)) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		*r = wait(c);
		return true;
	case FUTEX_WAKE:
		*r = wake(c, FUTEX_ANY);
		return true;
	case FUTEX_WAKE_BITSET:
		*r = wake(c, (uint32_t)c->a[5]);
		return true;
	case FUTEX_REQUEUE:
		*r = requeue(c, NULL);
		return true;
	case FUTEX_CMP_REQUEUE:
		*r = requeue(c, &expected);
		return true;
	case FUTEX_WAKE_OP:
		*r = wake_op(c);
		return true;
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		*r = lock_pi(c);
		return true;
	case FUTEX_TRYLOCK_PI:
		*r = pi_lock((uint32_t *)(uintptr_t)c->a[0], false, 0);
		return true;
	case FUTEX_UNLOCK_PI:
		*r = pi_unlock((uint32_t *)(uintptr_t)c->a[0]);
		return true;
	default:
		return false;
	}
}

/* ---- the others ---- */

/* No fork handler has run for a child with memory of its own. vfork is made as fork:
 * its child would return from our frames while its parent still needs them. */
static long forks(const struct call *c)
{
	const long *a = c->a;
	bool shares = c->n == SYS_clone    ? a[0] & CLONE_VM
		      : c->n == SYS_clone3 ? *word_at(a[0]) & CLONE_VM
					   : false;
	uint64_t mask;
	bool set = sched_child_mask(&mask);
	long r;

	children_fork();
	fd_share_begin();
	r = c->n == SYS_clone || c->n == SYS_clone3
		? sys6(c->n, a[0], a[1], a[2], a[3], a[4], a[5])
		: sys5(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (r)
		fd_share_end();
	else if (!shares)
		sched_fork_lost(set ? &mask : NULL);
	return r;
}

static long kernel_changes(const struct call *c)
{
	change_syscall(c->n, c->a);
	return kernel_calmly(c);
}

static long dispatch(struct call *c)
{
	long r;

	switch (c->n) {
	case SYS_futex:
		return futex(c, &r) ? r : kernel(c);
	case SYS_futex_waitv:
		return wait_many(c);
	case SYS_gettid:
		return gettid();
	case SYS_set_tid_address: /* the kernel thread's word is libc's */
		return posix_signalled() ? gettid() : kernel(c);
	case SYS_tgkill:
		return posix_tgkill(c->a[0], c->a[1], (int)c->a[2]);
	case SYS_tkill: /* the id may be another process's */
		return posix_users_tid(c->a[0])
			   ? posix_tgkill(sys0(SYS_getpid), c->a[0], (int)c->a[1])
			   : kernel(c);
	case SYS_rt_tgsigqueueinfo:
		return posix_tgsigqueueinfo(c->a[0], c->a[1], (int)c->a[2],
					    word_at(c->a[3]));
	case SYS_fcntl:
		return owner_is((int)c->a[1]) && owner_fcntl((int)c->a[0], (int)c->a[1],
							     (void **)&c->a[2], &r)
			   ? r
			   : kernel_changes(c);
	case SYS_ptrace:
		return children_ptrace(c->a);
	case SYS_rseq: /* see __rseq_size in pt_bound.c */
		return posix_signalled() ? -ENOSYS : kernel(c);
	case SYS_sched_yield:
		return sched_yield();
	case SYS_close:
		return posix_leave((int)c->a[0]) ? kernel_left(c, (int)c->a[0])
						 : -EBADF;
#ifdef SYS_dup2
	case SYS_dup2:
#endif
	case SYS_dup3:
		return posix_may_dup((int)c->a[0], (int)c->a[1])
			   ? kernel_left(c, (int)c->a[1])
			   : -EBADF;
	case SYS_close_range:
		return posix_close_range((unsigned)c->a[0], (unsigned)c->a[1],
					 (unsigned)c->a[2]);
	case SYS_exit:
		if (posix_signalled())
			pthread_exit(NULL);
		return kernel(c);
#ifdef SYS_fork
	case SYS_fork:
	case SYS_vfork:
#endif
	case SYS_clone:
	case SYS_clone3:
		return forks(c);
	default:
		if (tid_call(c->n, c->a, &r) || clock_call(c->n, c->a, &r) ||
		    timer_call(c->n, c->a, &r))
			return r;
		if (!bound_syscall(c->n, c->a))
			return -ENOMEM;
		return kernel_changes(c);
	}
}

LIBC_API long syscall(long n, ...)
{
	struct call c = { .n = n };
	va_list ap;

	va_start(ap, n);
	for (unsigned i = 0; i < array_size(c.a); i++)
		c.a[i] = va_arg(ap, long);
	va_end(ap);
	return posix_result(dispatch(&c));
}
