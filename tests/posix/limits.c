/* SPDX-License-Identifier: Apache-2.0 */
/* A server with limits as an operator sets them, and in a container. It serves, or
 * pthread_create fails, as natively; or the process ends, and one line says what is
 * refused. A case for which the machine lacks a facility is left out, and the reason
 * printed on standard error. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "posix.h"

enum { ECHOES = 50, BLOCKED = 40, MOST = 200, ROUNDS = 5, FDS = 20 };

/* ---- the server: threads that echo, that block, and one that computes ---- */

static pthread_t echoing[MOST], blocked[MOST], computing;
static int ends[MOST], gate[2], done, n_echoing, n_blocked;

static void *echoes(void *arg)
{
	int fd = (int)(long)arg;
	struct pollfd p[FDS];
	char c;

	for (int i = 0; i < FDS; i++)
		p[i] = (struct pollfd){ .fd = fd, .events = POLLIN };
	for (;;) {
		ssize_t n;

		CHECK(poll(p, FDS, -1) > 0);
		n = read(fd, &c, 1);
		CHECK(n >= 0);
		if (!n)
			break;
		CHECK(write(fd, &c, 1) == 1);
	}
	close(fd);
	return arg;
}

static void *blocks(void *arg)
{
	char c;

	CHECK(raw_call(SYS_read, gate[0], &c, 1) == 1);
	return arg;
}

static void *computes(void *arg)
{
	while (!__atomic_load_n(&done, __ATOMIC_RELAXED))
		;
	return arg;
}

/* False: no thread can be made. */
static bool add_echo(const pthread_attr_t *a)
{
	int pair[2], r;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	r = pthread_create(&echoing[n_echoing], a, echoes, (void *)(long)pair[1]);
	if (!r) {
		ends[n_echoing++] = pair[0];
		return true;
	}
	CHECK(r == EAGAIN);
	close(pair[0]);
	close(pair[1]);
	return false;
}

static void open_up(int echo, int block, size_t stack)
{
	pthread_attr_t a;

	CHECK(!pthread_attr_init(&a));
	CHECK(!pthread_attr_setstacksize(&a, stack));
	CHECK(!pipe(gate));
	CHECK(!pthread_create(&computing, &a, computes, NULL));
	while (n_blocked < block)
		CHECK(!pthread_create(&blocked[n_blocked++], &a, blocks, NULL));
	while (n_echoing < echo && add_echo(&a))
		;
}

static void serve(void)
{
	char c;

	for (int r = 0; r < ROUNDS; r++) {
		for (int i = 0; i < n_echoing; i++)
			CHECK(write(ends[i], "x", 1) == 1);
		for (int i = 0; i < n_echoing; i++)
			CHECK(read(ends[i], &c, 1) == 1);
	}
}

static void shut_down(void)
{
	for (int i = 0; i < n_blocked; i++)
		CHECK(write(gate[1], "x", 1) == 1);
	for (int i = 0; i < n_blocked; i++)
		finish(blocked[i]);
	for (int i = 0; i < n_echoing; i++)
		close(ends[i]);
	for (int i = 0; i < n_echoing; i++)
		finish(echoing[i]);
	__atomic_store_n(&done, 1, __ATOMIC_RELAXED);
	finish(computing);
}

static void works(int echo, int block)
{
	open_up(echo, block, 128 << 10);
	CHECK(n_echoing == echo);
	serve();
	shut_down();
}

/* ---- limits ---- */

static void limit(int what, rlim_t n)
{
	struct rlimit rl = { n, n };

	CHECK(!setrlimit(what, &rl));
}

static void it_serves_with_256_files(void)
{
	limit(RLIMIT_NOFILE, 256);
	works(ECHOES, 1);
}

static void it_serves_with_512_mb_of_address_space(void)
{
	limit(RLIMIT_AS, 512 << 20);
	open_up(20, 0, 8 << 20);
	CHECK(n_echoing == 20);
	serve();
	shut_down();
}

/* As many vps are wanted as on a machine of so many CPUs. */
static void with_cpus(const char *n)
{
	set_debug("cpus", n);
	unsetenv("UK_VPS");
	unsetenv("UK_REACTOR"); /* 64 rings may need more than RLIMIT_MEMLOCK */
}

/* A user of its own, because other runs of this test count too. */
static bool become_a_user(void)
{
	id_t id = 1 << 20 | (id_t)getpid();

	if (!setgid(id) && !setuid(id))
		return true;
	fprintf(stderr, "skipped: RLIMIT_NPROC: not root\n");
	return false;
}

