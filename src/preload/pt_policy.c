/* SPDX-License-Identifier: Apache-2.0 */
/* pt_policy.c - the scheduling policy and priority of a user thread.
 *
 *   FIFO, RR, DEADLINE     the kernel acts on them: the thread is bound to its kernel
 *                          thread (pt_bound.c), which gets them
 *   OTHER, BATCH, IDLE     remembered, as long as the thread is not bound
 *
 * A thread that is created with such a policy of its own (PTHREAD_EXPLICIT_SCHED) is
 * made by libc, as a kernel thread. One that inherits it is created by a bound thread,
 * and so is a kernel thread, too.
 *
 * Whether the caller may set a policy only the kernel can tell: the caller's kernel
 * thread gets it for a moment. If that is allowed, a thread that is not bound yet is
 * asked to bind itself; its kernel thread then gets the policy.
 *
 * If the process was started with such a policy (chrt), carriers have it, too. Then
 * each thread that is to have another one is bound. */
#include <limits.h>
#include <sched.h>

#include "base/sys.h"
#include "preload/pt_calls.h"
#include "preload/pt_protocol.h"
#include "preload/pt_signal.h"
#include "preload/pt_tid.h"
#include "sched/vp.h"
#include "sync/futex.h"

#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE 6
#endif
#define KEEP_POLICY 0x08
#define KEEP_PARAMS 0x10
#define RESET_ON_FORK 0x01
#define KNOWN_FLAGS 0x7f

#define AS_CARRIERS UINT32_MAX /* in a thread's policy: none was set */

static bool is_fair(uint32_t policy)
{
	return policy == SCHED_OTHER || policy == SCHED_BATCH;
}

static bool is_real_time(uint32_t policy)
{
	return policy == SCHED_FIFO || policy == SCHED_RR || policy == SCHED_DEADLINE;
}

/* What carriers have, or what they will inherit from the caller. Asked only when it is
 * needed: a program may have a filter that kills for it. */
static struct sched_own base(void)
{
	struct sched_own own = { .policy = SCHED_OTHER };
	const struct carrier *c;

	do {
		c = load_acquire(&carriers_all);
		while (c && (load_relaxed(&c->dedicated) || load_relaxed(&c->ended)))
			c = c->next_all;
		sys4(SYS_sched_getattr, c ? load_relaxed(&c->tid) : 0, &own,
		     sizeof(own), 0);
	} while (c && load_relaxed(&c->dedicated)); /* it may have got another one */
	return own;
}

/* Must a thread with this policy be bound? b: the carriers'. From then on waiters are
 * woken by priority. */
static bool kernel_acts(uint32_t policy, const struct sched_own *b)
{
	if (!is_real_time(policy) && !is_real_time(b->policy))
		return false;
	futex_rank_threads((uint8_t)b->priority);
	return true;
}

bool policy_apart(int policy, int priority)
{
	struct sched_own b = base();

	return kernel_acts((uint32_t)policy, &b) &&
	       ((uint32_t)policy != b.policy || (uint32_t)priority != b.priority);
}

int policy_of(const struct posix_thread *pt, int *priority)
{
	uint32_t policy = load_relaxed(&pt->policy);
	struct sched_own b;

	*priority = load_relaxed(&pt->priority);
	if (policy != AS_CARRIERS)
		return (int)policy;
	b = base();
	*priority = (int)b.priority;
	return (int)b.policy;
}

void policy_begins(struct posix_thread *pt, const int *policy, int priority)
{
	const struct posix_thread *me = &posix_self_tls;

	if (policy) {
		pt->policy = (uint32_t)*policy;
		pt->priority = priority;
	} else {
		pt->policy = me->thread ? me->policy : AS_CARRIERS;
		pt->priority = me->priority;
	}
}

int policy_check(int policy, int priority)
{
	int low = sched_get_priority_min(policy), high = sched_get_priority_max(policy);

	return low < 0 || priority < low || priority > high ? EINVAL : 0;
}

