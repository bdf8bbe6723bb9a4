/* SPDX-License-Identifier: Apache-2.0 */
/* start.c - what happens before the program's own code runs, and what after its end: what
 * `uk run` was told (tool/run.c) is read, and the counters are written.
 *
 * The runtime is not started: a program that creates no thread never has one. Nor is it when
 * the counters are written; they are all zero then.
 *
 *   UK_STACK     the default stack becomes libc's own, so that who asks libc for it and makes
 *                a thread by the answer gets what it says
 *   UK_CHILDREN  no: our library leaves LD_PRELOAD. What the program starts is native, also
 *                what it becomes by exec
 *   UK_STATS     is for the process UK_RUN, whatever it becomes by exec, not for those that
 *                it starts: each would overwrite the file. A child that only forks is the
 *                program still, and who ends last has the word (a daemon, whose parent
 *                ended long ago) */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "act/monitor.h"
#include "base/env.h"
#include "base/panic.h"
#include "base/sys.h"
#include "io/io.h"
#include "mem/stack.h"
#include "posix/posix.h"
#include "uk/stat.h"

#define JSON_ROOM 4096

static char stats_path[PATH_MAX];

static void set_stack(void)
{
	size_t size = env_size("UK_STACK", (size_t)1 << STACK_MAX_ORDER);
	pthread_attr_t a;

	if (!size || pthread_getattr_default_np(&a))
		return;
	if (pthread_attr_setstacksize(&a, size) || pthread_setattr_default_np(&a))
		uk_warn("UK_STACK: libc does not take %zu bytes", size);
	pthread_attr_destroy(&a);
}

/* LD_PRELOAD is separated by blanks and colons; the loader knows us by the word in it. */
static void leave_preload(void)
{
	const char *set = env_get("LD_PRELOAD");
	char *all = set ? strdup(set) : NULL, *rest = set ? strdup(set) : NULL;
	char *at = all, *word;
	Dl_info own;

	if (all && rest && dladdr(stats_path, &own)) {
		rest[0] = 0;
		while ((word = strtok_r(at, " :", &at)))
			if (strcmp(word, own.dli_fname) != 0)
				strcat(strcat(rest, rest[0] ? ":" : ""), word);
		if (rest[0])
			setenv("LD_PRELOAD", rest, 1);
		else
			unsetenv("LD_PRELOAD");
	}
	free(all);
	free(rest);
}

static size_t stats_json(char *to, size_t room)
{
	uk_stats s;
	size_t n = 0;

	memset(&s, 0, sizeof(s));
	uk_stats_get(&s);
#define X(name, text)                                                                  \
	n += (size_t)snprintf(to + n, room - n, "%c\n\t\"" #name "\": %llu",           \
			      n ? ',' : '{', (unsigned long long)s.name);
	UK_COUNTERS(X)
	X(threads, "")
	X(ready, "")
	X(vps, "")
	X(carriers, "")
	X(spares, "")
	X(stacks, "")
#undef X
	return n + (size_t)snprintf(to + n, room - n, "\n}\n");
}

__attribute__((destructor)) static void write_stats(void)
{
	char text[JSON_ROOM];
	size_t n;
	long fd;

	if (!stats_path[0])
		return;
	n = stats_json(text, sizeof(text));
	fd = sys4(SYS_openat, AT_FDCWD, stats_path,
		  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0 || sys3(SYS_write, fd, text, n) != (long)n)
		uk_warn("UK_STATS: %s can't be written", stats_path);
	if (fd >= 0)
		sys1(SYS_close, fd);
}

__attribute__((constructor)) static void posix_start(void)
{
	const char *children = env_get("UK_CHILDREN"), *stats = env_get("UK_STATS");

	io_sees_closes = true;
	monitor_no_nice = true;
	stack_guards_singly();
	set_stack();
	if (children && !strcmp(children, "no"))
		leave_preload();
	if (stats && strlen(stats) < sizeof(stats_path) &&
	    env_number("UK_RUN", 0, INT_MAX) == (unsigned)sys1(SYS_getpid, 0))
		strcpy(stats_path, stats);
}
