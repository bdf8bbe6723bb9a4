/* SPDX-License-Identifier: Apache-2.0 */
/* The limits that the control groups of this process set. These functions open files:
 * not for hot paths. */
#ifndef BASE_CGROUP_H
#define BASE_CGROUP_H

#include "base/base.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP_SELF "/proc/self/cgroup"

/* The first number in a file. -1: no such file, or it holds a word ("max"). */
int64_t file_number(const char *path);
/* The smallest value of `file` in the group of `controller` that `self` names and in
 * all groups above it; -1: no limit. root and self are the paths above, or those of a
 * test. */
int64_t cgroup_least(const char *root, const char *self, const char *controller,
		     const char *file);
/* The CPU time that the groups allow, in thousandths of a CPU; -1: no limit. */
int64_t cgroup_cpus(const char *root, const char *self);

#endif
