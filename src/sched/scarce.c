/* SPDX-License-Identifier: Apache-2.0 */
/* scarce.c - a creator who finds no memory asks all vps for what they have cached: the table
 * is in mem/scarce.h. Each vp's dispatcher gives it to the shared pools, at its next pass; a vp
 * whose thread computes for long is moved to another carrier first, so there is a limit to
 * the wait: natively, too, one may be told that there is no memory a moment before there is.
 *
 * Runs on the creator, in the runtime, which parks meanwhile; the last vp that gives wakes all who
 * wait. A dispatcher that finds no memory for a thread's first run asks and does not wait: it
 * comes again. */
#include "mem/scarce.h"

#include "base/list.h"
#include "sched/body.h"

#define GATHER_MOST NS_PER_SEC

struct gatherer {
	struct list link;
	struct uk_thread *thread;
	uint64_t token;
};

static struct lock gather_lock = LOCK_INIT(RANK_GATHER);
static struct list gatherers = LIST_INIT(gatherers); /* lock */

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

/* Until all have given. */
static void await_all(struct uk_thread *me)
{
	struct gatherer g = { .thread = me,
			      .token = wait_begin_uncancelable(me, WAIT_STACK, NULL) };
	unsigned why;

	lock_acquire(&gather_lock);
	list_push_back(&gatherers, &g.link);
	lock_release(&gather_lock);
	if (all_gave()) /* who gives looks under the lock, and finds us, or we this */
		wait_abandon(me, g.token, &why);
	else
		wait_park(me, g.token, sys_now() + GATHER_MOST);
	lock_acquire(&gather_lock);
	list_del(&g.link);
	lock_release(&gather_lock);
}

void memory_gave(void)
{
	struct list *l;

	lock_acquire(
	    &gather_lock); /* of two who give at once the later one sees both */
	while (all_gave() && (l = list_pop_front(&gatherers))) {
		struct gatherer *g = container_of(l, struct gatherer, link);

		list_init(l);
		wait_fire(g->thread, g->token, WAKE_OK);
	}
	lock_release(&gather_lock);
}

bool memory_gather(struct uk_thread *me)
{
	if (!ask_all() && load_relaxed(&mem_scarce) != MEM_GATHERING)
		return false;
	await_all(me);
	mem_scarce_step(MEM_GATHERING, MEM_GATHERED);
	return true;
}

void memory_forked(void)
{
	lock_init(&gather_lock, RANK_GATHER);
	list_init(&gatherers);
	mem_scarce_step(MEM_GATHERING, MEM_GATHERED);
}
