/* SPDX-License-Identifier: Apache-2.0 */
/* A thread ends its kernel thread by a raw SYS_exit instruction, which no library sees.
 * The other threads go on, new threads run, and calls that reach all kernel threads
 * work. */
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix.h"

enum { READERS = 8, LOST = 5 };

static int to[READERS][2], back[2], begun;

static void *answers(void *arg)
{
	const int *p = arg;
	char c;

	while (read(p[0], &c, 1) == 1)
		CHECK(write(back[1], &c, 1) == 1);
	return NULL;
}

static void *ends_its_kernel_thread(void *arg)
{
	__atomic_store_n(&begun, 1, __ATOMIC_SEQ_CST);
#if defined(__x86_64__)
	__asm__ volatile("syscall" : : "a"(SYS_exit), "D"(0) : "rcx", "r11", "memory");
#else
	register long number __asm__("x8") = SYS_exit;
	register long status __asm__("x0") = 0;

	__asm__ volatile("svc 0" : : "r"(number), "r"(status) : "memory");
#endif
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

/* libc and the library contact each kernel thread in these calls. */
static void calls_for_all(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	CHECK(waitpid(pid, &status, 0) == pid && !status);
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