static void it_serves_with_64_threads_of_the_user(void)
{
	if (!become_a_user())
		return;
	limit(RLIMIT_NPROC, 64);
	works(10, BLOCKED);
}

static void also_on_a_machine_of_64_cpus(void)
{
	if (!become_a_user())
		return;
	limit(RLIMIT_NPROC, 64);
	with_cpus("64");
	works(ECHOES, 1);
}

static void it_serves_with_128_files_on_a_machine_of_256_cpus(void)
{
	limit(RLIMIT_NOFILE, 128);
	with_cpus("256");
	works(10, 1);
}

/* ---- control groups ---- */

static char group[100];

static bool put(const char *file, const char *text)
{
	char path[200];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	f = fopen(path, "r+"); /* must exist, or it is no control group */
	if (!f)
		return false;
	ok = fputs(text, f) >= 0;
	return !fclose(f) && ok;
}

static bool make_group(const char *parent, const char *file, const char *value)
{
	snprintf(group, sizeof(group), "%s/uk-test-%d", parent, (int)getpid());
	if (mkdir(group, 0755))
		return false;
	if (put(file, value))
		return true;
	rmdir(group);
	return false;
}

static int served_echoes, served_blocked;

static void serves_in_the_group(void)
{
	char me[20];

	snprintf(me, sizeof(me), "%d\n", (int)getpid());
	CHECK(put("cgroup.procs", me));
	works(served_echoes, served_blocked);
}

static void in_a_group(const char *controller, const char *file, const char *old,
		       const char *value, int echo, int block)
{
	char parent[64];

	snprintf(parent, sizeof(parent), "/sys/fs/cgroup/%s", controller);
	if (!make_group("/sys/fs/cgroup", file, value) &&
	    !make_group(parent, old, value)) {
		fprintf(stderr, "skipped: no control group with %s\n", file);
		return;
	}
	served_echoes = echo;
	served_blocked = block;
	run_in_child(serves_in_the_group);
	while (rmdir(group) && errno == EBUSY)
		usleep(1000);
}

static void it_serves_with_64_threads_in_the_control_group(void)
{
	in_a_group("pids", "pids.max", "pids.max", "64\n", 10, BLOCKED);
}

static void also_there_on_a_machine_of_64_cpus(void)
{
	with_cpus("64");
	in_a_group("pids", "pids.max", "pids.max", "64\n", ECHOES, 1);
}

static void it_serves_with_256_mb_in_the_control_group(void)
{
	in_a_group("memory", "memory.max", "memory.limit_in_bytes", "268435456\n", MOST,
		   1);
}

static void it_serves_with_half_a_cpu_in_the_control_group(void)
{
	unsetenv("UK_VPS");
	in_a_group("cpu", "cpu.max", "cpu.cfs_quota_us", "50000\n", ECHOES, 1);
}

/* ---- system calls refused ---- */

static void refuse(const int *calls, unsigned n, unsigned error, unsigned flags)
{
	struct sock_filter f[8] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					     offsetof(struct seccomp_data, nr)) };
	struct sock_fprog p = { (unsigned short)(n + 3), f };

	for (unsigned i = 0; i < n; i++)
		f[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							(unsigned)calls[i],
							(unsigned char)(n - i), 0);
	f[n + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	f[n + 2] =
	    (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &p));
}

static const int uring[] = { SYS_io_uring_setup, SYS_io_uring_enter,
			     SYS_io_uring_register };
static const int barrier[] = { SYS_membarrier };

static void it_serves_without_io_uring(void)
{
	refuse(uring, 3, EPERM, 0);
	unsetenv("UK_REACTOR");
	works(ECHOES, 1);
}

static void also_if_the_kernel_does_not_know_it(void)
{
	refuse(uring, 3, ENOSYS, 0);
	unsetenv("UK_REACTOR");
	works(ECHOES, 1);
}

/* Returns the end of a child that runs fn, and what it prints on standard error. */
static int child_says(void (*fn)(void), char *out, size_t size)
{
	int p[2];
	size_t n = 0;
	ssize_t r;
	pid_t pid;

	CHECK(!pipe(p));
	pid = make_child();
	if (!pid) {
		dup2(p[1], 2);
		close(p[0]);
		close(p[1]);
		fn();
		exit(0);
	}
	close(p[1]);
	while ((r = read(p[0], out + n, size - 1 - n)) > 0)
		n += (size_t)r;
	out[n] = 0;
	close(p[0]);
	return end_of(pid);
}

static int refusal;

