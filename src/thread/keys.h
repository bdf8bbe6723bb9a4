/* SPDX-License-Identifier: Apache-2.0 */
/* keys.h - thread-local keys (uk_key_*): values in struct thread_ext. */
#ifndef THREAD_KEYS_H
#define THREAD_KEYS_H

#include "thread/thread.h"

/* uk_key_set of the calling thread. */
int keys_set(struct uk_thread *t, uk_key k, const void *value);
/* By the exiting thread itself; destructors may set keys again (4 rounds at most). */
void keys_run_destructors(struct uk_thread *t);
/* The descriptor's part goes: release the arrays. Nobody runs as that thread any more. */
void keys_free(struct thread_ext *e);

#endif
