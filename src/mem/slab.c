/* SPDX-License-Identifier: Apache-2.0 */
/* Type-stable objects.
 *
 * A slab is a chain of chunks, each one mapping:
 *
 *   chunk: | next, used | obj | obj | obj | ... never used ... | cold | gone |
 *                       ^objs             ^objs + used         ^end
 *
 * The code runs on the caller's stack. The lock covers a few loads and stores, and one
 * mmap per chunk. A vp's cache trades with the shared list in batches, so that a vp
 * that only creates and another that only destroys take the lock once per SLAB_BATCH
 * objects.
 *
 * Invariant: an object's memory has that type for ever. Only the first word of a free
 * object is ours (the link). All else keeps its last contents, so a late reader of a
 * dead object finds its sequence number; or it is zero, if no thread has needed the
 * object for long (slab_cold.c).
 *
 * Rejected: magazines with O(1) exchange, as stacks have them: they need a second word
 * in the free object. */
#include "mem/slab_impl.h"

#include "base/os.h"
#include "base/log.h"

#define CHUNK_FIRST ((size_t)64 << 10)
#define CHUNK_MAX ((size_t)2 << 20)

uint32_t mem_scarce;

void slab_init(struct slab *s, size_t size)
{
	*s = (struct slab){ .size =
				(size + CACHE_LINE - 1) & ~(size_t)(CACHE_LINE - 1) };
	lock_init(&s->lock, RANK_SLAB);
	list_init(&s->chilled);
}

static bool grow_locked(struct slab *s)
{
	size_t last = s->chunks ? s->chunks->bytes : CHUNK_FIRST / 2;
	size_t bytes = last < CHUNK_MAX ? last * 2 : CHUNK_MAX, cold, gone;
	size_t least = CHUNK_FIRST;
	struct slab_chunk *k;

	while (least < 2 * (sizeof(*k) + s->size))
		least *= 2;
	/* as with stacks: where much is refused, little may be granted */
	for (bytes = MAX(bytes, least); !(k = os_map(bytes)); bytes /= 2)
		if (bytes == least) {
			mem_refused();
			return false;
		}
	cold = (bytes / s->size + 63) / 64;
	gone = (bytes / PAGE + 63) / 64;
	k->bytes = bytes;
	k->next = s->chunks;
	k->gone = (uint64_t *)(void *)((char *)k + bytes) - gone;
	k->cold = k->gone - cold;
	s->bump = k->objs;
	s->end = (char *)k->cold;
	/* release: a walker that sees the chunk sees its next (pairs with slab_walk) */
	store_release(&s->chunks, k);
	return true;
}

unsigned slab_take_free(struct slab *s, unsigned max, void **chain)
{
	void *head = s->free, *p = head;
	unsigned n;

	if (!head || !max)
		return 0;
	for (n = 1; n < max && slab_link_of(p); n++)
		p = slab_link_of(p);
	s->free = slab_link_of(p);
	slab_set_link(p, NULL);
	*chain = head;
	s->live += n;
	store_relaxed(&s->nfree, s->nfree - n);
	s->low = MIN(s->low, s->nfree);
	return n;
}

/* Takes a chain of 1 to max objects: freed ones if there are any, else cold ones, else
 * new. */
static unsigned take_locked(struct slab *s, unsigned max, void **chain)
{
	unsigned n = slab_take_free(s, max, chain);
	void *head = NULL;

	if (n)
		return n;
	n = slab_take_cold(s, max, chain);
	s->live += n;
	if (n)
		return n;
	if ((!s->bump || s->bump + s->size > s->end) && !grow_locked(s))
		return 0;
	for (; n < max && s->bump + s->size <= s->end; n++, s->bump += s->size) {
		slab_set_link(s->bump, head);
		head = s->bump;
	}
	/* release: pairs with slab_walk; all but the links is still zero */
	store_release(&s->chunks->used, (size_t)(s->bump - s->chunks->objs));
	*chain = head;
	s->live += n;
	return n;
}

COLD void *slab_get_slow(struct slab *s, struct slab_cache *c)
{
	void *obj;
	unsigned n;

	lock_acquire(&s->lock);
	n = take_locked(s, c && !mem_is_scarce() ? SLAB_BATCH : 1, &obj);
	lock_release(&s->lock);
	if (!n)
		return NULL;
	if (c) {
		c->head = slab_link_of(obj);
		c->n = n - 1;
	}
	slab_set_link(obj, NULL);
	return obj;
}

/* Hands the first n objects of the cache to the shared list. */
static void give(struct slab *s, struct slab_cache *c, unsigned n)
{
	void *head = c->head, *last = head;

	for (unsigned i = 1; i < n; i++)
		last = slab_link_of(last);
	c->head = slab_link_of(last);
	c->n -= n;
	lock_acquire(&s->lock);
	slab_set_link(last, s->free);
	s->free = head;
	s->live -= n;
	store_relaxed(&s->nfree, s->nfree + n);
	lock_release(&s->lock);
}

COLD void slab_put_slow(struct slab *s, struct slab_cache *c, void *obj)
{
	struct slab_cache one = { .head = obj, .n = 1 };

	if (!c) {
		slab_set_link(obj, NULL);
		give(s, &one, 1);
	} else {
		give(s, c, SLAB_BATCH);
	}
}

void slab_cache_flush(struct slab *s, struct slab_cache *c)
{
	if (c->n)
		give(s, c, c->n);
}

int slab_walk(struct slab *s, int (*fn)(void *obj, void *arg), void *arg)
{
	/* acquire: pairs with grow_locked */
	for (struct slab_chunk *k = load_acquire(&s->chunks); k; k = k->next) {
		/* acquire: pairs with take_locked */
		size_t used = load_acquire(&k->used);

		for (size_t off = 0; off < used; off += s->size) {
			int ret = fn(k->objs + off, arg);

			if (ret)
				return ret;
		}
	}
	return 0;
}

bool slab_step(struct slab *s, struct slab_cursor *c, unsigned max,
	       int (*fn)(void *obj, void *arg), void *arg)
{
	if (!c->begun) {
		*c = (struct slab_cursor){ load_acquire(&s->chunks), 0, true };
	}
	while (c->chunk) {
		size_t used = load_acquire(&c->chunk->used); /* as in slab_walk */

		while (c->off < used) {
			void *obj = c->chunk->objs + c->off;

			c->off += s->size;
			if (fn(obj, arg) || !--max)
				return true;
		}
		c->chunk = c->chunk->next;
		c->off = 0;
	}
	return false;
}
