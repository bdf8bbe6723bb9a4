/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of user threads.
 *
 * A slab is one mapping of many stacks of one order:
 *
 *   | guard | stack ........ top | guard | stack ........ top | ... never used ... |
 *   ^base                        ^base + size                 ^bump                ^end
 *
 * The slabs of an order start with SLAB_FIRST stacks and double up to SLAB_BYTES or
 * SLAB_STACKS, whichever is more: a program of ten threads reserves little, one of a
 * million makes some 250 mappings of 16 KiB stacks. Nothing is touched before a thread
 * does.
 *
 * A free stack is described by words in the very line where its next thread starts
 * (below the colour), which is the hottest line that it has: top - color - 64. Free
 * stacks travel in batches (magazine.h). A pool that stack_pool_trim has emptied of its
 * pages keeps bare addresses in an array instead, so that a cold stack stays cold until
 * somebody runs on it.
 *
 * Invariant: the lowest STACK_GUARD bytes of a stack that was ever handed out fault,
 * and the rest of it never does (guard kind "none" excepted, which is for tests).
 *
 * Rejected: one mapping per stack (two VMAs each: the wall of vm.max_map_count at 32 k
 * threads, 2.4 us more per creation); a bitmap per slab (finds no *hot* stack). */
#include "mem/stack.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/lock.h"
#include "base/panic.h"
#include "base/sys.h"
#include "mem/slab.h"

#if UK_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

#define SLAB_BYTES ((size_t)64 << 20)
#define SLAB_STACKS ((size_t)64)
#define SLAB_FIRST ((size_t)16)
#define RED_ZONE 128

enum guard { GUARD_UNKNOWN, GUARD_MADVISE, GUARD_MPROTECT, GUARD_NONE };

struct idle {
	struct mag_node node;
	void *base;
};

/* What a signal handler can look up: one per slab, never freed. (The first word of a
 * slab object is not for data that readers without a lock use.) */
struct stack_slab {
	void *link;
	uintptr_t base; /* 0 until the rest is written */
	size_t bytes;
	unsigned order;
};

struct pool {
	struct mag_pool mag;
	char *bump, *end;   /* lock; never handed out */
	size_t mapped;      /* lock; stacks in all slabs */
	void **cold;        /* lock; stacks without pages, and where the array ends */
	size_t ncold, room; /* lock */
} LINE_ALIGNED;

static struct pool pools[STACK_ORDERS] = {
    [0 ... STACK_MAX_ORDER] = {.mag.lock = LOCK_INIT(RANK_NONE)}, /* a leaf */
};
static struct slab slabs = {.lock = LOCK_INIT(RANK_NONE),
			    .size = (sizeof(struct stack_slab) + 63) & ~(size_t)63};
static uint64_t handed;   /* stacks ever handed out; fetch_add */
static uint32_t guarding; /* enum guard; whoever probes first, all probe the same */
static uint32_t warned;

static uint32_t probe_guard(void)
{
	const char *s = secure_getenv("UK_GUARD");
	uint32_t kind = GUARD_MPROTECT;
	long p;

	if (s && !strcmp(s, "none")) {
		kind = GUARD_NONE;
	} else if (!s || strcmp(s, "mprotect") != 0) {
		p = sysn(SYS_mmap, NULL, PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p > 0) {
			if (sys3(SYS_madvise, p, PAGE, MADV_GUARD_INSTALL) == 0)
				kind = GUARD_MADVISE;
			sys2(SYS_munmap, p, PAGE);
		}
	}
	store_relaxed(&guarding, kind);
	return kind;
}

static inline uint32_t guard_kind(void)
{
	uint32_t kind = load_relaxed(&guarding);

	return likely(kind) ? kind : probe_guard();
}

const char *stack_guard_kind(void)
{
	switch (guard_kind()) {
	case GUARD_MADVISE:
		return "MADV_GUARD_INSTALL";
	case GUARD_MPROTECT:
		return "PROT_NONE";
	default:
		return "none";
	}
}

/* 0 or -errno. */
static int install_guard(void *base)
{
	uint32_t kind = guard_kind();
	long ret = 0;

	if (kind == GUARD_NONE)
		return 0;
	if (kind == GUARD_MADVISE) {
		ret = sys3(SYS_madvise, base, STACK_GUARD, MADV_GUARD_INSTALL);
		if (ret !=
		    -EINVAL) /* mlockall(MCL_FUTURE): such memory takes no markers */
			return (int)ret;
	}
	return (int)sys3(SYS_mprotect, base, STACK_GUARD, PROT_NONE);
}

