/* SPDX-License-Identifier: Apache-2.0 */
/* pt_protocol.c - priority inheritance and priority ceilings of mutexes of ours.
 *
 * The kernel does not know who owns a mutex of ours, so the priority of the owner is
 * set here, with sched_setattr, as long as it is higher than the owner's own:
 *
 *   inheritance   the highest priority of the threads that wait for a mutex of the
 *                 owner, and of those that wait for these threads
 *   ceiling       the highest ceiling of the mutexes that it holds
 *
 *   not raised --a waiter comes, or it takes a ceiling--> raised
 *   raised --another waiter or ceiling, or one less-----> raised
 *   raised --no waiter and no ceiling-------------------> not raised
 *
 * An owner that is not bound is bound for it (pt_bound.c) and stays so.
 *
 * All state is under pt_signal.c's lock. As long as no real-time thread waits for an
 * inheriting mutex, an owner only reads two counters. They pair so:
 *
 *   waiter                         owner
 *   lenders++, reads the owner     sets the owner, reads lenders (protocol_owned)
 *   raised++, reads the owner      clears the owner, reads raised (protocol_freed)
 *
 * So whoever comes second sees the other and corrects the priority. */
#include "preload/pt_protocol.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "base/sys.h"
#include "preload/pt_lock.h"
#include "preload/pt_signal.h"
#include "preload/pt_tid.h"

#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE 6
#endif
#define PRIORITIES 100
#define CHAIN 16 /* a longer one, or a circle, is not followed to its end */

/* A thread with a raised priority. */
struct raise {
	uint32_t tid;                  /* posix_tid's; 0: free */
	int lent;                      /* the highest priority of its waiters */
	uint16_t ceilings[PRIORITIES]; /* how many it holds of each */
	struct sched_own own;          /* what it has itself */
};

static struct raise raises[64];
static struct list waits = LIST_INIT(waits);
static uint32_t raised;  /* how many raises are in use; written under the lock */
static uint32_t waiters; /* how many waits there are; the same */
static uint32_t lenders; /* how many of waits have a priority; the same */

static int real_time(const struct sched_own *a)
{
	if (a->policy == SCHED_DEADLINE)
		return PRIORITIES - 1;
	return a->policy == SCHED_FIFO || a->policy == SCHED_RR ? (int)a->priority : 0;
}

static struct raise *raise_of(uint32_t tid)
{
	for (struct raise *r = raises; r < raises + array_size(raises); r++)
		if (r->tid == tid)
			return r;
	return NULL;
}

static struct posix_thread *user_of(uint32_t tid)
{
	struct posix_thread *self = &posix_self_tls;

	if (!posix_users_tid(tid))
		return NULL;
	return self->thread && tid == posix_tid() ? self : signals_find(tid);
}

/* What the thread has itself. *kernel: its kernel thread, 0 if it is not bound. False:
 * it has ended. */
static bool own_of(uint32_t tid, struct sched_own *a, int *kernel)
{
	const struct raise *r = raise_of(tid);
	const struct posix_thread *pt = user_of(tid);
	int priority;

	if (!pt && posix_users_tid(tid))
		return false;
	*kernel = pt ? bound_tid(pt) : (int)tid;
	if (r) {
		*a = r->own;
		return true;
	}
	*a = (struct sched_own){ .size = sizeof(*a) };
	if (*kernel)
		return !sys4(SYS_sched_getattr, *kernel, a, sizeof(*a), 0);
	a->policy = (uint32_t)policy_of(pt, &priority);
	a->priority = (uint32_t)priority;
	a->nice = tid_nice(pt);
	return true;
}

static long tell(uint32_t tid, int kernel, const struct sched_own *a, bool up)
{
	struct posix_thread *pt = user_of(tid);

	if (!kernel) {
		policy_lend(pt, a, up);
		return 0;
	}
	if (pt)
		pt->wish.size = 0;
	return sys3(SYS_sched_setattr, kernel, a, 0);
}

/* Gives the thread what it has itself, or the higher priority. 0 or -errno. */
static long apply(struct raise *r)
{
	int want = r->lent, kernel;
	struct sched_own a;
	long err = -ESRCH;

	for (int c = PRIORITIES - 1; c > want; c--)
		if (r->ceilings[c])
			want = c;
	if (own_of(r->tid, &a, &kernel)) {
		if (want > real_time(&a)) {
			a.policy = a.policy == SCHED_RR ? SCHED_RR : SCHED_FIFO;
			a.priority = (uint32_t)want;
			a.nice = 0;
		}
		err = tell(r->tid, kernel, &a, want);
	}
	if (!want || err == -ESRCH) {
		r->tid = 0;
		store_seq_cst(&raised, raised - 1);
	}
	return err;
}

/* NULL: the thread has ended, or too many are raised. */
static struct raise *raise_begins(uint32_t tid)
{
	struct raise *r = raise_of(tid);
	struct sched_own own;
	int kernel;

	if (r)
		return r;
	r = raise_of(0);
	if (!r || !own_of(tid, &own, &kernel))
		return NULL;
	*r = (struct raise){ .tid = tid, .own = own };
	store_seq_cst(&raised, raised + 1);
	return r;
}

/* ---- inheritance ---- */

static uint32_t owner_of(const pthread_mutex_t *m)
{
	return (uint32_t)load_seq_cst(&m->__data.__owner);
}

static struct protocol_wait *wait_of(uint32_t tid)
{
	list_each(l, &waits)
	{
		struct protocol_wait *w = container_of(l, struct protocol_wait, link);

		if (w->tid == tid)
			return w;
	}
	return NULL;
}

