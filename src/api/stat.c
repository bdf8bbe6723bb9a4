/* SPDX-License-Identifier: Apache-2.0 */
/* stat.c - counters and thread snapshots for the program itself. Reads others' counters
 * without stopping them: each is right, their sum is of no single moment. */
#include "uk/stat.h"

#include <string.h>

#include "api/inspect.h"
#include "base/sys.h"
#include "sched/vp.h"

static void add_vp(uk_stats *s, const struct uk_vp *vp)
{
	const struct vp_count *c = &vp->count;
	const struct reactor_count *r = &vp->reactor.count;

#define ADD(f) s->f += load_relaxed(&c->f)
	ADD(switches);
	ADD(yields);
	ADD(parks);
	ADD(readies);
	ADD(creates);
	ADD(exits);
	ADD(steals);
	ADD(inbox);
	ADD(io_inline);
	ADD(io_parked);
	ADD(io_cancels);
	ADD(timers);
	ADD(timer_fires);
	ADD(handoffs_mark);
	ADD(returns);
	ADD(kicks);
	ADD(syscalls);
#undef ADD
	s->syscalls += load_relaxed(&r->syscalls);
	s->polls += load_relaxed(&r->polls);
	s->waits += load_relaxed(&r->waits);
	s->sqes += load_relaxed(&r->sqes);
	s->cqes += load_relaxed(&r->cqes);
	s->handoffs += load_relaxed(&vp->handoffs) + load_relaxed(&c->handoffs_mark);
	s->handoffs_hog += load_relaxed(&vp->handoffs_hog);
	s->stalls += load_relaxed(&vp->stalls);
	s->stack_maps += load_relaxed(&vp->stacks.maps);
	s->stack_reuses += load_relaxed(&vp->stacks.reuses);
	s->ready += runq_len(&vp->rq) + (load_relaxed(&vp->rq.lifo) != NULL);
}

static void add_foreign(uk_stats *s)
{
	const struct vp_count *c = sched_foreign_count();

	s->creates += load_relaxed(&c->creates);
	s->readies += load_relaxed(&c->readies);
	s->io_inline += c->io_inline;
	s->syscalls += c->syscalls;
}

UK_API void uk_stats_get(uk_stats *s)
{
	uint32_t n = load_acquire(&vp_count_all);

	sched_settle();
	memset(s, 0, sizeof(*s));
	for (uint32_t i = 0; i < n; i++)
		add_vp(s, vp_all[i]);
	add_foreign(s);
	s->spares_made = load_relaxed(&spares_made);
	s->monitor_wakes = load_relaxed(&monitor_passes);
	s->threads = s->creates - s->exits;
	s->vps = n;
	s->carriers = load_relaxed(&carriers_count);
	s->spares = load_relaxed(&spares_count);
	s->stacks = stack_mapped();
}

UK_API int uk_vp_stats(const uk_vp *vp, uk_stats *s)
{
	memset(s, 0, sizeof(*s));
	add_vp(s, vp);
	s->vps = 1;
	return 0;
}

UK_API const char *uk_reactor_name(void)
{
	int r = sched_start();

	return r ? "none" : vp_all[0]->reactor.ops->name;
}

UK_API const char *uk_version(void)
{
	return UK_VERSION;
}

struct each {
	int (*fn)(const uk_thread_info *, void *);
	void *arg;
};

static int each_one(void *obj, void *arg)
{
	const struct each *e = arg;
	uk_thread_info i;

	return inspect_thread(obj, &i) ? e->fn(&i, e->arg) : 0;
}

UK_API int uk_thread_each(int (*fn)(const uk_thread_info *, void *), void *arg)
{
	struct each e = { fn, arg };

	sched_settle();
	return thread_slab.size ? slab_walk(&thread_slab, each_one, &e) : 0;
}
