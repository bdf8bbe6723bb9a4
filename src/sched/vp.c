/* SPDX-License-Identifier: Apache-2.0 */
/* vp.c - virtual processors and their sets.
 *
 * A set is made completely (set_make), or what was made of it is freed (set_drop). Once
 * it is published, its vps live until the process ends: thieves, closers, the monitor
 * and the dump read their addresses without locks.
 */
#include <string.h>

#include "base/os.h"
#include "base/log.h"
#include "base/valgrind.h"
#include "sched/handoff.h"
#include "uk/vp.h"

struct uk_vp *vp_all[VP_MAX];
uint32_t vp_count_all;
struct uk_vpset *vpset_default;

#define BATCH 32 /* completions, if the creator of the set does not say */

/* also held around the start, for fork */
static struct lock set_lock = LOCK_INIT(RANK_VPSET);
static uint32_t bind_generation;

static bool valgrind_looks(void)
{
	const char *preload = env_get("LD_PRELOAD");

	return on_valgrind() || (preload && strstr(preload, "/vgpreload_"));
}

/* valgrind does not carry out io_uring requests: operations would never be done. */
static const char *engine_wanted(void)
{
	const char *want = env_get("UK_REACTOR");

	if (!valgrind_looks() || (want && !strstr(want, "uring")))
		return want;
	if (want && !load_relaxed(&vp_count_all))
		uk_warn("valgrind does not support io_uring: using epoll instead");
	return "epoll";
}

static int vp_make(struct uk_vp **out, struct uk_vpset *s, unsigned index,
		   bool reactive)
{
	struct uk_vp *vp = os_map(sizeof(*vp));
	int r;

	if (!vp)
		return -ENOMEM;
	vp->set = s;
	vp->index = index;
	vp->reactive = reactive;
	vp->shared = !reactive && s->n > 1 && !(s->flags & UK_VPSET_NOSTEAL);
	vp->rq.shared = vp->shared;
	vp->steal_seed = index * 7 + 1;
	vp->lifo_most = LIFO_STREAK;
	vp->clock = sys_now();
	stack_cache_init(&vp->stacks);
	wheel_init(&vp->wheel, vp->clock);
	r = reactor_init(&vp->reactor, engine_wanted(),
			 s->flags & UK_VPSET_SQPOLL ? &s->net_cpu : NULL);
	if (r)
		os_unmap(vp, sizeof(*vp));
	else
		*out = vp;
	return r;
}

static void bind_to(struct uk_vp *vp, const cpu_set_t *mask)
{
	vp->cpus = *mask;
	store_release(&vp->bound, ++bind_generation);
}

/* CPU k (modulo their count) of the mask. */
static int nth_cpu(const cpu_set_t *mask, unsigned k)
{
	k %= (unsigned)CPU_COUNT(mask);
	for (int c = 0; c < CPU_SETSIZE; c++)
		if (CPU_ISSET(c, mask) && k-- == 0)
			return c;
	return 0;
}

static int fill(struct uk_vpset *s, const struct set_plan *p)
{
	int r;

	for (unsigned i = 0; i < s->n; i++) {
		r = vp_make(&s->vps[i], s, i, false);
		if (r)
			return r;
		s->vps[i]->cpus = p->cpus;
		if (s->flags & UK_VPSET_BIND) {
			cpu_set_t one;

			CPU_ZERO(&one);
			CPU_SET(nth_cpu(&p->cpus, i), &one);
			bind_to(s->vps[i], &one);
		} else if (p->bind) {
			bind_to(s->vps[i], &p->cpus);
		}
	}
	if (s->flags & UK_VPSET_NET && (r = vp_make(&s->net, s, s->n, true)))
		return r;
	return s->flags & UK_VPSET_IO ? vp_make(&s->io, s, s->n + 1, true) : 0;
}

/* Vp i of all that the set has or will have, the reactive ones last; NULL: not
 * there. */
static struct uk_vp *nth_vp(const struct uk_vpset *s, unsigned i)
{
	return i < s->n ? s->vps[i] : i == s->n ? s->net : s->io;
}

/* t in units of `unit` ns, rounded up. False: a time that the kernel cannot be
 * given. */
