/* SPDX-License-Identifier: Apache-2.0 */
/* What slab.c and slab_cold.c share. */
#ifndef MEM_SLAB_IMPL_H
#define MEM_SLAB_IMPL_H

#include "mem/slab.h"

/* One mapping; never unmapped. */
struct slab_chunk {
	struct slab_chunk *next; /* written before the chunk is published */
	size_t bytes;            /* of the mapping; likewise */
	size_t used; /* bytes of objects handed out; slab's lock, walkers acquire */
	bool chilled_since;  /* the keeper: it has pages to look for */
	size_t ncold;        /* slab's lock, as all below: bits set in cold */
	struct list chilled; /* in the slab's list, while ncold > 0 */
	uint64_t *cold; /* behind the last object, a bit for each: slab_cold.c has it */
	uint64_t *gone; /* behind that, a bit for each page: given back, and nobody
				  has been given an object on it since */
	char objs[] LINE_ALIGNED;
};

/* Under the lock. A chain of up to max objects out of the list of free ones; 0: it is
 * empty. */
unsigned slab_take_free(struct slab *s, unsigned max, void **chain);
/* The same out of the cold ones. */
unsigned slab_take_cold(struct slab *s, unsigned max, void **chain);

#endif