static void may_fail_to_start(void)
{
	pthread_t t;
	int r;

	refuse(barrier, 1, (unsigned)refusal, 0);
	r = pthread_create(&t, NULL, computes, NULL);
	CHECK(!r || r == EAGAIN);
	if (r) {
		CHECK(pthread_create(&t, NULL, computes, NULL) == EAGAIN);
		exit(3);
	}
	__atomic_store_n(&done, 1, __ATOMIC_RELAXED);
	finish(t);
}

static void without_membarrier_one_line_tells_why(void)
{
	char out[16384], *line;

	for (int i = 0; i < 2; i++) {
		refusal = i ? ENOSYS : EPERM;
		if (!child_says(may_fail_to_start, out, sizeof(out)))
			continue; /* natively */
		line = strstr(out, "cannot start without membarrier(2)");
		CHECK(line && strstr(line, "seccomp"));
		CHECK(!strstr(line + 1, "cannot start"));
	}
}

static sem_t woken;

static void *waits(void *arg)
{
	CHECK(!sem_wait(&woken));
	return arg;
}

static void is_confined_late(void)
{
	pthread_t t;

	limit(RLIMIT_CORE, 0);
	CHECK(!sem_init(&woken, 0, 0));
	t = start(waits, NULL);
	usleep(10000); /* the kernel threads of the library sleep */
	refuse(uring, 3, EPERM, SECCOMP_FILTER_FLAG_TSYNC);
	CHECK(!sem_post(&woken));
	finish(t);
}

static void a_filter_after_the_start_ends_the_process_with_the_reason(void)
{
	char out[16384];

	if (child_says(is_confined_late, out, sizeof(out)))
		CHECK(strstr(out, "seccomp filter installed after the start"));
}

/* ---- namespaces ---- */

/* False: not allowed here. The test runs in its own process. */
static bool unshared(int what)
{
	if (!unshare(what))
		return true;
	fprintf(stderr, "skipped: unshare: %s\n", strerror(errno));
	return false;
}

static void it_serves_without_privilege_in_a_user_namespace(void)
{
	if (!unshared(CLONE_NEWUSER))
		return;
	limit(RLIMIT_MEMLOCK, 0);
	unsetenv("UK_REACTOR");
	works(ECHOES, 1);
}

/* What is mounted from now on, only this process sees. */
static bool has_own_mounts(void)
{
	if (!unshared(geteuid() ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS))
		return false;
	if (!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return true;
	fprintf(stderr, "skipped: mount: %s\n", strerror(errno)); /* / is a chroot */
	return false;
}

static void hide(const char *dir, const char *options)
{
	if (mount("none", dir, "tmpfs", 0, options))
		fprintf(stderr, "skipped: %s: %s\n", dir, strerror(errno));
}

static void it_serves_without_proc_and_sys(void)
{
	if (!has_own_mounts())
		return;
	hide("/proc", "");
	hide("/sys", "");
	works(ECHOES, 1);
}

static void it_serves_with_dev_shm_full(void)
{
	char page[4096] = "x";
	FILE *f;

	if (!has_own_mounts())
		return;
	hide("/dev/shm", "size=64k");
	f = fopen("/dev/shm/uk-test-full", "w");
	for (int i = 0; f && i < 16; i++)
		fwrite(page, sizeof(page), 1, f);
	works(ECHOES, 1);
}

int main(void)
{
	RUN_ALONE(it_serves_with_256_files);
	RUN_ALONE(it_serves_with_128_files_on_a_machine_of_256_cpus);
	RUN_ALONE(it_serves_with_512_mb_of_address_space);
	RUN_ALONE(it_serves_with_64_threads_of_the_user);
	RUN_ALONE(also_on_a_machine_of_64_cpus);
	RUN_ALONE(it_serves_with_64_threads_in_the_control_group);
	RUN_ALONE(also_there_on_a_machine_of_64_cpus);
	RUN_ALONE(it_serves_with_256_mb_in_the_control_group);
	RUN_ALONE(it_serves_with_half_a_cpu_in_the_control_group);
	RUN_ALONE(it_serves_without_io_uring);
	RUN_ALONE(also_if_the_kernel_does_not_know_it);
	RUN_ALONE(without_membarrier_one_line_tells_why);
	RUN_ALONE(a_filter_after_the_start_ends_the_process_with_the_reason);
	RUN_ALONE(it_serves_without_privilege_in_a_user_namespace);
	RUN_ALONE(it_serves_without_proc_and_sys);
	RUN_ALONE(it_serves_with_dev_shm_full);
	return 0;
}
