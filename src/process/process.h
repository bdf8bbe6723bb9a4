/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - programs that threads start.
 *
 * A carrier blocks nearly all signals, and a program inherits the mask of the kernel
 * thread that starts it: it would ignore SIGTERM for ever. So uk_spawn sets the mask,
 * and in the preload library so do libc's calls that start programs (pt_spawn.c,
 * pt_exec.c, pt_popen.c, pt_vfork.c). fork needs none of this (lifecycle/fork.c).
 *
 * Rejected: carriers that leave signals open while user code runs (handlers would run
 * on user threads' stacks); opening the mask for the length of the call (a signal that
 * some thread of the program waits for in sigwait would kill the process in that
 * moment); libc's calls replaced in the library itself, as it was (a library that
 * programs link must not take over execve). */
#ifndef PROCESS_PROCESS_H
#define PROCESS_PROCESS_H

#include <spawn.h>

#include "base/base.h"

typedef int spawn_fn(pid_t *, const char *, const posix_spawn_file_actions_t *,
		     const posix_spawnattr_t *, char *const[], char *const[]);

/* Does the caller run with a carrier's signal mask? Then *set is the mask for a program
 * that it starts. */
bool spawn_mask(sigset_t *set);
void spawn_set(sigset_t *set, uint64_t mask);
/* Starts a program by next, libc's posix_spawn or posix_spawnp, and tells fd/known.c.
 * Returns what next returns. */
int spawn_by(spawn_fn *next, pid_t *pid, const char *file,
	     const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
	     char *const argv[], char *const envp[]);
/* The same, with the mask of spawn_mask unless attr sets one. */
int spawn_masked(spawn_fn *next, pid_t *pid, const char *file,
		 const posix_spawn_file_actions_t *actions,
		 const posix_spawnattr_t *attr, char *const argv[], char *const envp[]);

#endif
