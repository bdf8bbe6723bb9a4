/* SPDX-License-Identifier: Apache-2.0 */
/* barrier.h - a full fence in every running thread of the process, by membarrier(2): who
 * pays it lets the others' hot paths do without. There is no other way that holds on every
 * machine (an mprotect that makes all processors flush is none where the hardware
 * broadcasts the flush), so without it the runtime does not start, and says why. */
#ifndef BASE_BARRIER_H
#define BASE_BARRIER_H

#include "base/base.h"

/* Once in each process, also in a forked child. 0 or -errno. */
int barrier_init(void);
void barrier_everywhere(void);

#endif
