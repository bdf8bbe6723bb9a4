/* SPDX-License-Identifier: Apache-2.0 */
/* uk_spawn and uk_waitpid. A wait for the end of one child is a wait for its pidfd to
 * become readable, and parks the thread. Only the kernel's own call can wait for any
 * child, or for a stop, so it blocks the carrier. */
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/libc.h"
#include "base/sys.h"
#include "fd/known.h"
#include "io/io.h"
#include "lifecycle/life.h"
#include "process/process.h"
#include "uk/io.h"
#include "uk/process.h"

void spawn_set(sigset_t *set, uint64_t mask)
{
	sigemptyset(set);
	memcpy(set, &mask, sizeof(mask));
}

bool spawn_mask(sigset_t *set)
{
	uint64_t mask;

	if (!sched_child_mask(&mask))
		return false;
	spawn_set(set, mask);
	return true;
}

int spawn_by(spawn_fn *next, pid_t *pid, const char *file,
	     const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
	     char *const argv[], char *const envp[])
{
	int r;

	fd_share_begin();
	r = next(pid, file, actions, attr, argv, envp);
	fd_share_end();
	return r;
}

int spawn_masked(spawn_fn *next, pid_t *pid, const char *file,
		 const posix_spawn_file_actions_t *actions,
		 const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	posix_spawnattr_t own;
	sigset_t mask;
	short flags = 0;

	if (attr) {
		own = *attr;
		posix_spawnattr_getflags(&own, &flags);
	} else {
		posix_spawnattr_init(&own);
	}
	if (!(flags & POSIX_SPAWN_SETSIGMASK) && spawn_mask(&mask)) {
		posix_spawnattr_setsigmask(&own, &mask);
		posix_spawnattr_setflags(&own, (short)(flags | POSIX_SPAWN_SETSIGMASK));
		attr = &own;
	}
	return spawn_by(next, pid, file, actions, attr, argv, envp);
}

UK_API int uk_spawn(pid_t *pid, const char *file,
		    const posix_spawn_file_actions_t *actions,
		    const posix_spawnattr_t *attr, char *const argv[],
		    char *const envp[])
{
	return -spawn_masked(LIBC(posix_spawnp), pid, file, actions, attr, argv,
			     envp ? envp : environ);
}

static long wait_here(pid_t pid, int *status, int options)
{
	return io_syscall(SYS_wait4, pid, SYS_ARG(status), options, 0, 0);
}

UK_API pid_t uk_waitpid(pid_t pid, int *status, int options)
{
	long r = wait_here(pid, status, options | WNOHANG);
	int fd, ready;

	if (r || options & WNOHANG)
		return (pid_t)r;
	fd = pid > 0 && !options ? (int)sys2(SYS_pidfd_open, pid, 0) : -1;
	if (fd < 0)
		return (pid_t)wait_here(pid, status, options);
	ready = uk_wait_fd(fd, POLLIN, UK_FOREVER);
	uk_close(fd);
	/* it waits if a tracer has the child */
	return ready < 0 ? ready : (pid_t)wait_here(pid, status, options);
}
