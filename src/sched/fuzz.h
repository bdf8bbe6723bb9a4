/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.h - the seeded schedule fuzzer of debug builds (UK_DEBUG=fuzz,seed=N; the
 * seed is printed at the start) and of the hostile build (always on). In other builds:
 * nothing. */
#ifndef SCHED_FUZZ_H
#define SCHED_FUZZ_H

#include "base/base.h"

#if UK_CHECKS
void fuzz_init(void);
extern bool fuzz_on;
uint32_t fuzz_rand(void);
/* True once in n. */
static inline bool fuzz_once_in(uint32_t n)
{
	return unlikely(fuzz_on) && fuzz_rand() % n == 0;
}
/* Hostile builds: sleeps some microseconds between two steps, so that a race may come
 * in between. */
void fuzz_pause(void);
#else
#define fuzz_init() ((void)0)
#define fuzz_pause() ((void)0)
#define fuzz_once_in(n) (false)
#endif

#endif
