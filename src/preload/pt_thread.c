/* SPDX-License-Identifier: Apache-2.0 */
/* pt_thread.c - pthread_create, join and detach, and a thread's attributes.
 *
 * A thread's own code runs below posix_main, as it does below libc's start_thread:
 * posix_main leaves a buffer in libc's chain (__pthread_register_cancel), so that
 * pthread_exit and cancellation, which are libc's own, unwind to it through cleanup
 * handlers and C++ destructors. The thread's block is kept until it is joined or
 * detached, because the program knows the thread by it.
 *
 * The process ends with its last thread. main counts as one (it may leave by
 * pthread_exit, or be cancelled), and the runtime's own kernel threads do not count.
 * Those that libc starts for SIGEV_THREAD never end, and count. */
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/at_load.h"
#include "base/sys.h"
#include "io/io.h"
#include "mem/stack.h"
#include "preload/pt.h"
#include "preload/pt_children.h"
#include "preload/pt_protocol.h"
#include "preload/pt_tid.h"
#include "uk/time.h"

/* what the macro pthread_cleanup_push expands to in C without exceptions; __sigsetjmp
 * is declared, but not with returns_twice */
extern int libc_sigsetjmp(struct __jmp_buf_tag *, int) __asm__("__sigsetjmp")
    __attribute__((returns_twice));
extern void __pthread_register_cancel(__pthread_unwind_buf_t *);

__thread struct posix_thread posix_self_tls;
static uint32_t alive = 1; /* the program's threads, including main; atomics */

/* ---- the end ---- */

static void one_less(void)
{
	if (fetch_sub_acq_rel(&alive, 1) == 1)
		exit(0);
}

static uint32_t helpers; /* enum posix_helper: those that libc has started; atomics */

void posix_helper(enum posix_helper h)
{
	if (!(load_relaxed(&helpers) & h) && !(fetch_or_acq_rel(&helpers, h) & h))
		fetch_add_relaxed(&alive, 1);
}

bool posix_alone(void)
{
	return load_relaxed(&alive) == 1;
}

/* A forked child has one thread: the one that forked. */
static void only_one(void)
{
	store_relaxed(&alive, 1);
	store_relaxed(&helpers, 0); /* libc starts new ones */
	posix_self_tls.tid = (uint32_t)sys1(SYS_getpid, 0);
	posix_self_tls.apart = sched_bound();
	posix_self_tls.counted = false; /* it is main now */
	posix_robust_forked();
	protocol_forked();
	shared_forked();
}

AT_LOAD(count_in_children)
{
	pthread_atfork(NULL, NULL, only_one);
}

static pthread_key_t end_key;
static bool has_end_key; /* false if the program has taken all of libc's keys */

/* Does something only if main calls it. */
static void main_left(void)
{
	if (sys_gettid() != (int)sys0(SYS_getpid))
		return;
	signals_main_left();
	one_less();
}

/* A kernel thread ends: after all other destructors, because they may still hold its
 * mutexes. */
static void at_end(void *round)
{
	uintptr_t n = (uintptr_t)round;

	if (n < PTHREAD_DESTRUCTOR_ITERATIONS) {
		pthread_setspecific(end_key, (void *)(n + 1));
		return;
	}
	posix_robust_died();
	if (posix_self_tls.counted)
		one_less();
	main_left();
}

static void make_end_key(void)
{
	has_end_key = !pthread_key_create(&end_key, at_end);
}

bool posix_end_counts(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_end_key);
	if (has_end_key &&
	    !pthread_getspecific(end_key)) /* else it is set, or the thread ends */
		pthread_setspecific(end_key, (void *)1);
	return has_end_key;
}

LIBC_API NORETURN void pthread_exit(void *result)
{
	posix_self_tls.result = result;
	posix_self_tls.exited = 1;
	io_release(NULL); /* it may have been called in a handler */
	if (!posix_self_tls.thread && !posix_end_counts())
		main_left(); /* before its cleanup handlers run */
	NEXT(pthread_exit)(result);
	__builtin_unreachable();
}

/* ---- the begin ---- */

static void *posix_main(void *arg)
{
	struct posix_thread *self = &posix_self_tls;
	__pthread_unwind_buf_t buf;

	(void)arg;
	if (!libc_sigsetjmp((struct __jmp_buf_tag *)(void *)buf.__cancel_jmp_buf, 0)) {
		__pthread_register_cancel(&buf);
		bound_own();
		self->result = self->fn(self->arg);
		self->exited = 1;
	}
	signals_unwound();
	self = &posix_self_tls;
	if (!self->exited)
		self->result = PTHREAD_CANCELED;
	tls_run_destructors();
	posix_cancel_end();
	posix_robust_died();
	shared_died();
	children_orphaned();
	signals_gone(&posix_self_tls);
	tid_died(&posix_self_tls);
	sched_unbind();
	one_less();
	return posix_self_tls.result;
}

