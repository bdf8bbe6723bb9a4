/* SPDX-License-Identifier: Apache-2.0 */
/* stat.c - counters and snapshots of threads for the program itself. Other threads'
 * counters are read without stopping them: each is right, but their sum is of no single
 * moment. */
#include "uk/stat.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "debug/inspect.h"
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
	s->takes += load_relaxed(&vp->takes);
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
	s->io_inline += load_relaxed(&c->io_inline);
	s->syscalls += load_relaxed(&c->syscalls);
}

static void sum_up(uk_stats *s)
{
	uint32_t n = load_acquire(&vp_count_all);

	sched_settle();
	*s = (uk_stats){ 0 };
	for (uint32_t i = 0; i < n; i++)
		add_vp(s, vp_all[i]);
	add_foreign(s);
	s->spares_made = load_relaxed(&spares_made);
	s->monitor_wakes = load_relaxed(&monitor_passes);
	s->spotted = load_relaxed(&monitor_events);
	s->threads = s->creates - s->exits;
	s->vps = n;
	s->carriers = load_relaxed(&carriers_count);
	s->spares = load_relaxed(&spares_count);
	s->stacks = stack_mapped();
}

/* Copies what fits into the caller's structure; what it has beyond ours is 0. */
static void hand_out(const uk_stats *s, uk_stats *to, size_t size)
{
	size_t known = MIN(size, sizeof(*s));

	memcpy(to, s, known);
	memset((char *)to + known, 0, size - known);
}

UK_API void uk_stats_get(uk_stats *s, size_t size)
{
	uk_stats all;

	sum_up(&all);
	hand_out(&all, s, size);
}

UK_API int uk_vp_stats(const uk_vp *vp, uk_stats *s, size_t size)
{
	uk_stats one = { .vps = 1 };

	add_vp(&one, vp);
	hand_out(&one, s, size);
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

/* Space for what a program that is newer than this library expects. */
union info {
	uk_thread_info known;
	char room[512];
};

struct each {
	int (*fn)(const uk_thread_info *, void *);
	void *arg;
};

static int each_one(void *obj, void *arg)
{
	const struct each *e = arg;
	union info i;

	memset(i.room + sizeof(i.known), 0, sizeof(i.room) - sizeof(i.known));
	return inspect_thread(obj, &i.known) ? e->fn(&i.known, e->arg) : 0;
}

UK_API int uk_thread_each(int (*fn)(const uk_thread_info *, void *), void *arg,
			  size_t size)
{
	struct each e = { fn, arg };

	if (size > sizeof(union info))
		return -EINVAL;
	sched_settle();
	return thread_slab.size ? slab_walk(&thread_slab, each_one, &e) : 0;
}
