/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphore: the value and the number of waiters are in one 64-bit word, so that a post
 * is one atomic step which tells whether a waiter must be woken. After it the semaphore
 * is not touched again, because the thread that got the post may free it.
 *
 *   word: waiters << 32 | value
 *
 * A waiter counts itself first, then checks the value under the bucket's lock; a poster
 * raises the value first, then looks at the count: one of the two sees the other.
 *
 * Post is async-signal-safe. A handler may have interrupted the runtime on this very
 * kernel thread, with a bucket locked or a run queue half changed. Then the wake-up is
 * left to the interrupted code, which does it when it leaves the runtime
 * (rt_defer_wake). What is to be done is kept as one bit for each bucket, so nothing is
 * allocated and nothing can overflow: the deferred pass wakes every semaphore waiter of
 * these buckets whose value is not 0. A kernel thread that never called us has no
 * descriptor that says "inside the runtime", and a post makes none, because it may be
 * called by a handler that interrupted the making of one. The flag `outside` has the
 * same effect while such a thread holds a bucket.
 *
 * Rejected: separate words (post would read the waiters of a freed semaphore, as
 * glibc's once did); a list of posted semaphores (needs memory in the handler).
 */
#include <limits.h>

#include "base/at_load.h"
#include "sync/futex.h"
#include "uk/sync.h"

#define VALUE(w) ((uint32_t)(w))
#define WAITERS(w) ((uint32_t)((w) >> 32))
#define ONE_WAITER ((uint64_t)1 << 32)
#define VALUE_MAX ((uint32_t)INT_MAX)

_Static_assert(sizeof(uk_sem) == 8 && alignof(uk_sem) == 8, "one atomic word");

static uint64_t *word_of(uk_sem *s)
{
	return (uint64_t *)(void *)s;
}

int uk_sem_init(uk_sem *s, uint32_t value)
{
	if (value > VALUE_MAX)
		return -EINVAL;
	*s = (uk_sem){ .value = value };
	return 0;
}

/* Decrement the value, and subtract `leaving` from the word with it. */
static bool take(uk_sem *s, uint64_t leaving)
{
	uint64_t w = load_relaxed(word_of(s));

	while (VALUE(w) > 0)
		/* acquire: we see what the poster did before */
		if (cas_acquire(word_of(s), &w, w - 1 - leaving))
			return true;
	return false;
}

int uk_sem_trywait(uk_sem *s)
{
	return take(s, 0) ? 0 : -EAGAIN;
}

/* Sleep once. True: woken by a post, so try again. */
static bool sleep_once(uk_sem *s, struct uk_thread *t, bool front, int64_t deadline,
		       unsigned *why)
{
	struct futex_node *n = futex_node_of(t);
	struct futex_bucket *b = futex_lock(s);

	if (VALUE(load_seq_cst(word_of(s))) > 0) {
		futex_unlock(b);
		return true;
	}
	n->tag = FUTEX_ANY;
	futex_push(b, n, s, t, wait_begin(t, WAIT_SEM, s), front);
	futex_unlock(b);
	*why = wait_park(t, n->token, deadline);
	if (*why == WAKE_OK)
		return true;
	futex_leave(n);
	return false;
}

static NOINLINE int wait_slow(uk_sem *s, int64_t deadline)
{
	int unable = rt_begin();

	if (unlikely(unable))
		return unable;
	struct uk_thread *t = rt_enter();
	unsigned why = WAKE_OK;
	bool front = false;

	/* seq_cst: counted before the value is checked (pairs with post) */
	fetch_add_seq_cst(word_of(s), ONE_WAITER);
	while (!take(s, ONE_WAITER)) {
		if (!sleep_once(s, t, front, deadline, &why)) {
			__atomic_fetch_sub(word_of(s), ONE_WAITER, __ATOMIC_RELAXED);
			break;
		}
		front = true;
	}
	rt_exit();
	return wake_error(why);
}

int uk_sem_wait_until(uk_sem *s, uk_time deadline)
{
	if (likely(take(s, 0)))
		return 0;
	return wait_slow(s, deadline);
}

int uk_sem_wait(uk_sem *s)
{
	return uk_sem_wait_until(s, TIME_NEVER);
}

/* -- the wake-up that a signal handler leaves behind -- */

static uint64_t pending[FUTEX_BUCKETS / 64]; /* a bit for each bucket; atomic */

/* Under the bucket's lock; the waiter is alive, and so is its semaphore. */
static bool sem_ready(const struct futex_node *n)
{
	return load_relaxed(&n->thread->wkind) == WAIT_SEM &&
	       VALUE(load_seq_cst((const uint64_t *)n->key)) > 0;
}

static void wake_pending(void)
{
	for (unsigned i = 0; i < array_size(pending); i++) {
		uint64_t bits = 0;

		if (load_relaxed(&pending[i]))
			bits = xchg_acq_rel(&pending[i], 0);
		for (; bits; bits &= bits - 1)
			futex_wake_ready(&futex_table[i * 64 + __builtin_ctzll(bits)],
					 sem_ready);
	}
}

AT_LOAD(sem_hook)
{
	hooks.deferred_wake = wake_pending;
}

/* The state of this kernel thread and of the handlers that interrupt it, without a
 * descriptor.
 *
 *   | from   | to     | by                                                    |
 *   | AWAY   | WAKING | a post that must wake a waiter                        |
 *   | WAKING | AGAIN  | a handler's post; it has set a bit in pending         |
 *   | AGAIN  | WAKING | the interrupted code, which then does what is pending |
 *   | WAKING | AWAY   | the same, when it has seen WAKING after its wake-up   |
 */
enum outside { AWAY, WAKING, AGAIN };
static __thread uint8_t outside __attribute__((tls_model("initial-exec")));

static void wake_from_outside(const uk_sem *s)
{
	uint8_t seen = WAKING;

	store_relaxed(&outside, WAKING);
	fence_compiler(); /* a handler sees it before a bucket is locked */
	futex_wake(s, 1, FUTEX_ANY);
	while (!cas_relaxed(&outside, &seen, AWAY)) {
		seen = WAKING;
		store_relaxed(&outside, WAKING);
		fence_compiler(); /* a bit set after this causes another round */
		wake_pending();
	}
}

static NOINLINE void post_slow(uk_sem *s)
{
	unsigned h = futex_hash(s);
	bool inside = rt_in_runtime();

	/* a handler: the code that it interrupted may hold any bucket */
	if (unlikely(inside || load_relaxed(&outside) != AWAY)) {
		fetch_or_acq_rel(&pending[h / 64], 1ULL << h % 64);
		if (!inside)
			store_relaxed(&outside, AGAIN);
		else if (!rt_defer_wake())
			wake_pending();
		return;
	}
	if (!thread_self_tls) {
		wake_from_outside(s);
		return;
	}
	rt_enter_here();
	futex_wake(s, 1, FUTEX_ANY);
	rt_exit_here();
}

int uk_sem_post(uk_sem *s)
{
	uint64_t w = load_relaxed(word_of(s));

	if (unlikely(WAITERS(w)))
		futex_foresee(s); /* prefetched during the CAS */
	do {
		if (VALUE(w) >= VALUE_MAX)
			return -EOVERFLOW;
	} while (!cas_seq_cst(word_of(s), &w, w + 1));
	if (unlikely(WAITERS(w)))
		post_slow(s);
	return 0;
}
