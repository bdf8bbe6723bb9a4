/* SPDX-License-Identifier: Apache-2.0 */
/* pt_pi.h - private PI futexes (pt_pi.c), for syscall(2). Each returns what the system
 * call would. */
#ifndef PRELOAD_PT_PI_H
#define PRELOAD_PT_PI_H

#include "preload/pt.h"

long pi_lock(uint32_t *word, bool waits, int64_t deadline);
long pi_unlock(uint32_t *word);

#endif
