/* SPDX-License-Identifier: Apache-2.0 */
/* scarce.c - a creator who finds no memory asks all vps for what they have cached: the table
 * is in mem/scarce.h. Each vp's dispatcher gives it to the shared pools, at its next pass; a vp
 * whose thread computes for long is moved to another carrier first, so there is a limit to
 * the wait: natively, too, one may be told that there is no memory a moment before there is.
 *
 * Runs on the creator, in the runtime, which parks meanwhile. A dispatcher that finds no
 * memory for a thread's first run asks and does not wait: it comes again. */
#include "mem/scarce.h"

#include "sched/body.h"

#define GATHER_MOST NS_PER_SEC
#define GATHER_LOOK (NS_PER_MS / 10)

void vp_ask_flush(struct uk_vp *vp)
{
	store_seq_cst(&vp->flush,
		      1); /* pairs with the look before a vp sleeps (idle) */
	/* release: who sees the nudge, and clears it, sees what for */
	store_release(&vp->nudge, 1);
	vp_kick(vp);
}

static bool ask_all(void)
{
	uint32_t n = load_acquire(&vp_count_all);

	if (!mem_scarce_step(MEM_REFUSED, MEM_GATHERING))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!vp_all[i]->reactive)
			vp_ask_flush(vp_all[i]);
	return true;
}

static bool all_gave(void)
{
	uint32_t n = load_acquire(&vp_count_all);

	for (uint32_t i = 0; i < n; i++)
		/* acquire: what it gave is in the pools (pairs with dispatch) */
		if (load_acquire(&vp_all[i]->flush))
			return false;
	return true;
}

void memory_ask(void)
{
	ask_all();
}

bool memory_gather(struct uk_thread *me)
{
	int64_t until = sys_now() + GATHER_MOST, now;

	if (!ask_all() && load_relaxed(&mem_scarce) != MEM_GATHERING)
		return false;
	while (!all_gave() && (now = sys_now()) < until &&
	       load_relaxed(&mem_scarce) == MEM_GATHERING)
		wait_park(me, wait_begin_uncancelable(me, WAIT_STACK, NULL),
			  MIN(now + GATHER_LOOK, until));
	mem_scarce_step(MEM_GATHERING, MEM_GATHERED);
	return true;
}
