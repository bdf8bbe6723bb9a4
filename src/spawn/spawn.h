/* SPDX-License-Identifier: Apache-2.0 */
/* spawn.h - the few names of libc that the library takes over: calls that start a program.
 *
 * A carrier blocks nearly all signals, and a program inherits the mask of the kernel thread
 * that starts it: it would ignore SIGTERM for life. libc starts programs without a place
 * where one could stand between (posix_spawn clones and calls exec inside itself), so the
 * calls are replaced, and forward to libc's own where there is nothing to mend: on every
 * kernel thread that is not a carrier. fork needs none of this (life/fork.c).
 *
 * Here, as nowhere else in the library, an error is errno and -1, or the positive code
 * where POSIX says so.
 *
 * Rejected: carriers that leave signals open while user code runs (handlers would run on
 * user threads' stacks); the mask opened for the length of the call (a signal that some
 * thread of the program waits for in sigwait would kill the process in that moment). */
#ifndef SPAWN_SPAWN_H
#define SPAWN_SPAWN_H

#include <signal.h>
#include <sys/types.h>

#include "base/libc.h"
#include "base/base.h"
#include "base/lock.h"

/* Does the caller run with a carrier's signal mask? Then *set is what a program that it
 * starts is to have. */
bool spawn_mask(sigset_t *set);
void spawn_set(sigset_t *set, uint64_t mask);
/* libc's own function of that name. */
void *libc_next(const char *name);
/* A lock of this room's, which is taken outside the runtime. No handler runs while it is held,
 * for it may start a program, too. What unlock gets is what lock gave. */
uint64_t spawn_lock(struct lock *l);
void spawn_unlock(struct lock *l, uint64_t mask);
/* Wait for the end of a shell, 0 or -errno. The drop-in has another one, which parks, and may be
 * left by a cancellation: then the child is killed, and undo is called. undo NULL: it may not. */
extern long (*spawn_wait)(pid_t pid, int *status, void (*undo)(void));

#endif
