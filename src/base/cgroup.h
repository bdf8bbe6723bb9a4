/* SPDX-License-Identifier: Apache-2.0 */
/* What the control groups of this process allow. Files are opened: not for hot paths. */
#ifndef BASE_CGROUP_H
#define BASE_CGROUP_H

#include "base/base.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP_SELF "/proc/self/cgroup"

/* The first number of a file, -1: no such file, or it holds a word ("max"). */
int64_t file_number(const char *path);
/* The smallest number that stands in `file` for the group of `controller` that `self` names
 * and for all groups above it; -1: no limit. root, self: the two above, else a test's. */
int64_t cgroup_least(const char *root, const char *self, const char *controller,
		     const char *file);
/* How much CPU time the groups allow, in thousandths of a processor; -1: no limit. */
int64_t cgroup_cpus(const char *root, const char *self);

#endif
