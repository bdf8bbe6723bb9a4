/* SPDX-License-Identifier: Apache-2.0 */
/* cold.c - free stacks that no thread has needed for a while give their memory back.
 *
 * A pool knows how many of its batches were not touched since the last round
 * (mag_pool_age). That many are taken out, one batch at a time. Their pages go back to
 * the kernel, and each of their stacks becomes one bit in its slab. Once all stacks of
 * a slab that were ever used are such bits, the slab is mapped anew. That frees its
 * page tables and guards too, and its stacks are as if they had never been used.
 *
 * 200,000 light threads that had ended kept 820 MB and 145 MB of page tables for ever.
 * Now 40 MB are left, which are descriptors (slab_cold.c is about those).
 *
 * This runs on the keeper, one batch at a time, and no thread waits for it: the pool's
 * lock is held for a few loads and stores, and the kernel works on stacks that no
 * thread can get meanwhile. (A batch costs some 100 us, most of it for the pages.)
 *
 * When address space is wanted (stack_release), the thread that wants it does the same
 * with all free stacks at once. A slab that is cold or was never used is then unmapped
 * instead.
 *
 * Rejected: a list through the free stacks (it keeps a page of each); an array of
 * addresses (it cannot tell when a slab is all cold, so page tables stay: 512 bytes a
 * stack). */
#include <string.h>
#include <sys/mman.h>

#include "base/os.h"
#include "base/log.h"
#include "mem/stack_impl.h"

/* All slabs by address, to find the slab of a stack. */
static struct {
	struct lock lock;
	struct stack_slab **at; /* lock */
	size_t n, room;         /* lock */
} slab_index = { LOCK_INIT(RANK_STACK_INDEX), NULL, 0, 0 };

static size_t aged[STACK_KINDS]; /* batches to give back in this round; the keeper */
static unsigned aged_kind;       /* where the round is */

void stack_index_lock(void)
{
	lock_acquire(&slab_index.lock);
}

void stack_index_unlock(void)
{
	lock_release(&slab_index.lock);
}

