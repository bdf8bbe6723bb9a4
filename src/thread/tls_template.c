/* SPDX-License-Identifier: Apache-2.0 */
/* Method A: a block is memory of ours, with what ld.so's _dl_allocate_tls puts into it
 * (DTV and initial images of all modules), and with a relocated copy of a newborn
 * thread's struct pthread and libc's TLS.
 *
 * Blocks are packed in slabs at an odd number of cache lines, so that the hot words of
 * many blocks spread over all cache sets. The DTV (some 300 bytes) is on the heap,
 * because ld.so reallocates it when modules are loaded.
 *
 * The blocks are in libc's list of threads, where late modules and dlclose look for
 * them (tls_list.c).
 *
 * Rejected: _dl_allocate_tls(NULL), which takes the memory from malloc: it is no
 * cheaper, it leaves no place for our line, and an interposed malloc may return memory
 * that it poisons.
 *
 * Rejected: the block at the top of the stack. A block is 4.6 KB with its DTV (glibc
 * 2.36: struct pthread 2,304, TLS some 300, the surplus that ld.so keeps for late
 * modules 1,664). The surplus must lie between the block's used part and the stack, so
 * the first frames would be on a second page all the same; and a pooled block would
 * hold its stack. */
#include <string.h>

#include "base/sys.h"
#include "mem/slab.h"
#include "thread/tls_block.h"

#define NO_TID 0x3fffffffu /* no kernel thread's; until the block has a life */

struct slab tls_blocks = { .lock = LOCK_INIT(RANK_SLAB) };

int template_init(void)
{
	size_t size = TLS_HEAD + glibc.below + glibc.above;

	/* TLS must end where struct pthread begins (not so on aarch64) */
	if (!glibc.allocate_tls || glibc.pd != 0 || glibc.dtv == NOWHERE ||
	    glibc.first_block == NOWHERE || glibc.stackblock == NOWHERE)
		return -ENOSYS;
	if (glibc.align > CACHE_LINE)
		size += glibc.align;
	size = (size + CACHE_LINE - 1) / CACHE_LINE | 1;
	if (!tls_blocks.size) /* else an earlier start failed, and there are blocks */
		slab_init(&tls_blocks, size * CACHE_LINE);
	return threads_list_init();
}

void template_copy(void *tp)
{
	const char *snap = glibc.snap + glibc.below;
	const void *dtv = glibc_word(tp, glibc.dtv);

	memcpy((char *)tp + glibc.pd, snap + glibc.pd, glibc.pd_size);
	memcpy((char *)tp + glibc.libc_tls, snap + glibc.libc_tls, glibc.libc_tls_size);
	for (unsigned i = 0; i < glibc.nrelocs; i++) {
		ptrdiff_t o = glibc.relocs[i];

		glibc_set_word(
		    tp, o, (char *)tp + ((char *)glibc_word(snap, o) - glibc.snap_tp));
	}
	glibc_set_word(tp, glibc.dtv, dtv);
	if (glibc.rseq != NOWHERE) /* may lie outside both */
		memcpy((char *)tp + glibc.rseq, snap + glibc.rseq, 16);
}

void *template_make(void)
{
	char *mem = slab_get(&tls_blocks, NULL);
	uintptr_t tp;

	if (!mem)
		return NULL;
	tp = (uintptr_t)mem + TLS_HEAD + glibc.below;
	tp = (tp + glibc.align - 1) & ~(glibc.align - 1);
	memset(tls_block_of((void *)tp), 0, TLS_HEAD);
	tls_block_of((void *)tp)->mem = mem;
	if (!glibc.allocate_tls((void *)tp)) {
		slab_put(&tls_blocks, NULL, mem);
		return NULL;
	}
	template_copy((void *)tp);
	*(uint32_t *)(void *)(tp + (size_t)glibc.tid) = NO_TID;
	threads_list_add((void *)tp);
	return (void *)tp;
}

void template_fork_lock(void)
{
	lock_acquire_nested(&tls_blocks.lock); /* inside that of the slabs of stacks */
}

void template_fork_unlock(void)
{
	lock_release_nested(&tls_blocks.lock);
}
