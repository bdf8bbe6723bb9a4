/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of control groups. A process is in one group of the unified hierarchy (a line
 * `0::/path`) and, on older systems, in one for each controller (`8:pids:/path`),
 * mounted at root/pids. A limit applies to everything below it, so all groups up to the
 * root count. In a container the path may lie outside the mounted part: then the files
 * of its lower groups are missing, and the top of the mount is the group. */
#include "base/cgroup.h"

#include <fcntl.h>

#include "base/log.h"
#include "base/sys.h"

#define PATH_MOST 512

static size_t slurp(const char *path, char *buf, size_t n)
{
	long fd = sys4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	size_t len = 0;
	long r;

	if (fd >= 0) {
		while (len < n - 1 &&
		       (r = sys3(SYS_read, fd, buf + len, n - 1 - len)) > 0)
			len += (size_t)r;
		sys1(SYS_close, fd);
	}
	buf[len] = 0;
	return len;
}

int64_t file_number(const char *path)
{
	char buf[64];
	int64_t v = 0;
	const char *p = buf;

	if (!slurp(path, buf, sizeof(buf)) || *p < '0' || *p > '9')
		return -1;
	for (; *p >= '0' && *p <= '9' && v < INT64_MAX / 16; p++)
		v = v * 10 + (*p - '0');
	return v;
}

/* Does the list a,b,c contain the name? */
static bool listed(const char *list, size_t n, const char *name)
{
	size_t len = 0, at = 0;

	while (name[len])
		len++;
	while (at < n) {
		size_t end = at, same = 0;

		while (end < n && list[end] != ',')
			end++;
		while (same < len && at + same < end && list[at + same] == name[same])
			same++;
		if (same == len && end - at == len)
			return true;
		at = end + 1;
	}
	return false;
}

/* The limit of one group: the number in a file, or -1. */
typedef int64_t limit_fn(const char *group, const char *file);

static int64_t plain_limit(const char *group, const char *file)
{
	char full[PATH_MOST];

	fmt_to(full, sizeof(full), "%s/%s", group, file);
	return file_number(full);
}

/* path is cut from its end, one component at a time. */
static int64_t least_upwards(const char *root, const char *sub, char *path,
			     limit_fn *limit, const char *file)
{
	int64_t least = -1;
	size_t n = 0;

	while (path[n])
		n++;
	for (;;) {
		char full[PATH_MOST];
		int64_t v;

		while (n && path[n - 1] == '/')
			path[--n] = 0;
		fmt_to(full, sizeof(full), "%s%s%s", root, sub, path);
		v = limit(full, file);
		if (v >= 0 && (least < 0 || v < least))
			least = v;
		if (!n)
			return least;
		while (n && path[n - 1] != '/')
			path[--n] = 0;
	}
}

static int64_t least(const char *root, const char *self, const char *controller,
		     limit_fn *limit, const char *file)
{
	char text[4096], sub[64];
	int64_t found = -1;
	char *line = text;

	slurp(self, text, sizeof(text));
	while (*line) {
		char *list, *path, *end = line;
		int64_t v;

		while (*end && *end != '\n')
			end++;
		for (list = line; list < end && *list != ':'; list++)
			;
		for (path = list + 1; path < end && *path != ':'; path++)
			;
		line = *end ? end + 1 : end;
		if (path >= end)
			continue;
		*end = 0;
		sub[0] = 0;
		if (path > list + 1) {
			if (!listed(list + 1, (size_t)(path - list - 1), controller))
				continue;
			fmt_to(sub, sizeof(sub), "/%s", controller);
		}
		v = least_upwards(root, sub, path + 1, limit, file);
		if (v >= 0 && (found < 0 || v < found))
			found = v;
	}
	return found;
}

int64_t cgroup_least(const char *root, const char *self, const char *controller,
		     const char *file)
{
	return least(root, self, controller, plain_limit, file);
}

/* cpu.max holds `200000 100000` or `max 100000`. Older systems have one file for each
 * value, and a quota of -1 means no limit. */
static int64_t cpu_limit(const char *group, const char *file UNUSED)
{
	char full[PATH_MOST], text[64];
	int64_t quota, period = 0;
	const char *p = text;

	fmt_to(full, sizeof(full), "%s/cpu.max", group);
	if (slurp(full, text, sizeof(text))) {
		quota = file_number(full);
		while (*p && *p != ' ')
			p++;
		while (*p == ' ')
			p++;
		for (; *p >= '0' && *p <= '9' && period < INT32_MAX; p++)
			period = period * 10 + (*p - '0');
	} else {
		quota = plain_limit(group, "cpu.cfs_quota_us");
		period = plain_limit(group, "cpu.cfs_period_us");
	}
	return quota <= 0 || period <= 0 ? -1 : MAX(quota * 1000 / period, 1);
}

int64_t cgroup_cpus(const char *root, const char *self)
{
	return least(root, self, "cpu", cpu_limit, NULL);
}
