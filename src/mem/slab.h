/* SPDX-License-Identifier: Apache-2.0 */
/* slab.h - type-stable objects: memory of one slab is only ever that type, never
 * unmapped, so a stale pointer may be looked at (a wait token or timer that fires late)
 * and tells by its sequence number that it is stale. New memory is zero; freed objects
 * keep their contents but for the first word, which is zero when the object is handed
 * out again, or, where the slab is kept (slab_cold.c), become zero wholly or in part. All
 * objects ever made can be walked. */
#ifndef MEM_SLAB_H
#define MEM_SLAB_H

#include "base/base.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/panic.h"
#include "mem/scarce.h"

struct slab {
	struct lock lock;
	size_t size;               /* bytes per object, multiple of 64 */
	void *free;                /* lock */
	char *bump, *end;          /* lock */
	struct slab_chunk *chunks; /* lock to push; walkers read with acquire */
	uint64_t live;             /* lock; objects with callers or in their caches */
	size_t nfree;        /* lock; in the list of free ones; a racy look may do */
	size_t low;          /* lock; the least nfree since slab_keep_begin */
	struct list chilled; /* lock; chunks with cold objects */
	size_t ngone;        /* lock; pages given back; a racy look may do */
	struct {
		size_t aged;              /* free objects that are to become cold */
		struct slab_chunk *at;    /* where the search for pages is */
		size_t window;            /* of it */
		struct slab_chunk *found; /* the last object's */
	} keep;                           /* the keeper, where it is in its round */
};

/* Free objects of one vp; owner only. */
struct slab_cache {
	void *head;
	unsigned n;
};

void slab_init(struct slab *s, size_t size);
#define SLAB_BATCH 32u /* objects that a cache trades with the shared list at a time */

static inline void *slab_link_of(const void *obj)
{
	return *(void *const *)obj;
}

static inline void slab_set_link(void *obj, void *next)
{
	store_relaxed((void **)obj, next); /* a late look at a dead object may come */
}

void *slab_get_slow(struct slab *s, struct slab_cache *c);
void slab_put_slow(struct slab *s, struct slab_cache *c, void *obj);

/* c may be NULL; NULL: no memory */
static inline void *slab_get(struct slab *s, struct slab_cache *c)
{
	void *obj;

	if (unlikely(!c || !c->head))
		return slab_get_slow(s, c);
	obj = c->head;
	c->head = slab_link_of(obj);
	c->n--;
	slab_set_link(obj, NULL);
	return obj;
}

static inline void slab_put(struct slab *s, struct slab_cache *c, void *obj)
{
	if (mem_is_scarce())
		c = NULL;
	if (likely(c)) {
		dbg_assert(c->head != obj);
		slab_set_link(obj, c->head);
		c->head = obj;
		if (likely(++c->n < 2 * SLAB_BATCH))
			return;
	}
	slab_put_slow(s, c, obj);
}

void slab_cache_flush(struct slab *s, struct slab_cache *c);
/* A walk in portions: looks at up to max objects from the cursor on, one that is all zero at
 * first, and moves it; ends earlier, after that object, where fn returns non-zero. False:
 * all that were there when the walk began have been seen. */
struct slab_cursor {
	struct slab_chunk *chunk;
	size_t off;
	bool begun;
};
bool slab_step(struct slab *s, struct slab_cursor *c, unsigned max,
	       int (*fn)(void *obj, void *arg), void *arg);
/* The keeper, for a slab whose objects may become zero while they are free: in each round
 * begin, then steps while there is something to do. What nobody has needed since the last
 * round gives its memory back, a portion in each step. last, if any, is called for each object
 * before. More: another round may find something. */
void slab_keep_begin(struct slab *s);
bool slab_keep_step(struct slab *s, void (*last)(const void *obj));
bool slab_keep_more(const struct slab *s);
/* Every object ever handed out or cached, live or not; async-signal-safe. Stops when fn
 * returns non-zero and returns that. */
int slab_walk(struct slab *s, int (*fn)(void *obj, void *arg), void *arg);

#endif
