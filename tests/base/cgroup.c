/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of control groups, read from directory trees that the test makes. */
#include "base/cgroup.h"

#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static char root[64];

static void make(const char *path, const char *text)
{
	char full[256];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = 0;
		mkdir(full, 0700);
	}
	f = fopen(full, "w");
	CHECK(f);
	fputs(text, f);
	fclose(f);
}

static int64_t least(const char *self)
{
	char path[128];

	make("self", self);
	snprintf(path, sizeof(path), "%s/self", root);
	return cgroup_least(root, path, "pids", "pids.max");
}

static void numbers_are_read_and_words_are_no_limit(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/number", root);
	make("number", "4711\n");
	CHECK_EQ(file_number(path), 4711);
	make("number", "max\n");
	CHECK_EQ(file_number(path), -1);
	make("number", "");
	CHECK_EQ(file_number(path), -1);
	make("number", "99999999999999999999999999\n");
	CHECK(file_number(path) > 1000000000);
	CHECK_EQ(file_number("/nowhere/at/all"), -1);
}

static void the_smallest_limit_of_all_parent_groups_counts(void)
{
	make("a/pids.max", "500\n");
	make("a/b/pids.max", "max\n");
	make("a/b/c/pids.max", "900\n");
	CHECK_EQ(least("0::/a/b/c\n"), 500);
	make("a/b/pids.max", "30\n");
	CHECK_EQ(least("0::/a/b/c\n"), 30);
	CHECK_EQ(least("0::/a\n"), 500);
	CHECK_EQ(least("0::/\n"), -1);
}

static void a_container_uses_the_limit_at_its_root(void)
{
	make("pids.max", "77\n");
	CHECK_EQ(least("0::/not/mounted/here\n"), 77);
	CHECK_EQ(least("0::/../../other\n"), 77);
	unlink("pids.max");
}

static void a_controller_of_its_own_hierarchy_is_found(void)
{
	make("pids/x/pids.max", "12\n");
	CHECK_EQ(least("5:cpu,cpuacct:/x\n3:pids:/x\n0::/\n"), 12);
	CHECK_EQ(least("3:memory,pids:/x\n"), 12);
	CHECK_EQ(least("3:pidsx:/x\n2:xpids:/x\n1:pid:/x\n"), -1);
}

static void malformed_files_are_no_limit(void)
{
	CHECK_EQ(least(""), -1);
	CHECK_EQ(least("\n\n"), -1);
	CHECK_EQ(least("0"), -1);
	CHECK_EQ(least("0:"), -1);
	CHECK_EQ(least("::"), -1);
	CHECK_EQ(cgroup_least(root, "/nowhere/at/all", "pids", "pids.max"), -1);
}

static int64_t cpus(const char *self)
{
	char path[128];

	make("self", self);
	snprintf(path, sizeof(path), "%s/self", root);
	return cgroup_cpus(root, path);
}

static void the_smallest_share_of_cpu_time_counts(void)
{
	CHECK_EQ(cpus("0::/q/r\n"), -1);
	make("q/cpu.max", "max 100000\n");
	CHECK_EQ(cpus("0::/q/r\n"), -1);
	make("q/cpu.max", "400000 200000\n");
	CHECK_EQ(cpus("0::/q/r\n"), 2000);
	make("q/r/cpu.max", "150000 100000\n");
	CHECK_EQ(cpus("0::/q/r\n"), 1500);
	make("q/r/cpu.max", "900000 100000\n");
	CHECK_EQ(cpus("0::/q/r\n"), 2000);
	make("q/r/cpu.max", "1 100000\n");
	CHECK_EQ(cpus("0::/q/r\n"), 1);
	make("cpu/x/cpu.cfs_quota_us", "-1\n");
	make("cpu/x/cpu.cfs_period_us", "100000\n");
	CHECK_EQ(cpus("4:cpu,cpuacct:/x\n"), -1);
	make("cpu/x/cpu.cfs_quota_us", "50000\n");
	CHECK_EQ(cpus("4:cpu,cpuacct:/x\n"), 500);
}

int main(void)
{
	char clean[128];

	snprintf(root, sizeof(root), "/tmp/uk-cgroup-XXXXXX");
	CHECK(mkdtemp(root));
	RUN(numbers_are_read_and_words_are_no_limit);
	RUN(the_smallest_limit_of_all_parent_groups_counts);
	RUN(a_controller_of_its_own_hierarchy_is_found);
	RUN(malformed_files_are_no_limit);
	RUN(the_smallest_share_of_cpu_time_counts);
	RUN(a_container_uses_the_limit_at_its_root);
	snprintf(clean, sizeof(clean), "rm -rf %s", root);
	return system(clean) != 0;
}
