/* SPDX-License-Identifier: Apache-2.0 */
/* pt_cond.c - pthread_cond. Ours is a uk_cond at the start of libc's object. libc's
 * word of flags (is it process-shared, which clock) stays where libc keeps it. Its
 * place is found at run time, because it changed in 2.41.
 *
 *   condition  mutex    how threads wait
 *   private    private  in the futex table; a signal moves the waiter to the mutex's
 *                       queue
 *   shared     shared   in libc's code (pt_shared.c)
 *   shared     private  in the futex table: only threads of this process can wait with
 *                       that mutex. A signal looks there first, then in libc's code
 *   private    shared   as shared, shared; from then on the condition is shared
 *
 * A wait is a cancellation point, and cleanup handlers find the mutex locked. A
 * signal's handler runs in the middle of the wait, without the mutex, as natively, so
 * it may wait for a thread that holds the mutex. The waiter is out of the queue
 * meanwhile. If nobody was signalled until the handler returns, the thread continues to
 * wait. With a shared condition the handler causes a spurious wake-up, which POSIX
 * allows.
 *
 * A handler may also end the thread, by pthread_exit or as a cancellation point. This
 * file is compiled with -fexceptions: the unwinder calls `end`, which takes the mutex
 * again before the program's cleanup handlers run. A thread that leaves the handler by
 * siglongjmp holds the mutex after the jump, as natively. */
#include "preload/pt_lock.h"
#include "sync/cond.h"
#include "uk/sync.h"

#define FLAG_SHARED 1u
#define FLAG_MONOTONIC 2u

struct libc_cond {
	uk_cond core;
	struct cond_away away;
};
_Static_assert(sizeof(struct libc_cond) <= 16, "does not reach libc's flags");

static uint32_t flags_at; /* offset in the object, in words; 0: not found yet */
static uint32_t mixed;    /* a thread has waited on a shared one with a private mutex */

static COLD uint32_t learn_flags(void)
{
	union {
		pthread_cond_t c;
		uint32_t w[sizeof(pthread_cond_t) / sizeof(uint32_t)];
	} u;
	pthread_condattr_t a;
	uint32_t at = 0;

	pthread_condattr_init(&a);
	pthread_condattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&u.c, &a);
	for (uint32_t i = sizeof(struct libc_cond) / sizeof(uint32_t);
	     i < array_size(u.w); i++)
		if (u.w[i] == (FLAG_SHARED | FLAG_MONOTONIC))
			at = i;
	if (!at)
		uk_panic(
		    "the preload library does not know this libc's pthread_cond_t");
	store_relaxed(&flags_at, at);
	return at;
}

static inline uint32_t *flags_of(pthread_cond_t *c)
{
	uint32_t at = load_relaxed(&flags_at);

	return (uint32_t *)(void *)c + (likely(at) ? at : learn_flags());
}

static inline bool is_shared(pthread_cond_t *c)
{
	return load_relaxed(flags_of(c)) & FLAG_SHARED;
}

static struct cond core_of(pthread_cond_t *c, bool shared)
{
	struct libc_cond *ours = (struct libc_cond *)(void *)c;

	return (struct cond){ .key = c,
			      .waiters = shared ? NULL : &ours->core.waiters,
			      .away = shared ? NULL : &ours->away,
			      .kind = shared ? WAIT_FUTEX : WAIT_COND };
}

struct stay {
	struct cond cond;
	struct futex_node n;
	pthread_mutex_t *m;
	bool away;  /* a handler runs in the middle of the wait */
	bool out;   /* the mutex is not taken again yet */
	bool woken; /* as cond_settle tells */
};

static int take_back(struct stay *s)
{
	s->out = false;
	return lock_return(s->m, s->woken, s->n.state == FUTEX_HANDED);
}

/* Ends the wait, by return, unwinding or a jump; acts once. */
static void end(struct stay *s)
{
	if (s->away)
		cond_gone(&s->cond);
	s->away = false;
	if (s->out)
		take_back(s);
}

/* libc's list of what a jump has to undo; libc uses it for this wait, too. */
extern void _pthread_cleanup_push(struct _pthread_cleanup_buffer *, void (*)(void *),
				  void *);
extern void _pthread_cleanup_pop(struct _pthread_cleanup_buffer *, int execute);

static void jumped(void *stay)
{
	end(stay);
}

