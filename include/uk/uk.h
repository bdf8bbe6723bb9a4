/* SPDX-License-Identifier: Apache-2.0 */
/* uk.h - all of the ukthreads native API, and its conventions.
 *
 * Conventions, valid for every call unless its comment says otherwise:
 *  - A call returns >= 0 (or a valid pointer) on success, -errno on failure. errno itself
 *    is never written.
 *  - Any call may be made from a user thread and from a kernel thread that is not ours
 *    ("foreign"). A foreign thread simply blocks in the kernel where a user thread parks.
 *  - Blocking calls end in -ECANCELED when the calling thread is cancelled and in
 *    -ETIMEDOUT when their deadline (or the thread's own, uk_thread_set_deadline) passes.
 *  - Deadlines are absolute, in nanoseconds of CLOCK_MONOTONIC (uk_now); UK_FOREVER = none.
 *  - Calls are thread-safe. None but uk_sem_post and uk_dump is async-signal-safe.
 */
#ifndef UK_UK_H
#define UK_UK_H

#include <uk/async.h>
#include <uk/chan.h>
#include <uk/io.h>
#include <uk/stat.h>
#include <uk/sync.h>
#include <uk/thread.h>
#include <uk/time.h>
#include <uk/vp.h>

#endif
