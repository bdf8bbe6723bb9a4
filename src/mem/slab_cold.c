/* SPDX-License-Identifier: Apache-2.0 */
/* slab_cold.c - free objects that no thread has needed for a while give their memory
 * back.
 *
 * A slab counts how many of its free objects were not touched since the last round.
 * That many are taken out of the list, SLAB_BATCH at a time, and each becomes one bit
 * in its chunk (cold). Then the chunks are searched, a window of 64 pages at a time: a
 * page that holds only cold objects, or parts of them, goes back to the kernel (gone).
 *
 *   in use   --slab_put-------------------> free     in the list; first word: link
 *   free     --slab_get-------------------> in use
 *   free     --the keeper, chill----------> held     no thread can get it
 *   held     --the same, a moment later---> cold     its contents are as they were
 *   cold     --the keeper, give_window----> held     all objects on the pages that go
 *   held     --the same, the pages gone---> cold     zero, wholly or in part
 *   cold     --slab_get, the list is empty--> in use
 *
 * The mapping stays, so a late reader of an object finds its last contents or zero.
 * Zero must mean "dead", as the last contents do. If that is not enough (no
 * token of a descriptor may come twice), `last` reads what is needed when an object
 * becomes cold.
 *
 * This runs on the keeper, in portions: the lock is held for a batch of objects or a
 * window, never while the kernel works.
 *
 * Rejected: to unmap chunks without any living object. A late reader would crash; and
 * one survivor keeps 2 MB: when every hundredth of 1,000,000 threads lived on, all
 * memory stayed. */
#include <string.h>
#include <sys/mman.h>

#include "base/os.h"
#include "mem/slab_impl.h"

#define CHILLS 16u  /* batches in a portion */
#define WINDOWS 32u /* searched in a portion; it ends with the first that gives pages */

static bool bit(const uint64_t *map, size_t i)
{
	return map[i / 64] >> i % 64 & 1;
}

/* Under the lock. The only place where an object becomes cold, or ceases to be. */
static void set_cold(struct slab *s, struct slab_chunk *k, size_t i, bool cold)
{
	if (bit(k->cold, i) == cold)
		return;
	k->cold[i / 64] ^= (uint64_t)1 << i % 64;
	if (cold && !k->ncold++)
		list_push_back(&s->chilled, &k->chilled);
	if (!cold && !--k->ncold)
		list_del(&k->chilled);
}

/* Pages are counted from the start of the chunk; page 0 has its header. */
static size_t page_of(const struct slab *s, size_t i, size_t byte)
{
	return (offsetof(struct slab_chunk, objs) + i * s->size + byte) / PAGE;
}

static size_t first_on(const struct slab *s, size_t page)
{
	return (page * PAGE - offsetof(struct slab_chunk, objs)) / s->size;
}

static size_t last_on(const struct slab *s, size_t page)
{
	return ((page + 1) * PAGE - 1 - offsetof(struct slab_chunk, objs)) / s->size;
}

unsigned slab_take_cold(struct slab *s, unsigned max, void **chain)
{
	struct slab_chunk *k;
	void *head = NULL;
	unsigned n = 0;
	size_t w = 0;

	if (list_empty(&s->chilled))
		return 0;
	k = container_of(s->chilled.next, struct slab_chunk, chilled);
	for (; n < max && k->ncold; n++) {
		size_t i;
		char *obj;

		while (!k->cold[w])
			w++;
		i = w * 64 + (size_t)__builtin_ctzll(k->cold[w]);
		obj = k->objs + i * s->size;
		set_cold(s, k, i, false);
		for (size_t p = page_of(s, i, 0); p <= page_of(s, i, s->size - 1);
		     p++) {
			if (bit(k->gone, p))
				bump(&s->ngone, -(size_t)1);
			k->gone[p / 64] &= ~((uint64_t)1 << p % 64);
		}
		slab_set_link(obj, head);
		head = obj;
	}
	*chain = head;
	return n;
}

/* The last chunk found is the likeliest: neighbours were freed together. */
static struct slab_chunk *chunk_of(struct slab *s, const void *obj)
{
	struct slab_chunk *k = s->keep.found;

	if (!k || (size_t)((const char *)obj - (char *)k) >= k->bytes)
		for (k = load_acquire(&s->chunks);
		     (size_t)((const char *)obj - (char *)k) >= k->bytes; k = k->next)
			;
	s->keep.found = k;
	return k;
}

