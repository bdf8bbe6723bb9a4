/* SPDX-License-Identifier: Apache-2.0 */
/* tls_block.h - our part of a block, one cache line below the static TLS:
 *
 *   low                                                      high
 *   | struct tls_block | surplus, TLS of all modules | struct pthread |
 *                      ^tp - glibc.below             ^tp                */
#ifndef THREAD_TLS_BLOCK_H
#define THREAD_TLS_BLOCK_H

#include <locale.h>

#include "base/list.h"
#include "mem/magazine.h"
#include "mem/slab.h"
#include "thread/glibc.h"
#include "thread/tls.h"

struct tls_block {
	void *mem; /* the memory it was made in; the slab's link while that is free */
	struct mag_node node;
	struct list all; /* tls_pool's lock */
	uint32_t live;   /* handed out; written by tls_get and tls_put */
	uint32_t tid;    /* set by tls_get; libc's own word for it is changed by fork */
	uint32_t forks;  /* tls_forks when it was made; constant */
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

/* setlocale may have been called since the block was last used. */
static inline void tls_renew_locale(void *tp)
{
	const struct __locale_struct *l = glibc.global_locale;

	if (glibc.locale == NOWHERE)
		return;
	glibc_set_word(tp, glibc.locale, l);
	glibc_set_word(tp, glibc.ctype_b, l->__ctype_b);
	glibc_set_word(tp, glibc.ctype_lower, l->__ctype_tolower);
	glibc_set_word(tp, glibc.ctype_upper, l->__ctype_toupper);
}

extern uint32_t tls_forks;       /* forks that led to this process; a child raises it */
extern struct mag_pool tls_pool; /* free blocks */
extern struct slab tls_blocks;   /* memory of method A's blocks */
bool tls_are_templates(void);    /* the method is A */
/* Into and out of the list of all blocks. */
void tls_remember(struct tls_block *b);
void tls_forget(struct tls_block *b);

/* A new block, not yet renewed; NULL = no memory. */
void *template_make(void);
void *harvest_make(void);
int template_init(void); /* can A work at all? 0 or -errno */
int harvest_init(void);
/* Copies the part of a block that comes from the newborn thread: struct pthread except
 * the DTV, and libc's TLS. */
void template_copy(void *tp);

/* Blocks in libc's list of threads (tls_list.c). */
int threads_list_init(void); /* 0 or -errno */
void threads_list_add(void *tp);
void threads_list_remove(void *tp); /* a walker may still be at it */
void threads_list_fork_child(
    void *mine); /* mine: the caller's block if it is ours, or NULL */
void threads_list_fork_lock(void);
void threads_list_fork_unlock(void);

void template_fork_lock(void);
void template_fork_unlock(void);

/* Fresh tids (tid.c). */
uint32_t tid_fresh(struct tid_range *r); /* r may be NULL */
void tid_fork_lock(void);
void tid_fork_unlock(void);
void tid_fork_child(void);

#endif
