/* SPDX-License-Identifier: Apache-2.0 */
/* pt_lock.c - the mutex.
 *
 * It lies in libc's object, so static initialisers, libc's pthread_mutex_init and tools
 * that print a mutex (gdb) stay right:
 *
 *   __lock    the word of sync/mutex.h (libc's: 0 free, 1 locked, 2 with waiters)
 *   __count   depth of a recursive one, as in libc
 *   __owner   posix_tid() of the owner, as in libc; 0 while it passes from one to the
 *             next
 *   __nusers  its owner, and the threads that wait on a condition with it, as in libc:
 *             for pthread_mutex_destroy's EBUSY
 *   __kind    libc's, but a private robust mutex is not marked as shared
 *   __spins   robust: enum robust_state; priority-protected: the ceiling
 *   __list    robust: link in its owner's list; else the owner's descriptor, for
 *             spinning
 *
 *   kind                       whose code
 *   any type, private          ours
 *   priority-inheriting,       ours; pt_protocol.c raises the owner's priority
 *   priority-protected
 *   robust, private            ours: at a thread's end its list is walked
 *   process-shared             libc's (pt_shared.c)
 *
 * Uncontended, lock and unlock are one CAS and a few stores; the runtime is neither
 * entered nor started. Contended, all threads wait in the futex table, kernel threads
 * as well.
 *
 * A caller that cannot wait there polls: a signal handler, or a malloc, that runs
 * inside the runtime (it may not park), and a kernel thread for whose descriptor there
 * is no memory.
 *
 * Rejected: libc's own functions with a hand-off (each waiter holds a carrier: 400
 * threads at one mutex are 400 kernel threads). */
#include <limits.h>
#include <sched.h>

#include "base/sys.h"
#include "preload/pt_lock.h"
#include "preload/pt_protocol.h"

enum robust_state {
	ROBUST_FINE,
	ROBUST_DEAD,  /* its owner has ended; nobody holds it */
	ROBUST_TOLD,  /* its new owner got EOWNERDEAD, and has not made it consistent */
	ROBUST_BROKEN /* it never became consistent: ENOTRECOVERABLE */
};

#define POLL_YIELDS 20u
#define POLL_NAP (50 * NS_PER_US)

static uint64_t *hint_of(pthread_mutex_t *m)
{
	return unlikely(m->__data.__kind & KIND_ROBUST)
		   ? NULL
		   : (uint64_t *)(void *)&m->__data.__list;
}

static struct list *link_of(pthread_mutex_t *m)
{
	return (struct list *)(void *)&m->__data.__list;
}

static int type_of(const pthread_mutex_t *m)
{
	return m->__data.__kind & KIND_TYPE;
}

/* ---- taking it ---- */

/* After its word was taken. Plain stores: a thread that reads these fields without
 * holding the mutex sees at most that another thread owns it, or nobody. */
static inline void own(pthread_mutex_t *m, uint32_t me)
{
	uint64_t *hint = hint_of(m);

	if (hint)
		store_relaxed(hint, (uintptr_t)thread_self_tls);
	store_relaxed(&m->__data.__owner, (int)me);
	m->__data.__count = 1;
	m->__data.__nusers++;
}

/* Without waiting in the runtime: polls. */
static COLD int poll_word(pthread_mutex_t *m, int64_t deadline)
{
	struct timespec nap = { 0, POLL_NAP };

	for (unsigned n = 0; !mutex_try(mutex_word(m)); n++) {
		if (deadline != TIME_NEVER && sys_now() >= deadline)
			return ETIMEDOUT;
		if (n < POLL_YIELDS)
			sys0(SYS_sched_yield);
		else
			sys2(SYS_nanosleep, &nap, NULL);
	}
	return 0;
}

static int wait_word(pthread_mutex_t *m, int64_t deadline, bool woken)
{
	bool inherits = m->__data.__kind & KIND_INHERIT;
	struct protocol_wait lends;
	struct mutex_wait how = { .deadline = deadline,
				  .owner = hint_of(m),
				  .kind = WAIT_PTHREAD_MUTEX,
				  .woken = woken };
	int r;

	if (unlikely(rt_in_runtime() || rt_adopt()))
		return poll_word(m, deadline);
	do {
		struct uk_thread *t = rt_enter();

		if (unlikely(inherits))
			protocol_waits(&lends, m);
		r = mutex_lock_wait(mutex_word(m), t, &how);
		if (unlikely(inherits))
			protocol_waited(&lends);
		rt_exit(); /* signal handlers run here */
	} while (posix_waits_on(r));
	return -r;
}

