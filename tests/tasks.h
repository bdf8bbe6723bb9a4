/* SPDX-License-Identifier: Apache-2.0 */
/* Finds kernel threads of this process by name, for tests that signal them. */
#ifndef TESTS_TASKS_H
#define TESTS_TASKS_H

#include <dirent.h>
#include <sys/types.h>

#include "test.h"

/* Stores the ids of this process's kernel threads whose names begin with `name` in
 * tid[0..max), and returns how many it found. */
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
