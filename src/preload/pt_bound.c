/* SPDX-License-Identifier: Apache-2.0 */
/* pt_bound.c - calls that set state which Linux keeps for each kernel thread.
 *
 *   a user thread    is bound to its kernel thread first (sched/guest.c), so only this
 *                    thread has the state, until it ends
 *   a kernel thread  is alone with the state anyway
 *   both             if the threads that they create from then on inherit the state,
 *                    libc makes these as kernel threads, children of the caller's
 *                    (create_apart in pt_thread.c). This does not apply to main before its
 *                    first thread, nor to the one thread of a forked child before it
 *                    enters the runtime: all carriers descend from that thread
 *
 * A thread is also bound for a policy that the kernel acts on (pt_policy.c), and if its
 * name matches UK_BIND. Another thread may ask for that (bound_ask): the thread binds
 * itself where it would handle a signal (deliver in pt_signal.c).
 *
 * What struct task_struct has, and where it is handled. "bound" is here, "man" is said
 * in uk-posix(7); what the kernel keeps for the process is not listed (dumpable, MDWE,
 * THP, child subreaper, oom_score_adj, rlimits, POSIX timers, umask with CLONE_FS).
 *
 *   uids, gids, groups, securebits, keepcaps, capability sets,
 *     no_new_privs, seccomp, landlock                    bound; setuid() of libc: all
 *                                                        threads (sched/setxid.c)
 *   session, process and thread keyring, request key     bound (keyctl)
 *   namespaces, fs (cwd, root, umask), file table        bound (unshare, setns)
 *   personality, I/O priority, memory policy, IO_FLUSHER bound; mbind is of the memory
 *   core scheduling cookie, speculation, TSC and CPUID   bound (prctl, arch_prctl)
 *     faults, machine checks
 *   perf_event_open of itself                            bound; man
 *   timer slack                                          the carrier's; man
 *   io_uring with one issuer                             bound
 *   being a tracer or tracee, pdeath_signal              bound; pt_children.c
 *   syscall user dispatch                                bound
 *   children, parent                                     pt_children.c; man
 *   tid, comm                                            the library (pt_tid.c); man
 *   real-time policy and priority                        bound (pt_policy.c)
 *   other policies, nice, affinity, uclamp               the library (pt_tid.c); man
 *   CPU times, ITIMER of the thread's clock              the library (pt_cputime.c); man
 *   signal mask, pending signals, alternate stack        the library (pt_signal.c); man
 *   futex: robust list, PI owner, clear_child_tid        the library (pt_lock.c,
 *                                                        pt_shared.c); man
 *   owner of a file, target of a timer                   translated (pt_owner.c,
 *                                                        pt_timer.c)
 *   rseq                                                 none (below); man
 *   thread pointer (FS, aarch64's TPIDR)                 the runtime's; a program that
 *                                                        changes it is lost, GS also
 *   pointer authentication keys, tagged addresses,       set before the first thread,
 *     shadow stack, vector length                        and inherited by all carriers
 *   getrusage's faults and switches                      the carrier's; man
 *
 * Not bound for: queries (they do no harm); rt_sigprocmask by syscall(2), because a
 * user thread's mask is not the kernel's. */
#include <errno.h>
#include <fnmatch.h>
#include <linux/io_uring.h>
#include <linux/ioprio.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/at_load.h"
#include "base/env.h"
#include "base/log.h"
#include "base/sys.h"
#include "preload/pt_calls.h"
#include "preload/pt_children.h"
#include "preload/pt_signal.h"
#include "preload/pt_tid.h"
#include "sched/vp.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE 62
#define PR_SCHED_CORE_CREATE 1
#define PR_SCHED_CORE_SHARE_FROM 3
#endif
#define SCOPE_THREAD 0   /* PR_SCHED_CORE_SCOPE_THREAD */
#define SET_CPUID 0x1012 /* ARCH_SET_CPUID */

/* ---- bound ---- */

/* The first threads that were bound, for the counters of `uk run --stats`. */
static struct {
	char name[NAME_SIZE];
	const char *why;
} bound[16];
static uint32_t bound_count; /* atomics */

static void note(const char *name, const char *why)
{
	uint32_t i = fetch_add_relaxed(&bound_count, 1);

	if (i >= array_size(bound))
		return;
	memcpy(bound[i].name, name, NAME_SIZE);
	for (char *c = bound[i].name; *c; c++)
		if (*c < ' ' || *c == '"' || *c == '\\' || *c > '~')
			*c = '?';
	store_release(&bound[i].why, why);
}

size_t bound_json(char *to, size_t room)
{
	uint32_t n = load_relaxed(&bound_count);
	size_t at = (size_t)snprintf(to, room, "\n\t\"bound_threads\": %u", n);

	at += (size_t)snprintf(to + at, room - at, ",\n\t\"bound\": [");
	for (uint32_t i = 0; i < MIN(n, array_size(bound)); i++)
		if (load_acquire(&bound[i].why))
			at += (size_t)snprintf(
			    to + at, room - at,
			    "%s\n\t\t{\"name\": \"%s\", \"why\": \"%s\"}", i ? "," : "",
			    bound[i].name, bound[i].why);
	return at + (size_t)snprintf(to + at, room - at, "]");
}