/* Makes a batch of free objects cold. False: there are no more. */
static bool chill(struct slab *s, void (*last)(const void *obj))
{
	struct slab_chunk *k[SLAB_BATCH];
	void *obj[SLAB_BATCH], *chain = NULL;
	unsigned n;

	lock_acquire(&s->lock);
	n = slab_take_free(s, (unsigned)MIN(s->keep.aged, SLAB_BATCH), &chain);
	lock_release(&s->lock);
	for (unsigned i = 0; i < n; i++, chain = slab_link_of(chain)) {
		obj[i] = chain;
		k[i] = chunk_of(s, chain);
		k[i]->chilled_since = true;
		if (last)
			last(chain);
	}
	lock_acquire(&s->lock);
	for (unsigned i = 0; i < n; i++)
		set_cold(s, k[i], (size_t)((char *)obj[i] - k[i]->objs) / s->size,
			 true);
	s->live -= n;
	lock_release(&s->lock);
	s->keep.aged = n ? s->keep.aged - n : 0;
	return s->keep.aged;
}

/* Under the lock: are all objects on the page cold? */
static bool all_cold(const struct slab *s, const struct slab_chunk *k, size_t page)
{
	size_t i = first_on(s, page), last = last_on(s, page);

	if ((last + 1) * s->size > k->used)
		return false;
	while (i <= last && bit(k->cold, i))
		i++;
	return i > last;
}

/* Under the lock. The objects on the pages become held (cold is false), or cold
 * again. */
static void hold(struct slab *s, struct slab_chunk *k, size_t w, uint64_t pages,
		 bool cold)
{
	for (; pages; pages &= pages - 1) {
		size_t p = w * 64 + (size_t)__builtin_ctzll(pages);

		for (size_t i = first_on(s, p); i <= last_on(s, p); i++)
			set_cold(s, k, i, cold);
	}
}

/* Neighbouring pages in one call. */
static void give_pages(char *from, uint64_t pages)
{
	while (pages) {
		size_t i = (size_t)__builtin_ctzll(pages);
		uint64_t rest = ~(pages >> i);
		size_t n = rest ? (size_t)__builtin_ctzll(rest) : 64;

		sys3(SYS_madvise, from + i * PAGE, n * PAGE, MADV_DONTNEED);
		pages &= n < 64 ? ~((((uint64_t)1 << n) - 1) << i) : 0;
	}
}

/* True: pages of window w went back. */
static bool give_window(struct slab *s, struct slab_chunk *k, size_t w)
{
	size_t end = MIN((w + 1) * 64, k->bytes / PAGE);
	uint64_t pages = 0;

	lock_acquire(&s->lock);
	for (size_t p = MAX(w * 64, 1u); p < end; p++)
		if (!bit(k->gone, p) && all_cold(s, k, p))
			pages |= (uint64_t)1 << p % 64;
	hold(s, k, w, pages, false);
	lock_release(&s->lock);
	if (!pages)
		return false;
	give_pages((char *)k + w * 64 * PAGE, pages);
	lock_acquire(&s->lock);
	k->gone[w] |= pages;
	for (uint64_t rest = pages; rest; rest &= rest - 1)
		bump(&s->ngone, 1);
	hold(s, k, w, pages, true);
	lock_release(&s->lock);
	return true;
}

static bool give(struct slab *s)
{
	struct slab_chunk *k;

	for (unsigned looks = 0; (k = s->keep.at) && looks < WINDOWS;) {
		if (!k->chilled_since || s->keep.window * 64 * PAGE >= k->bytes) {
			k->chilled_since = false;
			s->keep.at = k->next;
			s->keep.window = 0;
			continue;
		}
		if (give_window(s, k, s->keep.window++))
			return true;
		looks++;
	}
	return k;
}

void slab_keep_begin(struct slab *s)
{
	lock_acquire(&s->lock);
	s->keep.aged = s->low;
	s->low = s->nfree;
	lock_release(&s->lock);
	s->keep.at = load_acquire(&s->chunks);
	s->keep.window = 0;
}

bool slab_keep_step(struct slab *s, void (*last)(const void *obj))
{
	if (!s->keep.aged)
		return give(s);
	for (unsigned i = 0; i < CHILLS && chill(s, last); i++)
		;
	return true;
}

bool slab_keep_more(const struct slab *s)
{
	return load_relaxed(&s->nfree);
}
