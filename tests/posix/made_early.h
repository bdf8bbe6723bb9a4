/* SPDX-License-Identifier: Apache-2.0 */
/* made_early.h - threads that the constructor of made_early_lib.c makes, before main
 * and before the constructors of a preloaded library. */
#include <pthread.h>

extern pthread_t
    early_reader; /* reads one byte by a system call that no library sees */
extern pthread_t early_spinner; /* computes until early_stop */
extern int early_pipe[2], early_stop;
