/* SPDX-License-Identifier: Apache-2.0 */
/* A frame that is larger than the rest of the stack reaches the guard, not another
 * thread's stack. A program with larger frames can have a larger guard. Each case runs
 * in a child. */
#include <alloca.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uk/uk.h>

#include "base/base.h"
#include "test.h"

enum { NEIGHBOURS = 30 };

static size_t jump, stack_bytes, guard_bytes;

static __attribute__((noinline)) void jumps(size_t n)
{
	volatile char *p = alloca(n);

	for (int i = 0; i < 4096; i++)
		p[i] = 7;
}

static void *large_frame(void *arg)
{
	jumps(jump);
	return arg;
}

static void *lives(void *arg)
{
	volatile char b[2000];

	memset((char *)(uintptr_t)b, 1, sizeof(b));
	uk_sleep(UK_SEC * 1000);
	return arg;
}

/* Runs a thread with such a frame in a child, and returns how the child ended. */
static int end_of_child(char *out, size_t size)
{
	int p[2], status;
	size_t n = 0;
	ssize_t r;
	pid_t pid;

	CHECK_EQ(pipe(p), 0);
	pid = fork();
	if (!pid) {
		uk_thread_attr a = UK_THREAD_ATTR_INIT;
		uk_thread *t;

		dup2(p[1], 2);
		a.stack_size = stack_bytes;
		a.guard_size = guard_bytes;
		for (int i = 0; i < NEIGHBOURS; i++)
			CHECK_EQ(uk_thread_create(&t, &a, lives, NULL), 0);
		uk_sleep(10 * UK_MS);
		a.name = "long-jumper";
		CHECK_EQ(uk_thread_create(&t, &a, large_frame, NULL), 0);
		uk_thread_join(t, NULL);
		_exit(0);
	}
	close(p[1]);
	while (n < size - 1 && (r = read(p[0], out + n, size - 1 - n)) > 0)
		n += (size_t)r;
	out[n] = 0;
	close(p[0]);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return status;
}

static void is_caught(size_t stack, size_t guard, size_t frame)
{
	char out[16384];
	int status;

	stack_bytes = stack;
	guard_bytes = guard;
	jump = frame;
	status = end_of_child(out, sizeof(out));
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	CHECK(strstr(out, "stack overflow") && strstr(out, "long-jumper"));
}

static void a_frame_larger_than_the_stack_is_caught(void)
{
	is_caught(0, 0, 290 << 10);
	is_caught(0, 0, 370 << 10);
	is_caught(16 << 10, 0, 70 << 10);
	is_caught(1 << 20, 0, 1100 << 10);
}

static void a_larger_guard_catches_larger_frames(void)
{
	is_caught(0, 1 << 20, (256 + 900) << 10);
	is_caught(64 << 10, 16 << 20, 15 << 20);
}

static void the_environment_sets_the_default(void)
{
	setenv("UK_GUARD_SIZE", "2M", 1);
	is_caught(0, 0, (256 + 1900) << 10);
	setenv("UK_GUARD_SIZE", "4K", 1);
	is_caught(0, 256 << 10, 400 << 10); /* the attribute overrides the variable */
	unsetenv("UK_GUARD_SIZE");
}

static void too_large_a_guard_is_an_error(void)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t;

	a.guard_size = ((size_t)16 << 20) + 1;
	CHECK_EQ(uk_thread_create(&t, &a, lives, NULL), -EINVAL);
	a.guard_size = SIZE_MAX;
	CHECK_EQ(uk_thread_create(&t, &a, lives, NULL), -EINVAL);
}

int main(void)
{
#if UK_ASAN || UK_TSAN
	SKIP("the sanitizer reports overflows itself");
#endif
	RUN(a_frame_larger_than_the_stack_is_caught);
	RUN(a_larger_guard_catches_larger_frames);
	RUN(the_environment_sets_the_default);
	RUN(too_large_a_guard_is_an_error);
	return 0;
}
