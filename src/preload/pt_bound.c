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
 * A thread is also bound for a policy that the kernel acts on (pt_policy.c), and if its
 * name matches UK_BIND. Another thread may ask for that (bound_ask): the thread binds
 * itself where it would handle a signal (deliver in pt_signal.c).
 *
 * Not bound for: the timer slack and queries (they do no harm); rt_sigprocmask by
 * syscall(2), because a user thread's mask is not the kernel's. */
#include <errno.h>
#include <fnmatch.h>
#include <linux/io_uring.h>
#include <linux/ioprio.h>
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
	why = load_relaxed(&self->wish.size) ? "scheduling policy" : "UK_BIND";
	store_relaxed(&self->binds, 0);
	r = bind_self(why);
	if (!r && !sched_bound()) /* a handler that interrupted the runtime */
		r = -EAGAIN;
	if (!r) {
		self->apart |= load_relaxed(&self->wish.size) != 0;
		policy_wished(self);
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

static const char *option_sets(long option)
{
	switch (option) {
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
	case PR_SET_SPECULATION_CTRL:
	case PR_SET_TSC:
		return "prctl";
	default:
		return NULL;
	}
}

/* A kernel thread sets its own policy, which threads inherit. (Those of user threads do
 * not come here.) */
static bool is_my_policy(long n, const long *a)
{
	const struct sched_own *attr = (const void *)(uintptr_t)a[1];

	if (a[0] && a[0] != gettid())
		return false;
	if (n == SYS_sched_setscheduler)
		return policy_apart((int)a[1] & ~SCHED_RESET_ON_FORK, -1);
	return attr && posix_readable(attr, sizeof(*attr)) &&
	       policy_apart((int)attr->policy, -1);
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
		return option_sets(a[0]);
	case SYS_io_uring_setup:
		return ring_has_one_issuer(a[1]) ? "ring with one issuer" : NULL;
	case SYS_sched_setscheduler:
	case SYS_sched_setattr:
		return is_my_policy(n, a) ? "scheduling policy" : NULL;
	default:
		return NULL;
	}
}

bool bound_syscall(long n, long *a)
{
	const char *what = sets(n, a);

	if (likely(!what))
		return n != SYS_prctl || children_prctl(a);
	if (!posix_apart(what))
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
	return posix_apart("capabilities") ? NEXT(capset)(head, data) : -1;
}

/* ---- rseq ---- */

/* The kernel keeps the area for restartable sequences of each kernel thread, so a user
 * thread has none. libc's constant says whether all threads have one, and programs use
 * other means if it is 0. */
extern LIBC_API const unsigned __rseq_size;
const unsigned __rseq_size = 0;
