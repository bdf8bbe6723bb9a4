/* SPDX-License-Identifier: Apache-2.0 */
/* keys.h - thread-local keys (uk_key_*): values in struct thread_ext. */
#ifndef THREAD_KEYS_H
#define THREAD_KEYS_H

#include "thread/thread.h"

/* uk_key_set for the calling thread. */
int keys_set(struct uk_thread *t, uk_key k, const void *value);
/* Called by the exiting thread itself; destructors may set keys again (4 rounds at
 * most). */
void keys_run_destructors(struct uk_thread *t);
/* Frees the arrays of e. No code runs as its thread any more. */
void keys_free(struct thread_ext *e);

#endif
