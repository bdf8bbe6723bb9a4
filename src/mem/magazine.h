/* SPDX-License-Identifier: Apache-2.0 */
/* magazine.h - free lists that trade in batches. A cache (one owner, no lock) holds one
 * batch that fills and drains, and at most one full spare batch. The pool (with a lock)
 * is a LIFO of batches.
 *
 *   cache: head -> node -> node     spare -> node -> ... (MAG_BATCH of them)
 *   pool:  batches -> node -> ...   (node->batch) -> node -> ...
 *
 * A trade is O(1) under the lock and touches one node. Because of the spare, an owner
 * that gets and puts at the edge of a batch does not trade each time. The last node put
 * is the first one got, in a cache as in the pool. */
#ifndef MEM_MAGAZINE_H
#define MEM_MAGAZINE_H

#include "base/base.h"
#include "base/lock.h"
#include "mem/scarce.h"

#define MAG_BATCH 64

/* Lies in the free object itself. */
struct mag_node {
	struct mag_node *next; /* of the same batch */
	struct mag_node
	    *batch; /* in the first node of a pooled batch: the next batch */
	size_t n;   /* likewise: nodes in this batch */
};

struct magazine {
	struct mag_node *head, *spare; /* spare: NULL or a full batch */
	unsigned n;                    /* nodes behind head */
};

struct mag_pool {
	struct lock lock;
	struct mag_node *batches; /* lock; a racy read may say "empty" */
	size_t n;                 /* lock; batches */
	size_t low;               /* lock; the least n since mag_pool_age */
};

/* Under the lock. */
static inline void mag_pool_more(struct mag_pool *p)
{
	store_relaxed(&p->n, p->n + 1);
}

static inline void mag_pool_less(struct mag_pool *p)
{
	store_relaxed(&p->n, p->n - 1);
	if (p->n < p->low)
		p->low = p->n;
}

/* How many batches no thread has needed since the last call. */
static inline size_t mag_pool_age(struct mag_pool *p)
{
	size_t old;

	lock_acquire(&p->lock);
	old = p->low;
	p->low = p->n;
	lock_release(&p->lock);
	return old;
}

static inline void mag_pool_put(struct mag_pool *p, struct mag_node *head, size_t n)
{
	lock_acquire(&p->lock);
	head->n = n;
	head->batch = p->batches;
	store_relaxed(&p->batches, head);
	mag_pool_more(p);
	lock_release(&p->lock);
}

/* The latest batch; *n is its size. */
static inline struct mag_node *mag_pool_get(struct mag_pool *p, unsigned *n)
{
	struct mag_node *head;

	if (!load_relaxed(&p->batches))
		return NULL;
	lock_acquire(&p->lock);
	head = p->batches;
	if (head) {
		store_relaxed(&p->batches, head->batch);
		mag_pool_less(p);
		*n = (unsigned)head->n;
	}
	lock_release(&p->lock);
	return head;
}

/* For a caller without a cache: adds x to the latest batch, if that is not full. */
static inline void mag_pool_put_one(struct mag_pool *p, struct mag_node *x)
{
	struct mag_node *top;

	lock_acquire(&p->lock);
	top = p->batches;
	if (top && top->n < MAG_BATCH) {
		*x = (struct mag_node){ top, top->batch, top->n + 1 };
	} else {
		*x = (struct mag_node){ NULL, top, 1 };
		mag_pool_more(p);
	}
	store_relaxed(&p->batches, x);
	lock_release(&p->lock);
}

static inline struct mag_node *mag_pool_get_one(struct mag_pool *p)
{
	struct mag_node *x;

	if (!load_relaxed(&p->batches))
		return NULL;
	lock_acquire(&p->lock);
	x = p->batches;
	if (x && x->next) {
		x->next->batch = x->batch;
		x->next->n = x->n - 1;
		store_relaxed(&p->batches, x->next);
	} else if (x) {
		store_relaxed(&p->batches, x->batch);
		mag_pool_less(p);
	}
	lock_release(&p->lock);
	return x;
}

/* From the current batch, unless it is empty. */
static inline struct mag_node *mag_get_own(struct magazine *m)
{
	struct mag_node *x = m->head;

	if (likely(x)) {
		m->head = x->next;
		m->n--;
	}
	return x;
}

/* NULL: cache and pool are empty. m may be NULL. */
static inline struct mag_node *mag_get(struct magazine *m, struct mag_pool *p)
{
	if (!m)
		return mag_pool_get_one(p);
	if (unlikely(!m->head)) {
		if (m->spare) {
			m->head = m->spare;
			m->spare = NULL;
			m->n = MAG_BATCH;
		} else if (mem_is_scarce()) {
			return mag_pool_get_one(p);
		} else {
			m->head = mag_pool_get(p, &m->n);
			if (!m->head)
				return NULL;
		}
	}
	return mag_get_own(m);
}

/* To the current batch. False: it is full. */
static inline bool mag_put_own(struct magazine *m, struct mag_node *x)
{
	if (unlikely(m->n == MAG_BATCH))
		return false;
	x->next = m->head;
	m->head = x;
	m->n++;
	return true;
}

static inline void mag_put(struct magazine *m, struct mag_pool *p, struct mag_node *x)
{
	if (!m || mem_is_scarce()) {
		mag_pool_put_one(p, x);
		return;
	}
	if (unlikely(m->n == MAG_BATCH)) {
		if (m->spare)
			mag_pool_put(p, m->spare, MAG_BATCH);
		m->spare = m->head;
		m->head = NULL;
		m->n = 0;
	}
	mag_put_own(m, x);
}

static inline void mag_flush(struct magazine *m, struct mag_pool *p)
{
	if (m->spare)
		mag_pool_put(p, m->spare, MAG_BATCH);
	if (m->head)
		mag_pool_put(p, m->head, m->n);
	*m = (struct magazine){ 0 };
}

#endif
