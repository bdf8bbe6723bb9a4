/* SPDX-License-Identifier: Apache-2.0 */
/* The spin lock never parks. The kernel thread spins, and yields its CPU (sched_yield)
 * when the holder seems to be preempted, because there may be more carriers than CPUs.
 */
#include "base/sys.h"
#include "sched/sched.h"
#include "uk/sync.h"

#define SPINS 200 /* pauses before the CPU is yielded */

static void relax(unsigned *spins)
{
	if (++*spins % SPINS)
		cpu_relax();
	else
		sys0(SYS_sched_yield);
}

void uk_spin_lock(uk_spin *l)
{
	unsigned spins = 0;

	for (;;) {
		/* acquire: pairs with the release in unlock */
		if (likely(xchg_acquire(&l->word, 1) == 0))
			return;
		while (load_relaxed(&l->word)) /* spin on a shared line */
			relax(&spins);
	}
}

int uk_spin_trylock(uk_spin *l)
{
	return xchg_acquire(&l->word, 1) == 0 ? 0 : -EBUSY;
}

void uk_spin_unlock(uk_spin *l)
{
	store_release(&l->word, 0);
}