static void give_word(pthread_mutex_t *m)
{
	if (likely(mutex_drop(mutex_word(m))) ||
	    !(load_relaxed(mutex_word(m)) & M_LOCKED))
		return;
	rt_adopt();
	mutex_release(mutex_word(m), hint_of(m), rt_enter());
	rt_exit();
}

/* The caller does not own it any more. */
static void let_go(pthread_mutex_t *m)
{
	int kind = m->__data.__kind, ceiling = m->__data.__spins;

	store_relaxed(&m->__data.__owner, 0);
	m->__data.__nusers--;
	give_word(m);
	if (kind & KIND_INHERIT)
		protocol_freed();
	if (kind & KIND_PROTECT)
		protocol_leave(ceiling);
}

/* ---- robust ones ---- */

#define ROBUST_LIMIT 2048

typedef __typeof__(((pthread_mutex_t *)0)->__data.__spins) robust_word; /* or an int */

static robust_word *robust_of(pthread_mutex_t *m)
{
	return &m->__data.__spins;
}

static void robust_hold(pthread_mutex_t *m)
{
	struct list *held = &posix_self_tls.robust;

	if (!held->next)
		list_init(held);
	if (!posix_self_tls.thread && list_empty(held))
		posix_end_counts();
	list_push_back(held, link_of(m));
}

/* The caller holds its word. */
static int robust_got(pthread_mutex_t *m, uint32_t me)
{
	if (*robust_of(m) == ROBUST_BROKEN) {
		give_word(m);
		return ENOTRECOVERABLE;
	}
	own(m, me);
	robust_hold(m);
	if (*robust_of(m) == ROBUST_FINE)
		return 0;
	m->__data.__nusers--; /* its dead owner is still counted */
	*robust_of(m) = ROBUST_TOLD;
	return EOWNERDEAD;
}

/* The same for any kind. */
static int got(pthread_mutex_t *m, uint32_t me)
{
	int r = 0;

	if (m->__data.__kind & KIND_ROBUST)
		r = robust_got(m, me);
	else
		own(m, me);
	if (m->__data.__kind & KIND_INHERIT)
		protocol_owned();
	return r;
}

static int robust_unlock(pthread_mutex_t *m)
{
	if ((uint32_t)load_relaxed(&m->__data.__owner) != posix_tid())
		return EPERM;
	if (*robust_of(m) != ROBUST_FINE)
		*robust_of(m) = ROBUST_BROKEN;
	else if (type_of(m) == PTHREAD_MUTEX_RECURSIVE_NP && --m->__data.__count)
		return 0;
	list_del(link_of(m));
	let_go(m);
	return 0;
}

/* As in the kernel, at most ROBUST_LIMIT: if the program has reused the memory of a
 * mutex, the list may be broken or circular. */
void posix_robust_died(void)
{
	struct list *held = &posix_self_tls.robust, *l;

	for (int n = 0; n < ROBUST_LIMIT && held->next && (l = list_pop_front(held));
	     n++) {
		pthread_mutex_t *m = container_of(l, pthread_mutex_t, __data.__list);

		if (*robust_of(m) != ROBUST_BROKEN)
			*robust_of(m) = ROBUST_DEAD;
		store_relaxed(&m->__data.__owner, 0);
		give_word(m);
	}
}

void posix_robust_forked(void)
{
	posix_self_tls.robust = (struct list){ NULL, NULL };
}

LIBC_API int pthread_mutex_consistent(pthread_mutex_t *m)
{
	int kind = m->__data.__kind;

	if (kind >= 0 && kind & KIND_SHARED)
		return shared_consistent(m);
	if (!(kind & KIND_ROBUST) || *robust_of(m) != ROBUST_TOLD)
		return EINVAL;
	*robust_of(m) = ROBUST_FINE;
	return 0;
}

/* ---- lock ---- */

static bool is_simple(int kind)
{
	return !(kind & (KIND_ROBUST | KIND_INHERIT | KIND_PROTECT));
}