/* What a new thread is to be. */
struct plan {
	uk_thread_attr attr;
	struct birth birth;
	bool explicit;
	int policy;
	struct sched_param param;
	sigset_t mask;
	bool masked; /* it begins with mask, not with its creator's */
	cpu_set_t cpus;
	bool bound; /* to cpus */
};

static bool own_stack(const pthread_attr_t *a, struct birth *b)
{
	void *low = NULL;
	size_t size = 0;

	pthread_attr_getstack(a, &low, &size);
	if ((uintptr_t)low + size == 0) /* none was set */
		return false;
	b->stack = low;
	b->size = size;
	return true;
}

static int bind_check(const cpu_set_t *set)
{
	cpu_set_t may;
	long r = tid_processors(&may);

	if (r < 0)
		return (int)-r;
	CPU_AND(&may, &may, set);
	return CPU_COUNT(&may) ? 0 : EINVAL;
}

/* 0, or the error that the kernel would give. */
static int plan_rights(struct plan *p, const pthread_attr_t *a)
{
	int inherit = PTHREAD_INHERIT_SCHED, r = 0;

	pthread_attr_getinheritsched(a, &inherit);
	pthread_attr_getschedpolicy(a, &p->policy);
	pthread_attr_getschedparam(a, &p->param);
	p->explicit = inherit == PTHREAD_EXPLICIT_SCHED;
	p->masked = !pthread_attr_getsigmask_np(a, &p->mask);
	if (p->explicit)
		r = policy_check(p->policy, p->param.sched_priority);
	p->bound = !pthread_attr_getaffinity_np(a, sizeof(p->cpus), &p->cpus) &&
		   CPU_COUNT(&p->cpus) < CPU_SETSIZE; /* all CPUs: none was set */
	if (!r && p->bound)
		r = bind_check(&p->cpus);
	return r;
}

/* 0 or an error number. */
static int plan_stack(struct plan *p, const pthread_attr_t *a,
		      const pthread_attr_t *dfl)
{
	size_t guard = 0;

	if (a && own_stack(a, &p->birth))
		return 0;
	if (a)
		pthread_attr_getguardsize(a, &guard);
	pthread_attr_getstacksize(a ? a : dfl, &p->birth.size);
	p->attr.stack_size = p->birth.size;
	p->attr.guard_size = guard;
	return stack_kind(p->birth.size, guard) ? 0 : EAGAIN;
}

static int plan_make(struct plan *p, const pthread_attr_t *a)
{
	int detached = PTHREAD_CREATE_JOINABLE, r;
	pthread_attr_t dfl;

	memset(p, 0, sizeof(*p));
	r = pthread_getattr_default_np(&dfl);
	if (r)
		return EAGAIN;
	if (a)
		pthread_attr_getdetachstate(a, &detached);
	if (detached == PTHREAD_CREATE_DETACHED)
		p->attr.flags |= UK_THREAD_DETACHED;
	r = plan_rights(p, a ? a : &dfl);
	if (!r)
		r = plan_stack(p, a, &dfl);
	pthread_attr_destroy(&dfl);
	return r;
}

/* As in the kernel, a thread begins with its creator's name. The program's own name is
 * stored once, before there is a second thread, and not for each (dumps would show
 * nothing else). */
static char program_name[NAME_SIZE];

static void name_begins(struct posix_thread *pt)
{
	const struct uk_thread *me = handler_thread();
	char name[NAME_SIZE] = "";

	if (me)
		uk_thread_get_name(me, name, sizeof(name));
	else
		sys2(SYS_prctl, PR_GET_NAME, name);
	if (name[0] && strcmp(name, program_name) != 0)
		uk_thread_set_name(pt->thread, name);
	bound_named(pt, name[0] ? name : program_name);
}

static void name_program(void)
{
	sys2(SYS_prctl, PR_GET_NAME, program_name);
}

/* A kernel thread made by libc, which inherits what the caller has set for its own
 * kernel thread (pt_bound.c). */
struct apart {
	void *(*fn)(void *);
	void *arg;
	uint64_t mask;
	char name[NAME_SIZE]; /* its creator's */
	bool own; /* it begins with mask and name: its kernel thread has a carrier's */
};

