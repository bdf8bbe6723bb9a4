/* SPDX-License-Identifier: Apache-2.0 */
/* uk.h - all of the ukthreads native API. ukthreads(7) has its conventions in full:
 *
 *  - A call returns >= 0 or a valid pointer, on failure -errno. errno is never written.
 *  - Any user thread may make any call, and any kernel thread that the library did not
 *    create ("foreign"), which blocks in the kernel where a user thread parks.
 *  - A call that waits ends with -ECANCELED when its thread is cancelled, and with
 *    -ETIMEDOUT when its deadline or the thread's (uk_thread_set_deadline) passes.
 *  - Deadlines are points in time, ns of CLOCK_MONOTONIC (uk_now). UK_FOREVER = none, 0
 *    = do not wait: the call tries once, and returns -ETIMEDOUT if it would wait.
 *  - Only the calls named in ukthreads(7), Signals, are async-signal-safe. */
#ifndef UK_UK_H
#define UK_UK_H

#include <uk/async.h>
#include <uk/chan.h>
#include <uk/io.h>
#include <uk/process.h>
#include <uk/stat.h>
#include <uk/sync.h>
#include <uk/thread.h>
#include <uk/time.h>
#include <uk/vp.h>

#endif
