/* SPDX-License-Identifier: Apache-2.0 */
/* pt_tid.c - Linux calls that name a thread by its gettid(), or the caller by 0. They
 * have to mean a user thread, and not the carrier that it is on now, which runs others
 * later. What they set is remembered for the thread, and not acted upon, unless the
 * thread is bound (pt_bound.c). This holds for libc's functions and for syscall(2); for
 * the program's first thread the calls are the kernel's. Policies are in pt_policy.c.
 *
 * A thread that lowers a nice value needs permission. The kernel is asked by lowering
 * that of the carrier and raising it back at once, which is always allowed. */
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "preload/pt_calls.h"
#include "preload/pt_signal.h"
#include "preload/pt_tid.h"

#define NICE_ZERO 20 /* getpriority(2) returns this minus the nice value */

/* The user thread that id names. NULL: it names none, or (*gone) one that has ended. */
static struct posix_thread *who(long id, bool *gone)
{
	pthread_t th;

	*gone = false;
	if (id == 0)
		return handler_thread() ? &posix_self_tls : NULL;
	if (!posix_users_tid(id))
		return NULL;
	th = posix_by_tid(id);
	*gone = !th;
	return th ? posix_of(th) : NULL;
}

/* ---- affinity ---- */

/* Replaces pt's set, and returns the old one to free. Others may look: under the
 * lock. */
static cpu_set_t *give_processors(struct posix_thread *pt, cpu_set_t *to)
{
	cpu_set_t *had = pt->cpus;

	pt->cpus = to;
	return had;
}

static long get_processors(const struct posix_thread *pt, size_t n, cpu_set_t *set)
{
	size_t some = MIN(n, sizeof(cpu_set_t));
	long r = sys3(SYS_sched_getaffinity, sys0(SYS_getpid), n, set);
	cpu_set_t own;
	bool has;

	if (r <= 0)
		return r;
	bool in = signals_enter(); /* a copy: set may fault, not under the lock */
	has = pt->cpus;
	if (has)
		own = *pt->cpus;
	signals_leave(in);
	if (has)
		memcpy(set, &own, MIN((size_t)r, some));
	return r;
}

/* The CPUs that the process may have, and not only those that its first thread has
 * chosen: the caller's kernel thread is set to all, and at once back to what it had. */
long tid_processors(cpu_set_t *may)
{
	cpu_set_t had, all;
	long r = sys3(SYS_sched_getaffinity, 0, sizeof(had), &had), size = r;

	if (r < 0)
		return r;
	CPU_ZERO(may);
	memset(&all, 0xff, sizeof(all));
	r = sys3(SYS_sched_setaffinity, 0, size, &all);
	if (r)
		return r;
	r = sys3(SYS_sched_getaffinity, 0, sizeof(*may), may);
	sys3(SYS_sched_setaffinity, 0, size, &had);
	return r;
}

/* As in the kernel: the process must have one of them. */
static long set_processors(struct posix_thread *pt, size_t n, const cpu_set_t *set)
{
	cpu_set_t may, both, *mine;
	long r = tid_processors(&may);

	if (r < 0)
		return r;
	n = MIN(n, (size_t)r);
	if (n && (!set || !posix_readable(set, n)))
		return -EFAULT;
	CPU_ZERO(&both);
	memcpy(&both, set, n);
	CPU_AND(&both, &both, &may);
	if (!CPU_COUNT(&both))
		return -EINVAL;
	mine = malloc(sizeof(*mine));
	if (!mine)
		return -ENOMEM;
	*mine = both;
	bool in = signals_enter();
	if (signals_lives(pt))
		mine = give_processors(pt, mine);
	if (bound_tid(pt))
		r = sys3(SYS_sched_setaffinity, bound_tid(pt), sizeof(both), &both);
	signals_leave(in);
	free(mine);
	return MIN(r, 0);
}

/* ---- the nice value ---- */

int tid_nice(const struct posix_thread *pt)
{
	return pt->niced ? pt->nice
			 : NICE_ZERO - (int)sys2(SYS_getpriority, PRIO_PROCESS,
						 sys0(SYS_getpid));
}

static long may_lower(int to)
{
	int carriers = NICE_ZERO - (int)sys2(SYS_getpriority, PRIO_PROCESS, 0);
	long r = sys3(SYS_setpriority, PRIO_PROCESS, 0, to);

	if (!r)
		sys3(SYS_setpriority, PRIO_PROCESS, 0, carriers);
	return r;
}

