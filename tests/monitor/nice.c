/* SPDX-License-Identifier: Apache-2.0 */
/* A hog that computes alone keeps its priority. It loses the priority while another
 * thread wants to run, and gets it back when none does or when the hog returns to the
 * runtime. */
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <uk/uk.h>

#include "test.h"

static uint32_t hog_tid, hog_over, other_over;
static int normal;

static int nice_of(uint32_t tid)
{
	char path[64], line[1024], *s;
	int nice = -99;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%u/stat", tid);
	f = fopen(path, "r");
	CHECK(f);
	CHECK(fgets(line, sizeof(line), f));
	fclose(f);
	s = strrchr(line, ')');
	CHECK(s);
	/* the fields are: state ppid pgrp session tty tpgid flags minflt cminflt majflt
	 * cmajflt utime stime cutime cstime priority nice */
	CHECK_EQ(
	    sscanf(
		s + 1,
		" %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d",
		&nice),
	    1);
	return nice;
}

static void *computes(void *arg)
{
	__atomic_store_n(&hog_tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&hog_over, __ATOMIC_SEQ_CST))
		;
	uk_yield(); /* returns to the runtime here */
	/* the monitor may have lowered it just now; then it restores it (hog_nice) */
	while (nice_of((uint32_t)syscall(SYS_gettid)) != normal)
		usleep(1000);
	return arg;
}

static void *wants_to_run(void *arg)
{
	while (!__atomic_load_n(&other_over, __ATOMIC_SEQ_CST))
		uk_yield();
	return arg;
}

static uint64_t hogs_taken(void)
{
	uk_stats s;

	uk_stats_get(&s, sizeof(s));
	return s.handoffs_hog;
}

static uk_thread *a_hog(void)
{
	uint64_t before = hogs_taken();
	uk_thread *t;

	hog_tid = hog_over = 0;
	CHECK_EQ(uk_thread_create(&t, NULL, computes, NULL), 0);
	UNTIL(hogs_taken() > before && __atomic_load_n(&hog_tid, __ATOMIC_SEQ_CST));
	return t;
}

static void it_ends(uk_thread *hog)
{
	__atomic_store_n(&hog_over, 1, __ATOMIC_SEQ_CST);
	CHECK_EQ(uk_thread_join(hog, NULL), 0);
}

static void a_lone_hog_keeps_its_priority(void)
{
	uk_thread *hog = a_hog();

	for (int i = 0; i < 200; i++) {
		CHECK_EQ(nice_of(hog_tid), normal);
		usleep(1000); /* main is a foreign thread */
	}
	it_ends(hog);
}

static void a_hog_beside_a_ready_thread_loses_its_priority(void)
{
	uk_thread *hog = a_hog(), *other;

	other_over = 0;
	CHECK_EQ(uk_thread_create(&other, NULL, wants_to_run, NULL), 0);
	UNTIL(nice_of(hog_tid) == 19);
	__atomic_store_n(&other_over, 1, __ATOMIC_SEQ_CST);
	CHECK_EQ(uk_thread_join(other, NULL), 0);
	UNTIL(nice_of(hog_tid) == normal);
	it_ends(hog);
}

static void a_hog_that_returns_has_its_priority_back(void)
{
	uk_thread *hog, *other;

	other_over = 0;
	CHECK_EQ(uk_thread_create(&other, NULL, wants_to_run, NULL), 0);
	for (int i = 0; i < 5; i++) {
		hog = a_hog();
		UNTIL(nice_of(hog_tid) == 19);
		it_ends(hog);
	}
	__atomic_store_n(&other_over, 1, __ATOMIC_SEQ_CST);
	CHECK_EQ(uk_thread_join(other, NULL), 0);
}

int main(void)
{
	struct rlimit rl;

	normal = getpriority(PRIO_PROCESS, 0);
	CHECK_EQ(getrlimit(RLIMIT_NICE, &rl), 0);
	if (getuid() && 20 - (int)rl.rlim_cur > normal)
		SKIP("the monitor lowers no priority that it may not raise again");
	if (normal == 19)
		SKIP("the test has the lowest priority already");
	RUN(a_lone_hog_keeps_its_priority);
	RUN(a_hog_beside_a_ready_thread_loses_its_priority);
	RUN(a_hog_that_returns_has_its_priority_back);
	return 0;
}
