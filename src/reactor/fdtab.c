/* SPDX-License-Identifier: Apache-2.0 */
/* The table of pending operations by fd: see fdtab.h. Runs on the owner (peek: any
 * thread). The only system call is mmap, once for each 1,024 fds; the first ones come
 * with the table, so that a read does not fail in a program that has used up its
 * address space (RLIMIT_AS). */
#include "reactor/fdtab.h"

#include "reactor/engine.h"

/* In one mapping. */
struct with_first {
	struct fdtab tab;
	struct fdmid mid;
	struct fdleaf leaf;
};

struct fdtab *fdtab_create(void)
{
	struct with_first *w = os_map(sizeof(*w));

	if (!w)
		return NULL;
	w->tab.mid[0] = &w->mid;
	w->mid.leaf[0] = &w->leaf;
	return &w->tab;
}

static void mid_destroy(struct fdmid *mid, bool first)
{
	for (unsigned i = first; i < FDTAB_MID; i++)
		os_unmap(mid->leaf[i], sizeof(struct fdleaf));
	if (!first)
		os_unmap(mid, sizeof(*mid));
}

void fdtab_destroy(struct fdtab *tab)
{
	if (!tab)
		return;
	for (unsigned i = 0; i < FDTAB_ROOT; i++)
		if (tab->mid[i])
			mid_destroy(tab->mid[i], i == 0);
	os_unmap(tab, sizeof(struct with_first));
}

static void leaf_reset(struct fdleaf *leaf)
{
	for (unsigned i = 0; i < FDTAB_LEAF; i++) {
		struct fdent *e = &leaf->ent[i];

		if (!e->ops.next)
			continue; /* never used: its page need not be copied */
		e->ops.next = e->ops.prev = NULL;
		e->ahead = NULL;
		store_relaxed(&e->n, 0);
		e->gen = 0;
		e->dirty = e->known = 0;
	}
}

void fdtab_reset(struct fdtab *tab)
{
	for (unsigned i = 0; i < FDTAB_ROOT; i++)
		for (unsigned j = 0; tab->mid[i] && j < FDTAB_MID; j++)
			if (tab->mid[i]->leaf[j])
				leaf_reset(tab->mid[i]->leaf[j]);
}

static struct fdent *grow(struct fdtab *tab, int fd)
{
	uint32_t u = (uint32_t)fd;
	struct fdmid **pm = &tab->mid[u / FDTAB_LEAF / FDTAB_MID];
	struct fdleaf **pl, *leaf;

	if (!*pm) {
		struct fdmid *mid = os_map(sizeof(*mid));

		if (!mid)
			return NULL;
		/* release: a thread that finds the pointer finds zeroes behind it
		 * (fdtab_find) */
		store_release(pm, mid);
	}
	pl = &(*pm)->leaf[u / FDTAB_LEAF % FDTAB_MID];
	if (!*pl) {
		leaf = os_map(sizeof(*leaf));
		if (!leaf)
			return NULL;
		store_release(pl, leaf); /* as above */
	}
	return &(*pl)->ent[u % FDTAB_LEAF];
}

/* fdtab_find for the owner, with the last result cached: often hundreds of requests in
 * a row are on one file. */
static struct fdent *find_again(struct fdtab *tab, int fd)
{
	struct fdent *e = tab->last;

	if (likely(e && tab->last_fd == fd))
		return e;
	e = fdtab_find(tab, fd);
	if (e) {
		tab->last_fd = fd;
		tab->last = e;
	}
	return e;
}

/* Add one to the count of fd's entry and return the entry. NULL: no memory. */
static struct fdent *count(struct fdtab *tab, int fd)
{
	struct fdent *e = find_again(tab, fd);

	if (unlikely(!e)) {
		e = grow(tab, fd);
		if (!e)
			return NULL;
	}
	if (unlikely(!e->ops.next))
		list_init(&e->ops);
	store_relaxed(&e->n, e->n + 1);
	return e;
}

int fdtab_count(struct fdtab *tab, const struct io_op *op)
{
	return op->fd < 0 || count(tab, op->fd) ? 0 : -ENOMEM;
}

void fdtab_uncount(struct fdtab *tab, const struct io_op *op)
{
	struct fdent *e = op->fd < 0 ? NULL : find_again(tab, op->fd);

	if (e)
		store_relaxed(&e->n, e->n - 1);
}

int fdtab_link(struct fdtab *tab, struct io_op *op)
{
	struct fdent *e;

	list_init(&op->link);
	if (op->fd < 0)
		return 0;
	e = count(tab, op->fd);
	if (unlikely(!e))
		return -ENOMEM;
	list_push_back(&e->ops, &op->link);
	return 0;
}

void fdtab_unlink(struct fdtab *tab, struct io_op *op)
{
	if (list_empty(&op->link))
		return;
	list_del(&op->link);
	fdtab_uncount(tab, op);
}

bool fdtab_peek(const struct fdtab *tab, int fd)
{
	const struct fdent *e = fdtab_find(tab, fd);

	return e && load_relaxed(&e->n) > 0;
}
