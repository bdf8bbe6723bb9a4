/* SPDX-License-Identifier: Apache-2.0 */
/* A program that does little is sampled little: the monitor comes at most once after a
 * vp has woken up, and then not for some time. */
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <uk/uk.h>
#include <unistd.h>

#include "test.h"

enum { NAPS = 300, CALLS = 20, SETS = 6, IDLE = 3 };

static uint64_t looks(void)
{
	uk_stats s;

	uk_stats_get(&s, sizeof(s));
	return s.monitor_wakes;
}

static uint32_t over;

static void *naps(void *arg)
{
	uint64_t from = looks();

	for (int i = 0; i < NAPS; i++)
		CHECK_EQ(uk_sleep(3 * UK_MS), 0);
	/* if the monitor stayed awake for 20 ms after each wake-up, this would be about
	 * ten for each nap */
	CHECK(looks() - from < 5 * NAPS);
	return arg;
}

static void a_short_run_costs_few_looks(void)
{
	uk_thread *t;

	CHECK_EQ(uk_thread_create(&t, NULL, naps, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
}

/* Waits until the monitor sleeps while all vps sleep; if it never does, the test
 * hangs. */
static void sleeping_vps_are_not_sampled(void)
{
	uint64_t from;

	do {
		from = looks();
		usleep(100000);
	} while (looks() != from);
}

static void *counts(void *arg)
{
	uint32_t *n = arg;

	while (!__atomic_load_n(&over, __ATOMIC_SEQ_CST)) {
		__atomic_add_fetch(n, 1, __ATOMIC_SEQ_CST);
		uk_sleep(UK_MS / 10);
	}
	return arg;
}

/* The monitor comes when a thread blocks, whether it slept or not. */
static void *blocks(void *arg)
{
	uint32_t *n = arg;

	for (int i = 0; i < CALLS; i++) {
		uint32_t was = __atomic_load_n(n, __ATOMIC_SEQ_CST);

		uk_sleep(20 * UK_MS); /* all threads sleep but the counter, which sleeps
				       * for short times */
		while (__atomic_load_n(n, __ATOMIC_SEQ_CST) < was + 2)
			usleep(
			    1000); /* raw: the counter needs our vp, or another one */
	}
	return arg;
}

static void a_thread_that_blocks_after_a_sleep_is_found(void)
{
	static uint32_t n;
	uk_thread *a, *b;

	CHECK_EQ(uk_thread_create(&a, NULL, counts, &n), 0);
	CHECK_EQ(uk_thread_create(&b, NULL, blocks, &n), 0);
	CHECK_EQ(uk_thread_join(b, NULL), 0);
	__atomic_store_n(&over, 1, __ATOMIC_SEQ_CST);
	CHECK_EQ(uk_thread_join(a, NULL), 0);
}

/* A new vp counts as awake. Its first thread may be there before its carrier. */
static void *waits_raw(void *arg)
{
	char c;

	CHECK_EQ(read(((int *)arg)[0], &c, 1), 1);
	return arg;
}

static void *writes_raw(void *arg)
{
	CHECK_EQ(write(((int *)arg)[1], "x", 1), 1);
	return arg;
}

static void a_thread_that_blocks_on_a_new_vp_is_found(void)
{
	for (int i = 0; i < SETS; i++) {
		uk_thread_attr a = UK_THREAD_ATTR_INIT;
		uk_thread *t, *u;
		int p[2];

		sleeping_vps_are_not_sampled();
		CHECK_EQ(pipe(p), 0);
		CHECK_EQ(uk_vpset_create(&a.set, "new", 1, NULL, 0), 0);
		CHECK_EQ(uk_thread_create(&t, &a, waits_raw, p), 0);
		CHECK_EQ(uk_thread_create(&u, &a, writes_raw, p), 0);
		CHECK_EQ(uk_thread_join(t, NULL), 0);
		CHECK_EQ(uk_thread_join(u, NULL), 0);
		close(p[0]);
		close(p[1]);
	}
}

/* The library takes no signal that the program sends to itself. */
static void the_program_gets_its_own_alarms(void)
{
	struct itimerval it = { .it_value.tv_usec = 1000 };
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	for (int i = 0; i < CALLS; i++) {
		CHECK_EQ(setitimer(ITIMER_REAL, &it, NULL), 0);
		CHECK_EQ(sigwait(&set, &sig), 0);
		CHECK_EQ(sig, SIGALRM);
		uk_yield();
	}
}

/* If the kernel refuses a timer, the monitor waits without one. */
static int has_no_timer(void)
{
	struct rlimit none = { 0, 0 };
	timer_t t;

	CHECK_EQ(setrlimit(RLIMIT_SIGPENDING, &none), 0);
	if (!timer_create(CLOCK_MONOTONIC, NULL, &t))
		return 77;
	CHECK_EQ(uk_init(), 0);
	sleeping_vps_are_not_sampled();
	a_thread_that_blocks_after_a_sleep_is_found();
	a_thread_that_blocks_on_a_new_vp_is_found();
	return 0;
}

/* A filter that is set after the monitor has made its timer refuses to set the
 * timer. */
static int is_refused_the_timer(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_timer_settime, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

	CHECK_EQ(uk_init(), 0);
	sleeping_vps_are_not_sampled();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
		    &filter))
		return 77;
	a_thread_that_blocks_after_a_sleep_is_found();
	a_thread_that_blocks_on_a_new_vp_is_found();
	return 0;
}

