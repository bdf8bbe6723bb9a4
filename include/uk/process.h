/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - start programs and wait for them. */
#ifndef UK_PROCESS_H
#define UK_PROCESS_H

#include <spawn.h>
#include <sys/types.h>
#include <uk/types.h>

UK_BEGIN

/* As posix_spawnp(3), but the error is -errno, and the program gets the signal mask
 * that the process had when the runtime started; posix_spawn, system, popen and exec
 * would give it the mask of a carrier, which blocks SIGTERM. envp NULL: environ. */
UK_API int uk_spawn(pid_t *pid, const char *file,
		    const posix_spawn_file_actions_t *actions,
		    const posix_spawnattr_t *attr, char *const argv[],
		    char *const envp[]);
/* As waitpid(2): the pid, 0 (WNOHANG: none has ended), or -errno. Parks the thread if
 * pid > 0 and options is 0; else it blocks the kernel thread, and neither cancellation
 * nor a deadline ends that. */
UK_API pid_t uk_waitpid(pid_t pid, int *status, int options);

UK_END
#endif
