/* SPDX-License-Identifier: Apache-2.0 */
/* slab.h - type-stable objects. Memory of a slab only ever has that type and is never
 * unmapped. So code may read through a stale pointer (a wait token or timer that fires
 * late), and the sequence number says that it is stale. New memory is zero. A freed
 * object keeps its contents except for the first word, which is zero when the object is
 * handed out again. In a slab that the keeper handles (slab_cold.c), a free object may
 * become zero, wholly or in part. All objects ever made can be walked. */
#ifndef MEM_SLAB_H
#define MEM_SLAB_H

#include "base/base.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/log.h"
#include "mem/scarce.h"

struct slab {
	struct lock lock;
	size_t size;               /* bytes per object, multiple of 64 */
	void *free;                /* lock */
	char *bump, *end;          /* lock */
	struct slab_chunk *chunks; /* lock to push; walkers read with acquire */
	uint64_t live;             /* lock; objects with callers or in their caches */
	size_t nfree;        /* lock; free objects in the list; racy reads allowed */
	size_t low;          /* lock; the least nfree since slab_keep_begin */
	struct list chilled; /* lock; chunks with cold objects */
	size_t ngone;        /* lock; pages given back; racy reads allowed */
	struct {
		size_t aged;              /* free objects that are to become cold */
		struct slab_chunk *at;    /* where the search for pages is */
		size_t window;            /* in that chunk */
		struct slab_chunk *found; /* chunk of the last object looked up */
	} keep;                           /* the keeper's place in its round */
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
	store_relaxed((void **)obj, next); /* a late reader of a dead object may come */
}

void *slab_get_slow(struct slab *s, struct slab_cache *c);
void slab_put_slow(struct slab *s, struct slab_cache *c, void *obj);

/* c may be NULL. Returns NULL if there is no memory. */
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
/* A walk in portions. Looks at up to max objects from the cursor on, which is all zero
 * at first, and moves it; ends early, after an object for which fn returns non-zero.
 * False: all objects that existed when the walk began have been seen. */
struct slab_cursor {
	struct slab_chunk *chunk;
	size_t off;
	bool begun;
};
bool slab_step(struct slab *s, struct slab_cursor *c, unsigned max,
	       int (*fn)(void *obj, void *arg), void *arg);
/* For the keeper, and a slab whose objects may become zero while they are free. In each
 * round it calls slab_keep_begin, then slab_keep_step until that returns false. Objects
 * that no thread has needed since the last round give their memory back, a portion in
 * each step; `last`, if not NULL, is called for each of them before. slab_keep_more:
 * another round may find something. */
void slab_keep_begin(struct slab *s);
bool slab_keep_step(struct slab *s, void (*last)(const void *obj));
bool slab_keep_more(const struct slab *s);
/* Calls fn for every object ever handed out or cached, live or not. Async-signal-safe.
 * Stops when fn returns non-zero, and returns that. */
int slab_walk(struct slab *s, int (*fn)(void *obj, void *arg), void *arg);

#endif
