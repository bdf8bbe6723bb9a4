/* SPDX-License-Identifier: Apache-2.0 */
/* pt_spawn.h - libc's calls that start programs (process/process.h says why they are
 * replaced). They forward to libc's own where there is nothing to correct: on every
 * kernel thread that is not a carrier. */
#ifndef PRELOAD_PT_SPAWN_H
#define PRELOAD_PT_SPAWN_H

#include <signal.h>
#include <sys/types.h>

#include "base/libc.h"
#include "base/base.h"
#include "base/lock.h"
#include "process/process.h"

/* libc's own function of that name. */
void *libc_next(const char *name);
/* Takes a lock of this directory, outside the runtime, and blocks all signals, because
 * a handler might start a program, too. spawn_unlock gets what spawn_lock returned. */
uint64_t spawn_lock(struct lock *l);
void spawn_unlock(struct lock *l, uint64_t mask);
/* pt_wait.c: waits for a shell to end; 0 or -errno. A cancellation may leave it: then
 * the child is killed and undo is called. If undo is NULL, a cancellation may not. */
long spawn_wait(pid_t pid, int *status, void (*undo)(void));

#endif
