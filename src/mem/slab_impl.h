/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by slab.c and slab_cold.c. */
#ifndef MEM_SLAB_IMPL_H
#define MEM_SLAB_IMPL_H

#include "mem/slab.h"

/* One mapping; never unmapped. */
struct slab_chunk {
	struct slab_chunk *next; /* written before the chunk is published */
	size_t bytes;            /* of the mapping; likewise */
	size_t used; /* bytes of objects handed out; slab's lock, walkers acquire */
	bool chilled_since;  /* the keeper: objects became cold since the last search */
	size_t ncold;        /* slab's lock, as all below: bits set in cold */
	struct list chilled; /* in the slab's list, while ncold > 0 */
	uint64_t *cold; /* a bit for each object, behind the last one: slab_cold.c */
	/* a bit for each page, behind that: given back, and no object on it handed out
	 * since */
	uint64_t *gone;
	char objs[] LINE_ALIGNED;
};

/* Under the lock. Takes a chain of up to max objects out of the list of free ones and
 * returns its length; 0: the list is empty. */
unsigned slab_take_free(struct slab *s, unsigned max, void **chain);
/* The same from the cold ones. */
unsigned slab_take_cold(struct slab *s, unsigned max, void **chain);

#endif