long tid_set_nice(struct posix_thread *pt, int to)
{
	long r = 0;
	int tid;

	to = MAX(MIN(to, NICE_ZERO - 1), -NICE_ZERO);
	bool in = signals_enter();
	tid = bound_tid(pt);
	if (tid)
		r = sys3(SYS_setpriority, PRIO_PROCESS, tid, to);
	signals_leave(in);
	if (!tid && to < tid_nice(pt))
		r = may_lower(to);
	if (r)
		return r;
	pt->nice = (int8_t)to;
	pt->niced = true;
	return 0;
}

/* ---- the name ---- */

static long set_name(const struct posix_thread *pt, const char *from)
{
	char name[NAME_SIZE];

	if (!from || !posix_readable(from, 1))
		return -EFAULT;
	strncpy(name, from, sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	return -pthread_setname_np((pthread_t)pt->thread->tp, name);
}

static long get_name(const struct posix_thread *pt, char *to)
{
	if (!to || !posix_readable(to, NAME_SIZE))
		return -EFAULT;
	return -pthread_getname_np((pthread_t)pt->thread->tp, to, NAME_SIZE);
}

/* ---- all of them ---- */

/* The argument that names the thread; -1: none does. */
static long named_in(long n, const long *a)
{
	switch (n) {
	case SYS_sched_setscheduler:
	case SYS_sched_getscheduler:
	case SYS_sched_setparam:
	case SYS_sched_getparam:
	case SYS_sched_rr_get_interval:
	case SYS_sched_setattr:
	case SYS_sched_getattr:
	case SYS_sched_setaffinity:
	case SYS_sched_getaffinity:
		return a[0];
	case SYS_setpriority:
	case SYS_getpriority:
		return a[0] == PRIO_PROCESS ? a[1] : -1;
	case SYS_prctl:
		return a[0] == PR_SET_NAME || a[0] == PR_GET_NAME ? 0 : -1;
	default:
		return -1;
	}
}

static long answer(struct posix_thread *pt, long n, const long *a)
{
	void *p1 = (void *)(uintptr_t)a[1], *p2 = (void *)(uintptr_t)a[2];
	int had;

	switch (n) {
	case SYS_sched_setscheduler:
		return policy_set(pt, (int)a[1], p2);
	case SYS_sched_getscheduler:
		return policy_of(pt, &had);
	case SYS_sched_setparam:
		return policy_set(pt, policy_of(pt, &had), p1);
	case SYS_sched_getparam:
		return policy_get_param(pt, p1);
	case SYS_sched_rr_get_interval:
		return sys2(n, 0, p1);
	case SYS_sched_setattr:
		return policy_set_attr(pt, p1, (unsigned)a[2]);
	case SYS_sched_getattr:
		return policy_get_attr(pt, p1, (unsigned)a[2], (unsigned)a[3]);
	case SYS_sched_setaffinity:
		return set_processors(pt, (size_t)a[1], p2);
	case SYS_sched_getaffinity:
		return get_processors(pt, (size_t)a[1], p2);
	case SYS_setpriority:
		return tid_set_nice(pt, (int)a[2]);
	case SYS_getpriority:
		return NICE_ZERO - tid_nice(pt);
	default:
		return a[0] == PR_SET_NAME ? set_name(pt, p1) : get_name(pt, p1);
	}
}

bool tid_call(long n, const long *a, long *r)
{
	long id = named_in(n, a);
	struct posix_thread *pt;
	bool gone;

	if (id < 0 || posix_borrowed())
		return false;
	pt = who((int)id, &gone);
	if (gone)
		*r = -ESRCH;
	else if (pt)
		*r = answer(pt, n, a);
	return gone || pt;
}

void tid_died(struct posix_thread *pt)
{
	cpu_set_t *had;

	bool in = signals_enter();
	had = give_processors(pt, NULL);
	signals_leave(in);
	free(had);
}

/* ---- libc's names ---- */

/* What system call n gives for a user thread; if it is about none, libc's own. */
#define OURS_OR(n, theirs, ...)                                                        \
	({                                                                             \
		const long a_[] = { __VA_ARGS__ };                                     \
		long r_;                                                               \
                                                                                       \
		tid_call(n, a_, &r_) ? posix_result(r_) : (theirs);                    \
	})
#define P(p) (long)(uintptr_t)(p)

LIBC_API int sched_setscheduler(pid_t id, int policy, const struct sched_param *param)
{
	long a[] = { id, policy };

	if (!posix_signalled() && !bound_syscall(SYS_sched_setscheduler, a))
		return -1;
	return (int)OURS_OR(SYS_sched_setscheduler,
			    NEXT(sched_setscheduler)(id, policy, param), id, policy,
			    P(param));
}

LIBC_API int sched_getscheduler(pid_t id)
{
	return (int)OURS_OR(SYS_sched_getscheduler, NEXT(sched_getscheduler)(id), id, 0,
			    0);
}

LIBC_API int sched_setparam(pid_t id, const struct sched_param *param)
{
	return (int)OURS_OR(SYS_sched_setparam, NEXT(sched_setparam)(id, param), id,
			    P(param), 0);
}

LIBC_API int sched_getparam(pid_t id, struct sched_param *param)
{
	return (int)OURS_OR(SYS_sched_getparam, NEXT(sched_getparam)(id, param), id,
			    P(param), 0);
}

LIBC_API int sched_rr_get_interval(pid_t id, struct timespec *ts)
{
	return (int)OURS_OR(SYS_sched_rr_get_interval,
			    NEXT(sched_rr_get_interval)(id, ts), id, P(ts), 0);
}

/* libc has these two since 2.41. */
struct sched_attr;
LIBC_API int sched_setattr(pid_t id, struct sched_attr *attr, unsigned flags)
{
	long a[] = { id, P(attr) };

	if (!posix_signalled() && !bound_syscall(SYS_sched_setattr, a))
		return -1;
	return (int)OURS_OR(SYS_sched_setattr,
			    posix_result(sys3(SYS_sched_setattr, id, attr, flags)), id,
			    P(attr), flags);
}

LIBC_API int sched_getattr(pid_t id, struct sched_attr *attr, unsigned size,
			   unsigned flags)
{
	return (int)OURS_OR(
	    SYS_sched_getattr,
	    posix_result(sys4(SYS_sched_getattr, id, attr, size, flags)), id, P(attr),
	    size, flags);
}

LIBC_API int sched_setaffinity(pid_t id, size_t n, const cpu_set_t *set)
{
	return (int)OURS_OR(SYS_sched_setaffinity, NEXT(sched_setaffinity)(id, n, set),
			    id, (long)n, P(set));
}

LIBC_API int sched_getaffinity(pid_t id, size_t n, cpu_set_t *set)
{
	const long a[] = { id, (long)n, P(set) };
	long r;

	if (!tid_call(SYS_sched_getaffinity, a, &r))
		return NEXT(sched_getaffinity)(id, n, set);
	if (r > 0) {
		memset((char *)set + r, 0, n - (size_t)r);
		r = 0;
	}
	return (int)posix_result(r);
}

/* Only remembered: user threads run where their vp does. */
LIBC_API int pthread_setaffinity_np(pthread_t th, size_t n, const cpu_set_t *set)
{
	struct posix_thread *pt = posix_of(th);

	return pt->thread ? -(int)set_processors(pt, n, set)
			  : NEXT(pthread_setaffinity_np)(th, n, set);
}

LIBC_API int pthread_getaffinity_np(pthread_t th, size_t n, cpu_set_t *set)
{
	struct posix_thread *pt = posix_of(th);
	long r;

	if (!pt->thread)
		return NEXT(pthread_getaffinity_np)(th, n, set);
	r = get_processors(pt, n, set);
	if (r < 0)
		return (int)-r;
	memset((char *)set + r, 0, n - (size_t)r);
	return 0;
}

LIBC_API int setpriority(__priority_which_t which, id_t id, int to)
{
	return (int)OURS_OR(SYS_setpriority, NEXT(setpriority)(which, id, to),
			    (long)which, (int)id, to);
}

LIBC_API int getpriority(__priority_which_t which, id_t id)
{
	const long a[] = { (long)which, (int)id, 0 };
	long r;

	if (!tid_call(SYS_getpriority, a, &r))
		return NEXT(getpriority)(which, id);
	return r < 0 ? (int)posix_result(r) : NICE_ZERO - (int)r;
}

LIBC_API int nice(int more)
{
	bool gone;
	struct posix_thread *pt = posix_borrowed() ? NULL : who(0, &gone);
	long r;

	if (!pt)
		return NEXT(nice)(more);
	r = tid_set_nice(pt, tid_nice(pt) + MAX(MIN(more, 40), -40));
	return r ? (int)posix_result(r == -EACCES ? -EPERM : r) : pt->nice;
}

LIBC_API int prctl(int option, ...)
{
	long a[5] = { option };
	va_list ap;

	va_start(ap, option);
	for (unsigned i = 1; i < array_size(a); i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (unlikely(!bound_syscall(SYS_prctl, a)))
		return -1;
	return (int)OURS_OR(SYS_prctl, NEXT(prctl)(option, a[1], a[2], a[3], a[4]),
			    option, a[1], a[2]);
}
