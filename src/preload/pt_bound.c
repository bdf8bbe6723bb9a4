/* SPDX-License-Identifier: Apache-2.0 */
/* pt_bound.c - calls that set state which Linux keeps for each kernel thread:
 * credentials (of the caller alone), capabilities, namespaces, filters, I/O priority,
 * memory policy.
 *
 *   a user thread    is bound to its kernel thread first (sched/guest.c), so only this
 *                    thread has the state, until it ends
 *   a kernel thread  is alone with the state anyway
 *   both             the threads that they create from then on inherit the state, so
 *                    libc makes these as kernel threads, children of the caller's
 *                    (create_apart in pt_thread.c). This does not apply to main before its
 *                    first thread, nor to the one thread of a forked child before it
 *                    enters the runtime: all carriers descend from that thread
 *
 * Not bound for: the timer slack and queries (they do no harm); rt_sigprocmask by
 * syscall(2), because a user thread's mask is not the kernel's. */
#include <errno.h>
#include <linux/io_uring.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/fsuid.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>

#include "base/sys.h"
#include "preload/pt_calls.h"

bool posix_apart(void)
{
	struct posix_thread *self = &posix_self_tls;

	if (!posix_runs())
		return true;
	if (self->thread && sched_bind()) {
		errno = ENOMEM;
		return false;
	}
	self->apart = !self->thread || sched_bound();
	return true;
}

static bool ring_has_one_issuer(long params)
{
	const struct io_uring_params *p = (const void *)(uintptr_t)params;

	return p && posix_readable(p, sizeof(*p)) &&
	       p->flags & IORING_SETUP_SINGLE_ISSUER;
}

static bool option_is_own(long option)
{
	switch (option) {
	case PR_CAPBSET_DROP:
	case PR_CAP_AMBIENT:
	case PR_MCE_KILL:
	case PR_SET_IO_FLUSHER:
	case PR_SET_KEEPCAPS:
	case PR_SET_NO_NEW_PRIVS:
	case PR_SET_SECCOMP:
	case PR_SET_SECUREBITS:
	case PR_SET_SPECULATION_CTRL:
	case PR_SET_TSC:
		return true;
	default:
		return false;
	}
}

/* Does this call set such state? */
static bool sets_own(long n, const long *a)
{
	switch (n) {
	case SYS_capset:
	case SYS_landlock_restrict_self:
	case SYS_seccomp:
	case SYS_set_mempolicy:
	case SYS_setgid:
	case SYS_setgroups:
	case SYS_setns:
	case SYS_setregid:
	case SYS_setresgid:
	case SYS_setresuid:
	case SYS_setreuid:
	case SYS_setuid:
	case SYS_unshare:
		return true;
	case SYS_setfsgid:
	case SYS_setfsuid:
		return (uid_t)a[0] != (uid_t)-1; /* -1 only queries, as below */
	case SYS_personality:
		return (unsigned)a[0] != 0xffffffffu;
	case SYS_ioprio_set:
		return a[0] == IOPRIO_WHO_PROCESS && (!a[1] || a[1] == gettid());
	case SYS_ptrace:
		return a[0] == PTRACE_ATTACH || a[0] == PTRACE_SEIZE;
	case SYS_prctl:
		return option_is_own(a[0]);
	case SYS_io_uring_setup:
		return ring_has_one_issuer(a[1]);
	default:
		return false;
	}
}

bool bound_syscall(long n, long *a)
{
	if (likely(!sets_own(n, a)))
		return true;
	if (!posix_apart())
		return false;
	if (n == SYS_ioprio_set)
		a[1] = 0; /* the kernel does not know a user thread's id */
	return true;
}

/* ---- libc's names ---- */

#define APART(name, n, ...)                                                            \
	({                                                                             \
		long a_[] = { __VA_ARGS__ };                                           \
                                                                                       \
		bound_syscall(n, a_) ? NEXT(name)(__VA_ARGS__) : -1;                   \
	})

/* These two cannot report an error. If the thread cannot be bound, they return the old
 * id and change nothing. */
LIBC_API int setfsuid(uid_t uid)
{
	long a[] = { uid };

	return NEXT(setfsuid)(bound_syscall(SYS_setfsuid, a) ? uid : (uid_t)-1);
}

LIBC_API int setfsgid(gid_t gid)
{
	long a[] = { gid };

	return NEXT(setfsgid)(bound_syscall(SYS_setfsgid, a) ? gid : (gid_t)-1);
}

LIBC_API int unshare(int flags)
{
	change_syscall(SYS_unshare, (const long[]){ flags });
	return APART(unshare, SYS_unshare, flags);
}

LIBC_API int setns(int fd, int type)
{
	return APART(setns, SYS_setns, fd, type);
}

LIBC_API int personality(unsigned long persona)
{
	return APART(personality, SYS_personality, persona);
}

/* libcap's name; no libc header declares it. */
LIBC_API int capset(void *head, const void *data)
{
	return posix_apart() ? NEXT(capset)(head, data) : -1;
}
