/* SPDX-License-Identifier: Apache-2.0 */
/* pt_pi.c - syscall(SYS_futex, FUTEX_LOCK_PI, ...) and the like. The word holds its
 * owner's gettid(). The kernel does not know that of a user thread, so private PI
 * futexes are ours:
 *
 *   0 --cas, program's or LOCK's---> tid
 *   tid --LOCK by another----------> tid | WAITERS   it waits in the futex table
 *   tid | WAITERS --UNLOCK---------> the oldest waiter's tid; with WAITERS if more wait
 *   tid --cas, the program's-------> 0
 *
 * No priority is inherited: the kernel acts upon none of a user thread.
 *
 * Invariant: while a thread waits, the word is not free, and has WAITERS. The waiters
 * of a word are queued under the address of its second byte, where no other futex is,
 * so a FUTEX_WAKE does not find them. A thread that ends as an owner is the owner for
 * ever. (Natively the kernel passes the word on if a thread waits already; a thread
 * that comes later gets ESRCH.) */
#include "preload/pt_pi.h"

#include <linux/futex.h>
#include <unistd.h>

#include "sync/futex.h"

static const void *key_of(const uint32_t *word)
{
	return (const char *)word + 1;
}

/* Under the bucket's lock: 0, -EDEADLK, -EAGAIN. */
static int take(struct futex_bucket *b, uint32_t *word, uint32_t me, bool waits)
{
	uint32_t v = load_acquire(word), to;
	bool is_free;

	do {
		if ((v & FUTEX_TID_MASK) == me)
			return -EDEADLK;
		is_free = !(v & FUTEX_TID_MASK);
		if (!is_free && !waits)
			return -EAGAIN;
		to = v | (is_free ? me : FUTEX_WAITERS);
		if (is_free && futex_first(b, key_of(word)))
			to |= FUTEX_WAITERS;
	} while (!cas_seq_cst(word, &v, to));
	return is_free ? 0 : -EAGAIN;
}

static int lock_once(uint32_t *word, uint32_t me, bool waits, int64_t deadline)
{
	struct futex_node n = { .arg = (void *)(uintptr_t)me };
	struct uk_thread *t = rt_enter();
	struct futex_bucket *b;
	unsigned why;
	int r;

	futex_rank(&n, t);
	b = futex_lock(key_of(word));
	r = take(b, word, me, waits);
	if (r != -EAGAIN || !waits) {
		futex_unlock(b);
		rt_exit();
		return r;
	}
	futex_push(b, &n, key_of(word), t, wait_begin(t, WAIT_FUTEX, word), false);
	futex_unlock(b);
	why = wait_park(t, n.token, deadline);
	if (why != WAKE_OK && futex_leave(&n) == FUTEX_HANDED)
		why = WAKE_OK;
	rt_exit();
	return wake_error(why);
}

long pi_lock(uint32_t *word, bool waits, int64_t deadline)
{
	uint32_t me = (uint32_t)gettid();
	int r;

	(void)load_acquire(word); /* faults the page in, while no lock is held */
	do
		r = lock_once(word, me, waits, deadline);
	while (posix_waits_on(r));
	return r;
}

/* Under the bucket's lock: passes the word to the oldest waiter, if there is one. */
static void hand_on(struct futex_bucket *b, uint32_t *word)
{
	struct futex_node *n = futex_first(b, key_of(word));
	uint32_t to = n ? (uint32_t)(uintptr_t)n->arg : 0;

	if (n)
		futex_take(n, FUTEX_HANDED);
	if (futex_first(b, key_of(word)))
		to |= FUTEX_WAITERS;
	store_release(word, to);
	if (n) /* if another reason won, the waiter finds HANDED */
		wait_fire(n->thread, n->token, WAKE_OK);
}

long pi_unlock(uint32_t *word)
{
	uint32_t me = (uint32_t)gettid();
	struct futex_bucket *b;
	bool owns;

	(void)load_acquire(word);
	rt_enter();
	b = futex_lock(key_of(word));
	owns = (load_relaxed(word) & FUTEX_TID_MASK) == me;
	if (owns)
		hand_on(b, word);
	futex_unlock(b);
	rt_exit();
	return owns ? 0 : -EPERM;
}