/* How many slabs begin at or below addr. Under the lock. */
static size_t index_below(uintptr_t addr)
{
	size_t lo = 0, hi = slab_index.n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (slab_index.at[mid]->base <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool index_grow_locked(void)
{
	size_t now = slab_index.room * sizeof(void *), want = now ? now * 2 : PAGE;
	struct stack_slab **m = os_map(want);

	if (!m)
		return false;
	if (now)
		memcpy(m, slab_index.at, now);
	os_unmap(slab_index.at, now);
	slab_index.at = m;
	slab_index.room = want / sizeof(void *);
	return true;
}

bool stack_index_add(struct stack_slab *s)
{
	bool ok;
	size_t i;

	lock_acquire(&slab_index.lock);
	ok = slab_index.n < slab_index.room || index_grow_locked();
	if (ok) {
		i = index_below(s->base);
		memmove(slab_index.at + i + 1, slab_index.at + i,
			(slab_index.n - i) * sizeof(void *));
		slab_index.at[i] = s;
		slab_index.n++;
	}
	lock_release(&slab_index.lock);
	return ok;
}

static void index_remove(const struct stack_slab *s)
{
	size_t i;

	lock_acquire(&slab_index.lock);
	i = index_below(s->base) - 1;
	memmove(slab_index.at + i, slab_index.at + i + 1,
		(--slab_index.n - i) * sizeof(void *));
	lock_release(&slab_index.lock);
}

static struct stack_slab *slab_of(const void *base)
{
	struct stack_slab *s = NULL;
	size_t i;

	lock_acquire(&slab_index.lock);
	i = index_below((uintptr_t)base);
	if (i &&
	    (uintptr_t)base - slab_index.at[i - 1]->base < slab_index.at[i - 1]->bytes)
		s = slab_index.at[i - 1];
	lock_release(&slab_index.lock);
	return s;
}

void *stack_cold_get(struct pool *p)
{
	struct stack_slab *s;
	unsigned i = 0;

	if (list_empty(&p->chilled))
		return NULL;
	s = container_of(p->chilled.next, struct stack_slab, chilled);
	while (!s->cold[i])
		i++;
	i = i * 64 + (unsigned)__builtin_ctzll(s->cold[i]);
	s->cold[i / 64] &= ~((uint64_t)1 << i % 64);
	if (!--s->ncold) {
		list_del(&s->chilled);
		bump(&p->nchilled, -1u);
	}
	return (char *)s->base + i * s->stride + stack_guard_size(s->kind);
}

void stack_cold_put(struct pool *p, struct stack_slab *s, unsigned from, unsigned n)
{
	if (!s->ncold) {
		list_push_back(&p->chilled, &s->chilled);
		bump(&p->nchilled, 1);
	}
	s->ncold += n;
	for (; n; n--, from++)
		s->cold[from / 64] |= (uint64_t)1 << from % 64;
}

/* Ascending: threads that end in the order of their creation leave neighbours. */
static void sort(char **base, unsigned n)
{
	for (unsigned i = 1; i < n; i++) {
		char *x = base[i];
		unsigned k = i;

		for (; k && base[k - 1] > x; k--)
			base[k] = base[k - 1];
		base[k] = x;
	}
}

/* Gives back the pages of all n stacks, those of neighbours in one call. Guards survive
 * MADV_DONTNEED. */
static void give_pages(char **base, unsigned n, unsigned kind)
{
	size_t size = stack_size(kind), stride = size + stack_guard_size(kind);

	for (unsigned i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && base[k] == base[k - 1] + stride; k++)
			;
		sys3(SYS_madvise, base[i], base[k - 1] + size - base[i], MADV_DONTNEED);
	}
}

static void unmap(struct pool *p, struct stack_slab *s)
{
	index_remove(s);
	stack_slab_end(p, s);
}

/* All stacks of s that were used are cold and s is in no list, so no thread can get
 * one. */
static void renew(struct pool *p, struct stack_slab *s, bool unmaps)
{
	fetch_add_relaxed(&stack_handed, -(uint64_t)s->used);
	if (unmaps) {
		unmap(p, s);
		return;
	}
	if (!stack_map(s)) { /* the old mapping may be gone already */
		index_remove(s);
		store_release(&s->base, 0);
		return;
	}
	lock_acquire(&p->mag.lock);
	s->used = 0;
	list_push_back(&p->fresh, &s->fresh);
	lock_release(&p->mag.lock);
}

/* Makes a stack of s cold. True: it was the last one. */
static bool chill(struct pool *p, struct stack_slab *s, char *base, bool unmaps)
{
	size_t i = ((uintptr_t)base - s->base) / s->stride;
	bool all;

	lock_acquire(&p->mag.lock);
	stack_cold_put(p, s, (unsigned)i, 1);
	all = s->ncold == s->used;
	if (all) {
		s->ncold = 0;
		memset(s->cold, 0, sizeof(s->cold));
		list_del(&s->chilled);
		bump(&p->nchilled, -1u);
		if (s->used < s->n)
			list_del(&s->fresh);
	}
	lock_release(&p->mag.lock);
	if (all)
		renew(p, s, unmaps);
	return all;
}

/* Gives back the stacks of a batch. Returns how many slabs became cold by that. */
static unsigned give_batch(struct pool *p, unsigned kind, struct mag_node *x,
			   bool unmaps)
{
	struct stack_slab *s[MAG_BATCH];
	char *base[MAG_BATCH];
	struct mag_node *next;
	unsigned n = 0, slabs = 0;

	for (; x; x = next) {
		next = x->next;
		base[n] = container_of(x, struct idle, node)->base;
		if (slab_of(base[n]))
			n++;
		else
			mag_pool_put_one(&p->mag, x);
	}
	if (stack_rationed)
		fetch_add_relaxed(&stack_spare, -(uint64_t)n * stack_size(kind));
	sort(base, n);
	for (unsigned i = 0; i < n; i++)
		s[i] = slab_of(base[i]);
	give_pages(base, n, kind);
	for (unsigned i = 0; i < n; i++) {
		ASAN_UNPOISON_MEMORY_REGION(base[i], stack_size(kind));
		slabs += chill(p, s[i], base[i], unmaps);
	}
	return slabs;
}

void stack_keep_begin(void)
{
	for (unsigned k = 0; k < STACK_KINDS; k++)
		if (load_relaxed(&stack_pools[k].mapped))
			aged[k] = mag_pool_age(&stack_pools[k].mag);
	aged_kind = 0;
	mem_scarce_step(MEM_GATHERING, MEM_GATHERED);
	mem_scarce_step(MEM_GATHERED, MEM_PLENTY);
}

bool stack_keep_step(void)
{
	struct mag_node *x = NULL;
	unsigned n;

	for (; aged_kind < STACK_KINDS; aged_kind++) {
		size_t *left = &aged[aged_kind];

		if (!*left)
			continue;
		x = mag_pool_get(&stack_pools[aged_kind].mag, &n);
		*left = x ? *left - 1 : 0;
		if (x) {
			give_batch(&stack_pools[aged_kind], aged_kind, x,
				   stack_rationed);
			return true;
		}
	}
	return false;
}

bool stack_keep_more(void)
{
	for (unsigned k = 0; k < STACK_KINDS; k++)
		if (load_relaxed(&stack_pools[k].mag.n))
			return true;
	return false;
}

/* ---- address space ---- */

/* Unmaps the slabs whose stacks were never used, or not since the slab was mapped
 * anew. */
static unsigned release_unused(struct pool *p)
{
	struct list gone = LIST_INIT(gone), *l;
	unsigned n = 0;

	lock_acquire(&p->mag.lock);
	if (p->fresh.next)
		list_each_safe(i, tmp, &p->fresh)
		{
			struct stack_slab *s =
			    container_of(i, struct stack_slab, fresh);

			if (s->used)
				continue;
			list_del(i);
			list_push_back(&gone, i);
		}
	lock_release(&p->mag.lock);
	for (; (l = list_pop_front(&gone)); n++)
		unmap(p, container_of(l, struct stack_slab, fresh));
	return n;
}

/* At most as many batches as there are now: stacks that are not in the index come back
 * to the pool. */
static unsigned release_free(struct pool *p, unsigned kind)
{
	size_t batches = load_relaxed(&p->mag.n);
	unsigned n, slabs = 0;
	struct mag_node *x;

	while (batches-- && (x = mag_pool_get(&p->mag, &n)))
		slabs += give_batch(p, kind, x, true);
	return slabs;
}

bool stack_release(void)
{
	unsigned slabs = 0;

	for (unsigned k = 0; k < STACK_KINDS; k++) {
		struct pool *p = &stack_pools[k];

		if (!load_relaxed(&p->mapped))
			continue;
		slabs += release_free(p, k);
		slabs += release_unused(p);
	}
	return slabs;
}

/* Unmaps the stacks of slabs in use that were never handed out. */
static void release_ahead(struct pool *p)
{
	lock_acquire(&p->mag.lock);
	if (p->fresh.next)
		list_each_safe(i, tmp, &p->fresh)
		{
			struct stack_slab *s =
			    container_of(i, struct stack_slab, fresh);
			size_t bytes = s->used * s->stride, was = s->bytes;

			if (!s->used)
				continue;
			list_del(i);
			bump(&p->mapped, -(size_t)(s->n - s->used));
			s->n = s->used;
			store_relaxed(&s->bytes, bytes);
			os_unmap((char *)s->base + bytes, was - bytes);
		}
	lock_release(&p->mag.lock);
}

void stack_lock_all(void)
{
	store_relaxed(&stack_locked, 1);
	stack_release();
	for (unsigned k = 0; k < STACK_KINDS; k++)
		if (load_relaxed(&stack_pools[k].mapped))
			release_ahead(&stack_pools[k]);
}
