/* SPDX-License-Identifier: Apache-2.0 */
/* The slow path of the runtime's own lock, and the rank check of debug builds. */
#include "base/lock.h"

#include "base/log.h"
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

#if UK_CHECKS
#define X(r) #r,
static const char *const names[] = { "none", LOCK_RANKS(X) };
#undef X

/* Locks are never held across a switch, so the carrier's TLS is the right place. Light
 * and full threads alike leave it as they found it. */
static __thread uint32_t held
    __attribute__((tls_model("initial-exec"))); /* one bit for each rank */

static const char *name_of(uint32_t rank)
{
	return rank < RANK_END ? names[rank] : "invalid";
}

static void check(const struct lock *l)
{
	if (l->rank == RANK_MISSING || l->rank >= RANK_END)
		uk_panic("a lock without a rank (%u)", l->rank);
}

void lock_rank_enter(const struct lock *l)
{
	check(l);
	if (held >> l->rank)
		uk_panic("lock of rank %s taken while one of rank %s is held",
			 name_of(l->rank), name_of(31 - (uint32_t)__builtin_clz(held)));
	held |= 1u << l->rank;
}

void lock_rank_nested(const struct lock *l)
{
	check(l);
	if (!(held >> l->rank & 1))
		uk_panic("nested lock of rank %s taken while none of that rank is held",
			 name_of(l->rank));
}

void lock_rank_leave(const struct lock *l)
{
	if (!(held >> l->rank & 1))
		uk_panic("lock of rank %s released that is not held", name_of(l->rank));
	held &= ~(1u << l->rank);
}

uint32_t lock_ranks_put(void)
{
	uint32_t ranks = held;

	held = 0;
	return ranks;
}

void lock_ranks_take(uint32_t ranks)
{
	held |= ranks;
}
#endif
