/* SPDX-License-Identifier: Apache-2.0 */
/* scarce.h - memory was refused (RLIMIT_AS, no overcommit), so what is free is everybody's.
 *
 *   PLENTY    --a mapping fails---------------> REFUSED    nothing goes into a vp's cache any
 *                                                          more, all into the shared pools
 *   REFUSED   --sched/scarce.c: who found
 *               none asks all vps for theirs--> GATHERING  who finds none meanwhile waits
 *   GATHERING --they gave, or took too long---> GATHERED   who finds none now is told so, unless
 *                                                          other free stacks leave the
 *                                                          address space (stack_release)
 *   GATHER... --the keeper's next round-------> PLENTY
 *
 * A vp that is asked after it was REFUSED has nothing from then on.
 * Rejected: caches that others may take from (an atomic exchange more for each birth and
 * each death). */
#ifndef MEM_SCARCE_H
#define MEM_SCARCE_H

#include "base/base.h"

enum mem_scarce { MEM_PLENTY, MEM_REFUSED, MEM_GATHERING, MEM_GATHERED };

extern uint32_t mem_scarce; /* enum mem_scarce; slab.c has it */

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
