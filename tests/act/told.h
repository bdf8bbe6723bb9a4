/* SPDX-License-Identifier: Apache-2.0 */
/* told.h - the kernel tells who has blocked, in a forked child too, and by carriers that were
 * born later; the program's descriptors know nothing of it. Counted, not timed. MECHANISM is
 * who tells, FORCE how uk doctor names him. */
#ifndef TOLD_H
#define TOLD_H

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

#include "sched/vp.h"
#include "test.h"

#ifndef FORCE
#define FORCE MECHANISM
#endif

enum { CALLS = 200, CROWD = 50 };

static uint32_t turns, over;

static void activations(const char *name, const char *value, int ok, void *arg)
{
	(void)ok;
	if (!strcmp(name, "activations"))
		*(int *)arg = !strncmp(value, FORCE ",", sizeof(FORCE));
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

	uk_stats_get(&s);
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

/* Raw: until the other one has had a turn, on one processor. */
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
	uk_attr a = UK_ATTR_INIT;
	uk_thread *t, *u;

	CHECK_EQ(uk_vpset_create(&a.set, "one", 1, NULL, 0), 0);
	over = 0;
	CHECK_EQ(uk_thread_create(&u, &a, turns_beside, NULL), 0);
	CHECK_EQ(uk_thread_create(&t, &a, blocks, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	__atomic_store_n(&over, 1, __ATOMIC_SEQ_CST);
	CHECK_EQ(uk_thread_join(u, NULL), 0);
}

/* A look may come first, and on a loaded machine does; a signal may find no room. So it goes on
 * until enough have been told: never, if nobody tells. */
static void blocks_are_told(void)
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

/* Each of them needs a carrier that did not exist when the kernel was told of the first. */
static void who_was_born_later_is_seen_too(void)
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

static void a_child_is_told_by_its_own(void)
{
	int st;
	pid_t pid;

	if (SANITIZED)
		return;
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		UNTIL(in_force());
		blocks_are_told();
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &st, 0), pid);
	CHECK_EQ(st, 0);
	blocks_are_told();
}

static int all_are_seated(void)
{
	struct carrier *c = load_acquire(&carriers_all);

	while (c && load_relaxed(&c->seat))
		c = c->next_all;
	return !c;
}

/* It kills for the very calls. Carriers that are born under it go without. */
static void a_filter_that_comes_later_costs_only_the_events(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };
	uk_thread *t[4 * CROWD];

	UNTIL(all_are_seated()); /* nobody stops a filter between a look and a call */
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

/* Those that the library leaves alone: of few (a login has 1,024) the lower half. */
static void descriptors(char *is_open)
{
	struct rlimit rl;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &rl), 0);
	for (rlim_t i = 0; i < sizeof(open_before) && i < rl.rlim_cur / 2; i++)
		is_open[i] = fcntl((int)i, F_GETFD) >= 0;
}

static void the_programs_descriptors_are_its_own(void)
{
	char now[sizeof(open_before)] = { 0 };

	descriptors(now);
	CHECK(!memcmp(now, open_before, sizeof(now)));
}

static inline void the_kernel_tells(void)
{
	descriptors(open_before);
	setenv("UK_ACTIVATION", MECHANISM, 1);
	if (!in_force())
		SKIP("no " MECHANISM " here: uk doctor says why");
	RUN(blocks_are_told);
	RUN(who_was_born_later_is_seen_too);
	RUN(a_child_is_told_by_its_own);
	RUN(the_programs_descriptors_are_its_own);
	RUN(a_filter_that_comes_later_costs_only_the_events);
}

#endif
