/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine refuses is reported with its reason: by uk_doctor if the runtime
 * starts all the same, in one line if it cannot start. Each case runs in its own
 * process. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "uk/uk.h"

static void refuse(unsigned call, unsigned error)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof(f) / sizeof(f[0]), f };

	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p), 0);
}

static void print_row(const char *name, const char *value, int ok, void *arg)
{
	(void)arg;
	fprintf(stderr, "%s|%s|%d\n", name, value, ok);
}

static void *nothing(void *arg)
{
	return arg;
}

/* Runs `body` in a child, and returns what it prints on standard error. */
static char *output_of(void (*body)(void))
{
	static char out[16384];
	int p[2], status;
	size_t n = 0;
	ssize_t r;
	pid_t pid;

	CHECK_EQ(pipe(p), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		unsetenv("UK_REACTOR");
		dup2(p[1], 2);
		close(p[0]);
		close(p[1]);
		body();
		_exit(0);
	}
	close(p[1]);
	while ((r = read(p[0], out + n, sizeof(out) - 1 - n)) > 0)
		n += (size_t)r;
	out[n] = 0;
	close(p[0]);
	CHECK(waitpid(pid, &status, 0) == pid);
	if (status)
		fputs(out, stderr);
	CHECK_EQ(status, 0);
	return out;
}

static void works(void)
{
	uk_thread *t;

	CHECK_EQ(uk_thread_create(&t, NULL, nothing, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	uk_doctor(print_row, NULL);
}

static void with_little_locked_memory(void)
{
	struct rlimit rl = { 200 << 10, 200 << 10 };

	setenv("UK_VPS", "8", 1);
	CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &rl), 0);
	if (!getuid())
		CHECK_EQ(setuid(65534), 0);
	works();
}

static void with_rings_refused(void)
{
	refuse(SYS_io_uring_setup, EPERM);
	works();
}

static void with_no_rings(void)
{
	refuse(SYS_io_uring_setup, ENOSYS);
	works();
}

static bool rings_here(void)
{
	return strstr(output_of(works), "reactor|io_uring|1");
}

static void it_reports_why_io_uring_is_not_used(void)
{
	if (rings_here()) {
		/* newer kernels charge a ring to the control group instead */
		const char *out = output_of(with_little_locked_memory);

		CHECK(strstr(out, "RLIMIT_MEMLOCK), 200 KiB") ||
		      strstr(out, "reactor|io_uring|1"));
	}
	CHECK(strstr(output_of(with_rings_refused),
		     "vps: refused: kernel.io_uring_disabled"));
	CHECK(strstr(output_of(with_no_rings), "vps: this kernel has none"));
}

/* --- a share of the CPUs --- */

static char group[64];

static bool put(const char *file, const char *text)
{
	char path[128];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	f = fopen(path, "r+"); /* must exist, or it is no control group */
	if (!f)
		return false;
	ok = fputs(text, f) >= 0;
	return !fclose(f) && ok;
}

static bool make_group(const char *parent)
{
	snprintf(group, sizeof(group), "%s/uk-test-%d", parent, (int)getpid());
	if (mkdir(group, 0755))
		return false;
	if (put("cpu.max", "100000 100000\n") || put("cpu.cfs_quota_us", "100000\n"))
		return true;
	rmdir(group);
	return false;
}

static void in_the_group(void)
{
	char me[20];

	unsetenv("UK_VPS");
	snprintf(me, sizeof(me), "%d\n", (int)getpid());
	CHECK(put("cgroup.procs", me));
	CHECK_EQ(uk_vp_count(), 1);
	works();
	CHECK_EQ(uk_vp_count(), 1);
}

static void a_limit_of_one_cpu_makes_one_vp(void)
{
	const char *out;

	if (!make_group("/sys/fs/cgroup") && !make_group("/sys/fs/cgroup/cpu")) {
		printf("(no control group can be created here)\n");
		return;
	}
	out = output_of(in_the_group);
	rmdir(group);
	CHECK(strstr(out, "virtual processors|1 ("));
	CHECK(strstr(out, ", a control group allows 1.0"));
}

/* --- limits --- */

/* A user whose kernel threads are those of this process alone. */
static uid_t own_user(void)
{
	return 1u << 30 | (uid_t)getpid();
}

static void with_limits(void)
{
	struct rlimit threads = { 96, 96 },
		      space = { (rlim_t)8 << 30, (rlim_t)8 << 30 };

	unsetenv("UK_CARRIERS");
	CHECK_EQ(setrlimit(RLIMIT_AS, &space), 0);
	CHECK_EQ(setuid(own_user()), 0);
	CHECK_EQ(setrlimit(RLIMIT_NPROC, &threads), 0);
	works();
}

/* Only root can become another user. */
static void tells(void (*body)(void), const char *row, const char *other)
{
	const char *out;

	if (getuid()) {
		printf("(not root)\n");
		return;
	}
	out = output_of(body);
	CHECK(strstr(out, row) && strstr(out, other));
}

static void it_tells_what_the_limits_mean(void)
{
	tells(with_limits, "kernel threads|84, seven eighths of RLIMIT_NPROC: when",
	      "address space|8192 MiB (RLIMIT_AS)");
}

/* More vps are wanted than there may be kernel threads. */
static void on_a_machine_of_many_cpus(void)
{
	unsetenv("UK_VPS");
	set_debug("cpus", "200");
	with_limits();
}

static void fewer_vps_start_if_the_limits_allow_no_more(void)
{
	tells(on_a_machine_of_many_cpus, "virtual processors|50 (200 CPUs; ",
	      "RLIMIT_NPROC, pids.max");
}

/* --- membarrier --- */

static int refusal;

static void without_membarrier(void)
{
	refuse(SYS_membarrier, (unsigned)refusal);
	CHECK_EQ(uk_init(), -refusal);
	CHECK_EQ(uk_init(), -refusal);
}

static int lines(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += *s == '\n';
	return n;
}

static void without_membarrier_the_start_prints_one_line(void)
{
	const int errors[] = { EPERM, ENOSYS };

	for (int i = 0; i < 2; i++) {
		const char *out;

		refusal = errors[i];
		out = output_of(without_membarrier);
		CHECK(strstr(out, "cannot start without membarrier(2)"));
		CHECK(strstr(out, "seccomp"));
		CHECK_EQ(lines(out), 1);
	}
}

int main(void)
{
	if (SANITIZED)
		SKIP("a sanitizer's runtime makes calls of its own");
	RUN(it_reports_why_io_uring_is_not_used);
	RUN(a_limit_of_one_cpu_makes_one_vp);
	RUN(it_tells_what_the_limits_mean);
	RUN(fewer_vps_start_if_the_limits_allow_no_more);
	RUN(without_membarrier_the_start_prints_one_line);
	return 0;
}
