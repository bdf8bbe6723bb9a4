/* SPDX-License-Identifier: Apache-2.0 */
/* bufs.c - buffers that the kernel chooses from (a ring of provided buffers, one for
 * each reactor), and the bytes in them that wait to be read. Only the caller (ahead.c)
 * knows to which stream bytes belong. Like everything in a reactor, touched by the
 * owner only.
 *
 *   kernel's --in a completion--> ours --bufs_give--> kernel's
 *                                 ours --bufs_hold--> held --bufs_copy--> kernel's
 *
 * The caller limits how many buffers a stream holds. If the kernel finds no buffer for
 * a stream, it completes the receive with -ENOBUFS; then more are added, up to
 * BUFS_MOST. Buffers in completions that are not taken yet are in use, too: if ten
 * thousand connections send at one moment, each has one. The kernel takes the buffers
 * in turn, so all of them are touched in time; therefore there are few at first.
 *
 * Rejected: large buffers consumed piece by piece (IOU_PBUF_RING_INC: no gain with
 * 10,000 connections).
 */
#include "reactor/bufs.h"

#include <string.h>

#include "base/os.h"
#include "base/sys.h"
#include "reactor/uring_abi.h"

#define NONE 0xffffu
#define GROUP 0
/* the extra line keeps the buffers' first lines from falling into one cache set */
#define BUF_STRIDE (BUF_SIZE + CACHE_LINE)

struct uring_buf {
	uint64_t addr;
	uint32_t len;
	uint16_t bid, resv; /* resv of the first is the ring's tail */
};

struct bufs {
	/* shared with the kernel, which takes from it; we add */
	struct uring_buf *ring;
	char *mem;
	unsigned out; /* number of held buffers */
	unsigned n;   /* buffers in existence, at most BUFS_MOST */
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
	/* release: a kernel that sees the tail sees the entry */
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

/* Give the first held buffer back. */
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
