/* SPDX-License-Identifier: Apache-2.0 */
/* popen and pclose, for all threads. A child must not keep the pipes of other children
 * open, no matter which thread opened them. So one list of them is here, and libc's
 * stays empty. */
#include <fcntl.h>
#include <paths.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wchar.h>

#include "base/at_load.h"
#include "base/lock.h"
#include "base/sys.h"
#include "preload/pt_spawn.h"
#include "sched/sched.h"

struct piped {
	struct piped *next;
	FILE *file;
	pid_t pid;
};

static struct lock lock = LOCK_INIT(RANK_POPEN);
static struct piped *all; /* lock */

/* The child's file actions: keep its end of its pipe, close those of the others. */
static int actions_fill(posix_spawn_file_actions_t *a, int fd, int as)
{
	int r = posix_spawn_file_actions_adddup2(a, fd, as);

	for (const struct piped *p = all; p && !r; p = p->next) {
		int other = fileno(p->file);

		if (other != as)
			r = posix_spawn_file_actions_addclose(a, other);
	}
	return r;
}

/* Under the lock, so that no other thread starts a child between the pipe and the list.
 * The child gets *mask, not the mask of a thread that holds the lock. */
static int start_locked(const char *command, int fd, int as, const sigset_t *mask,
			pid_t *pid)
{
	char sh[] = "sh", c[] = "-c", end[] = "--";
	char *argv[] = { sh, c, end, (char *)(uintptr_t)command, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int r = posix_spawn_file_actions_init(&actions);

	if (r)
		return r;
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, mask);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	r = actions_fill(&actions, fd, as);
	if (!r)
		r = posix_spawn(pid, _PATH_BSHELL, &actions, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

static FILE *start(struct piped *p, const char *command, bool reads, bool cloexec)
{
	int ends[2], r;
	sigset_t mask;

	if (pipe2(ends, O_CLOEXEC))
		return NULL;
	p->file = fdopen(ends[!reads], reads ? "r" : "w");
	r = p->file ? 0 : errno;
	if (!r) {
		fwide(p->file, -1); /* a byte stream, as POSIX says */
		bool own = spawn_mask(&mask);
		uint64_t signals = spawn_lock(&lock);

		if (!own)
			spawn_set(&mask, signals);
		r = start_locked(command, ends[reads], reads ? 1 : 0, &mask, &p->pid);
		if (!r) {
			p->next = all;
			all = p;
			if (!cloexec)
				sys3(SYS_fcntl, ends[!reads], F_SETFD, 0);
		}
		spawn_unlock(&lock, signals);
	}
	sys1(SYS_close, ends[reads]);
	if (!r)
		return p->file;
	if (p->file)
		LIBC(fclose)(p->file);
	else
		sys1(SYS_close, ends[!reads]);
	errno = r;
	return NULL;
}

LIBC_API FILE *popen(const char *command, const char *mode)
{
	bool reads = false, writes = false, cloexec = false;
	struct piped *p;
	FILE *f;

	for (const char *m = mode; *m; m++) {
		reads |= *m == 'r';
		writes |= *m == 'w';
		cloexec |= *m == 'e';
	}
	if (reads == writes) {
		errno = EINVAL;
		return NULL;
	}
	p = malloc(sizeof(*p));
	f = p ? start(p, command, reads, cloexec) : NULL;
	if (!f)
		free(p);
	return f;
}

static struct piped *take(const FILE *f)
{
	struct piped **at, *p = NULL;
	uint64_t signals = spawn_lock(&lock);

	for (at = &all; *at; at = &(*at)->next)
		if ((*at)->file == f) {
			p = *at;
			*at = p->next;
			break;
		}
	spawn_unlock(&lock, signals);
	return p;
}

LIBC_API int pclose(FILE *f)
{
	struct piped *p = take(f);
	int status = -1;
	long r;

	if (!p) { /* opened before the library was loaded */
		int (*next)(FILE *);

		*(void **)(void *)&next = libc_next("pclose");
		return next(f);
	}
	LIBC(fclose)(f);
	r = spawn_wait(p->pid, &status, NULL);
	free(p);
	if (r < 0) {
		errno = (int)-r;
		return -1;
	}
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

AT_LOAD(popen_register)
{
	pthread_atfork(fork_lock, fork_unlock, fork_unlock);
}
