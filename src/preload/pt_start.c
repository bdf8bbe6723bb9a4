/* SPDX-License-Identifier: Apache-2.0 */
/* pt_start.c - what happens before the program's own code runs, and after its end: it
 * reads the options of `uk run` (tool/run.c), and writes the counters.
 *
 * It does not start the runtime: a program that creates no thread never has one, and
 * its counters are all zero.
 *
 *   UK_STACK     becomes libc's default stack size, so that a program which asks libc
 *                for the default, and makes a thread of that size, gets it
 *   UK_BIND      is read by pt_bound.c
 *   UK_CHILDREN  no: removes our library from LD_PRELOAD. The programs that this one
 *                starts are native, and so is this one after an exec
 *   UK_STATS     is for the process UK_RUN, through all of its execs, and not for
 *                programs that it starts, because each would overwrite the file. A
 *                child that only forks is still the program, and the last to end writes
 *                last (a daemon, whose parent ended long ago) */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/at_load.h"
#include "monitor/monitor.h"
#include "base/env.h"
#include "base/log.h"
#include "base/sys.h"
#include "io/io.h"
#include "mem/stack.h"
#include "preload/pt.h"
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
		uk_warn("UK_STACK: libc refuses %zu bytes; its default stays", size);
	pthread_attr_destroy(&a);
}

/* LD_PRELOAD is separated by blanks and colons; the loader knows us by our word in
 * it. */
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
	uk_stats_get(&s, sizeof(s));
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
	n += (size_t)snprintf(to + n, room - n, ",");
	n += bound_json(to + n, room - n);
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
		uk_warn("UK_STATS: cannot write the counters to %s", stats_path);
	if (fd >= 0)
		sys1(SYS_close, fd);
}

AT_LOAD(posix_start)
{
	const char *children = env_get("UK_CHILDREN"), *stats = env_get("UK_STATS");

	io_sees_closes = io_vets = true;
	monitor_no_nice = true;
	stack_guards_singly();
	set_stack();
	if (children && !strcmp(children, "no"))
		leave_preload();
	if (stats && strlen(stats) < sizeof(stats_path) &&
	    env_number("UK_RUN", 0, INT_MAX) == (unsigned)sys1(SYS_getpid, 0))
		strcpy(stats_path, stats);
}
