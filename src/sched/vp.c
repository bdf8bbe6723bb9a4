/* SPDX-License-Identifier: Apache-2.0 */
/* vp.c - virtual processors and their sets; the start of the runtime.
 *
 * Vps and sets live until the process ends: their addresses are read without locks by
 * thieves, closers, the monitor and the dump.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/panic.h"
#include "base/sys.h"
#include "sched/fuzz.h"
#include "sched/vp.h"
#include "uk/vp.h"

struct uk_vp *vp_all[VP_MAX];
uint32_t vp_count_all;
struct uk_vpset *vpset_default;

static void (*on_start[4])(void), (*on_child[4])(void);
static unsigned n_on_start, n_on_child;

void sched_on_start(void (*fn)(void))
{
	uk_assert(n_on_start < array_size(on_start));
	on_start[n_on_start++] = fn;
}

void sched_on_child(void (*fn)(void))
{
	uk_assert(n_on_child < array_size(on_child));
	on_child[n_on_child++] = fn;
}

void sched_run_on_child(void)
{
	for (unsigned i = 0; i < n_on_child; i++)
		on_child[i]();
}

static struct lock set_lock =
    LOCK_INIT(RANK_VPSET); /* also around the start, for fork */
static pthread_once_t start_once = PTHREAD_ONCE_INIT;
static int start_error;
static uint32_t bind_generation;