/* What w's thread lends: its own priority, or a higher one that it was lent. */
static int lends(const struct protocol_wait *w)
{
	const struct raise *r = raise_of(w->tid);

	return r ? MAX(w->priority, r->lent) : w->priority;
}

/* Makes the priority right of tid, and of those that it waits for. */
static void settle(uint32_t tid)
{
	const struct protocol_wait *next;

	for (int n = 0; tid && n < CHAIN; n++) {
		struct raise *r = raise_of(tid);
		int lent = 0;

		list_each(l, &waits)
		{
			next = container_of(l, struct protocol_wait, link);
			if (next->tid != tid && owner_of(next->m) == tid)
				lent = MAX(lent, lends(next));
		}
		if (!r && lent)
			r = raise_begins(tid);
		if (!r || r->lent == lent)
			return;
		r->lent = lent;
		apply(r);
		next = wait_of(tid);
		tid = next ? owner_of(next->m) : 0;
	}
}

/* The same for m's owner, even if it changes meanwhile. */
static void settle_owner(const pthread_mutex_t *m)
{
	uint32_t tid, before = 0;

	while ((lenders || raised) && (tid = owner_of(m)) != before) {
		settle(before);
		settle(tid);
		before = tid;
	}
}

/* Can this thread take the lock? It may start the runtime. */
static bool can_enter(void)
{
	return rt_in_runtime() || !rt_begin();
}

static void lend(struct protocol_wait *w, int priority)
{
	store_seq_cst(&lenders, lenders + !!priority - !!w->priority);
	w->priority = priority;
}

void protocol_waits(struct protocol_wait *w, const pthread_mutex_t *m)
{
	struct sched_own own;
	int kernel;

	w->m = m;
	w->tid = posix_tid();
	bool in = signals_enter();
	w->priority = 0;
	list_push_back(&waits, &w->link);
	store_relaxed(&waiters, waiters + 1);
	if (own_of(w->tid, &own, &kernel))
		lend(w, real_time(&own));
	settle_owner(m);
	signals_leave(in);
}

void protocol_waited(struct protocol_wait *w)
{
	bool in = signals_enter();
	list_del(&w->link);
	store_relaxed(&waiters, waiters - 1);
	lend(w, 0);
	settle_owner(w->m);
	signals_leave(in);
}

static void settle_self(const uint32_t *count)
{
	fence_seq_cst();
	if (likely(!load_seq_cst(count)) || !can_enter())
		return;
	bool in = signals_enter();
	settle(posix_tid());
	signals_leave(in);
}

void protocol_owned(void)
{
	settle_self(&lenders);
}

void protocol_freed(void)
{
	settle_self(&raised);
}

/* ---- ceilings ---- */

/* True of any user thread: own_of tells. */
static bool may_be_real_time(void)
{
	struct sched_param param = { 0 };

	if (!posix_self_tls.thread)
		sys2(SYS_sched_getparam, 0, &param);
	return posix_self_tls.thread || param.sched_priority;
}

int protocol_enter(int ceiling)
{
	struct sched_own own;
	struct raise *r;
	long err = 0;
	int kernel;

	if (!may_be_real_time() || !can_enter())
		return 0;
	bool in = signals_enter();
	if (!own_of(posix_tid(), &own, &kernel) || real_time(&own) > ceiling) {
		err = -EINVAL;
	} else if (real_time(&own)) {
		r = raise_begins(posix_tid());
		if (r)
			r->ceilings[ceiling]++;
		err = r ? apply(r) : 0;
		if (err && r->tid) {
			r->ceilings[ceiling]--;
			apply(r);
		}
	}
	signals_leave(in);
	return -(int)err;
}

void protocol_leave(int ceiling)
{
	struct raise *r;

	if (!load_seq_cst(&raised) || !can_enter())
		return;
	bool in = signals_enter();
	r = raise_of(posix_tid());
	if (r && r->ceilings[ceiling]) {
		r->ceilings[ceiling]--;
		apply(r);
	}
	signals_leave(in);
}

/* ---- the thread's own policy ---- */

void protocol_policy(uint32_t tid, const struct sched_own *a)
{
	struct raise *r = raise_of(tid);
	struct protocol_wait *w = wait_of(tid);

	if (r) {
		r->own.policy = a->policy;
		r->own.priority = a->priority;
		memcpy(r->own.deadline, a->deadline, sizeof(a->deadline));
		apply(r);
	}
	if (w) {
		lend(w, real_time(a));
		settle_owner(w->m);
	}
}

void protocol_kernels(uint32_t tid, int policy, int priority)
{
	struct sched_own a = { .policy = (uint32_t)policy,
			       .priority = (uint32_t)priority };

	if (likely(!load_seq_cst(&raised) && !load_relaxed(&waiters)) || !can_enter())
		return;
	bool in = signals_enter();
	protocol_policy(tid, &a);
	signals_leave(in);
}

bool protocol_own(uint32_t tid, int *policy, int *priority)
{
	const struct raise *r;

	if (likely(!load_seq_cst(&raised)) || !can_enter())
		return false;
	bool in = signals_enter();
	r = raise_of(tid);
	if (r) {
		*policy = (int)r->own.policy;
		*priority = (int)r->own.priority;
	}
	signals_leave(in);
	return r;
}

void protocol_forked(void)
{
	list_init(&waits);
	lenders = raised = 0;
	memset(raises, 0, sizeof(raises));
}
