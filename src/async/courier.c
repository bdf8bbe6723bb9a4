/* SPDX-License-Identifier: Apache-2.0 */
/* Completions that go to a channel: a light thread of the group, the courier, collects
 * them as any thread would, and sends them. So a full channel holds up the courier
 * only, and select works.
 *
 * Rejected: sending where an operation completes (the dispatcher cannot wait for space,
 * and would touch the program's memory).
 */
#include "async/async.h"
#include "sync/chan.h"

/* The next completion. False: the group is being destroyed, and the courier has left
 * it. */
static bool next_end(struct uk_group *g, uk_completion *e, uk_chan **to)
{
	struct uk_thread *t = rt_enter();
	unsigned n = 0;

	group_lock(g);
	g->courier = t;
	if (!g->closing && !(n = group_collect(g, e, 1))) {
		group_park(g, t, 1, wait_begin(t, WAIT_IO, NULL), TIME_NEVER);
		n = group_collect(g, e, 1);
	}
	*to = g->chan;
	if (g->closing) {
		g->courier = NULL;
		g->chan = NULL;
		group_left(g);
		rt_exit();
		return false;
	}
	lock_release(&g->lock);
	rt_exit();
	if (!n)
		*to = NULL;
	return true;
}

static void *courier(void *arg)
{
	uk_chan *to;
	uk_completion e;

	while (next_end(arg, &e, &to))
		if (to)
			uk_chan_send(to, &e); /* if closed: the completion is dropped */
	return NULL;
}

int uk_group_to_chan(uk_group *g, uk_chan *c)
{
	int r = sched_start();

	if (!r)
		r = rt_begin();
	if (unlikely(r))
		return r;
	if (!c || c->elem != sizeof(uk_completion))
		return -EINVAL;
	rt_enter();
	group_lock(g);
	if (g->chan || g->waiter.thread)
		r = -EBUSY;
	else
		g->chan = c;
	lock_release(&g->lock);
	if (!r && (r = helper_thread(NULL, "async", courier, g))) {
		group_lock(g);
		g->chan = NULL;
		lock_release(&g->lock);
	}
	rt_exit();
	return r;
}
