/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of user threads.
 *
 * A slab is one mapping of many stacks of one kind:
 *
 *   | guard | stack ........ top | guard | stack ........ top | ... never used ... |
 *   ^base                        ^base + stride               ^base + used * stride
 *
 * The slabs of a kind start with SLAB_FIRST stacks and double up to SLAB_BYTES or
 * SLAB_STACKS, whichever is more. So a program of ten threads reserves little, and one
 * of a million makes some 1,200 mappings of 16 KiB stacks. No memory is touched before
 * a thread does.
 *
 * A free stack is described by a few words in its hottest cache line (struct idle).
 * Free stacks travel in batches (magazine.h). Those that no thread has needed for a
 * while give their pages back, and are one bit in their slab from then on (cold.c).
 *
 * Invariant: the guard below a stack that is handed out faults, and the stack never
 * does. (Except with guard kind "none", which is for tests.)
 *
 * The guard costs address space and page tables, 8 bytes a page. A default guard of 128
 * KiB adds about 1 us to a stack's first use, and 256 bytes of page tables to the
 * stack's 512 (64 KiB: 0.5 us, 1 MiB: 7 us). It is larger than the frames that occur,
 * those with a buffer of 64 KiB included. Small stacks, which are made by the million,
 * have a guard of four times their size.
 *
 * Where address space is rationed (RLIMIT_AS, no overcommit), the program's other
 * stacks and its malloc need it too. So slabs are small: each large stack has one of
 * its own. Free stacks are not cached but go to the pools. Once they come to more than
 * SPARE_MOST, which is what glibc keeps of them, they are unmapped (stack_release); so
 * also when a thread finds no memory. (malloc does not trigger this: it would cost one
 * more call for each malloc, in every program.)
 *
 * When the program calls mlockall, what is reserved for later stacks is unmapped
 * (stack_lock_all), and later slabs are small, too, because the kernel locks and counts
 * all that is mapped.
 *
 * Where many stacks are made, one call installs several guards, and the stacks that no
 * thread has asked for yet are treated like those that gave their memory back. At most
 * GUARDS at once, because the list of them lies on the stack of the thread that needs
 * one. This is not done under a seccomp filter, nor in the drop-in, where a filter may
 * come at any time: a filter may kill threads that call process_madvise(2).
 *
 * Rejected: one mapping per stack (two VMAs each: vm.max_map_count is reached at 32 k
 * threads, and a creation takes 2.4 us more); a bitmap of the free stacks (it finds no
 * *hot* stack); a guard of which only some pages fault (a frame may land on any
 * page); smaller guards for small stacks (0.2 us of a first use, little later); the
 * pages of 64 stacks by one MADV_POPULATE_WRITE (as dear as the faults it saves);
 * threads that start at offsets of their own, so that their hot lines lie in different
 * cache sets (the processor's prefetcher no longer sees even strides: 200 instead of 80
 * ns a switch among a million threads, and no gain where the order is random). */
#include "mem/stack.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "base/lock.h"
#include "base/env.h"
#include "base/os.h"
#include "base/log.h"
#include "base/valgrind.h"
#include "mem/slab.h"
#include "mem/stack_impl.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define PIDFD_SELF (-10000)
#define GUARDS ((size_t)16)
#define SLAB_BYTES ((size_t)64 << 20)
#define SLAB_STACKS ((size_t)64)
#define SLAB_FIRST ((size_t)16)
#define SLAB_RATION ((size_t)1 << 20)
#define SPARE_MOST ((uint64_t)40 << 20)
#define RED_ZONE 128
#define GUARD_DEFAULT ((size_t)128 << 10)

enum guard { GUARD_UNKNOWN, GUARD_MADVISE, GUARD_MPROTECT, GUARD_NONE };

struct pool stack_pools[STACK_KINDS] = {
	[0 ... STACK_KINDS - 1] = { .mag.lock = LOCK_INIT(RANK_STACK) },
};
static struct slab slabs = { .lock = LOCK_INIT(RANK_SLAB),
			     .size = (sizeof(struct stack_slab) + 63) & ~(size_t)63,
			     .chilled = LIST_INIT(slabs.chilled) };
uint64_t stack_handed;
static uint32_t guarding; /* enum guard; all threads that probe write the same */
static uint32_t warned;
/* set once: no lists of guards, which the kernel takes since 6.14 */
static uint32_t one_by_one;
uint64_t stack_spare;
bool stack_rationed;
uint32_t stack_locked;
static size_t guard_chosen; /* 0: none; set once, before the first stack */

