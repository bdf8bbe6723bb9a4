/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a stack overflow names the thread, its stack size and the variable that
 * changes it; then the signal ends the process. Light and full threads, each in a child
 * process. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uk/uk.h>

#include "base/base.h"
#include "test.h"

static int depth(int n)
{
	volatile char pad[512];

	pad[0] = (char)n;
	return n > 1000000 ? pad[0] : depth(n + 1) + pad[0];
}

/* Up to five functions. Each calls the next one, and the last one calls the first. */
static int (*volatile in_turn[5])(int);
static volatile unsigned cycle;

#define CALLS_THE_NEXT(i)                                                              \
	static __attribute__((noinline)) int calls_##i(int n)                          \
	{                                                                              \
		volatile char pad[300];                                                \
                                                                                       \
		pad[0] = (char)(n + i);                                                \
		return in_turn[(i + 1) % cycle](n + 1) + pad[0];                       \
	}
CALLS_THE_NEXT(0)
CALLS_THE_NEXT(1)
CALLS_THE_NEXT(2)
CALLS_THE_NEXT(3)
CALLS_THE_NEXT(4)

static void *overflow(void *arg)
{
	int (*const all[5])(int) = { calls_0, calls_1, calls_2, calls_3, calls_4 };

	for (int i = 0; i < 5; i++)
		in_turn[i] = all[i];
	if (cycle)
		return (void *)(intptr_t)calls_0(0);
	return (void *)(intptr_t)(depth(0) + (arg != NULL));
}

static void child(unsigned flags)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t;

	a.flags = flags;
	a.name = "deep-diver";
	a.stack_size = 65536;
	uk_thread_create(&t, &a, overflow, NULL);
	uk_thread_join(t, NULL);
	_exit(0);
}

static char out[16384];

static void overflow_is_loud(unsigned flags)
{
	size_t n = 0;
	ssize_t r;
	int p[2], status;
	pid_t pid;

	CHECK_EQ(pipe(p), 0);
	pid = fork();
	if (!pid) {
		dup2(p[1], 2);
		child(flags);
	}
	close(p[1]);
	while (n < sizeof(out) - 1 &&
	       (r = read(p[0], out + n, sizeof(out) - 1 - n)) > 0)
		n += (size_t)r;
	out[n] = 0;
	close(p[0]);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	CHECK(strstr(out, "stack overflow"));
	CHECK(strstr(out, "deep-diver"));
	CHECK(strstr(out, "64 KiB"));
	CHECK(strstr(out, "UK_STACK"));
	CHECK(strstr(out, "\n  module 0x"));
}

static void the_overflow_of_a_full_thread_is_reported(void)
{
	overflow_is_loud(0);
	CHECK(strstr(out, " more like this\n"));
}

static void the_overflow_of_a_light_thread_is_reported(void)
{
	overflow_is_loud(UK_THREAD_LIGHT);
	CHECK(strstr(out, " more like this\n"));
}

static int lines_with(const char *word)
{
	int n = 0;

	for (const char *p = out; (p = strstr(p, word)); p++)
		n++;
	return n;
}

static void functions_that_call_each_other_are_counted_together(void)
{
	char words[64];

	for (cycle = 2; cycle <= 4; cycle++) {
		overflow_is_loud(0);
		snprintf(words, sizeof(words), " more like these %u\n", cycle);
		CHECK_EQ(lines_with(words), 1);
		CHECK(lines_with("      #") < 20);
	}
	/* a longer cycle is not recognised: all frames, up to the limit */
	overflow_is_loud(0);
	CHECK_EQ(lines_with(" more like "), 0);
	CHECK(lines_with("      #") > 20);
	cycle = 0;
}

int main(void)
{
#if UK_ASAN || UK_TSAN
	SKIP("the sanitizer reports overflows itself");
#endif
	RUN(the_overflow_of_a_full_thread_is_reported);
	RUN(the_overflow_of_a_light_thread_is_reported);
	RUN(functions_that_call_each_other_are_counted_together);
	return 0;
}
