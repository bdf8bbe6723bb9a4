/* SPDX-License-Identifier: Apache-2.0 */
/* scarce.h - memory was refused (RLIMIT_AS, no overcommit), so free memory is shared by
 * all vps.
 *
 *   PLENTY    --a mapping fails-----------> REFUSED    freed memory goes to the shared
 *                                                      pools, not into vps' caches
 *   REFUSED   --a thread that finds none
 *               asks all vps for their
 *               caches (sched/scarce.c)---> GATHERING  a thread that finds none waits
 *   GATHERING --all gave, or time is up---> GATHERED   a thread that finds none gets an
 *                                                      error, unless free stacks can be
 *                                                      unmapped (stack_release)
 *   GATHER... --the keeper's next round---> PLENTY
 *
 * The cache of a vp that is asked after REFUSED stays empty from then on.
 *
 * Rejected: caches that other vps may take from (one more atomic exchange for each
 * birth and each death). */
#ifndef MEM_SCARCE_H
#define MEM_SCARCE_H

#include "base/base.h"

enum mem_scarce { MEM_PLENTY, MEM_REFUSED, MEM_GATHERING, MEM_GATHERED };

extern uint32_t mem_scarce; /* enum mem_scarce; defined in slab.c */

static inline bool mem_is_scarce(void)
{
	return unlikely(load_relaxed(&mem_scarce) != MEM_PLENTY);
}

static inline bool mem_scarce_step(uint32_t from, uint32_t to)
{
	return load_relaxed(&mem_scarce) == from && cas_seq_cst(&mem_scarce, &from, to);
}

static inline void mem_refused(void)
{
	mem_scarce_step(MEM_PLENTY, MEM_REFUSED);
}

#endif