/* Neighbours get different colours whatever their size. */
static inline unsigned color_of(const void *base, unsigned order)
{
	uint64_t h = ((uint64_t)(uintptr_t)base >> order) * 0x9e3779b97f4a7c15u;

	return (unsigned)(h >> 60) * CACHE_LINE;
}

static inline struct idle *idle_of(void *base, unsigned order)
{
	char *top = (char *)base + ((size_t)1 << order);

	return (struct idle *)(void *)(top - color_of(base, order) - CACHE_LINE);
}

static bool map_slab_locked(struct pool *p, unsigned order)
{
	size_t size = (size_t)1 << order, n = MAX(p->mapped, SLAB_FIRST);
	struct stack_slab *d;
	long m = -ENOMEM;

	n = MIN(n, MAX(SLAB_BYTES >> order, SLAB_STACKS));
	d = slab_get(&slabs, NULL);
	if (!d)
		return false;
	/* RLIMIT_AS or strict overcommit may refuse many where one would do */
	for (; n; n /= 2) {
		m = sysn(SYS_mmap, NULL, n * size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1,
			 0);
		if (m >= 0)
			break;
	}
	if (m < 0) {
		slab_put(&slabs, NULL, d);
		return false;
	}
	sys3(SYS_madvise, m, n * size, MADV_NOHUGEPAGE);
	d->bytes = n * size;
	d->order = order;
	/* release: a handler that sees the base sees the rest (pairs with in_slab) */
	store_release(&d->base, (uintptr_t)m);
	p->bump = (char *)m;
	p->end = p->bump + n * size;
	p->mapped += n;
	return true;
}

static COLD void say_no_guard(int err)
{
	if (__atomic_exchange_n(&warned, 1, __ATOMIC_RELAXED))
		return;
	uk_warn(
	    "no more stacks: the guard page of a stack failed with errno %d after %llu "
	    "stacks (PROT_NONE guards cost two mappings each: raise vm.max_map_count)",
	    -err, (unsigned long long)load_relaxed(&handed));
}

