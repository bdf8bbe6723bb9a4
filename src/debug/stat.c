/* SPDX-License-Identifier: Apache-2.0 */
/* stat.c - counters and snapshots of threads for the program itself. Other threads'
 * counters are read without stopping them: each is right, but their sum is of no single
 * moment. */
#include "uk/stat.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "debug/inspect.h"
#include "debug/layout.h"
#include "sched/vp.h"

/* All values are 64 bits. */
static void add(uk_stats *s, size_t to, const void *base, size_t from)
{
	*(uint64_t *)(void *)((char *)s + to) +=
	    load_relaxed((const uint64_t *)(const void *)((const char *)base + from));
}

static void add_vp(uk_stats *s, const struct uk_vp *vp)
{
	for (unsigned i = 0; i < uk_layout.nsums; i++)
		add(s, uk_layout.sums[i].stat, vp, uk_layout.sums[i].vp);
	s->ready += runq_len(&vp->rq) + (load_relaxed(&vp->rq.lifo) != NULL);
}

static void add_foreign(uk_stats *s)
{
	for (unsigned i = 0; i < uk_layout.nsums; i++)
		if (uk_layout.sums[i].foreign)
			add(s, uk_layout.sums[i].stat, &sched_foreign_count,
			    uk_layout.sums[i].foreign - 1u);
}

static void add_values(uk_stats *s)
{
	for (unsigned i = 0; i < uk_layout.nvalues; i++) {
		const struct layout_value *v = &uk_layout.values[i];

		*(uint64_t *)(void *)((char *)s + v->stat) =
		    v->size == sizeof(uint64_t) ? load_relaxed((const uint64_t *)v->at)
						: load_relaxed((const uint32_t *)v->at);
	}
}

static void sum_up(uk_stats *s)
{
	uint32_t n = load_acquire(&vp_count_all);

	sched_settle();
	*s = (uk_stats){ 0 };
	for (uint32_t i = 0; i < n; i++)
		add_vp(s, vp_all[i]);
	add_foreign(s);
	add_values(s);
	s->threads = s->creates - s->exits;
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
