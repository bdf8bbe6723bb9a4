/* SPDX-License-Identifier: Apache-2.0 */
/* spawn.h - the few names of libc that the library takes over: calls that start a
 * program.
 *
 * A carrier blocks nearly all signals, and a program inherits the mask of the kernel
 * thread that starts it: it would ignore SIGTERM for ever. libc starts programs without
 * a point at which the mask could be set (posix_spawn clones and calls exec inside
 * itself). So the calls are replaced; they forward to libc's own where there is nothing
 * to correct: on every kernel thread that is not a carrier. fork needs none of this
 * (lifecycle/fork.c).
 *
 * Only in this directory is an error errno and -1, or the positive code where POSIX
 * says so.
 *
 * Rejected: carriers that leave signals open while user code runs (handlers would run
 * on user threads' stacks); opening the mask for the length of the call (a signal that
 * some thread of the program waits for in sigwait would kill the process in that
 * moment). */
#ifndef PROCESS_SPAWN_H
#define PROCESS_SPAWN_H

#include <signal.h>
#include <sys/types.h>

#include "base/libc.h"
#include "base/base.h"
#include "base/lock.h"

/* Does the caller run with a carrier's signal mask? Then *set is the mask for a program
 * that it starts. */
bool spawn_mask(sigset_t *set);
void spawn_set(sigset_t *set, uint64_t mask);
/* libc's own function of that name. */
void *libc_next(const char *name);
/* Takes a lock of this directory, outside the runtime, and blocks all signals, because
 * a handler might start a program, too. spawn_unlock gets what spawn_lock returned. */
uint64_t spawn_lock(struct lock *l);
void spawn_unlock(struct lock *l, uint64_t mask);
/* Waits for a shell to end; 0 or -errno. In the preload library (hooks.spawn_wait) the
 * wait parks. A cancellation may leave it: then the child is killed and undo is called.
 * If undo is NULL, a cancellation may not. */
long spawn_wait(pid_t pid, int *status, void (*undo)(void));

#endif
