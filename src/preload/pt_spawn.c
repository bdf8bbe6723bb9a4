/* SPDX-License-Identifier: Apache-2.0 */
/* posix_spawn, posix_spawnp and system on a carrier: the attributes get the child's
 * mask, unless the caller has set one. */
#include <dlfcn.h>
#include <paths.h>
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/at_load.h"
#include "base/lock.h"
#include "base/sys.h"
#include "fd/known.h"
#include "preload/pt_spawn.h"
#include "lifecycle/life.h"

uint64_t spawn_lock(struct lock *l)
{
	uint64_t all = ~0ull, old = 0;

	sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, sizeof(all));
	lock_acquire(l);
	return old;
}

void spawn_unlock(struct lock *l, uint64_t mask)
{
	lock_release(l);
	sys4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
}

void *libc_next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

#define NEXT(type, name)                                                               \
	({                                                                             \
		static type *next_;                                                    \
		type *fn_ = load_relaxed(&next_);                                      \
                                                                                       \
		if (unlikely(!fn_)) {                                                  \
			*(void **)(void *)&fn_ = libc_next(name);                      \
			store_relaxed(&next_, fn_);                                    \
		}                                                                      \
		fn_;                                                                   \
	})

static int spawn(spawn_fn *next, pid_t *pid, const char *file,
		 const posix_spawn_file_actions_t *actions,
		 const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	return next ? spawn_masked(next, pid, file, actions, attr, argv, envp) : ENOSYS;
}

LIBC_API int posix_spawn(pid_t *restrict pid, const char *restrict path,
			 const posix_spawn_file_actions_t *restrict actions,
			 const posix_spawnattr_t *restrict attr,
			 char *const argv[restrict], char *const envp[restrict])
{
	return spawn(NEXT(spawn_fn, "posix_spawn"), pid, path, actions, attr, argv,
		     envp);
}

LIBC_API int posix_spawnp(pid_t *restrict pid, const char *restrict file,
			  const posix_spawn_file_actions_t *restrict actions,
			  const posix_spawnattr_t *restrict attr,
			  char *const argv[restrict], char *const envp[restrict])
{
	return spawn(NEXT(spawn_fn, "posix_spawnp"), pid, file, actions, attr, argv,
		     envp);
}

/* --- system --- */

/* SIGINT and SIGQUIT are ignored while any call of system waits; the variables are
 * under the lock. On a carrier SIGCHLD is blocked anyway. */
static struct lock lock = LOCK_INIT(RANK_SYSTEM);
static unsigned waiting;
static struct sigaction old_int, old_quit;

static void ignore_keys(sigset_t *dfl)
{
	struct sigaction ign = { .sa_handler = SIG_IGN };
	uint64_t signals = spawn_lock(&lock);

	if (!waiting++) {
		LIBC(sigaction)(SIGINT, &ign, &old_int);
		LIBC(sigaction)(SIGQUIT, &ign, &old_quit);
	}
	sigemptyset(dfl);
	if (old_int.sa_handler != SIG_IGN)
		sigaddset(dfl, SIGINT);
	if (old_quit.sa_handler != SIG_IGN)
		sigaddset(dfl, SIGQUIT);
	spawn_unlock(&lock, signals);
}

static void heed_keys(void)
{
	uint64_t signals = spawn_lock(&lock);

	if (!--waiting) {
		LIBC(sigaction)(SIGINT, &old_int, NULL);
		LIBC(sigaction)(SIGQUIT, &old_quit, NULL);
	}
	spawn_unlock(&lock, signals);
}

static void nothing(void) {}

static int run_shell(const char *command, const sigset_t *mask, const sigset_t *dfl,
		     void (*undo)(void))
{
	char sh[] = "sh", c[] = "-c", end[] = "--";
	char *argv[] = { sh, c, end, (char *)(uintptr_t)command, NULL };
	spawn_fn *next = NEXT(spawn_fn, "posix_spawn");
	posix_spawnattr_t attr;
	int status = 127 << 8; /* as if the shell had not been found */
	pid_t pid;
	long r;

	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, mask);
	posix_spawnattr_setsigdefault(&attr, dfl);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (!next || spawn_by(next, &pid, _PATH_BSHELL, NULL, &attr, argv, environ))
		return status;
	r = spawn_wait(pid, &status, undo);
	if (r < 0) {
		errno = (int)-r;
		return -1;
	}
	return status;
}

LIBC_API int system(const char *command)
{
	int (*next)(const char *);
	sigset_t mask, dfl;
	int status;

	if (!spawn_mask(&mask)) {
		*(void **)(void *)&next = libc_next("system");
		fd_share_begin();
		status = next(command);
		fd_share_end();
		return status;
	}
	if (!command)
		return !run_shell("exit 0", &mask, &mask, nothing);
	ignore_keys(&dfl);
	status = run_shell(command, &mask, &dfl, heed_keys);
	heed_keys();
	return status;
}

/* Not in a handler that interrupted the runtime: the child can only exec
 * (lifecycle/fork.c). */
static void fork_lock(void)
{
	if (!rt_in_runtime())
		lock_acquire(&lock);
}

static void fork_unlock(void)
{
	if (!rt_in_runtime())
		lock_release(&lock);
}

AT_LOAD(spawn_register)
{
	pthread_atfork(fork_lock, fork_unlock, fork_unlock);
}
