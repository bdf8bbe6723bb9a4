/* SPDX-License-Identifier: Apache-2.0 */
/* pi.c - syscall(SYS_futex, FUTEX_LOCK_PI, ...PRIVATE) and its like. The word holds its owner's
 * gettid(), which of a user thread the kernel does not know, so those of one process are ours:
 *
 *   0 --cas, the program's or LOCK's--> tid
 *   tid --LOCK by another------------> tid | WAITERS     he is in the table of waiters
 *   tid | WAITERS --UNLOCK-----------> the oldest waiter's tid, with WAITERS if there are more
 *   tid --cas, the program's---------> 0
 *
 * Nobody's priority is inherited: user threads have none that the kernel acts upon.
 *
 * Invariant: while somebody waits the word is not free, and has WAITERS. The waiters of a word
 * are queued at the byte after its first, where no other futex is: a FUTEX_WAKE is not for them.
 * Who ends as an owner is the owner for ever. (Natively the kernel hands it on if somebody waits
 * already; who comes later gets ESRCH.) */
#include "posix/pi.h"

#include <linux/futex.h>
#include <unistd.h>

#include "sync/futex.h"

static const void *key_of(const uint32_t *word)
{
	return (const char *)word + 1;
}

/* Under the lock: 0, -EDEADLK, -EAGAIN. */
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
	struct futex_bucket *b = futex_lock(key_of(word));
	int r = take(b, word, me, waits);
	unsigned why;

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

	(void)load_acquire(word); /* faults the page in, without a lock */
	do
		r = lock_once(word, me, waits, deadline);
	while (posix_waits_on(r));
	return r;
}

/* Under the lock: to the oldest waiter, if there is one. */
static void hand_on(struct futex_bucket *b, uint32_t *word)
{
	struct futex_node *n = futex_first(b, key_of(word));
	uint32_t to = n ? (uint32_t)(uintptr_t)n->arg : 0;

	if (n)
		futex_take(n, FUTEX_HANDED);
	if (futex_first(b, key_of(word)))
		to |= FUTEX_WAITERS;
	store_release(word, to);
	if (n) /* if another reason was first he finds HANDED */
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