static void keep_cold_locked(struct pool *p, void *base)
{
	if (p->ncold == p->room) {
		size_t now = p->room * sizeof(void *), want = now ? now * 2 : 16 * PAGE;
		long m = now ? sys4(SYS_mremap, p->cold, now, want, MREMAP_MAYMOVE)
			     : sysn(SYS_mmap, NULL, want, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (m < 0)
			return; /* an address is lost, no memory is */
		p->cold = (void **)m;
		p->room = want / sizeof(void *);
	}
	p->cold[p->ncold++] = base;
}

/* A stack that nobody ever ran on. */
static void *get_fresh(struct pool *p, unsigned order)
{
	char *base = NULL;
	int err;

	lock_acquire(&p->mag.lock);
	if (p->bump != p->end || map_slab_locked(p, order)) {
		base = p->bump;
		p->bump += (size_t)1 << order;
	}
	lock_release(&p->mag.lock);
	if (!base)
		return NULL;
	err = install_guard(base);
	if (unlikely(err)) {
		say_no_guard(err);
		lock_acquire(&p->mag.lock);
		if (p->bump == base + ((size_t)1 << order))
			p->bump = base; /* nobody came after us: as if it never was */
		lock_release(&p->mag.lock);
		return NULL;
	}
	fetch_add_relaxed(&handed, 1);
	return base;
}

/* A stack whose pages stack_pool_trim gave back. */
static void *get_cold(struct pool *p)
{
	void *base = NULL;

	if (!load_relaxed(&p->ncold))
		return NULL; /* a hint */
	lock_acquire(&p->mag.lock);
	if (p->ncold)
		base = p->cold[--p->ncold];
	lock_release(&p->mag.lock);
	return base;
}

void stack_cache_init(struct stack_cache *c)
{
	*c = (struct stack_cache){0};
	guard_kind();
}

static COLD void *get_slow(struct stack_cache *c, unsigned order)
{
	struct pool *p = &pools[order];
	struct mag_node *x;
	void *base;

	if (order < STACK_MIN_ORDER || order > STACK_MAX_ORDER)
		return NULL;
	x = mag_get(c ? &c->free[order] : NULL, &p->mag);
	base = x ? container_of(x, struct idle, node)->base : get_cold(p);
	if (base) {
		/* what the dead thread's frames poisoned */
		ASAN_UNPOISON_MEMORY_REGION(base, (size_t)1 << order);
		if (c)
			bump(&c->reuses, 1);
	} else {
		base = get_fresh(p, order);
		if (base && c)
			bump(&c->maps, 1);
	}
	return base;
}

static COLD void put_slow(struct stack_cache *c, struct idle *i, unsigned order)
{
	mag_put(c ? &c->free[order] : NULL, &pools[order].mag, &i->node);
}

void *stack_get(struct stack_cache *c, unsigned order, unsigned *color)
{
	struct mag_node *x = NULL;
	void *base;

	if (likely(c && order <= STACK_MAX_ORDER))
		x = mag_get_own(&c->free[order]);
	if (likely(x)) {
		base = container_of(x, struct idle, node)->base;
		ASAN_UNPOISON_MEMORY_REGION(base, (size_t)1 << order); /* as in get_slow */
		bump(&c->reuses, 1);
	} else {
		base = get_slow(c, order);
		if (!base)
			return NULL;
	}
	*color = color_of(base, order);
	return base;
}

void stack_put(struct stack_cache *c, void *base, unsigned order)
{
	struct idle *i = idle_of(base, order);

	ASAN_UNPOISON_MEMORY_REGION(i, sizeof(*i));
	i->base = base;
	if (unlikely(!c || !mag_put_own(&c->free[order], &i->node)))
		put_slow(c, i, order);
}

void stack_cache_flush(struct stack_cache *c)
{
	for (unsigned o = STACK_MIN_ORDER; o <= STACK_MAX_ORDER; o++)
		mag_flush(&c->free[o], &pools[o].mag);
}

void stack_trim(void *base, unsigned order, void *sp)
{
	uintptr_t from = (uintptr_t)base + STACK_GUARD;
	uintptr_t to = ((uintptr_t)sp - RED_ZONE) & ~(PAGE - 1);

	dbg_assert((uintptr_t)sp - (uintptr_t)base <= (uintptr_t)1 << order);
	(void)order;
	if (to > from)
		sys3(SYS_madvise, from, to - from, MADV_DONTNEED);
}

static void make_cold(struct pool *p, unsigned order, struct mag_node *x)
{
	void *base = container_of(x, struct idle, node)->base;
	size_t size = (size_t)1 << order;

	sys3(SYS_madvise, (char *)base + STACK_GUARD, size - STACK_GUARD,
	     MADV_DONTNEED);
	lock_acquire(&p->mag.lock);
	keep_cold_locked(p, base);
	lock_release(&p->mag.lock);
}

size_t stack_pool_trim(void)
{
	size_t total = 0;

	for (unsigned o = STACK_MIN_ORDER; o <= STACK_MAX_ORDER; o++) {
		struct mag_node *x, *next;
		unsigned n;

		while ((x = mag_pool_get(&pools[o].mag, &n))) {
			for (; x; x = next, total++) {
				next = x->next;
				make_cold(&pools[o], o, x);
			}
		}
	}
	return total;
}

struct lookup {
	uintptr_t addr;
	const struct stack_slab *slab;
};

static int in_slab(void *obj, void *arg)
{
	const struct stack_slab *d = obj;
	struct lookup *l = arg;
	/* acquire: pairs with map_slab_locked */
	uintptr_t base = load_acquire(&d->base);

	if (!base || l->addr - base >= d->bytes)
		return 0;
	l->slab = d;
	return 1;
}

bool stack_find_guard(const void *addr, void **base, size_t *size)
{
	struct lookup l = {.addr = (uintptr_t)addr};
	uintptr_t off, each;

	if (load_relaxed(&guarding) == GUARD_NONE || !slab_walk(&slabs, in_slab, &l))
		return false;
	each = (uintptr_t)1 << l.slab->order;
	off = (l.addr - l.slab->base) & (each - 1);
	if (off >= STACK_GUARD)
		return false;
	*base = (void *)(l.addr - off);
	*size = each;
	return true;
}

void stack_fork_lock(void)
{
	for (unsigned o = STACK_MIN_ORDER; o <= STACK_MAX_ORDER; o++)
		lock_acquire(&pools[o].mag.lock);
	lock_acquire(&slabs.lock);
}

void stack_fork_unlock(void)
{
	lock_release(&slabs.lock);
	for (unsigned o = STACK_MIN_ORDER; o <= STACK_MAX_ORDER; o++)
		lock_release(&pools[o].mag.lock);
}

uint64_t stack_mapped(void)
{
	return load_relaxed(&handed);
}
