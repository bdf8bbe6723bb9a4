/* SPDX-License-Identifier: Apache-2.0 */
/* scarce.c - a creator that finds no memory asks all vps for what they have cached; the
 * table is in mem/scarce.h. Each vp's dispatcher gives it to the shared pools, at its
 * next pass. A vp whose thread computes for long is moved to another carrier first, so
 * the wait has a limit. Natively, too, a thread may be told that there is no memory a
 * moment before there is some.
 *
 * Runs on the creator, in the runtime; it parks meanwhile. The last vp that gives wakes
 * all waiting threads. A dispatcher that finds no memory for a thread's first run asks
 * and does not wait: it tries again.
 */
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
	/* pairs with the load of flush before a vp sleeps (idle) */
	store_seq_cst(&vp->flush, 1);
	/* release: a dispatcher that sees the nudge, and clears it, sees flush */
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
		/* acquire: what it gave is in the pools (pairs with flush_caches) */
		if (load_acquire(&vp_all[i]->flush))
			return false;
	return true;
}

void memory_ask(void)
{
	ask_all();
}

/* Waits until all vps have given, for GATHER_MOST at most. */
static void await_all(struct uk_thread *me)
{
	struct gatherer g = { .thread = me,
			      .token = wait_begin_uncancelable(me, WAIT_STACK, NULL) };
	unsigned why;

	lock_acquire(&gather_lock);
	list_push_back(&gatherers, &g.link);
	lock_release(&gather_lock);
	/* either a vp that gives finds us, under the lock, or we find that all gave */
	if (all_gave())
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

	/* of two vps that give at the same time, the later one sees both */
	lock_acquire(&gather_lock);
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
