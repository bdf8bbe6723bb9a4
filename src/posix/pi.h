/* SPDX-License-Identifier: Apache-2.0 */
/* pi.h - private PI futexes (pi.c), for syscall(2). Each returns what the system call
 * would. */
#ifndef POSIX_PI_H
#define POSIX_PI_H

#include "posix/posix.h"

long pi_lock(uint32_t *word, bool waits, int64_t deadline);
long pi_unlock(uint32_t *word);

#endif
