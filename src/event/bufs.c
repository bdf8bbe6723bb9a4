/* SPDX-License-Identifier: Apache-2.0 */
/* bufs.c - buffers that the kernel chooses from (a ring of provided buffers, one for each
 * reactor), and what came in them and waits to be read. Whose the bytes are only the caller
 * knows (ahead.c). The owner's alone, like everything in a reactor.
 *
 *   the kernel's --a completion names it--> ours --bufs_give--> the kernel's
 *                                           ours --bufs_hold--> held --bufs_copy--> the kernel's
 *
 * Who holds is bounded by the caller; a stream for which none is left is told so by the
 * kernel (-ENOBUFS), and then there are more, up to BUFS_MOST. Completions that nobody has taken
 * yet have buffers, too: of ten thousand connections that send at one moment each has one.
 * They are taken in turn and so are all touched in time; hence not many from the beginning.
 */
#include "event/bufs.h"

#include <string.h>

#include "base/os.h"
#include "base/sys.h"
#include "event/uring_abi.h"

#define NONE 0xffffu
#define GROUP 0
#define BUF_STRIDE                                                                     \
	(BUF_SIZE + CACHE_LINE) /* that their first lines are not of one cache set */

struct uring_buf {
	uint64_t addr;
	uint32_t len;
	uint16_t bid, resv; /* resv of the first is the ring's tail */
};

struct bufs {
	struct uring_buf *ring; /* shared with the kernel: it takes, we give */
	char *mem;
	unsigned out; /* held */
	unsigned n;   /* there are so many, of BUFS_MOST */
	uint16_t tail;
	uint16_t next[BUFS_MOST], len[BUFS_MOST];
};

const char *bufs_data(const struct bufs *b, uint16_t id)
{
	return b->mem + (size_t)id * BUF_STRIDE;
}

void bufs_give(struct bufs *b, uint16_t id)
{
	struct uring_buf *e = &b->ring[b->tail & (BUFS_MOST - 1)];

	e->addr = (uintptr_t)bufs_data(b, id);
	e->len = BUF_SIZE;
	e->bid = id;
	/* release: the kernel that sees the tail sees the entry */
	store_release(&b->ring[0].resv, ++b->tail);
}

static bool enlist(const struct bufs *b, int ring)
{
	struct uring_buf_reg reg = { .ring_addr = (uintptr_t)b->ring,
				     .ring_entries = BUFS_MOST,
				     .bgid = GROUP };

	return sys4(SYS_io_uring_register, ring, URING_REGISTER_PBUF_RING, &reg, 1) >=
	       0;
}

struct bufs *bufs_make(int ring)
{
	struct bufs *b = os_map(sizeof(*b));

	if (!b)
		return NULL;
	b->ring = os_map(BUFS_MOST * sizeof(*b->ring));
	b->mem = os_map(BUFS_MOST * BUF_STRIDE);
	if (!b->ring || !b->mem || !enlist(b, ring)) {
		bufs_drop(b);
		return NULL;
	}
	bufs_more(b);
	return b;
}

bool bufs_more(struct bufs *b)
{
	unsigned end = b->n + BUFS;

	if (b->n == BUFS_MOST)
		return false;
	while (b->n < end)
		bufs_give(b, (uint16_t)b->n++);
	return true;
}

void bufs_drop(struct bufs *b)
{
	if (!b)
		return;
	os_unmap(b->ring, BUFS_MOST * sizeof(*b->ring));
	os_unmap(b->mem, BUFS_MOST * BUF_STRIDE);
	os_unmap(b, sizeof(*b));
}

void bufs_hold(struct bufs *b, struct held *h, uint16_t id, uint16_t n, uint16_t off)
{
	b->len[id] = n;
	b->next[id] = NONE;
	b->out++;
	if (h->n++) {
		b->next[h->last] = id;
	} else {
		h->first = id;
		h->off = off;
	}
	h->last = id;
}

/* The first one goes back. */
static void let_go(struct bufs *b, struct held *h)
{
	uint16_t id = h->first;

	h->first = b->next[id];
	h->off = 0;
	h->n--;
	b->out--;
	bufs_give(b, id);
}

uint32_t bufs_copy(struct bufs *b, struct held *h, char *to, uint32_t len)
{
	uint32_t n = 0;

	while (h->n && n < len) {
		uint32_t k = MIN(len - n, (uint32_t)(b->len[h->first] - h->off));

		memcpy(to + n, bufs_data(b, h->first) + h->off, k);
		n += k;
		h->off = (uint16_t)(h->off + k);
		if (h->off == b->len[h->first])
			let_go(b, h);
	}
	return n;
}

void bufs_forget(struct bufs *b, struct held *h)
{
	while (h->n)
		let_go(b, h);
}

unsigned bufs_out(const struct bufs *b)
{
	return b->out;
}

unsigned bufs_all(const struct bufs *b)
{
	return b->n;
}