static uint32_t probe_guard(void)
{
	uint32_t kind = GUARD_MPROTECT;
	void *p;

	if (env_key_is(ENV_GUARD, "none")) {
		kind = GUARD_NONE;
	} else if (!env_key_is(ENV_GUARD, "mprotect")) {
		p = os_map(PAGE);
		if (p && sys3(SYS_madvise, p, PAGE, MADV_GUARD_INSTALL) == 0)
			kind = GUARD_MADVISE;
		os_unmap(p, PAGE);
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

void stack_guards_singly(void)
{
	store_relaxed(&one_by_one, 1);
}

void stack_set_guard(size_t bytes)
{
	guard_chosen = (MAX(bytes, PAGE) + PAGE - 1) & ~(PAGE - 1);
}

size_t stack_guard_size(unsigned kind)
{
	unsigned class = kind >> 5;

	if (class)
		return PAGE << 2 * (class - 1);
	return guard_chosen ? guard_chosen : MIN(GUARD_DEFAULT, 4 * stack_size(kind));
}

/* 0 or -errno. */
static int install_guard(char *base, unsigned kind)
{
	size_t n = stack_guard_size(kind);
	char *from = base - n;
	uint32_t how = guard_kind();
	long ret = 0;

	if (how == GUARD_NONE)
		return 0;
	if (how == GUARD_MADVISE) {
		ret = sys3(SYS_madvise, from, n, MADV_GUARD_INSTALL);
		/* -EINVAL after mlockall(MCL_FUTURE): such memory takes no markers */
		if (ret != -EINVAL)
			return (int)ret;
	}
	return (int)sys3(SYS_mprotect, from, n, PROT_NONE);
}

bool stack_map(struct stack_slab *s)
{
	void *m = os_map_stack((void *)s->base, s->bytes);

	if (!m)
		return false;
	sys3(SYS_madvise, m, s->bytes, MADV_NOHUGEPAGE);
	/* release: a handler that sees the base sees the rest (pairs with in_slab) */
	store_release(&s->base, (uintptr_t)m);
	return true;
}

void stack_slab_end(struct pool *p, struct stack_slab *s)
{
	void *base = (void *)s->base;

	store_release(&s->base, 0);
	os_unmap(base, s->bytes);
	lock_acquire(&p->mag.lock);
	bump(&p->mapped, -(size_t)s->n);
	lock_release(&p->mag.lock);
	slab_put(&slabs, NULL, s);
}

void stack_ration(void)
{
	stack_rationed = true;
}

static void pool_lists_locked(struct pool *p)
{
	if (unlikely(!p->fresh.next)) {
		list_init(&p->fresh);
		list_init(&p->chilled);
	}
}

/* How many stacks the pool's next slab gets. */
static size_t slab_stacks(const struct pool *p, size_t stride)
{
	size_t n = MAX(p->mapped, SLAB_FIRST);

	if (stack_rationed || load_relaxed(&stack_locked))
		return MAX(SLAB_RATION / stride, (size_t)1);
	n = MIN(n, MAX(SLAB_BYTES / stride, SLAB_STACKS));
	return MIN(n, (size_t)SLAB_MOST);
}

static bool map_slab_locked(struct pool *p, unsigned kind)
{
	size_t stride = stack_size(kind) + stack_guard_size(kind);
	size_t n = slab_stacks(p, stride);
	struct stack_slab *s = slab_get(&slabs, NULL);

	if (!s)
		return false;
	s->kind = kind;
	s->stride = stride;
	s->used = 0; /* a reused descriptor: then nothing is cold either */
	list_init(&s->chilled);
	/* RLIMIT_AS or strict overcommit may refuse many where it grants one */
	for (; n; n /= 2) {
		s->n = (unsigned)n;
		s->bytes = n * stride;
		if (stack_map(s))
			break;
	}
	if (!n) {
		mem_refused();
		slab_put(&slabs, NULL, s);
		return false;
	}
	list_push_back(&p->fresh, &s->fresh);
	bump(&p->mapped, n);
	stack_index_add(s); /* if this fails, its stacks just never become cold */
	return true;
}

static COLD void say_no_guard(int err)
{
	if (__atomic_exchange_n(&warned, 1, __ATOMIC_RELAXED))
		return;
	uk_warn(
	    "cannot make more stacks: the guard of a stack failed with errno %d after "
	    "%llu stacks (each PROT_NONE guard needs two mappings: raise "
	    "vm.max_map_count)",
	    -err, (unsigned long long)load_relaxed(&stack_handed));
}

/* How many guards to install at once: a sixteenth of all stacks. Under the lock. */
static unsigned batch_locked(const struct pool *p, const struct stack_slab *s)
{
	size_t n = MIN(MAX(p->mapped / 16, (size_t)1), GUARDS);

	if (guard_kind() != GUARD_MADVISE || load_relaxed(&one_by_one))
		return 1;
	return (unsigned)MIN(n, (size_t)(s->n - s->used));
}

/* Installs the guards of n stacks, from base on. Returns how many have theirs; *err
 * says why not all. */
static unsigned install_guards(char *base, unsigned n, size_t stride, unsigned kind,
			       int *err)
{
	size_t size = stack_guard_size(kind);
	struct iovec v[GUARDS];
	unsigned done = 0;
	long r;

	if (n > 1 && (on_valgrind() || sys_filtered())) {
		stack_guards_singly();
	} else if (n > 1) {
		for (unsigned i = 0; i < n; i++)
			v[i] = (struct iovec){ base + i * stride - size, size };
		r = sys5(SYS_process_madvise, PIDFD_SELF, v, n, MADV_GUARD_INSTALL, 0);
		done = r > 0 ? (unsigned)((size_t)r / size) : 0;
		if (!done)
			stack_guards_singly();
	}
	for (*err = 0; done < n; done++) {
		*err = install_guard(base + done * stride, kind);
		if (*err)
			break;
	}
	return done;
}

/* Of n stacks of s, from `first` on, the first goes to the caller if it has its guard.
 * The others that have theirs become cold. The rest counts as never used, unless
 * another thread took stacks of s after us. */
static void keep_others(struct pool *p, struct stack_slab *s, unsigned first,
			unsigned n, unsigned guarded)
{
	lock_acquire(&p->mag.lock);
	if (guarded < n && s->used == first + n) {
		if (s->used == s->n)
			list_push_front(&p->fresh, &s->fresh);
		s->used = first + guarded;
	}
	if (guarded > 1)
		stack_cold_put(p, s, first + 1, guarded - 1);
	lock_release(&p->mag.lock);
}

/* A stack that was never used, or not since its slab was mapped anew. */
static void *get_fresh(struct pool *p, unsigned kind)
{
	struct stack_slab *s = NULL;
	unsigned first = 0, n = 0, guarded;
	char *base;
	int err;

	lock_acquire(&p->mag.lock);
	pool_lists_locked(p);
	if (!list_empty(&p->fresh) || map_slab_locked(p, kind)) {
		s = container_of(p->fresh.next, struct stack_slab, fresh);
		first = s->used;
		n = batch_locked(p, s);
		s->used += n;
		if (s->used == s->n)
			list_del(&s->fresh);
	}
	lock_release(&p->mag.lock);
	if (!s)
		return NULL;
	base = (char *)s->base + first * s->stride + stack_guard_size(kind);
	guarded = install_guards(base, n, s->stride, kind, &err);
	if (n > 1 || !guarded)
		keep_others(p, s, first, n, guarded);
	if (unlikely(!guarded)) {
		say_no_guard(err);
		mem_refused();
		return NULL;
	}
	fetch_add_relaxed(&stack_handed, guarded);
	for (unsigned i = 0; i < guarded; i++)
		valgrind_stack((uintptr_t)base + i * s->stride, stack_size(kind));
	return base;
}

static void *get_cold(struct pool *p)
{
	void *base;

	if (!load_relaxed(&p->nchilled))
		return NULL;
	lock_acquire(&p->mag.lock);
	base = stack_cold_get(p);
	lock_release(&p->mag.lock);
	return base;
}

void stack_cache_init(struct stack_cache *c)
{
	*c = (struct stack_cache){ 0 };
	guard_kind();
}

static COLD void *get_slow(struct stack_cache *c, unsigned kind)
{
	struct pool *p = &stack_pools[kind % STACK_KINDS];
	struct mag_node *x;
	void *base;

	if (stack_kind_order(kind) > STACK_MAX_ORDER || kind >= STACK_KINDS)
		return NULL;
	x = mag_get(c && !stack_rationed ? &c->free[kind] : NULL, &p->mag);
	if (x && stack_rationed)
		fetch_add_relaxed(&stack_spare, -(uint64_t)stack_size(kind));
	base = x ? container_of(x, struct idle, node)->base : get_cold(p);
	if (x) /* poisoned by the dead thread's frames */
		ASAN_UNPOISON_MEMORY_REGION(base, stack_size(kind));
	if (base) {
		if (c)
			bump(&c->reuses, 1);
	} else {
		base = get_fresh(p, kind);
		if (base && c)
			bump(&c->maps, 1);
	}
	return base;
}

static COLD void put_slow(struct stack_cache *c, struct idle *i, unsigned kind)
{
	struct mag_pool *p = &stack_pools[kind].mag;
	uint64_t size = stack_size(kind);

	if (!stack_rationed) {
		mag_put(c ? &c->free[kind] : NULL, p, &i->node);
		return;
	}
	mag_pool_put_one(p, &i->node);
	if (fetch_add_relaxed(&stack_spare, size) + size > SPARE_MOST)
		stack_release();
}

void *stack_get(struct stack_cache *c, unsigned kind)
{
	struct mag_node *x = NULL;
	void *base;

	if (likely(c && kind < STACK_KINDS))
		x = mag_get_own(&c->free[kind]);
	if (likely(x)) {
		base = container_of(x, struct idle, node)->base;
		ASAN_UNPOISON_MEMORY_REGION(base,
					    stack_size(kind)); /* as in get_slow */
		bump(&c->reuses, 1);
	} else {
		base = get_slow(c, kind);
		if (!base)
			return NULL;
	}
	return base;
}

void stack_put_from(struct stack_cache *c, void *base, void *top, unsigned kind)
{
	char *line = (char *)top - CACHE_LINE;
	struct idle *i = (struct idle *)(void *)line;

	ASAN_UNPOISON_MEMORY_REGION(i, sizeof(*i));
	i->base = base;
	if (unlikely(!c || mem_is_scarce() || stack_rationed ||
		     !mag_put_own(&c->free[kind], &i->node)))
		put_slow(c, i, kind);
}

void stack_cache_flush(struct stack_cache *c)
{
	for (unsigned k = 0; k < STACK_KINDS; k++)
		mag_flush(&c->free[k], &stack_pools[k].mag);
}

void stack_trim(void *base, void *sp)
{
	uintptr_t from = (uintptr_t)base;
	uintptr_t to = ((uintptr_t)sp - RED_ZONE) & ~(PAGE - 1);

	if (to > from)
		sys3(SYS_madvise, from, to - from, MADV_DONTNEED);
}

struct lookup {
	uintptr_t addr;
	const struct stack_slab *slab;
};

static int in_slab(void *obj, void *arg)
{
	const struct stack_slab *d = obj;
	struct lookup *l = arg;
	/* acquire: pairs with stack_map */
	uintptr_t base = load_acquire(&d->base);

	if (!base || l->addr - base >= d->bytes)
		return 0;
	l->slab = d;
	return 1;
}

bool stack_find_guard(const void *addr, void **base, size_t *size)
{
	struct lookup l = { .addr = (uintptr_t)addr };
	uintptr_t off;

	if (load_relaxed(&guarding) == GUARD_NONE || !slab_walk(&slabs, in_slab, &l))
		return false;
	off = (l.addr - l.slab->base) % l.slab->stride;
	if (off >= stack_guard_size(l.slab->kind))
		return false;
	*base = (void *)(l.addr - off + stack_guard_size(l.slab->kind));
	*size = stack_size(l.slab->kind);
	return true;
}

/* No thread holds the lock of an unused kind, or takes it while a fork stops all that
 * could. So its pages need not be copied. */
static bool in_use(unsigned kind)
{
	return load_relaxed(&stack_pools[kind].mapped);
}

void stack_fork_lock(void)
{
	lock_acquire(&stack_pools[0].mag.lock);
	for (unsigned k = 1; k < STACK_KINDS; k++)
		if (in_use(k))
			lock_acquire_nested(&stack_pools[k].mag.lock);
	stack_index_lock();
	lock_acquire(&slabs.lock);
}

void stack_fork_unlock(void)
{
	lock_release(&slabs.lock);
	stack_index_unlock();
	for (unsigned k = 1; k < STACK_KINDS; k++)
		if (in_use(k))
			lock_release_nested(&stack_pools[k].mag.lock);
	lock_release(&stack_pools[0].mag.lock);
}

uint64_t stack_mapped(void)
{
	return load_relaxed(&stack_handed);
}

/* A slab may be gone meanwhile, or its memory be something else: no harm is done. */
static int touch_slab(void *obj, void *arg UNUSED)
{
	const struct stack_slab *s = obj;
	uintptr_t base = load_acquire(&s->base) + stack_guard_size(s->kind);

	for (unsigned i = 0; i < load_relaxed(&s->used); i++)
		sys3(SYS_madvise, base + i * s->stride, stack_size(s->kind),
		     MADV_POPULATE_WRITE);
	return 0;
}

void stack_locked_all(void)
{
	slab_walk(&slabs, touch_slab, NULL);
}
