/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's own kernel threads, for tests that signal them. */
#ifndef TESTS_TASKS_H
#define TESTS_TASKS_H

#include <dirent.h>
#include <sys/types.h>

#include "test.h"

/* Those of this process that are called `name`: how many, their ids to tid[0..max). */
static inline int tasks_named(const char *name, pid_t *tid, int max)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	int n = 0;

	CHECK(d);
	while ((e = readdir(d)) && n < max) {
		char path[300], comm[32] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (fgets(comm, sizeof(comm), f) && !strncmp(comm, name, strlen(name)))
			tid[n++] = (pid_t)atoi(e->d_name);
		fclose(f);
	}
	closedir(d);
	return n;
}

#endif
