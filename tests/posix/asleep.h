/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a thread sleeps in its call. The kernel tells the state of a kernel thread.
 * For a parked user thread the runtime tells, by its name. A user thread whose call
 * was handed off sleeps on a carrier, which is found by the system call that it
 * sleeps in. The tests do not know the library otherwise: this file looks up the
 * runtime by dlsym. */
#ifndef POSIX_ASLEEP_H
#define POSIX_ASLEEP_H

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "uk/stat.h"

#define ANY_CALL (-1L)

/* Reads a line of /proc/self/task/TID/WHAT. Returns false if there is no such
 * thread. */
static inline bool task_line(const char *tid, const char *what, char *line, size_t n)
{
	char path[300];
	bool found;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%s/%s", tid, what);
	f = fopen(path, "r");
	found = f && fgets(line, (int)n, f);
	if (f)
		fclose(f);
	return found;
}

static inline bool task_sleeps(const char *tid)
{
	char line[512], *end;

	if (!task_line(tid, "stat", line, sizeof(line)))
		return false;
	end = strrchr(line, ')');
	return end && !strncmp(end, ") S", 3);
}

/* Whether a kernel thread sleeps in system call nr with this first argument. */
static inline bool some_task_in(long nr, long arg)
{
	DIR *d = opendir("/proc/self/task");
	bool found = false;

	for (struct dirent *e; d && !found && (e = readdir(d));) {
		char line[512], *rest;

		if (e->d_name[0] == '.' ||
		    !task_line(e->d_name, "syscall", line, sizeof(line)))
			continue;
		found = strtol(line, &rest, 10) == nr && rest != line &&
			(arg == ANY_CALL || strtol(rest, NULL, 16) == arg) &&
			task_sleeps(e->d_name);
	}
	closedir(d);
	return found;
}

/* A user thread by its name; NULL stands for any state or any wait. */
struct wanted {
	const char *name, *state, *waits;
};

static inline int is_wanted(const uk_thread_info *i, void *arg)
{
	const struct wanted *w = arg;

	return !strcmp(i->name, w->name) &&
	       (!w->state || !strcmp(i->state, w->state)) &&
	       (!w->waits || !strcmp(i->waits, w->waits));
}

static inline bool user_thread_is(struct wanted w)
{
	__typeof__(&uk_thread_each) each;

	*(void **)(void *)&each = dlsym(RTLD_DEFAULT, "uk_thread_each");
	return each && each(is_wanted, &w, sizeof(uk_thread_info));
}

static inline bool user_thread_known(const char *name)
{
	return user_thread_is((struct wanted){ .name = name });
}

static inline bool user_thread_parked(const char *name)
{
	return user_thread_is((struct wanted){ .name = name, .state = "parked" });
}

static inline bool user_thread_waits(const char *name, const char *what)
{
	return user_thread_is((struct wanted){ name, "parked", what });
}

static inline bool some_task_named(const char *name)
{
	DIR *d = opendir("/proc/self/task");
	char wanted[32], line[512];
	bool found = false;

	snprintf(wanted, sizeof(wanted), "(%s) S", name);
	for (struct dirent *e; d && !found && (e = readdir(d));)
		found = e->d_name[0] != '.' &&
			task_line(e->d_name, "stat", line, sizeof(line)) &&
			strstr(line, wanted);
	closedir(d);
	return found;
}

/* Whether the user or kernel thread of this name sleeps. A thread that is bound to a
 * kernel thread is both. */
static inline bool thread_sleeps(const char *name)
{
	return user_thread_parked(name) || some_task_named(name);
}

static inline void until_sleeps(const char *name)
{
	while (!thread_sleeps(name))
		usleep(100);
}

#endif
