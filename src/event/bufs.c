/* SPDX-License-Identifier: Apache-2.0 */
/* bufs.c - buffers that the kernel chooses from (a ring of provided buffers, one for each
 * reactor), and what came in them and waits to be read. Whose the bytes are only the caller
 * knows (ahead.c). The owner's alone, like everything in a reactor.
 *
 *   the kernel's --a completion names it--> ours --bufs_give--> the kernel's
 *                                           ours --bufs_hold--> held --bufs_copy--> the kernel's
 *
 * Who holds is bounded by the caller; a stream for which none is left is told so by the
 * kernel (-ENOBUFS).
 */
#include "event/bufs.h"

#include <string.h>

#include "base/os.h"
#include "base/sys.h"
#include "event/uring_abi.h"

#define NONE 0xffffu
#define GROUP 0

struct uring_buf {
	uint64_t addr;
	uint32_t len;
	uint16_t bid, resv; /* resv of the first is the ring's tail */
};

struct bufs {
	struct uring_buf *ring; /* shared with the kernel: it takes, we give */
	char *mem;
	unsigned out; /* held */
	uint16_t tail;
	uint16_t next[BUFS], len[BUFS];
};

const char *bufs_data(const struct bufs *b, uint16_t id)
{
	return b->mem + (size_t)id * BUF_SIZE;
}

void bufs_give(struct bufs *b, uint16_t id)
{
	struct uring_buf *e = &b->ring[b->tail & (BUFS - 1)];

	e->addr = (uintptr_t)bufs_data(b, id);
	e->len = BUF_SIZE;
	e->bid = id;
	/* release: the kernel that sees the tail sees the entry */
	store_release(&b->ring[0].resv, ++b->tail);
}

static bool enlist(const struct bufs *b, int ring)
{
	struct uring_buf_reg reg = { .ring_addr = (uintptr_t)b->ring,
				     .ring_entries = BUFS,
				     .bgid = GROUP };

	return sys4(SYS_io_uring_register, ring, URING_REGISTER_PBUF_RING, &reg, 1) >=
	       0;
}

struct bufs *bufs_make(int ring)
{
	struct bufs *b = os_map(sizeof(*b));

	if (!b)
		return NULL;
	b->ring = os_map(BUFS * sizeof(*b->ring));
	b->mem = os_map(BUFS * BUF_SIZE);
	if (!b->ring || !b->mem || !enlist(b, ring)) {
		bufs_drop(b);
		return NULL;
	}
	for (unsigned i = 0; i < BUFS; i++)
		bufs_give(b, (uint16_t)i);
	return b;
}

void bufs_drop(struct bufs *b)
{
	if (!b)
		return;
	os_unmap(b->ring, BUFS * sizeof(*b->ring));
	os_unmap(b->mem, BUFS * BUF_SIZE);
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
