/* SPDX-License-Identifier: Apache-2.0 */
/* perf.c - events from perf, for a user without privileges: the kernel reports blocked
 * threads, also in a forked child and on carriers made later; the program's fds stay as
 * they were; and unless it is asked for, perf is used only while threads block often.
 * The tests count events and measure no time. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <uk/uk.h>
#include <unistd.h>

#include "monitor/detect.h"
#include "test.h"

enum { CALLS = 200, CROWD = 50 };

static uint32_t turns, over;

static void activations(const char *name, const char *value, int ok, void *arg)
{
	(void)ok;
	if (!strcmp(name, "activations"))
		*(int *)arg = !strncmp(value, "perf, ", 6);
}

static int in_force(void)
{
	int yes = 0;

	uk_doctor(activations, &yes);
	return yes;
}

static uint64_t spotted(void)
{
	uk_stats s;

	uk_stats_get(&s, sizeof(s));
	return s.spotted;
}

static void *turns_beside(void *arg)
{
	while (!__atomic_load_n(&over, __ATOMIC_SEQ_CST)) {
		__atomic_fetch_add(&turns, 1, __ATOMIC_SEQ_CST);
		uk_yield();
	}
	return arg;
}

/* Blocks by raw calls until the other thread of the same vp has had a turn. */
static void *blocks(void *arg)
{
	for (int i = 0; i < CALLS; i++) {
		uint32_t was = __atomic_load_n(&turns, __ATOMIC_SEQ_CST);

		uk_yield();
		while (__atomic_load_n(&turns, __ATOMIC_SEQ_CST) < was + 2)
			usleep(1000);
	}
	return arg;
}

static void one_round(void)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t, *u;

	CHECK_EQ(uk_vpset_create(&a.set, "one", 1, NULL, 0), 0);
	over = 0;
	CHECK_EQ(uk_thread_create(&u, &a, turns_beside, NULL), 0);
	CHECK_EQ(uk_thread_create(&t, &a, blocks, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	__atomic_store_n(&over, 1, __ATOMIC_SEQ_CST);
	CHECK_EQ(uk_thread_join(u, NULL), 0);
}

/* The monitor's own look may find a blocked thread first, and on a loaded machine does;
 * a signal may be lost for lack of space. So it repeats until enough blocks were
 * reported, which is never if no event comes. */
static void blocks_are_reported(void)
{
	uint64_t was = spotted();

	while (spotted() - was <= CALLS / 4)
		one_round();
}

static pthread_barrier_t wall;

static void *at_the_wall(void *arg)
{
	pthread_barrier_wait(&wall);
	return arg;
}

/* Each thread needs a carrier that did not exist when the events of the first carrier
 * were set up. */
static void blocks_on_new_carriers_are_reported(void)
{
	uk_thread *t[CROWD];
	uint64_t was = spotted();

	pthread_barrier_init(&wall, NULL, CROWD);
	for (int i = 0; i < CROWD; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, at_the_wall, NULL), 0);
	for (int i = 0; i < CROWD; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	CHECK(spotted() > was);
}

static void a_forked_child_gets_its_own_events(void)
{
	int st;
	pid_t pid;

	if (SANITIZED)
		return;
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		UNTIL(in_force());
		blocks_are_reported();
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &st, 0), pid);
	CHECK_EQ(st, 0);
	blocks_are_reported();
}

/* And no other carrier is being made. */
static int all_are_seated(void)
{
	struct carrier *c = load_acquire(&carriers_all);

	while (c && load_relaxed(&c->seat))
		c = c->next_all;
	return !c && !want_spare() && !load_relaxed(&carriers_newborn);
}

/* The filter kills the process for the system calls that set up events. Carriers that
 * are made under it have no events. */
static void a_later_seccomp_filter_costs_only_the_events(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };
	uk_thread *t[4 * CROWD];

	/* a filter set after the library has checked for one would kill the process */
	UNTIL(all_are_seated());
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
		    &filter))
		return;
	pthread_barrier_init(&wall, NULL, 4 * CROWD);
	for (int i = 0; i < 4 * CROWD; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, at_the_wall, NULL), 0);
	for (int i = 0; i < 4 * CROWD; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	UNTIL(!in_force());
}

static char open_before[1000];

/* The fds that the library leaves alone: the lower half if the limit is low (a login
 * has 1,024). */
static void descriptors(char *is_open)
{
	struct rlimit rl;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &rl), 0);
	for (rlim_t i = 0; i < sizeof(open_before) && i < rl.rlim_cur / 2; i++)
		is_open[i] = fcntl((int)i, F_GETFD) >= 0;
}

static void the_programs_fds_are_unchanged(void)
{
	char now[sizeof(open_before)] = { 0 };

	descriptors(now);
	CHECK(!memcmp(now, open_before, sizeof(now)));
}

static uint32_t in_use(void)
{
	return load_relaxed(&detector);
}

static void often(void)
{
	while (in_use() != DETECT_PERF)
		one_round();
}

/* Never blocks its carrier, and keeps the monitor awake. */
static void *sleeps_until_events_are_not_in_use(void *arg)
{
	while (in_use() == DETECT_PERF)
		uk_sleep(1000000);
	return arg;
}

static void seldom(void)
{
	uk_thread *t;

	CHECK_EQ(uk_thread_create(&t, NULL, sleeps_until_events_are_not_in_use, NULL),
		 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
}

/* Nobody asked for events. The second start gives events to carriers that had some
 * before. */
static void events_are_used_while_threads_block_often(void)
{
	for (int i = 0; i < 2; i++) {
		often();
		blocks_are_reported();
		seldom();
	}
	often();
	the_programs_fds_are_unchanged();
}

/* In a process of its own, before the runtime starts in this one. */
static void unasked(void)
{
	int st;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		unsetenv("UK_ACTIVATION");
		descriptors(open_before);
		RUN(events_are_used_while_threads_block_often);
		exit(0);
	}
	CHECK_EQ(waitpid(pid, &st, 0), pid);
	CHECK_EQ(st, 0);
}

/* Can events be used here at all? */
static int possible(void)
{
	int st;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid)
		_exit(!in_force());
	CHECK_EQ(waitpid(pid, &st, 0), pid);
	return !st;
}

int main(void)
{
	if (!getuid()) {
		CHECK_EQ(setgid(65534), 0);
		CHECK_EQ(setuid(65534), 0);
	}
	setenv("UK_ACTIVATION", "perf", 1);
	if (!possible())
		SKIP("no events of perf here: uk doctor says why");
	if (!SANITIZED)
		unasked();
	descriptors(open_before);
	RUN(blocks_are_reported);
	RUN(blocks_on_new_carriers_are_reported);
	RUN(a_forked_child_gets_its_own_events);
	RUN(the_programs_fds_are_unchanged);
	RUN(a_later_seccomp_filter_costs_only_the_events);
	return 0;
}