/* The caller holds it already. */
static int again(pthread_mutex_t *m, bool waits)
{
	switch (type_of(m)) {
	case PTHREAD_MUTEX_RECURSIVE_NP:
		if (m->__data.__count == UINT_MAX)
			return EAGAIN;
		m->__data.__count++;
		return 0;
	case PTHREAD_MUTEX_ERRORCHECK_NP:
		return waits || !is_simple(m->__data.__kind) ? EDEADLK : EBUSY;
	default:
		return -1; /* it deadlocks with itself, as natively */
	}
}

/* abs: NULL, or a deadline, which is read only if the caller must wait. */
static NOINLINE int lock_slowly(pthread_mutex_t *m, clockid_t clock,
				const struct timespec *abs)
{
	int kind = m->__data.__kind, r = -1;
	uint32_t me = posix_tid();

	if (kind < 0)
		return EINVAL;
	if (kind & KIND_SHARED)
		return shared_lock(m, clock, abs);
	if ((uint32_t)load_relaxed(&m->__data.__owner) == me)
		r = again(m, true);
	if (r >= 0)
		return r;
	if (kind & KIND_PROTECT)
		r = protocol_enter(m->__data.__spins);
	if (r > 0)
		return r;
	if (!mutex_try(mutex_word(m))) {
		int64_t deadline = posix_deadline(clock, abs);

		/* before 1970: the kernel refuses it for an inheriting mutex, else it
		 * is past */
		r = deadline == -EINVAL ||
			    (abs && abs->tv_sec < 0 && kind & KIND_INHERIT)
			? EINVAL
			: wait_word(m, deadline, false);
		if (r && kind & KIND_PROTECT)
			protocol_leave(m->__data.__spins);
		if (r)
			return r;
	}
	return got(m, me);
}

/* Private, not robust, and without a protocol, as nearly all are. */
static inline bool is_plain(int kind)
{
	return likely(
	    !(kind & (KIND_SHARED | KIND_ROBUST | KIND_INHERIT | KIND_PROTECT)));
}

static inline bool lock_fast(pthread_mutex_t *m)
{
	if (!is_plain(m->__data.__kind) || !mutex_try(mutex_word(m)))
		return false;
	own(m, posix_tid());
	return true;
}

LIBC_API int pthread_mutex_lock(pthread_mutex_t *m)
{
	if (likely(lock_fast(m)))
		return 0;
	return lock_slowly(m, CLOCK_REALTIME, NULL);
}
ALSO(pthread_mutex_lock, __pthread_mutex_lock);

LIBC_API int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock,
				     const struct timespec *abs)
{
	if (!posix_clock_ok(clock))
		return EINVAL;
	if (likely(lock_fast(m)))
		return 0;
	return lock_slowly(m, clock, abs);
}

LIBC_API int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *abs)
{
	return pthread_mutex_clocklock(m, CLOCK_REALTIME, abs);
}

LIBC_API int pthread_mutex_trylock(pthread_mutex_t *m)
{
	int kind = m->__data.__kind, r = -1;
	uint32_t me = posix_tid();

	if (unlikely(kind < 0))
		return EINVAL;
	if (unlikely(kind & KIND_SHARED))
		return shared_trylock(m);
	if ((uint32_t)load_relaxed(&m->__data.__owner) == me)
		r = again(m, false);
	if (r >= 0)
		return r;
	if (kind & KIND_PROTECT)
		r = protocol_enter(m->__data.__spins);
	if (r > 0)
		return r;
	if (!mutex_try(mutex_word(m))) {
		if (kind & KIND_PROTECT)
			protocol_leave(m->__data.__spins);
		return EBUSY;
	}
	return got(m, me);
}
ALSO(pthread_mutex_trylock, __pthread_mutex_trylock);

/* ---- unlock ---- */

static NOINLINE int unlock_slowly(pthread_mutex_t *m)
{
	int kind = m->__data.__kind;

	if (kind < 0)
		return EINVAL;
	if (kind & KIND_SHARED)
		return shared_unlock(m);
	if (kind & KIND_ROBUST)
		return robust_unlock(m);
	if ((type_of(m) == PTHREAD_MUTEX_RECURSIVE_NP ||
	     type_of(m) == PTHREAD_MUTEX_ERRORCHECK_NP) &&
	    (uint32_t)load_relaxed(&m->__data.__owner) != posix_tid())
		return EPERM;
	if (type_of(m) == PTHREAD_MUTEX_RECURSIVE_NP && --m->__data.__count)
		return 0;
	let_go(m);
	return 0;
}

