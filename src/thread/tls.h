/* SPDX-License-Identifier: Apache-2.0 */
/* tls.h - a real glibc thread block for every full user thread (law 2,
 * docs/ARCHITECTURE.md).
 *
 * A "tp" is the value of %fs: the address of glibc's struct pthread (the TCB), with the
 * static TLS of all modules below it.
 *
 *   A (template): _dl_allocate_tls, and a relocated copy of a newborn thread's block
 *   B (harvest):  a real pthread_create, its %fs captured, its kernel thread gone
 *
 * tls_init chooses the method by a self-test. If neither works, full threads cannot be
 * made and tls_method() returns "none". */
#ifndef THREAD_TLS_H
#define THREAD_TLS_H

#include "base/base.h"
#include "mem/magazine.h"

/* Once, before any other call, on an ordinary kernel thread. 0 or -errno. */
int tls_init(void);
const char *tls_method(void); /* "template", "harvest", "none" */
/* UK_DEBUG=tls=template|harvest|none forces it (tests). */

/* Free blocks and fresh tids of one vp; owner only. */
struct tls_cache {
	struct magazine free;
	struct tid_range {
		uint64_t next, end;
	} tids;
};

#define TLS_FIRST_TID 0x400000 /* our ids begin here */
/* A block for a new thread whose stack is [stack, stack + size); NULL = no memory. The
 * tid in it is fresh and unique (from 0x400000 up). Pooled blocks are used first. They
 * are re-initialised: TLS of all modules but libc (ours too, so write our words after
 * this), errno, locale. libc's part (malloc's cache) is kept. May be called from any
 * kernel thread or user thread. c may be NULL (a foreign thread): the shared pool is
 * used. */
void *tls_get(struct tls_cache *c, void *stack, size_t size);
/* Pools the block of a thread that has ended; nothing runs on tp any more. */
void tls_put(struct tls_cache *c, void *tp);
/* True: the next tls_get needs no new block. False: it may need one. */
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
/* Run by the exiting thread itself, with %fs == its tp, as the last of its own code:
 * C++ thread_local destructors, pthread key destructors, the pending message of dlerror
 * (tls_exit.c). May park. */
void tls_run_destructors(void);
/* Around fork: no thread is inside the pools. In the child libc first empties its
 * lists, puts the caller's block into one of them and gives it the kernel's tid. Then
 * tls_fork_child puts our blocks back, and makes the caller's block ours again if it is
 * a user thread's. The child must not use the caches of others; their blocks are
 * lost. */
void tls_fork_lock(void);
void tls_fork_unlock(void);
void tls_fork_child(bool user);
/* Set before any fork. True: the child's only thread has the id of its process, as
 * natively. False: it keeps its own id, and with that the recursive locks that it
 * holds. */
extern bool tls_child_is_process;
/* The caller's kernel thread keeps tp as its own from now on, so libc's signals to it
 * must reach it. */
void tls_adopt(void *tp);
/* The address in tp's block of the caller's initial-exec variable at addr. */
void *tls_address_in(void *tp, const void *addr);
/* The caller's mallocs take libc's main arena, if that is known, and make none, which is
 * 64 MiB of address space. False: it has an arena already. If it ends, it calls the
 * second one before. */
bool tls_use_main_arena(void);
void tls_leave_main_arena(void);
void *tls_current(void);     /* the running %fs */
int tls_tid(const void *tp); /* the synthetic tid in the block */

#endif