static bool in_units(uk_time t, int64_t unit, uint32_t *out)
{
	if (t < 0 || t > UINT32_MAX / 2 * unit)
		return false;
	*out = (uint32_t)((t + unit - 1) / unit);
	return true;
}

static bool plan_net(struct net_cpu *n, const uk_vpset_attr *a)
{
	*n = (struct net_cpu){ .cpu = a->net_cpu,
			       .napi_prefer = a->napi_prefer,
			       .batch = a->batch ? a->batch : BATCH,
			       .ring = -1 };
	return a->net_cpu >= -1 && in_units(a->idle, NS_PER_MS, &n->idle_ms) &&
	       in_units(a->napi, NS_PER_US, &n->napi_us) &&
	       in_units(a->min_wait, NS_PER_US, &n->min_wait_us) &&
	       a->napi_prefer <= 1 && !a->reserved;
}

int set_plan(struct set_plan *p, const uk_vpset_attr *a)
{
	struct cpus room;
	const struct cpus *allowed = cpus_allowed(&room);

	if (a->flags & ~(UK_VPSET_NET | UK_VPSET_IO | UK_VPSET_BIND | UK_VPSET_NOSTEAL |
			 UK_VPSET_SQPOLL))
		return -EINVAL;
	*p = (struct set_plan){
		.name = a->name, .n = a->n, .flags = a->flags, .bind = a->mask
	};
	if (!plan_net(&p->net_cpu, a))
		return -EINVAL;
	cpus_named(allowed, &p->cpus);
	if (a->mask)
		CPU_AND(&p->cpus, a->mask, &p->cpus);
	if ((a->mask || a->flags & UK_VPSET_BIND) && !CPU_COUNT(&p->cpus))
		return -EINVAL;
	if (!a->n)
		p->n = a->mask ? MIN((unsigned)CPU_COUNT(&p->cpus), SET_MOST)
			       : cpus_vps(allowed->n);
	if (p->n > SET_MOST || set_carriers(p) > VP_MAX - vp_count_all)
		return -EINVAL;
	return 0;
}

unsigned set_carriers(const struct set_plan *p)
{
	return p->n + !!(p->flags & UK_VPSET_NET) + !!(p->flags & UK_VPSET_IO);
}