static void *apart_main(void *arg)
{
	struct apart w = *(struct apart *)arg;
	void *result;

	free(arg);
	posix_self_tls.apart = true;
	rt_adopt(); /* else libc would cancel it, which wakes no wait of ours */
	posix_self_tls.counted = posix_end_counts();
	if (w.own) {
		sys2(SYS_prctl, PR_SET_NAME, w.name);
		if (w.mask != ~0ull)
			sys4(SYS_rt_sigprocmask, SIG_SETMASK, &w.mask, NULL,
			     sizeof(w.mask));
	}
	result = w.fn(w.arg);
	if (!posix_self_tls.counted)
		one_less();
	return result;
}

static int create_apart(pthread_t *th, const pthread_attr_t *a, void *(*fn)(void *),
			void *arg)
{
	struct apart *w = malloc(sizeof(*w));
	sigset_t own;
	int r;

	if (!w)
		return EAGAIN;
	*w = (struct apart){ .fn = fn, .arg = arg };
	w->own = sched_child_mask(&w->mask);
	if (w->own) {
		uk_thread_get_name(handler_thread(), w->name, sizeof(w->name));
		if (!w->name[0])
			memcpy(w->name, program_name, sizeof(w->name));
		if (a && !pthread_attr_getsigmask_np(a, &own))
			w->mask = ~0ull; /* libc sets that mask */
	}
	fetch_add_relaxed(&alive, 1);
	r = NEXT(pthread_create)(th, a, apart_main, w);
	if (r) {
		fetch_sub_acq_rel(&alive, 1);
		free(w);
	}
	return r;
}

LIBC_API int pthread_create(pthread_t *restrict th, const pthread_attr_t *restrict a,
			    void *(*fn)(void *), void *restrict arg)
{
	struct uk_thread *t;
	struct posix_thread *pt;
	struct plan p;
	void *block = NULL;
	int r;

	if (unlikely(posix_self_tls.apart))
		return create_apart(th, a, fn, arg);
	if (unlikely(!program_name[0]))
		name_program();
	r = plan_make(&p, a);
	if (r)
		return r;
	if (p.explicit && policy_apart(p.policy, p.param.sched_priority))
		return create_apart(th, a, fn, arg);
	p.birth.block = &block;
	signals_begin();
	r = thread_bear(&t, &p.attr, &p.birth, posix_main, NULL);
	if (r) {
		if (posix_user()) /* a caller that tries again lets others end */
			uk_yield();
		return r == -EINVAL ? EINVAL : EAGAIN;
	}
	*th = (pthread_t)block;
	pt = posix_of(*th);
	*pt = (struct posix_thread){ .thread = t,
				     .fn = fn,
				     .arg = arg,
				     .tid = (uint32_t)tls_tid(block),
				     .detached = p.attr.flags & UK_THREAD_DETACHED };
	policy_begins(pt, p.explicit ? &p.policy : NULL, p.param.sched_priority);
	fetch_add_relaxed(&alive, 1);
	signals_born(pt, p.masked ? &p.mask : NULL);
	name_begins(pt);
	if (p.bound)
		pthread_setaffinity_np(*th, sizeof(p.cpus), &p.cpus);
	thread_begin(t);
	return 0;
}

/* ---- join, detach ---- */

/* What join and detach return for a thread that is gone, as libc does as long as nothing
 * else has its memory. */
static int gone(pthread_t th)
{
	return posix_of(th)->detached ? EINVAL : ESRCH;
}

static int join_until(pthread_t th, void **result, int64_t deadline)
{
	struct uk_thread *t = posix_thread(th);
	int r;

	if (!t)
		return gone(th);
	posix_testcancel();
	do
		r = uk_thread_join_until(t, result, deadline);
	while (posix_again(r, true) || r == -EINTR);
	return -r;
}

static bool is_kernels(pthread_t th)
{
	return !posix_of(th)->thread;
}

LIBC_API int pthread_join(pthread_t th, void **result)
{
	if (is_kernels(th))
		return POSIX_KERNEL(NEXT(pthread_join)(th, result));
	return join_until(th, result, TIME_NEVER);
}

LIBC_API int pthread_tryjoin_np(pthread_t th, void **result)
{
	struct uk_thread *t = posix_thread(th);
	int r;

	if (is_kernels(th))
		return NEXT(pthread_tryjoin_np)(th, result);
	if (!t)
		return gone(th);
	if (load_relaxed(&t->state) != T_EXITED) /* first, as libc does */
		return EBUSY;
	r = uk_thread_join_until(t, result, 0);
	return r == -ETIMEDOUT || r == -ECANCELED || r == -EINTR ? EBUSY : -r;
}

