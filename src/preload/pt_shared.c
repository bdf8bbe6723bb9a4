/* SPDX-License-Identifier: Apache-2.0 */
/* pt_shared.c - process-shared mutexes and conditions. The other processes may not use
 * this library, so libc's own code works on the objects, and all threads meet in the
 * kernel.
 *
 * A mutex of the normal or adaptive type has no owner: any thread may lock it, and the
 * vp is handed off while it waits. All others store their owner's id in the mutex. This
 * has to be the kernel's id of a living kernel thread, always the same one: the kernel
 * looks it up to inherit a priority, and walks its list of robust mutexes when it ends
 * or is killed; other processes compare it with their own ids. A user thread has no
 * such id, and its carrier changes. So as long as it holds such a mutex it has a
 * deputy: a kernel thread that makes libc's calls for it, one at a time, and owns the
 * mutexes.
 *
 *   free --lock, trylock--> in use --its thread holds none any more--> free
 *                              |
 *                              +--its thread ends with one--> the deputy ends
 *
 * If the deputy ends with a robust mutex, the next owner is told, as natively.
 *
 * The user thread parks meanwhile (an operation costs two context switches of the
 * kernel). If it is cancelled in a wait for a condition, all waiters of the condition
 * are woken until the deputy has taken the mutex and returned; for the others these are
 * spurious wake-ups, which POSIX allows. The deputy is not cancelled instead, because
 * libc's pthread_cancel would install libc's handler in place of ours.
 *
 * Rejected: binding the user thread to its carrier while it holds one (the calls that
 * it makes meanwhile would not park); one kernel thread as the owner of them all
 * (libc's code takes the caller for the owner, and one wait would delay all). */
#include <stdlib.h>

#include "base/lock.h"
#include "base/sys.h"
#include "preload/pt_lock.h"
#include "sync/futex.h"

#define DEPUTY_STACK ((size_t)256 << 10)
#define CANCEL_AGAIN (1 * NS_PER_MS)

enum job { JOB_LOCK, JOB_TRYLOCK, JOB_UNLOCK, JOB_CONSISTENT, JOB_WAIT, JOB_END };

struct deputy {
	struct deputy *next; /* pool_lock */
	pthread_t thread;
	uint32_t go;   /* 1: there is a job; the user sets it, the deputy clears it */
	uint32_t done; /* 1: it is done; the other way round */
	enum job job;
	pthread_mutex_t *mutex;
	pthread_cond_t *cond;
	clockid_t clock;
	const struct timespec *abs;
	int result;
};

static struct lock pool_lock = LOCK_INIT(RANK_DEPUTY);
static struct deputy *pool; /* pool_lock */

/* ---- the deputy ---- */

static int wait_for(const struct deputy *d)
{
	return d->abs
		   ? NEXT(pthread_cond_clockwait)(d->cond, d->mutex, d->clock, d->abs)
		   : NEXT(pthread_cond_wait)(d->cond, d->mutex);
}

static int work(struct deputy *d)
{
	switch (d->job) {
	case JOB_LOCK:
		return d->abs
			   ? NEXT(pthread_mutex_clocklock)(d->mutex, d->clock, d->abs)
			   : NEXT(pthread_mutex_lock)(d->mutex);
	case JOB_TRYLOCK:
		return NEXT(pthread_mutex_trylock)(d->mutex);
	case JOB_UNLOCK:
		return NEXT(pthread_mutex_unlock)(d->mutex);
	case JOB_CONSISTENT:
		return NEXT(pthread_mutex_consistent)(d->mutex);
	case JOB_WAIT:
		return wait_for(d);
	default:
		return 0;
	}
}

static void *deputy_main(void *arg)
{
	struct deputy *d = arg;

	for (;;) {
		while (!load_acquire(&d->go))
			sys_futex_wait(&d->go, 0, TIME_NEVER);
		store_relaxed(&d->go, 0);
		if (d->job == JOB_END)
			return NULL;
		d->result = work(d);
		store_release(&d->done, 1);
		futex_wake(&d->done, 1, FUTEX_ANY);
	}
}

/* ---- taking a deputy, and giving it back ---- */

static struct deputy *make_here(void)
{
	struct deputy *d = calloc(1, sizeof(*d));
	sigset_t all;
	pthread_attr_t a;
	int r;

	if (!d)
		return NULL;
	sigfillset(&all);
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, DEPUTY_STACK);
	pthread_attr_setsigmask_np(&a, &all);
	r = LIBC(pthread_create)(&d->thread, &a, deputy_main, d);
	pthread_attr_destroy(&a);
	if (r) {
		free(d);
		return NULL;
	}
	return d;
}

/* Many callers malloc nothing else, and need no arena of their own. */
static struct deputy *make(void)
{
	bool leave = tls_use_main_arena();
	struct deputy *d = make_here();

	if (leave)
		tls_leave_main_arena();
	return d;
}

/* The caller's deputy. NULL: no kernel thread can be made. */
static struct deputy *mine(void)
{
	struct posix_thread *self = &posix_self_tls;
	struct deputy *d = self->deputy;