int set_make(struct uk_vpset **out, const struct set_plan *p, struct crew *w)
{
	struct uk_vpset *s = *out = os_map(sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	fmt_to(s->name, sizeof(s->name), "%s", p->name ? p->name : "");
	s->n = p->n;
	s->flags = p->flags;
	s->net_cpu = p->net_cpu;
	s->slice = SLICE_NS;
	r = fill(s, p);
	for (unsigned i = 0; i < s->n + 2 && !r; i++)
		if (nth_vp(s, i))
			r = carrier_call(nth_vp(s, i), w);
	return r;
}

void set_drop(struct uk_vpset *s)
{
	for (unsigned i = 0; s && i < s->n + 2; i++) {
		struct uk_vp *vp = nth_vp(s, i);

		if (!vp)
			continue;
		carrier_drop(vp);
		reactor_fini(&vp->reactor);
		os_unmap(vp, sizeof(*vp));
	}
	os_unmap(s, sizeof(*s));
}

void set_publish(struct uk_vpset *s)
{
	for (unsigned i = 0; i < s->n + 2; i++) {
		struct uk_vp *vp = nth_vp(s, i);

		if (!vp)
			continue;
		vp->id = vp_count_all;
		vp_all[vp_count_all] = vp;
		fetch_add_relaxed(&carriers_count, 1);
		/* release: readers of the count see vp (pairs with their acquire) */
		store_release(&vp_count_all, vp_count_all + 1);
	}
	/* new vps are awake: they may find a thread before they first sleep */
	monitor_notice();
}

static int create_locked(uk_vpset **out, const struct set_plan *p)
{
	struct crew *w = crew_call(set_carriers(p));
	struct uk_vpset *s = NULL;
	int r;

	if (!w)
		return -ENOMEM;
	r = set_make(&s, p, w);
	if (r) {
		crew_dismiss(w);
		set_drop(s);
		return r;
	}
	set_publish(s);
	*out = s;
	crew_begin(w);
	return 0;
}

void set_lock_acquire(void)
{
	lock_acquire(&set_lock);
}

void set_lock_release(void)
{
	lock_release(&set_lock);
}

struct uk_vp *sched_only_vp(void)
{
	return load_acquire(&vp_count_all) == 1 ? vp_all[0] : NULL;
}

/* ---- public ---- */

/* Copies as much of a as the caller's version has over the defaults. -E2BIG: the caller
 * sets something that this version does not know. */
static int take_attr(uk_vpset_attr *all, const uk_vpset_attr *a)
{
	const char *from = (const char *)a;

	if (a->size < offsetof(uk_vpset_attr, net_cpu))
		return -EINVAL;
	for (size_t i = sizeof(*all); i < a->size; i++)
		if (from[i])
			return -E2BIG;
	memcpy(all, a, MIN(a->size, sizeof(*all)));
	return 0;
}

UK_API int uk_vpset_create_attr(uk_vpset **out, const uk_vpset_attr *a)
{
	struct set_plan plan;
	uk_vpset_attr all = UK_VPSET_ATTR_INIT;
	int r = !out ? -EINVAL : a ? take_attr(&all, a) : 0;

	if (!r)
		r = sched_start();
	if (r)
		return r;
	/* pthread_create below may block: not inside the runtime */
	uk_blocking_begin();
	lock_acquire(&set_lock);
	r = set_plan(&plan, &all);
	if (!r)
		r = create_locked(out, &plan);
	lock_release(&set_lock);
	uk_blocking_end();
	return r;
}

UK_API int uk_vpset_create(uk_vpset **out, const char *name, unsigned n,
			   const cpu_set_t *mask, unsigned flags)
{
	uk_vpset_attr a = UK_VPSET_ATTR_INIT;

	a.name = name;
	a.n = n;
	a.mask = mask;
	a.flags = flags;
	return uk_vpset_create_attr(out, &a);
}

UK_API int uk_vpset_sqpoll(const uk_vpset *s)
{
	if (!(s->flags & UK_VPSET_SQPOLL))
		return 0;
	return s->net_cpu.err ? s->net_cpu.err : 1;
}

UK_API uk_vpset *uk_vpset_default(void)
{
	return sched_start() ? NULL : vpset_default;
}

UK_API uk_vpset *uk_vpset_self(void)
{
	struct uk_thread *t = thread_self_tls;

	return t && t->kind == THREAD_USER ? t->vp->set : uk_vpset_default();
}

UK_API unsigned uk_vpset_size(const uk_vpset *s)
{
	return s->n;
}

UK_API int uk_vpset_set_slice(uk_vpset *s, uk_time ns)
{
	if (ns <= 0)
		return -EINVAL;
	store_relaxed(&s->slice, ns);
	return 0;
}

UK_API uk_vp *uk_vpset_vp(const uk_vpset *s, unsigned i)
{
	return i < s->n ? s->vps[i] : NULL;
}

struct uk_vp *vpset_next(struct uk_vpset *s)
{
	return s->vps[fetch_add_relaxed(&s->next, 1) % s->n];
}

UK_API uk_vp *uk_vp_self(void)
{
	struct uk_thread *t = thread_self_tls;
	struct uk_vp *vp;

	if (!t || t->kind != THREAD_USER)
		return NULL;
	vp = t->carrier->vp;
	return vp_is_mine(vp, t->carrier) ? vp : NULL;
}

UK_API unsigned uk_vp_id(const uk_vp *vp)
{
	return vp->id;
}

UK_API int uk_vp_bind(uk_vp *vp, const cpu_set_t *mask)
{
	struct cpus room;
	cpu_set_t cpus;

	cpus_named(cpus_allowed(&room), &cpus);
	CPU_AND(&cpus, mask, &cpus);
	if (!CPU_COUNT(&cpus))
		return -EINVAL;
	lock_acquire(&set_lock);
	bind_to(vp, &cpus);
	lock_release(&set_lock);
	store_relaxed(&vp->nudge, 1); /* its dispatcher rebinds the carrier */
	vp_kick(vp);
	return 0;
}