static void *zalloc(size_t size)
{
	long p = sysn(SYS_mmap, NULL, (size + PAGE - 1) & ~(PAGE - 1),
		      PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p < 0 && p > -4096 ? NULL : (void *)p;
}

int process_nice;

/* valgrind does not carry out what a ring asks for: operations would never end. */
static const char *engine_wanted(void)
{
	const char *want = env_get("UK_REACTOR"), *preload = env_get("LD_PRELOAD");

	return !want && preload && strstr(preload, "/vgpreload_") ? "epoll" : want;
}

static int vp_make(struct uk_vp **out, struct uk_vpset *s, unsigned index,
		   bool reactive)
{
	struct uk_vp *vp = zalloc(sizeof(*vp));
	int r;

	if (!vp)
		return -ENOMEM;
	vp->set = s;
	vp->index = index;
	vp->reactive = reactive;
	vp->shared = !reactive && s->n > 1 && !(s->flags & UK_VPSET_NOSTEAL);
	vp->rq.shared = vp->shared;
	vp->steal_seed = index * 7 + 1;
	vp->clock = sys_now();
	stack_cache_init(&vp->stacks);
	wheel_init(&vp->wheel, vp->clock);
	r = reactor_init(&vp->reactor, engine_wanted());
	if (r) {
		const char *want = env_get("UK_REACTOR");

		uk_warn("no reactor for a virtual processor: error %d%s%s%s", -r,
			want ? ", UK_REACTOR=" : "", want ? want : "",
			want && r == -EINVAL ? " (uring or epoll)" : "");
		sys2(SYS_munmap, vp, (sizeof(*vp) + PAGE - 1) & ~(PAGE - 1));
		return r;
	}
	vp->id = vp_count_all;
	vp_all[vp_count_all] = vp;
	/* release: readers of the count see the vp (pairs with the acquire loads) */
	store_release(&vp_count_all, vp_count_all + 1);
	*out = vp;
	return 0;
}

static void bind_to(struct uk_vp *vp, const cpu_set_t *mask)
{
	vp->cpus = *mask;
	store_release(&vp->bound, ++bind_generation);
}

/* cpu number k (modulo their count) of the mask */
static int nth_cpu(const cpu_set_t *mask, unsigned k)
{
	k %= (unsigned)CPU_COUNT(mask);
	for (int c = 0; c < CPU_SETSIZE; c++)
		if (CPU_ISSET(c, mask) && k-- == 0)
			return c;
	return 0;
}

static int set_fill(struct uk_vpset *s, const cpu_set_t *cpus, bool bind)
{
	int r;

	for (unsigned i = 0; i < s->n; i++) {
		r = vp_make(&s->vps[i], s, i, false);
		if (r)
			return r;
		s->vps[i]->cpus = *cpus;
		if (s->flags & UK_VPSET_BIND) {
			cpu_set_t one;

			CPU_ZERO(&one);
			CPU_SET(nth_cpu(cpus, i), &one);
			bind_to(s->vps[i], &one);
		} else if (bind) {
			bind_to(s->vps[i], cpus);
		}
	}
	if (s->flags & UK_VPSET_NET && (r = vp_make(&s->net, s, s->n, true)))
		return r;
	if (s->flags & UK_VPSET_IO && (r = vp_make(&s->io, s, s->n + 1, true)))
		return r;
	for (unsigned i = 0; i < s->n; i++)
		if ((r = carrier_start(s->vps[i])))
			return r;
	if (s->net && (r = carrier_start(s->net)))
		return r;
	return s->io ? carrier_start(s->io) : 0;
}

/* mask NULL: the CPUs allowed now, and no binding. */
static int set_make(struct uk_vpset **out, const char *name, unsigned n,
		    const cpu_set_t *mask, unsigned flags)
{
	struct cpus room;
	const struct cpus *allowed = cpus_allowed(&room);
	unsigned more = !!(flags & UK_VPSET_NET) + !!(flags & UK_VPSET_IO);
	struct uk_vpset *s;
	cpu_set_t cpus;
	int r;

	if (flags & ~(UK_VPSET_NET | UK_VPSET_IO | UK_VPSET_BIND | UK_VPSET_NOSTEAL))
		return -EINVAL;
	cpus_named(allowed, &cpus);
	if (mask)
		CPU_AND(&cpus, mask, &cpus);
	if ((mask || flags & UK_VPSET_BIND) && !CPU_COUNT(&cpus))
		return -EINVAL;
	if (!n)
		n = mask ? MIN((unsigned)CPU_COUNT(&cpus), SET_MOST)
			 : cpus_vps(allowed->n);
	if (n > SET_MOST || n + more > VP_MAX - vp_count_all)
		return -EINVAL;
	s = zalloc(sizeof(*s));
	if (!s)
		return -ENOMEM;
	fmt_to(s->name, sizeof(s->name), "%s", name ? name : "");
	s->n = n;
	s->flags = flags;
	r = set_fill(s, &cpus, mask);
	/* A set that fails half-way keeps the vps it made: their carriers idle for good. The
	 * error is the user's to see, and it means memory or descriptors have run out. */
	if (!r)
		*out = s;
	return r;
}

static unsigned vps_wanted(void)
{
	return env_number("UK_VPS", 0, SET_MOST);
}

static void start_locked(void)
{
	size_t stack;

	if (!UK_TSAN && dlsym(RTLD_DEFAULT, "__tsan_init")) {
		uk_warn(
		    "this program has ThreadSanitizer and the library has not, so it "
		    "would not see our switches: link one that was built with "
		    "-Db_sanitize=thread");
		start_error = -ENOTSUP;
		return;
	}
	start_error = barrier_init();
	if (start_error)
		return;
	fuzz_init();
	cpus_learn();
	process_nice = 20 - (int)sys2(SYS_getpriority, PRIO_PROCESS, 0);
	stack = env_size("UK_STACK", (size_t)1 << STACK_MAX_ORDER);
	if (stack)
		sched_stack_size = stack;
	start_error = thread_init();
	if (start_error)
		return;
#if !UK_SAN
	start_error = tls_init();
	if (start_error)
		return;
	setxid_init();
#endif
	if (!vps_wanted() && process_cpus.n > SET_MOST)
		uk_warn("%u CPUs are allowed, a set has %u virtual processors at most",
			process_cpus.n, SET_MOST);
	start_error = set_make(&vpset_default, "default", vps_wanted(), NULL, 0);
	if (start_error)
		return;
	start_error = carriers_init();
	if (start_error)
		return;
	stack_limit_init(env_number("UK_STACK_LIMIT", 0, 1u << 30));
	for (unsigned i = 0; i < n_on_start; i++)
		on_start[i]();
	fork_init();
}

static void start(void)
{
	lock_acquire(&set_lock);
	start_locked();
	lock_release(&set_lock);
}

void set_lock_acquire(void)
{
	lock_acquire(&set_lock);
}

void set_lock_release(void)
{
	lock_release(&set_lock);
}

int sched_start(void)
{
	pthread_once(&start_once, start);
	return start_error;
}

struct uk_vp *sched_only_vp(void)
{
	return load_acquire(&vp_count_all) == 1 ? vp_all[0] : NULL;
}

/* ---- public ---- */

UK_API int uk_init(void)
{
	return sched_start();
}

UK_API int uk_vps(void)
{
	struct cpus room;
	unsigned n;

	if (vpset_default)
		return (int)vpset_default->n;
	n = vps_wanted();
	return (int)(n ? n : cpus_vps(cpus_allowed(&room)->n));
}

UK_API int uk_vpset_create(uk_vpset **out, const char *name, unsigned n,
			   const cpu_set_t *mask, unsigned flags)
{
	int r = sched_start();

	if (r)
		return r;
	/* pthread_create below may block: not inside the runtime */
	uk_blocking_begin();
	lock_acquire(&set_lock);
	r = set_make(out, name, n, mask, flags);
	lock_release(&set_lock);
	uk_blocking_end();
	return r;
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

UK_API uk_vp *uk_vpset_vp(const uk_vpset *s, unsigned i)
{
	return i < s->n ? s->vps[i] : NULL;
}

UK_API uk_vp *uk_vpset_next_vp(uk_vpset *s)
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
	return vp && load_relaxed(&vp->owner) == (uintptr_t)t->carrier ? vp : NULL;
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
	store_relaxed(&vp->nudge, 1); /* its dispatcher sees to it */
	vp_kick(vp);
	return 0;
}
