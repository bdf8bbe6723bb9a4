/* SPDX-License-Identifier: Apache-2.0 */
/* The slow half of the runtime's own lock, and the rank check of debug builds. */
#include "base/lock.h"

#include "base/panic.h"
#include "base/sys.h"

#define LOCK_SPINS 60

#ifdef FENCES_AS_RMW
uint32_t fence_word;
#endif

void lock_slow(struct lock *l)
{
	for (int i = 0; i < LOCK_SPINS; i++) {
		uint32_t old = 0;

		cpu_relax();
		if (load_relaxed(&l->word) == 0 && cas_acquire(&l->word, &old, 1))
			return;
	}
	while (xchg_acquire(&l->word, 2) != 0)
		sys_futex_wait(&l->word, 2, TIME_NEVER);
}

void lock_wake(struct lock *l)
{
	sys_futex_wake(&l->word, 1);
}

#if UK_DEBUG
/* Locks are never held across a switch, so the carrier's TLS is the right place; light and
 * full threads alike leave it as they found it. */
static __thread uint32_t held
    __attribute__((tls_model("initial-exec"))); /* bit per rank */

void lock_rank_enter(struct lock *l)
{
	if (l->rank == RANK_NONE)
		return;
	if (held >> l->rank)
		uk_panic("lock rank %u taken while ranks %#x are held", l->rank, held);
	held |= 1u << l->rank;
}

void lock_rank_leave(struct lock *l)
{
	if (l->rank != RANK_NONE)
		held &= ~(1u << l->rank);
}
#endif