/* ---- set ---- */

/* 0, or why the kernel would not give the caller this. RESET_ON_FORK is left out,
 * because not everybody may undo it. */
static long kernel_would(const struct sched_own *a)
{
	struct sched_own had, get = *a;
	long r = sys4(SYS_sched_getattr, 0, &had, sizeof(had), 0);

	if (r)
		return r;
	get.flags &= ~(uint64_t)RESET_ON_FORK;
	r = sys3(SYS_sched_setattr, 0, &get, 0);
	if (!r)
		sys3(SYS_sched_setattr, 0, &had, 0);
	return r;
}

/* Under the lock. */
static void remember(struct posix_thread *pt, const struct sched_own *a)
{
	store_relaxed(&pt->policy, a->policy);
	store_relaxed(&pt->priority, (int32_t)a->priority);
}

static void unwish(struct posix_thread *pt)
{
	if (pt->wish.size)
		store_relaxed(&pt->binds, 0);
	pt->wish.size = 0;
}

/* Under the lock; pt is not bound, and gets a once it is. */
static void wish(struct posix_thread *pt, const struct sched_own *a)
{
	if (!signals_lives(pt))
		return;
	pt->wish = *a;
	bound_ask(pt);
}

/* Under the lock. True: pt is bound, and *r is what the kernel said. */
static bool told_kernel(struct posix_thread *pt, const struct sched_own *a, long *r)
{
	int tid = bound_tid(pt);

	if (!tid)
		return false;
	*r = sys3(SYS_sched_setattr, tid, a, 0);
	if (!*r) {
		remember(pt, a);
		pt->wish.size = 0; /* an older one */
		protocol_policy(load_relaxed(&pt->tid), a);
	}
	return true;
}

static long change(struct posix_thread *pt, struct sched_own *a)
{
	struct sched_own b = base();
	bool acts = kernel_acts(a->policy, &b), told;
	long r = 0;

	a->size = sizeof(*a);
	bool in = signals_enter();
	told = told_kernel(pt, a, &r);
	signals_leave(in);
	if (told)
		return r;
	r = acts ? kernel_would(a) : -policy_check((int)a->policy, (int)a->priority);
	if (r)
		return r;
	in = signals_enter();
	if (!told_kernel(pt, a, &r)) { /* it may have been bound meanwhile */
		remember(pt, a);
		acts ? wish(pt, a) : unwish(pt);
		protocol_policy(load_relaxed(&pt->tid), a);
	}
	signals_leave(in);
	bound_own();
	return r;
}

void policy_lend(struct posix_thread *pt, const struct sched_own *a, bool raises)
{
	if (raises || is_real_time(load_relaxed(&pt->policy))) {
		pt->wish = *a;
		bound_ask(pt);
	} else {
		unwish(pt);
	}
}

bool policy_wished(struct posix_thread *self)
{
	bool own;

	bool in = signals_enter();
	own = self->wish.size && self->wish.policy == load_relaxed(&self->policy);
	if (self->wish.size)
		sys3(SYS_sched_setattr, 0, &self->wish, 0);
	self->wish.size = 0;
	signals_leave(in);
	return own;
}

long policy_set(struct posix_thread *pt, int policy, const struct sched_param *param)
{
	struct sched_own a = { .policy = (uint32_t)(policy & ~SCHED_RESET_ON_FORK) };

	if (!param || policy < 0)
		return -EINVAL;
	if (!posix_readable(param, sizeof(*param)))
		return -EFAULT;
	if (policy & SCHED_RESET_ON_FORK)
		a.flags = RESET_ON_FORK;
	a.priority = (uint32_t)param->sched_priority;
	if (is_fair(a.policy))
		a.nice = tid_nice(pt);
	return change(pt, &a);
}

long policy_get_param(const struct posix_thread *pt, struct sched_param *param)
{
	if (!param)
		return -EINVAL;
	if (!posix_readable(param, sizeof(*param)))
		return -EFAULT;
	policy_of(pt, &param->sched_priority);
	return 0;
}

