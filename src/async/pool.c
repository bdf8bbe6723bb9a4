/* SPDX-License-Identifier: Apache-2.0 */
/* Pools of buffers, see pool.h. A pool is a stack without a lock, so that a dispatcher,
 * a signal handler and a child of a fork may use it. The count in its head
 * distinguishes a buffer that was taken and put back meanwhile from one that has
 * stayed. */
#include "async/pool.h"

#include <errno.h>
#include <stdlib.h>

#define COUNT_ONE (UINT64_C(1) << 32)
#define MOST (1u << 24)

int uk_buf_pool_create(uk_buf_pool **out, unsigned n, size_t size)
{
	size_t each = (size + CACHE_LINE - 1) & ~(size_t)(CACHE_LINE - 1), bytes;
	struct uk_buf_pool *p;

	if (!out || !n || n > MOST || !size || each < size ||
	    __builtin_mul_overflow(each, (size_t)n, &bytes))
		return -EINVAL;
	p = malloc(sizeof(*p) + n * sizeof(p->next[0]));
	if (!p)
		return -ENOMEM;
	*p = (struct uk_buf_pool){ .size = size,
				   .each = each,
				   .mem = aligned_alloc(CACHE_LINE, bytes),
				   .head = 1 };
	if (!p->mem) {
		free(p);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++)
		p->next[i] = i + 1 < n ? i + 2 : 0;
	*out = p;
	return 0;
}

void uk_buf_pool_destroy(uk_buf_pool *p)
{
	if (!p)
		return;
	free(p->mem);
	free(p);
}

void *uk_buf_get(uk_buf_pool *p)
{
	uint64_t head = load_acquire(&p->head), rest;
	uint32_t first;

	do {
		first = (uint32_t)head;
		if (!first)
			return NULL;
		rest = load_relaxed(&p->next[first - 1]); /* stale: the CAS fails */
	} while (
	    !cas_acq_rel(&p->head, &head, ((head & -COUNT_ONE) + COUNT_ONE) | rest));
	return p->mem + (first - 1) * p->each;
}

void uk_buf_put(uk_buf_pool *p, void *buf)
{
	uint32_t i = (uint32_t)((size_t)((char *)buf - p->mem) / p->each);
	uint64_t head = load_acquire(&p->head);

	if (!buf)
		return;
	do
		store_relaxed(&p->next[i], (uint32_t)head);
	while (!cas_acq_rel(&p->head, &head, (head & -COUNT_ONE) | (i + 1)));
}
