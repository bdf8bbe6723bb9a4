/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - buffers of one size, which the next receive takes. */
#ifndef ASYNC_POOL_H
#define ASYNC_POOL_H

#include "base/base.h"
#include "uk/async.h"

struct uk_buf_pool {
	size_t size, each; /* as asked for; the distance between buffers */
	char *mem;         /* all of them */
	uint64_t head;     /* the first free one + 1, | how often one was taken << 32 */
	uint32_t
	    next[]; /* of a free one: the next + 1; its holder writes, takers read */
};

#endif
