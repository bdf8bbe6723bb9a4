/* SPDX-License-Identifier: Apache-2.0 */
/* glibc.h - what we know of the C library's private thread block. All of it is found
 * out and checked at run time (glibc.c), nothing is compiled in.
 *
 *   low                                              high
 *   | surplus | TLS of modules ... | libc's TLS | struct pthread |     (x86-64)
 *   ^tp - below                                 ^tp == pd        ^tp + above
 *
 *   | struct pthread | TCB | TLS of modules ... | surplus |             (aarch64)
 *   ^pd, tp - below  ^tp                                  ^tp + above
 */
#ifndef THREAD_GLIBC_H
#define THREAD_GLIBC_H

#include <pthread.h>

#include "base/base.h"

#define NOWHERE PTRDIFF_MIN
#define RELOCS_MAX 32
#define HELD_MAX 8

struct glibc {
	/* libc's own functions, not those that interpose them (ours, for example) */
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	int (*join)(pthread_t, void **);
	int (*key_create)(pthread_key_t *, void (*)(void *));
	int (*key_delete)(pthread_key_t);
	int (*setspecific)(pthread_key_t, const void *);
	void *(*getspecific)(pthread_key_t);
	int (*getattr_np)(pthread_t, pthread_attr_t *);
	/* ld.so: DTV and initial images; NULL: no method A */
	void *(*allocate_tls)(void *);
	void (*deallocate_tls)(void *tp, bool memory); /* frees the DTV; may be NULL */
	void (*call_tls_dtors)(void);                  /* may be NULL */

	/* the block */
	size_t below, above; /* bytes on both sides of tp */
	size_t align, pd_size;
	ptrdiff_t pd; /* struct pthread - tp */
	/* offsets from tp, NOWHERE = unknown */
	ptrdiff_t tid, list, dtv, cancel, start, stackblock, policy, priority;
	ptrdiff_t specific, first_block, specific_used;
	ptrdiff_t err, herr, locale, ctype_b, ctype_lower, ctype_upper, rseq;
	/* words of struct pthread that libc fills when one of its services is first
	 * called, and frees at the thread's end */
	ptrdiff_t held[HELD_MAX];
	unsigned nheld;
	ptrdiff_t libc_tls; /* libc's TLS */
	size_t libc_tls_size;
	char *data; /* libc's variables */
	size_t data_bytes;
	/* malloc's word in it: the arena of the thread; NOWHERE = unknown */
	ptrdiff_t arena;
	void *main_arena; /* NULL = unknown, also where there are only light threads */
	/* thread-specific data */
	size_t nlevel1, nlevel2, data_size, data_seq, data_ptr;
	struct link
	    *user_list; /* libc's list of threads on stacks of their own; or NULL */
	char *keys;     /* libc's table of keys */
	size_t key_size, key_seq, key_destr;
	void *global_locale;
	/* loader */
	void **slotinfo; /* &GL(dl_tls_dtv_slotinfo_list) or NULL */
	size_t slot_len, slot_next, slot_first, slot_size, slot_gen, slot_map;
	size_t map_modid, map_offset;
	void *libc_map; /* its link map */

	/* a newborn thread's block as it was, from tp - below to tp + above */
	char *snap;
	char *snap_tp;                /* where its tp was */
	ptrdiff_t relocs[RELOCS_MAX]; /* words that point into the block, from tp */
	unsigned nrelocs;
	ptrdiff_t reset, reset_end; /* the part of pd that recycling copies again */
	unsigned reset_relocs, reset_relocs_end; /* relocs in it */
};

extern struct glibc glibc;

/* Fills all of it by means of a template thread, which is gone when this returns. 0 or
 * -errno. */
int glibc_learn(void);
/* Runs fn(arg) in a new thread of libc's own, all signals blocked. 0 or -errno. */
int glibc_run(void *(*fn)(void *), void *arg, void *stack, size_t size, pthread_t *out);

static inline void *glibc_word(const void *tp, ptrdiff_t off)
{
	return *(void *const *)(const void *)((const char *)tp + off);
}

static inline void glibc_set_word(void *tp, ptrdiff_t off, const void *v)
{
	*(const void **)(void *)((char *)tp + off) = v;
}

/* Around the library's own experiments in a new thread: malloc takes the main arena and
 * makes none for the thread, which would be 64 MiB of address space. The word must be
 * NULL again when the thread ends, because libc counts the threads of an arena. */
static inline void glibc_use_main_arena(void *tp, bool yes)
{
	if (glibc.main_arena && glibc.arena != NOWHERE)
		glibc_set_word(tp, glibc.arena, yes ? glibc.main_arena : NULL);
}

/* TLS images of the static modules, and a check that they are still what is loaded
 * (tls_modules.c). */
int modules_init(void);
/* Makes every module's TLS except libc's what it is in a new thread. */
void modules_reset(void *tp);
void modules_fork_lock(void);
void modules_fork_unlock(void);
/* tls.c: calls fn for every block. */
void tls_each_block(void (*fn)(void *tp, void *arg), void *arg);

#endif