static void *receives(void *arg)
{
	char c;

	uk_recv(((int *)arg)[0], &c, 1, 0);
	return arg;
}

static void *sleeps(void *arg)
{
	uk_sleep(3600 * UK_SEC);
	return arg;
}

/* How often the kernel has switched the other threads of this process. */
static uint64_t switches_of_others(void)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	uint64_t sum = 0;

	CHECK(d != NULL);
	while ((e = readdir(d))) {
		char path[300], line[200];
		unsigned long n;
		FILE *f;

		if (e->d_name[0] == '.' || atoi(e->d_name) == gettid())
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", e->d_name);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "voluntary_ctxt_switches: %lu", &n) == 1 ||
			    sscanf(line, "nonvoluntary_ctxt_switches: %lu", &n) == 1)
				sum += n;
		if (f)
			fclose(f);
	}
	closedir(d);
	return sum;
}

/* Threads wait in every way, one of them in the kernel, and nothing happens: then no
 * kernel thread wakes up, in IDLE seconds. */
static int is_idle(const char *mechanism)
{
	static int here[2], raw[2];
	uk_thread *t;
	uint64_t was;

	setenv("UK_ACTIVATION", mechanism, 1);
	set_debug("trim", "100"); /* memory is returned soon, or this would come late */
	CHECK_EQ(pipe(raw), 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, here), 0);
	CHECK_EQ(uk_thread_create(&t, NULL, receives, here), 0);
	CHECK_EQ(uk_thread_create(&t, NULL, sleeps, NULL), 0);
	CHECK_EQ(uk_thread_create(&t, NULL, waits_raw, raw), 0);
	do {
		was = switches_of_others();
		sleep(IDLE);
	} while (switches_of_others() != was);
	return 0;
}

static void once_more(const char *how)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		execl("/proc/self/exe", "quiet", how, (char *)NULL);
		_exit(1);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77);
}

static void an_idle_process_does_not_wake_up(void)
{
	once_more("perf");
	once_more("monitor");
}

static void the_monitor_works_without_a_timer(void)
{
	once_more("no-timer");
}

static void the_monitor_works_if_its_timer_is_refused(void)
{
	once_more("refused");
}

int main(int argc, char **argv)
{
	set_debug("trim", "0");
	if (argc > 1 && !strcmp(argv[1], "no-timer"))
		return has_no_timer();
	if (argc > 1 && !strcmp(argv[1], "refused"))
		return is_refused_the_timer();
	if (argc > 1)
		return is_idle(argv[1]);
	CHECK_EQ(uk_init(), 0);
	RUN(sleeping_vps_are_not_sampled);
	if (!SANITIZED) /* everything takes longer there, so the monitor looks more
			 * often */
		RUN(a_short_run_costs_few_looks);
	RUN(a_thread_that_blocks_after_a_sleep_is_found);
	RUN(a_thread_that_blocks_on_a_new_vp_is_found);
	RUN(the_monitor_works_without_a_timer);
	RUN(the_monitor_works_if_its_timer_is_refused);
	RUN(the_program_gets_its_own_alarms);
	if (!SANITIZED) /* it has a thread of its own */
		RUN(an_idle_process_does_not_wake_up);
	return 0;
}
