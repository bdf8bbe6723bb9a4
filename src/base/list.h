/* SPDX-License-Identifier: Apache-2.0 */
/* Intrusive doubly linked circular list. An unlinked node points to itself. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include "base/base.h"

struct list {
	struct list *next, *prev;
};

#define LIST_INIT(l)                                                                   \
	{                                                                              \
		&(l), &(l)                                                             \
	}

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_push_back(struct list *l, struct list *n)
{
	n->prev = l->prev;
	n->next = l;
	l->prev->next = n;
	l->prev = n;
}

static inline void list_push_front(struct list *l, struct list *n)
{
	list_push_back(l->next, n);
}

static inline void list_del(struct list *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	n->next = n->prev = n;
}

static inline struct list *list_pop_front(struct list *l)
{
	struct list *n = l->next;

	if (n == l)
		return NULL;
	list_del(n);
	return n;
}

/* Appends all of src to dst; src is empty afterwards. */
static inline void list_splice_back(struct list *dst, struct list *src)
{
	if (list_empty(src))
		return;
	src->next->prev = dst->prev;
	dst->prev->next = src->next;
	src->prev->next = dst;
	dst->prev = src->prev;
	list_init(src);
}

#define list_each(pos, l)                                                              \
	for (struct list *pos = (l)->next; pos != (l); pos = pos->next)
#define list_each_safe(pos, tmp, l)                                                    \
	for (struct list *pos = (l)->next, *tmp = pos->next; pos != (l);               \
	     pos = tmp, tmp = pos->next)

#endif