LIBC_API int pthread_mutex_unlock(pthread_mutex_t *m)
{
	if (unlikely(!is_plain(m->__data.__kind) ||
		     (type_of(m) != PTHREAD_MUTEX_TIMED_NP &&
		      type_of(m) != PTHREAD_MUTEX_ADAPTIVE_NP)))
		return unlock_slowly(m);
	store_relaxed(&m->__data.__owner, 0);
	m->__data.__nusers--;
	if (unlikely(!mutex_drop(mutex_word(m))))
		give_word(m);
	return 0;
}
ALSO(pthread_mutex_unlock, __pthread_mutex_unlock);

/* ---- for conditions ---- */

int lock_leaves(const pthread_mutex_t *m, bool *goes)
{
	int type = type_of(m);

	*goes = type != PTHREAD_MUTEX_RECURSIVE_NP || m->__data.__count == 1;
	return (m->__data.__kind & KIND_ROBUST || type == PTHREAD_MUTEX_RECURSIVE_NP ||
		type == PTHREAD_MUTEX_ERRORCHECK_NP) &&
		       (uint32_t)load_relaxed(&m->__data.__owner) != posix_tid()
		   ? EPERM
		   : 0;
}

void lock_leave(pthread_mutex_t *m)
{
	m->__data.__nusers++; /* a waiter still uses it */
	pthread_mutex_unlock(m);
}

int lock_return(pthread_mutex_t *m, bool woken, bool handed)
{
	uint32_t me = posix_tid();
	int r;

	if (!handed && (uint32_t)load_relaxed(&m->__data.__owner) == me)
		return again(m, true);
	if (m->__data.__kind & KIND_PROTECT)
		protocol_enter(m->__data.__spins);
	if (!handed && (woken || !mutex_try(mutex_word(m))))
		wait_word(m, TIME_NEVER, woken);
	r = got(m, me);
	if (r == ENOTRECOVERABLE)
		return r;
	m->__data.__nusers--;
	return r;
}

/* ---- what libc keeps elsewhere ---- */

/* libc treats a robust mutex as shared, because the kernel has to mark it, and keeps
 * the ceiling in the word. */
static COLD void init_ours(pthread_mutex_t *m)
{
	int ceiling;

	if (m->__data.__kind & KIND_PROTECT) {
		NEXT(pthread_mutex_getprioceiling)(m, &ceiling);
		m->__data.__lock = 0;
		m->__data.__spins = (short)ceiling;
	}
	m->__data.__kind &= ~KIND_SHARED;
}

LIBC_API int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *a)
{
	int shared = PTHREAD_PROCESS_PRIVATE, r = NEXT(pthread_mutex_init)(m, a);

	if (unlikely(!r && a && m->__data.__kind & (KIND_ROBUST | KIND_PROTECT))) {
		pthread_mutexattr_getpshared(a, &shared);
		if (shared == PTHREAD_PROCESS_PRIVATE)
			init_ours(m);
	}
	return r;
}
ALSO(pthread_mutex_init, __pthread_mutex_init);

LIBC_API int pthread_mutex_getprioceiling(const pthread_mutex_t *m, int *ceiling)
{
	if (m->__data.__kind & KIND_SHARED || !(m->__data.__kind & KIND_PROTECT))
		return NEXT(pthread_mutex_getprioceiling)(m, ceiling);
	*ceiling = m->__data.__spins;
	return 0;
}

LIBC_API int pthread_mutex_setprioceiling(pthread_mutex_t *m, int ceiling, int *old)
{
	int r = -1;

	if (m->__data.__kind & KIND_SHARED || !(m->__data.__kind & KIND_PROTECT))
		return NEXT(pthread_mutex_setprioceiling)(m, ceiling, old);
	if (ceiling < sched_get_priority_min(SCHED_FIFO) ||
	    ceiling > sched_get_priority_max(SCHED_FIFO))
		return EINVAL;
	if ((uint32_t)load_relaxed(&m->__data.__owner) == posix_tid())
		r = again(m, true);
	if (r > 0)
		return r;
	if (r < 0 && !mutex_try(mutex_word(m)))
		wait_word(m, TIME_NEVER, false);
	*old = m->__data.__spins;
	m->__data.__spins = (short)ceiling;
	if (r < 0) {
		give_word(m);
	} else {
		m->__data.__count--;
		protocol_enter(ceiling);
		protocol_leave(*old);
	}
	return 0;
}
