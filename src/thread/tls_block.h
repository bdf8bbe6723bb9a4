/* SPDX-License-Identifier: Apache-2.0 */
/* tls_block.h - our part of a block, one line under the static TLS:
 *
 *   low                                                      high
 *   | struct tls_block | surplus, TLS of all modules | struct pthread |
 *                      ^tp - glibc.below             ^tp                */
#ifndef THREAD_TLS_BLOCK_H
#define THREAD_TLS_BLOCK_H

#include "mem/magazine.h"
#include "thread/glibc.h"
#include "thread/tls.h"

struct tls_block {
	void *slab; /* the slab's link, while the block is made */
	struct mag_node node;
	struct tls_block
	    *all;      /* the next of all blocks; written before it is published */
	uint32_t live; /* handed out; tls_get and tls_put */
	uint32_t tid;  /* tls_get; libc's own word for it is changed by fork */
};

#define TLS_HEAD ((size_t)CACHE_LINE)
_Static_assert(sizeof(struct tls_block) <= CACHE_LINE, "one line");

static inline struct tls_block *tls_block_of(void *tp)
{
	return (struct tls_block *)(void *)((char *)tp - glibc.below - TLS_HEAD);
}

static inline void *tls_tp_of(struct tls_block *b)
{
	return (char *)b + TLS_HEAD + glibc.below;
}

/* A new block, not yet renewed; NULL = no memory. */
void *template_make(void);
void *harvest_make(void);
int template_init(void); /* may A work at all? 0 or -errno */
int harvest_init(void);
/* The part of a block that follows from the newborn's copy: pd but for the DTV, libc's
 * TLS. */
void template_copy(void *tp);

/* Blocks in libc's list of threads (tls_list.c). */
int list_init(void); /* 0 or -errno */
void list_add(void *tp);
void list_fork_child(void *mine); /* mine: the caller's block if it is ours, or NULL */
void list_fork_lock(void);
void list_fork_unlock(void);

void template_fork_lock(void);
void template_fork_unlock(void);

/* Fresh tids (tid.c). */
uint32_t tid_fresh(struct tid_range *r); /* r may be NULL */
void tid_fork_lock(void);
void tid_fork_unlock(void);

#endif
