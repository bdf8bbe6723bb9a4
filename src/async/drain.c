/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that must wait for others of their group: chains that drain it, and all that
 * come after such a chain.
 *
 *   held, in order --its turn, the drainer--> running, by a helper
 *
 * The first held chain has its turn when all that has begun has completed; or at once,
 * if neither it nor the chain that began last drains. The drainer is a light thread
 * that exists as long as anything is held, because the thread that completes the last
 * request (perhaps the dispatcher) cannot start anything itself.
 *
 * Rejected: IOSQE_IO_DRAIN (it orders a ring, which several groups share); a helper for
 * each held request (a stack each).
 */
#include "async/async.h"

static bool may_begin(const struct uk_group *g, unsigned options)
{
	return g->running == g->nheld || !(g->barrier || options & UK_OP_DRAIN);
}

bool drain_may_hold(struct uk_group *g, unsigned options)
{
	if (unlikely(g->held) || !may_begin(g, options))
		return true;
	g->barrier = options & UK_OP_DRAIN;
	return false;
}

void drain_hold(struct uk_group *g, struct req *chain, unsigned n)
{
	chain->next = NULL;
	*g->held_tail = chain;
	g->held_tail = &chain->next;
	g->nheld += n;
}

/* Takes the chain that *p points to out of the list. */
static struct req *take_out(struct uk_group *g, struct req **p)
{
	struct req *chain = *p;

	*p = chain->next;
	if (!*p)
		g->held_tail = p;
	for (struct req *q = chain; q; q = q->linked)
		g->nheld--;
	return chain;
}

bool drain_let_go(struct uk_group *g, const struct req *q)
{
	struct req **p = &g->held;

	while (*p && *p != q)
		p = &(*p)->next;
	return *p && !q->linked && take_out(g, p);
}

bool drain_wanted(struct uk_group *g)
{
	bool wanted = g->held && !g->draining;

	g->draining |= wanted;
	return wanted;
}

static unsigned options_of(const struct req *q)
{
	unsigned all = 0;

	for (; q; q = q->linked)
		all |= q->what.options;
	return all;
}

static void *drainer(void *arg)
{
	struct uk_group *g = arg;
	struct uk_thread *t = rt_enter();

	group_lock(g);
	while (g->held) {
		unsigned options = options_of(g->held);
		struct req *chain;

		if (!may_begin(g, options)) { /* until what has begun has completed */
			group_await(g, &g->drainer, t,
				    wait_begin_uncancelable(t, WAIT_IO, NULL),
				    TIME_NEVER);
			continue;
		}
		g->barrier = options & UK_OP_DRAIN;
		chain = take_out(g, &g->held);
		lock_release(&g->lock);
		helper_give(g, chain);
		group_lock(g);
	}
	g->draining = false;
	group_left(g);
	rt_exit();
	return NULL;
}

void drain_start(struct uk_group *g)
{
	int r = helper_thread(NULL, "async", drainer, g);
	struct req *all = NULL;

	if (likely(!r))
		return;
	group_lock(g);
	all = g->held;
	g->held = NULL;
	g->held_tail = &g->held;
	g->nheld = 0;
	g->draining = false;
	lock_release(&g->lock);
	for (struct req *next; all; all = next) {
		next = all->next;
		helper_fail(all, r);
	}
}