/* The caller has been bound: its kernel thread gets what the thread has. */
static void show_kernel(struct posix_thread *self, const char *why)
{
	char name[NAME_SIZE] = "";
	cpu_set_t cpus;
	bool has_cpus;

	pthread_getname_np(pthread_self(), name, sizeof(name));
	note(name, why);
	sys2(SYS_prctl, PR_SET_NAME, name);
	if (self->niced)
		sys3(SYS_setpriority, PRIO_PROCESS, 0, self->nice);
	bool in = signals_enter();
	has_cpus = self->cpus;
	if (has_cpus)
		cpus = *self->cpus;
	signals_leave(in);
	if (has_cpus)
		sys3(SYS_sched_setaffinity, 0, sizeof(cpus), &cpus);
}

/* 0 or -errno. */
static int bind_self(const char *why)
{
	struct posix_thread *self = &posix_self_tls;
	int r;

	if (sched_bound())
		return 0;
	r = sched_bind(why);
	if (r || !sched_bound())
		return r;
	children_bound();
	show_kernel(self, why);
	return 0;
}

bool posix_bind(const char *why)
{
	int r = posix_runs() && posix_self_tls.thread ? bind_self(why) : 0;

	if (r)
		errno = -r;
	return !r;
}

bool posix_apart(const char *why)
{
	struct posix_thread *self = &posix_self_tls;

	if (!posix_runs())
		return true;
	if (!posix_bind(why))
		return false;
	self->apart = !self->thread || sched_bound();
	return true;
}

void bound_ask(struct posix_thread *pt)
{
	store_relaxed(&pt->binds, 1);
	if (pt != &posix_self_tls)
		thread_interrupt(pt->thread, true);
}

void bound_own(void)
{
	struct posix_thread *self = &posix_self_tls;
	const char *why;
	int r;

	if (likely(!load_relaxed(&self->binds)))
		return;
	why = !load_relaxed(&self->wish.size) ? "UK_BIND"
	      : load_relaxed(&self->wish.policy) != self->policy
		  ? "priority inheritance"
		  : "scheduling policy";
	store_relaxed(&self->binds, 0);
	r = bind_self(why);
	if (!r && !sched_bound()) /* a handler that interrupted the runtime */
		r = -EAGAIN;
	if (!r) {
		self->apart |= policy_wished(self);
	} else if (r == -EAGAIN) { /* at the end of the next call */
		store_relaxed(&self->binds, 1);
		fetch_or_acq_rel(&handler_thread()->asked, ASK_SIGNAL);
	} else {
		uk_warn("no memory to bind thread %d; its priority has no effect",
			gettid());
	}
}

int bound_tid(const struct posix_thread *pt)
{
	const struct carrier *c;

	if (!signals_lives(pt))
		return 0;
	c = thread_bound(pt->thread);
	return c ? c->tid : 0;
}

static const char *pattern; /* of UK_BIND, or NULL; constant */

void bound_named(struct posix_thread *pt, const char *name)
{
	if (likely(!pattern) || fnmatch(pattern, name, FNM_EXTMATCH))
		return;
	bool in = signals_enter();
	if (signals_lives(pt) && !bound_tid(pt))
		bound_ask(pt);
	signals_leave(in);
	bound_own();
}

AT_LOAD(read_pattern)
{
	pattern = env_get("UK_BIND");
}

/* ---- which calls set such state ---- */

static bool ring_has_one_issuer(long params)
{
	const struct io_uring_params *p = (const void *)(uintptr_t)params;

	return p && posix_readable(p, sizeof(*p)) &&
	       p->flags & IORING_SETUP_SINGLE_ISSUER;
}

static bool is_own_keyring(long id)
{
	return (int)id == KEY_SPEC_THREAD_KEYRING ||
	       (int)id == KEY_SPEC_PROCESS_KEYRING;
}

/* Does keyctl(2) change the keyrings of the caller? A call that names those of its
 * thread or process may create them. */
static bool keyrings_are_own(const long *a)
{
	switch (a[0]) {
	case KEYCTL_JOIN_SESSION_KEYRING:
	case KEYCTL_ASSUME_AUTHORITY:
		return true;
	case KEYCTL_SET_REQKEY_KEYRING:
		return (int)a[1] != KEY_REQKEY_DEFL_NO_CHANGE;
	case KEYCTL_GET_KEYRING_ID:
		return (int)a[1] < 0 && a[2];
	case KEYCTL_LINK:
		return is_own_keyring(a[2]);
	case KEYCTL_SEARCH:
		return is_own_keyring(a[1]) || is_own_keyring(a[4]);
	default:
		return is_own_keyring(a[1]);
	}
}

