/* SPDX-License-Identifier: Apache-2.0 */
/* tls_cold.c - free blocks that no thread has needed for a while are given back, with
 * what libc and the program have attached to them.
 *
 *   pooled     --the keeper, bury--------------> in no list
 *   in no list --what is attached is freed-----> memory of the slab
 *   in no list --no kernel thread can be made--> pooled again
 *
 * A block is in three lists: the pool's batches, all blocks, libc's threads. Libc walks
 * the last one under a lock that we cannot name; but making a thread takes that lock.
 * So a thread that is made after a block was taken out proves that no walker is at the
 * block any more.
 *
 * The same thread frees what the block holds. What libc does for that at a thread's end
 * (malloc's cache and arena, buffers, the resolver's state) cannot be called by name,
 * and it works on the TLS of the thread that ends. So the new thread takes over libc's
 * TLS from the block, word by word, with the few words of struct pthread that libc
 * frees (glibc.held), and ends. Pointers into the block stay valid, because the block
 * outlives the thread. Its own TLS held nothing: it has called nothing. A block that is
 * older than the process (which was forked since) does not hand over its TLS: in the
 * child malloc has forgotten that a thread used its arena, and would abort. So what is
 * in its cache is lost, as the caches of other threads are lost by any fork.
 *
 * This runs on the keeper, a few blocks at a time (60 to 80 us in the kernel each).
 *
 * Only for method A: a block of B is in libc's list among libc's own threads, where
 * only libc may take it out. Those blocks stay pooled.
 *
 * Rejected: to free what a block holds when its thread ends (every life would pay for a
 * new cache; tls_exit.c); to call libc's function on the block with %fs on it (newer
 * versions touch struct pthread after that). */
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "thread/tls_block.h"

#define BURIES 8u /* blocks in a portion */
#define UNDERTAKER_STACK ((size_t)64 << 10)

uint64_t tls_buried;             /* the keeper; tests read */
static size_t aged;              /* the keeper: batches to give back in this round */
static struct mag_node *leaving; /* the keeper: the rest of a batch */

/* Second-level arrays of thread-specific data; the first one lies in the block. */
static void free_specific(char *tp)
{
	for (size_t k = 1; k < glibc.nlevel1; k++)
		free(glibc_word(tp, glibc.specific + (ptrdiff_t)(k * sizeof(void *))));
}

static void take_over(char *mine, const char *tp)
{
	memcpy(mine + glibc.libc_tls, tp + glibc.libc_tls, glibc.libc_tls_size);
	for (unsigned i = 0; i < glibc.nheld; i++)
		glibc_set_word(mine, glibc.held[i], glibc_word(tp, glibc.held[i]));
}

static void *undertake(void *arg)
{
	char *tp = arg;

	/* first: then freed memory goes into the dead thread's cache, not into a new
	 * one */
	if (tls_block_of(tp)->forks == tls_forks)
		take_over(arch_get_tp(), tp);
	free_specific(tp);
	glibc.deallocate_tls(tp, false);
	return NULL;
}

/* False: no kernel thread to be had. */
static bool bury(struct tls_block *b)
{
	pthread_t id;

	if (glibc_run(undertake, tls_tp_of(b), NULL,
		      UNDERTAKER_STACK + glibc.below + glibc.above, &id))
		return false;
	glibc.join(id, NULL);
	slab_put(&tls_blocks, NULL, b->mem);
	bump(&tls_buried, 1);
	return true;
}

static void bury_all(struct tls_block **b, unsigned n)
{
	unsigned i = 0;

	for (unsigned k = 0; k < n; k++) {
		threads_list_remove(tls_tp_of(b[k]));
		tls_forget(b[k]);
		tls_renew_locale(
		    tls_tp_of(b[k])); /* the program may have freed its own locale */
	}
	while (i < n && bury(b[i]))
		i++;
	if (i < n)
		aged = 0;
	for (; i < n; i++) {
		threads_list_add(tls_tp_of(b[i]));
		tls_remember(b[i]);
		mag_pool_put_one(&tls_pool, &b[i]->node);
	}
}

static bool may_bury(void)
{
	return glibc.deallocate_tls && tls_are_templates();
}

void tls_keep_begin(void)
{
	if (!may_bury())
		return;
	aged = mag_pool_age(&tls_pool);
	slab_keep_begin(&tls_blocks);
}

bool tls_keep_step(void)
{
	struct tls_block *b[BURIES];
	unsigned n = 0, size;

	if (!may_bury())
		return false;
	if (!leaving && aged) {
		leaving = mag_pool_get(&tls_pool, &size);
		aged = leaving ? aged - 1 : 0;
	}
	for (; leaving && n < BURIES; leaving = leaving->next)
		b[n++] = container_of(leaving, struct tls_block, node);
	if (n)
		bury_all(b, n);
	return n || slab_keep_step(&tls_blocks, NULL);
}

bool tls_keep_more(void)
{
	return may_bury() && (load_relaxed(&tls_pool.n) || slab_keep_more(&tls_blocks));
}