	if (d)
		return d;
	rt_enter();
	lock_acquire(&pool_lock);
	d = pool;
	if (d)
		pool = d->next;
	lock_release(&pool_lock);
	rt_exit();
	if (!d)
		d = POSIX_KERNEL(make());
	posix_self_tls.deputy = d;
	return d;
}

static void order(struct deputy *d, enum job job)
{
	d->job = job;
	store_relaxed(&d->done, 0);
	store_release(&d->go, 1);
	sys_futex_wake(&d->go, 1);
}

static void dismiss(struct deputy *d)
{
	order(d, JOB_END);
	POSIX_KERNEL(LIBC(pthread_join)(d->thread, NULL));
	free(d);
}

static void give_back(void)
{
	struct deputy *d = posix_self_tls.deputy;

	posix_self_tls.deputy = NULL;
	rt_enter();
	lock_acquire(&pool_lock);
	d->next = pool;
	pool = d;
	lock_release(&pool_lock);
	rt_exit();
}

/* The caller ends. If it holds such a mutex, its deputy ends, too. */
void shared_died(void)
{
	struct deputy *d = posix_self_tls.deputy;

	posix_self_tls.deputy = NULL;
	posix_self_tls.shared = 0;
	if (d)
		dismiss(d);
}

/* A forked child has no deputies. */
void shared_forked(void)
{
	lock_init(&pool_lock, RANK_DEPUTY);
	pool = NULL;
	posix_self_tls.deputy = NULL;
	posix_self_tls.shared = 0;
}

/* ---- a job ---- */

/* *cut: a cancellation has ended it, and all waiters were woken. */
static int job(struct deputy *d, enum job what, bool *cut)
{
	int64_t look = TIME_NEVER;

	order(d, what);
	while (!load_acquire(&d->done)) {
		long r = futex_wait(&d->done, 0, FUTEX_ANY, look);

		if (r == -ECANCELED)
			uk_thread_cancel_clear();
		if (what == JOB_WAIT && (r == -ECANCELED || r == -ETIMEDOUT)) {
			NEXT(pthread_cond_broadcast)(d->cond);
			look = sys_now() + CANCEL_AGAIN; /* it may not wait yet */
			*cut = true;
		}
	}
	return d->result;
}

/* Is the caller a user thread, and does the mutex store its owner's id? */
static bool is_owned(const pthread_mutex_t *m)
{
	int type = m->__data.__kind & KIND_TYPE;

	return posix_self_tls.thread &&
	       (m->__data.__kind & (KIND_ROBUST | KIND_INHERIT | KIND_PROTECT) ||
		type == PTHREAD_MUTEX_RECURSIVE_NP ||
		type == PTHREAD_MUTEX_ERRORCHECK_NP);
}

static int by_deputy(enum job what, pthread_mutex_t *m, pthread_cond_t *c,
		     clockid_t clock, const struct timespec *abs)
{
	struct deputy *d = mine();
	bool cut = false;
	int r;

	if (!d)
		return EAGAIN;
	d->mutex = m;
	d->cond = c;
	d->clock = clock;
	d->abs = abs;
	r = job(d, what, &cut);
	if ((what == JOB_LOCK || what == JOB_TRYLOCK) && (!r || r == EOWNERDEAD))
		posix_self_tls.shared++;
	if (what == JOB_UNLOCK && !r)
		posix_self_tls.shared--;
	if (!posix_self_tls.shared)
		give_back();
	/* Not otherwise: a thread that took a signal is not cancelled with it. */
	if (cut)
		posix_testcancel();
	return r;
}

/* ---- for the mutex and the condition ---- */

int shared_lock(pthread_mutex_t *m, clockid_t clock, const struct timespec *abs)
{
	if (is_owned(m))
		return by_deputy(JOB_LOCK, m, NULL, clock, abs);
	if (abs)
		return POSIX_KERNEL(NEXT(pthread_mutex_clocklock)(m, clock, abs));
	if (!posix_user())
		return NEXT(pthread_mutex_lock)(m);
	if (!NEXT(pthread_mutex_trylock)(m)) /* these types give 0 or EBUSY */
		return 0;
	return POSIX_KERNEL(NEXT(pthread_mutex_lock)(m));
}

int shared_trylock(pthread_mutex_t *m)
{
	return is_owned(m) ? by_deputy(JOB_TRYLOCK, m, NULL, 0, NULL)
			   : NEXT(pthread_mutex_trylock)(m);
}

int shared_unlock(pthread_mutex_t *m)
{
	return is_owned(m) ? by_deputy(JOB_UNLOCK, m, NULL, 0, NULL)
			   : NEXT(pthread_mutex_unlock)(m);
}

int shared_consistent(pthread_mutex_t *m)
{
	return is_owned(m) ? by_deputy(JOB_CONSISTENT, m, NULL, 0, NULL)
			   : NEXT(pthread_mutex_consistent)(m);
}

int shared_wait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
		const struct timespec *abs)
{
	if (is_owned(m)) {
		posix_testcancel();
		return by_deputy(JOB_WAIT, m, c, clock, abs);
	}
	if (abs)
		return POSIX_KERNEL(NEXT(pthread_cond_clockwait)(c, m, clock, abs));
	return POSIX_KERNEL(NEXT(pthread_cond_wait)(c, m));
}
