/* SPDX-License-Identifier: Apache-2.0 */
/* tls.h - a real glibc thread block for every full user thread (law 2).
 *
 * A "tp" is the value of %fs: the address of glibc's struct pthread (the TCB), with the
 * static TLS of all modules below it.
 *
 *   method A (template): _dl_allocate_tls + a relocated copy of a newborn thread's
 * block method B (harvest):  a real pthread_create, its %fs captured, its kernel thread
 * gone
 *
 * tls_init chooses by a self-test; if neither works, full threads cannot be made and
 * tls_method() says "none".
 */
#ifndef THREAD_TLS_H
#define THREAD_TLS_H

#include "base/base.h"
#include "mem/magazine.h"

/* Once, before any other call, on an ordinary kernel thread. 0 or -errno. */
int tls_init(void);
const char *tls_method(void); /* "template", "harvest", "none" */
/* UK_TLS=template|harvest|none in the environment forces it (tests). */

/* Free blocks and fresh tids of one vp; owner only. */
struct tls_cache {
	struct magazine free;
	struct tid_range {
		uint64_t next, end;
	} tids;
};

#define TLS_FIRST_TID 0x400000 /* ids from here on are ours */
/* A block for a new thread whose stack is [stack, stack + size): NULL = no memory. The
 * tid in it is fresh and unique (from 0x400000 up). Reused blocks first: they are
 * re-initialised (PT_TLS of all modules but libc, also ours: write our words after
 * this; errno, locale); libc's part (malloc's cache) is kept. May be called from any
 * kernel thread or user thread. c may be NULL (a foreign thread): the shared pool is
 * used. */
void *tls_get(struct tls_cache *c, void *stack, size_t size);
/* The thread is gone for good and nobody runs on tp: pool the block. */
void tls_put(struct tls_cache *c, void *tp);
/* Will the next tls_get do without a new block? False: perhaps. */
static inline bool tls_cache_holds(const struct tls_cache *c)
{
	return c->free.head || c->free.spare;
}
void tls_cache_flush(struct tls_cache *c);
/* The keeper's round over free blocks; as slab_keep_... */
void tls_keep_begin(void);
bool tls_keep_step(void);
bool tls_keep_more(void);
extern uint64_t tls_buried;
/* Run by the exiting thread itself, %fs == its tp, as the last of its own code: C++
 * thread_local destructors, pthread key destructors, libc's thread freeres that leave
 * the block reusable. May park. */
void tls_run_destructors(void);
/* Around fork: nobody is inside the pools. In the child, after libc's own work (which
 * empties its lists, puts the caller's block into one and gives it the kernel's tid),
 * tls_fork_child puts ours back, and makes the block ours again if it is a user
 * thread's. The child must not use caches of others; their blocks are lost. */
void tls_fork_lock(void);
void tls_fork_unlock(void);
void tls_fork_child(bool user);
/* Set before any fork: the child's only thread has the id of its process, as natively. Else it keeps
 * its own, and with that the recursive locks that it holds. */
extern bool tls_child_is_process;
/* The caller's kernel thread has tp for its own from now on: libc's signals to it are to
 * reach it. */
void tls_adopt(void *tp);
/* Where the caller's initial-exec variable at addr lives in tp's block. */
void *tls_address_in(void *tp, const void *addr);
void *tls_current(void);     /* the running %fs */
int tls_tid(const void *tp); /* the synthetic tid in the block */

#endif