/* Is this perf event the caller's own? */
static bool counts_itself(const long *a)
{
	return !(a[4] & PERF_FLAG_PID_CGROUP) && (!a[1] || (int)a[1] == gettid());
}

static bool changes_cookie(const long *a)
{
	return a[1] == PR_SCHED_CORE_SHARE_FROM ||
	       (a[1] == PR_SCHED_CORE_CREATE && a[3] == SCOPE_THREAD &&
		(!a[2] || a[2] == gettid()));
}

static const char *option_sets(const long *a)
{
	switch (a[0]) {
	case PR_SCHED_CORE:
		return changes_cookie(a) ? "core scheduling" : NULL;
	case PR_CAPBSET_DROP:
	case PR_CAP_AMBIENT:
	case PR_SET_KEEPCAPS:
	case PR_SET_SECUREBITS:
		return "capabilities";
	case PR_SET_NO_NEW_PRIVS:
	case PR_SET_SECCOMP:
		return "filter";
	case PR_MCE_KILL:
	case PR_SET_IO_FLUSHER:
	case PR_SET_SYSCALL_USER_DISPATCH:
	case PR_SET_SPECULATION_CTRL:
	case PR_SET_TSC:
		return "prctl";
	default:
		return NULL;
	}
}

/* A kernel thread sets its own policy, which threads inherit. (The policies of user
 * threads are not set here.) */
static bool is_my_policy(long n, const long *a)
{
	const struct sched_own *attr = (const void *)(uintptr_t)a[1];
	long policy = a[1] & ~SCHED_RESET_ON_FORK;

	if (n == SYS_sched_setattr) {
		if (!attr || !posix_readable(attr, sizeof(*attr)))
			return false;
		policy = attr->policy;
	}
	return policy_apart((int)policy, -1) && (!a[0] || a[0] == gettid());
}

/* What this call sets of such state; NULL: nothing. */
static const char *sets(long n, const long *a)
{
	switch (n) {
	case SYS_landlock_restrict_self:
	case SYS_seccomp:
		return "filter";
	case SYS_setns:
	case SYS_unshare:
		return "namespace";
	case SYS_set_mempolicy:
		return "memory policy";
	case SYS_capset:
		return "capabilities";
	case SYS_setgid:
	case SYS_setgroups:
	case SYS_setregid:
	case SYS_setresgid:
	case SYS_setresuid:
	case SYS_setreuid:
	case SYS_setuid:
		return "credentials";
	case SYS_setfsgid:
	case SYS_setfsuid: /* -1 only queries, as below */
		return (uid_t)a[0] != (uid_t)-1 ? "credentials" : NULL;
	case SYS_personality:
		return (unsigned)a[0] != 0xffffffffu ? "personality" : NULL;
	case SYS_ioprio_set:
		return a[0] == IOPRIO_WHO_PROCESS && (!a[1] || a[1] == gettid())
			   ? "I/O priority"
			   : NULL;
	case SYS_prctl:
		return option_sets(a);
	case SYS_keyctl:
		return keyrings_are_own(a) ? "keyring" : NULL;
	case SYS_add_key:
		return is_own_keyring(a[4]) ? "keyring" : NULL;
	case SYS_request_key:
		return is_own_keyring(a[3]) ? "keyring" : NULL;
	case SYS_perf_event_open:
		return counts_itself(a) ? "perf event" : NULL;
#ifdef SYS_arch_prctl
	case SYS_arch_prctl:
		return a[0] == SET_CPUID ? "CPUID faults" : NULL;
#endif
	case SYS_io_uring_setup:
		return ring_has_one_issuer(a[1]) ? "ring with one issuer" : NULL;
	case SYS_sched_setscheduler:
	case SYS_sched_setattr:
		return is_my_policy(n, a) ? "scheduling policy" : NULL;
	default:
		return NULL;
	}
}

/* Do threads inherit what the call sets? */
static bool is_inherited(long n)
{
	return n != SYS_io_uring_setup && n != SYS_perf_event_open;
}

bool bound_syscall(long n, long *a)
{
	const char *what = sets(n, a);

	if (likely(!what))
		return n != SYS_prctl || children_prctl(a);
	if (is_inherited(n) ? !posix_apart(what) : !posix_bind(what))
		return false;
	if (n == SYS_ioprio_set || n == SYS_perf_event_open)
		a[1] = 0; /* the kernel does not know a user thread's id */
	else if (n == SYS_prctl && a[0] == PR_SCHED_CORE && a[2] == gettid())
		a[2] = 0;
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
	return posix_apart("capabilities") ? NEXT(capset)(head, data) : -1;
}

/* ---- rseq ---- */

/* The kernel keeps the area for restartable sequences of each kernel thread, so a user
 * thread has none. libc's constant says whether all threads have one, and programs use
 * other means if it is 0. */
extern LIBC_API const unsigned __rseq_size;
const unsigned __rseq_size = 0;
