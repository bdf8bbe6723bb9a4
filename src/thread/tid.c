/* SPDX-License-Identifier: Apache-2.0 */
/* Synthetic thread ids: what the owner field of a lock holds.
 *
 * They range from TID_FIRST (PID_MAX_LIMIT, where the kernel's own end) to the end of
 * the 30 bits that a futex word has for its owner. A block gets a fresh one for each
 * life: a stale one would alias the owner of an abandoned recursive lock. The counter
 * never wraps, but the ids derived from it do. From the second round on, ids of living
 * threads are left out: they are collected in a bitmap, one window of ids at a time.
 *
 * Each process begins at another id, a forked child too: other processes may use
 * ukthreads as well, and libc's process-shared locks compare ids (preload/pt_shared.c).
 *
 * A cache takes CHUNK numbers at once, so the shared counter is touched rarely. */
#include <string.h>

#include "base/at_load.h"
#include "base/lock.h"
#include "base/sys.h"
#include "thread/tls.h"
#include "thread/tls_block.h"

#define TID_FIRST ((uint32_t)TLS_FIRST_TID)
#define TID_END 0x40000000u
#define WINDOW ((uint64_t)1 << 20)
#define SPAN ((uint64_t)(TID_END - TID_FIRST)) /* a multiple of WINDOW */
#define CHUNK 64

/* numbers given out; fetch_add, and a test that makes the ids wrap */
uint64_t tid_counter;
static struct lock lock = LOCK_INIT(RANK_TID);
static uint64_t window = UINT64_MAX; /* lock: the window that the bitmap describes */
static uint64_t busy[WINDOW / 64];   /* lock */

static inline uint32_t tid_of(uint64_t number)
{
	return TID_FIRST + (uint32_t)(number % SPAN);
}

static void mark(void *tp, void *arg)
{
	uint64_t first = *(uint64_t *)arg, off;

	if (!load_relaxed(&tls_block_of(tp)->live))
		return;
	off = (uint64_t)tls_block_of(tp)->tid - first;
	if (off < WINDOW)
		busy[off / 64] |= 1ull << off % 64;
}

/* Does a living thread have the number's id, from the last round? */
static bool taken(uint64_t number)
{
	uint64_t w = number / WINDOW, off = number % WINDOW, first;
	bool yes;

	if (number < SPAN)
		return false;
	lock_acquire(&lock);
	if (window != w) {
		window = w;
		first = tid_of(w * WINDOW);
		memset(busy, 0, sizeof(busy));
		tls_each_block(mark, &first);
	}
	yes = busy[off / 64] >> off % 64 & 1;
	lock_release(&lock);
	return yes;
}

uint32_t tid_fresh(struct tid_range *r)
{
	struct tid_range one = { 0, 0 };
	uint64_t number, n = CHUNK;

	if (!r) {
		r = &one;
		n = 1;
	}
	do {
		/* a cache that was idle for half a round starts anew */
		if (r->next == r->end ||
		    load_relaxed(&tid_counter) - r->next > SPAN / 2) {
			r->next = fetch_add_relaxed(&tid_counter, n);
			r->end = r->next + n;
		}
		number = r->next++;
	} while (unlikely(taken(number)));
	return tid_of(number);
}

static uint64_t anywhere(void)
{
	uint64_t h = (uint64_t)sys_now() ^ (uint64_t)sys0(SYS_getpid) << 40;

	return (h * 0x9e3779b97f4a7c15ULL >> 20) % (SPAN / 2);
}

AT_LOAD(begin_anywhere)
{
	store_relaxed(&tid_counter, load_relaxed(&tid_counter) + anywhere());
}

void tid_fork_child(void)
{
	tid_counter +=
	    SPAN / 2 + 1 + anywhere(); /* so far that all caches begin anew */
}

void tid_fork_lock(void)
{
	lock_acquire(&lock);
}

void tid_fork_unlock(void)
{
	lock_release(&lock);
}
