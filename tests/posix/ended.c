/* SPDX-License-Identifier: Apache-2.0 */
/* A thread ends its kernel thread by a raw SYS_exit instruction, which no library sees.
 * The other threads go on, new threads run, and calls that reach all kernel threads
 * work. */
#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix.h"

enum { READERS = 8, LOST = 5 };

static int to[READERS][2], back[2], begun;
static long kernel_id;
static int64_t its_time;
static clockid_t clock_of_lost;

static void *answers(void *arg)
{
	const int *p = arg;
	char c;

	while (read(p[0], &c, 1) == 1)
		CHECK(write(back[1], &c, 1) == 1);
	return NULL;
}

static int64_t cpu_time(clockid_t clock)
{
	struct timespec ts;

	return clock_gettime(clock, &ts) ? -errno
					 : ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static void *ends_its_kernel_thread(void *arg)
{
	CHECK(!pthread_getcpuclockid(pthread_self(), &clock_of_lost));
	do
		its_time = cpu_time(clock_of_lost);
	while (its_time < 1000000);
	/* it may have moved from one to another */
	kernel_id = raw_call(SYS_gettid, 0, NULL, 0);
	__atomic_store_n(&begun, 1, __ATOMIC_SEQ_CST);
	raw_call(SYS_exit, 0, NULL, 0);
	return arg;
}

static void *comes_and_goes(void *arg)
{
	return arg;
}

static void lose_one(void)
{
	begun = 0;
	CHECK(!pthread_detach(start(ends_its_kernel_thread, NULL)));
	while (!__atomic_load_n(&begun, __ATOMIC_SEQ_CST))
		sched_yield();
}

static void all_answer(void)
{
	char c = 'x';

	for (int i = 0; i < READERS; i++)
		CHECK(write(to[i][1], &c, 1) == 1);
	for (int i = 0; i < READERS; i++)
		CHECK(read(back[0], &c, 1) == 1);
}

/* Natively the clock ends with the thread. */
static void its_cpu_time_is_kept(void)
{
	char task[64];
	bool ours = dlsym(RTLD_DEFAULT, "uk_yield") != NULL;
	int64_t now;

	snprintf(task, sizeof(task), "/proc/self/task/%ld", kernel_id);
	while (!access(task, F_OK))
		sched_yield();
	now = cpu_time(clock_of_lost);
	CHECK(ours ? now >= its_time : now == -EINVAL);
}

/* libc and the library contact each kernel thread in these calls. */
static void calls_for_all(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	CHECK(end_of(pid) == 0);
	CHECK(!setuid(getuid()));
}

int main(void)
{
	pthread_t reader[READERS];

	CHECK(!pipe(back));
	for (int i = 0; i < READERS; i++) {
		CHECK(!pipe(to[i]));
		reader[i] = start(answers, to[i]);
	}
	RUN(all_answer);
	for (int i = 0; i < LOST; i++) {
		lose_one();
		all_answer();
		its_cpu_time_is_kept();
		run_in_thread(comes_and_goes);
		calls_for_all();
	}
	for (int i = 0; i < READERS; i++) {
		CHECK(!close(to[i][1]));
		finish(reader[i]);
	}
	puts("the others went on");
	return 0;
}