/* ---- policy and nice value in one ---- */

/* 0, or what is wrong with from; else *a is a copy. As in the kernel. */
static long read_attr(struct sched_own *from, unsigned flags, struct sched_own *a)
{
	if (!from || flags)
		return -EINVAL;
	if (!posix_readable(from, sizeof(from->size)))
		return -EFAULT;
	if ((from->size && from->size < sizeof(*a)) || from->size > PAGE) {
		from->size = sizeof(*a);
		return -E2BIG;
	}
	if (!posix_readable(from, MAX(from->size, sizeof(*a))))
		return -EFAULT;
	*a = *from;
	return a->flags & ~(uint64_t)KNOWN_FLAGS ? -EINVAL : 0;
}

long policy_set_attr(struct posix_thread *pt, struct sched_own *from, unsigned flags)
{
	struct sched_own a;
	int policy, priority;
	long r = read_attr(from, flags, &a);

	if (r)
		return r;
	policy = policy_of(pt, &priority);
	if (a.flags & KEEP_POLICY)
		a.policy = (uint32_t)policy;
	if (a.policy > INT_MAX)
		return -EINVAL;
	if (a.flags & KEEP_PARAMS) {
		a.priority = (uint32_t)priority;
		a.nice = tid_nice(pt);
	} else if (is_fair(a.policy) && !a.priority && tid_set_nice(pt, a.nice)) {
		return -EPERM;
	}
	a.flags &= ~(uint64_t)(KEEP_POLICY | KEEP_PARAMS);
	return change(pt, &a);
}

/* The kernel checks the arguments, and answers for the carrier; then our values replace
 * its, unless the carrier is the thread's own. */
long policy_get_attr(struct posix_thread *pt, struct sched_own *a, unsigned size,
		     unsigned flags)
{
	int tid, priority;
	long r;

	bool in = signals_enter();
	tid = bound_tid(pt);
	signals_leave(in);
	r = sys4(SYS_sched_getattr, tid, a, size, flags);
	if (r || tid)
		return r;
	a->policy = (uint32_t)policy_of(pt, &priority);
	a->priority = (uint32_t)priority;
	a->nice = is_fair(a->policy) ? tid_nice(pt) : 0;
	return 0;
}

/* ---- libc's names; the others are in pt_tid.c ---- */

static bool is_kernels(pthread_t th)
{
	return !posix_of(th)->thread;
}

LIBC_API int pthread_setschedparam(pthread_t th, int policy,
				   const struct sched_param *param)
{
	long a[] = { 0, policy };
	int r;

	if (!is_kernels(th))
		return -(int)policy_set(posix_of(th), policy, param);
	policy_apart(policy, 0); /* waiters are woken by priority now */
	if (pthread_equal(th, pthread_self()) &&
	    !bound_syscall(SYS_sched_setscheduler, a))
		return ENOMEM;
	r = NEXT(pthread_setschedparam)(th, policy, param);
	if (!r)
		protocol_kernels(load_relaxed(&posix_of(th)->tid), policy,
				 param->sched_priority);
	return r;
}

LIBC_API int pthread_getschedparam(pthread_t th, int *policy, struct sched_param *param)
{
	const struct posix_thread *pt = posix_of(th);

	if (is_kernels(th))
		return protocol_own(load_relaxed(&pt->tid), policy,
				    &param->sched_priority)
			   ? 0
			   : NEXT(pthread_getschedparam)(th, policy, param);
	*policy = policy_of(pt, &param->sched_priority);
	return 0;
}

LIBC_API int pthread_setschedprio(pthread_t th, int priority)
{
	struct sched_param param = { .sched_priority = priority };
	int had;

	if (is_kernels(th))
		return NEXT(pthread_setschedprio)(th, priority);
	return pthread_setschedparam(th, policy_of(posix_of(th), &had), &param);
}