/* A signal has cut the wait short. Its handler runs, without the mutex. True: the wait
 * goes on. */
static bool goes_on(struct stay *s)
{
	struct _pthread_cleanup_buffer left;
	uint32_t wakes;

	if (!s->cond.away || !cond_leave(&s->cond, &s->n, &wakes))
		return false;
	s->away = true;
	_pthread_cleanup_push(&left, jumped, s);
	rt_exit();
	_pthread_cleanup_pop(&left, 0);
	s->away = false;
	return cond_return(&s->cond, rt_enter(), &s->n, wakes);
}

static NOINLINE int wait_here(pthread_cond_t *c, pthread_mutex_t *m, bool shared,
			      int64_t deadline)
{
	struct stay s __attribute__((cleanup(end))) = { .cond = core_of(c, shared),
							.n.tag = WAIT_PTHREAD_MUTEX,
							.m = m };
	bool signalled, goes;
	struct uk_thread *t;
	unsigned why;
	int r = lock_leaves(m, &goes);

	if (r)
		return r;
	if (goes && !(m->__data.__kind & KIND_INHERIT)) /* else it lends its priority */
		s.n.arg = mutex_word(m);
	rt_adopt();
	t = rt_enter();
	cond_queue(&s.cond, t, &s.n);
	lock_leave(m);
	s.out = true;
	do
		why = wait_park(s.n.thread, s.n.token, deadline);
	while (why == WAKE_SIGNAL && goes_on(&s));
	signalled = cond_settle(&s.cond, &s.n, why, &s.woken);
	rt_exit();
	r = take_back(&s);
	if (r || signalled)
		return r;
	posix_again(wake_error(why), false);
	return why == WAKE_TIMEOUT ? ETIMEDOUT : 0;
}

static int wait_until(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
		      const struct timespec *abs)
{
	bool shared = is_shared(c);

	if (unlikely(!lock_is_ours(m))) {
		if (!shared)
			fetch_or_acq_rel(flags_of(c), FLAG_SHARED);
		return shared_wait(c, m, clock, abs);
	}
	if (unlikely(shared))
		store_seq_cst(&mixed, 1);
	posix_testcancel();
	return wait_here(c, m, shared, posix_deadline(clock, abs));
}

LIBC_API int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	return wait_until(c, m, CLOCK_REALTIME, NULL);
}

LIBC_API int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
				    const struct timespec *abs)
{
	bool monotonic = load_relaxed(flags_of(c)) & FLAG_MONOTONIC;

	if (!posix_time_ok(abs))
		return EINVAL;
	return wait_until(c, m, monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME, abs);
}

LIBC_API int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m,
				    clockid_t clock, const struct timespec *abs)
{
	if (!posix_time_ok(abs) || !posix_clock_ok(clock))
		return EINVAL;
	return wait_until(c, m, clock, abs);
}

/* After a broadcast the program may destroy the condition at once, though a waiter may
 * still run a handler: wait for that. */
LIBC_API int pthread_cond_destroy(pthread_cond_t *c)
{
	const struct libc_cond *ours = (const struct libc_cond *)(void *)c;

	if (unlikely(!is_shared(c) && !cond_nobody_away(&ours->away))) {
		rt_adopt();
		while (posix_waits_on(cond_await_away(&ours->away)) ||
		       !cond_nobody_away(&ours->away))
			;
	}
	return NEXT(pthread_cond_destroy)(c);
}

/* Wakes at most `most` waiters of those in the futex table. */
static uint32_t wake(pthread_cond_t *c, bool shared, uint32_t most)
{
	struct cond cond = core_of(c, shared);

	if (shared ? !load_seq_cst(&mixed) : !load_relaxed(cond.waiters))
		return 0;
	rt_adopt();
	return cond_wake(&cond, most);
}

LIBC_API int pthread_cond_signal(pthread_cond_t *c)
{
	bool shared = is_shared(c);
	uint32_t woken = wake(c, shared, 1);

	return likely(!shared) || woken ? 0 : NEXT(pthread_cond_signal)(c);
}

LIBC_API int pthread_cond_broadcast(pthread_cond_t *c)
{
	bool shared = is_shared(c);

	wake(c, shared, UINT32_MAX);
	return likely(!shared) ? 0 : NEXT(pthread_cond_broadcast)(c);
}