LIBC_API int pthread_clockjoin_np(pthread_t th, void **result, clockid_t clock,
				  const struct timespec *abs)
{
	int64_t deadline = posix_deadline(clock, abs);

	if (is_kernels(th))
		return POSIX_KERNEL(NEXT(pthread_clockjoin_np)(th, result, clock, abs));
	return deadline == -EINVAL ? EINVAL : join_until(th, result, deadline);
}

LIBC_API int pthread_timedjoin_np(pthread_t th, void **result,
				  const struct timespec *abs)
{
	return pthread_clockjoin_np(th, result, CLOCK_REALTIME, abs);
}

LIBC_API int pthread_detach(pthread_t th)
{
	struct uk_thread *t = posix_thread(th);

	if (is_kernels(th))
		return NEXT(pthread_detach)(th);
	if (!t)
		return gone(th);
	posix_of(th)->detached = true;
	return -uk_thread_detach(t);
}

/* ---- attributes, name, priority, id ---- */

LIBC_API int pthread_getattr_np(pthread_t th, pthread_attr_t *a)
{
	struct uk_thread *t = posix_thread(th);
	struct posix_thread *pt = posix_of(th);
	struct sched_param param;
	cpu_set_t set;
	int r, policy;

	if (is_kernels(th))
		return NEXT(pthread_getattr_np)(th, a);
	if (!t || !t->stack)
		return ESRCH;
	r = pthread_attr_init(a);
	if (r)
		return r;
	r = pthread_attr_setstack(a, t->stack, thread_stack_size(t));
	if (!r && !t->kind_of_stack)
		r = pthread_attr_setguardsize(a, 0);
	else if (!r && !stack_guard_is_default(t->kind_of_stack))
		r = pthread_attr_setguardsize(a, stack_guard_size(t->kind_of_stack));
	if (!r)
		r = pthread_attr_setdetachstate(a,
						load_relaxed(&t->join) == JOIN_DETACHED
						    ? PTHREAD_CREATE_DETACHED
						    : PTHREAD_CREATE_JOINABLE);
	policy = policy_of(pt, &param.sched_priority);
	pthread_attr_setschedpolicy(a, policy);
	pthread_attr_setschedparam(a, &param);
	if (!r && !pthread_getaffinity_np(th, sizeof(set), &set))
		r = pthread_attr_setaffinity_np(a, sizeof(set), &set);
	if (r)
		pthread_attr_destroy(a);
	return r;
}

LIBC_API int pthread_setname_np(pthread_t th, const char *name)
{
	struct uk_thread *t = posix_thread(th);
	int r;

	if (is_kernels(th))
		return NEXT(pthread_setname_np)(th, name);
	if (strlen(name) > 15)
		return ERANGE;
	if (!t)
		return ESRCH;
	r = uk_thread_set_name(t, name);
	bound_named(posix_of(th), name);
	if (posix_of(th) == &posix_self_tls && sched_bound())
		sys2(SYS_prctl, PR_SET_NAME, name);
	return -r;
}

LIBC_API int pthread_getname_np(pthread_t th, char *name, size_t n)
{
	struct uk_thread *t = posix_thread(th);

	if (is_kernels(th))
		return NEXT(pthread_getname_np)(th, name, n);
	if (n < 16)
		return ERANGE;
	if (!t)
		return ESRCH;
	uk_thread_get_name(t, name, n);
	if (!name[0])
		strcpy(name, program_name);
	return 0;
}

LIBC_API int sched_yield(void)
{
	if (!posix_user())
		return (int)posix_result(sys0(SYS_sched_yield));
	uk_yield();
	return 0;
}
ALSO(sched_yield, __sched_yield);
/* Programs compiled before libc 2.34 call it pthread_yield; the header gives that name
 * to sched_yield. */
extern LIBC_API int old_yield(void) __asm__("pthread_yield")
    __attribute__((LIKE(sched_yield) alias("sched_yield")));

static pid_t tid_of_block(void)
{
	const struct uk_thread *t = handler_thread();

	return t && t->tp ? tls_tid(t->tp) : sys_gettid();
}

/* A user thread's id is one that no kernel thread has. */
LIBC_API pid_t gettid(void)
{
	return posix_borrowed() ? sys_gettid() : tid_of_block();
}

uint32_t posix_tid_slow(void)
{
	posix_self_tls.tid = (uint32_t)tid_of_block();
	return posix_self_tls.tid;
}
