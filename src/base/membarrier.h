/* SPDX-License-Identifier: Apache-2.0 */
/* membarrier.h - a full fence in every running thread of the process, by membarrier(2).
 * The caller pays for it, so the other threads' hot paths need no fence. No other way
 * works on every machine: an mprotect that makes all CPUs flush is no fence where the
 * hardware broadcasts the flush. Without membarrier the runtime does not start, and
 * says why. */
#ifndef BASE_MEMBARRIER_H
#define BASE_MEMBARRIER_H

#include "base/base.h"

/* Once in each process, also in a forked child. 0 or -errno. */
int barrier_init(void);
void barrier_everywhere(void);

#endif
