/* SPDX-License-Identifier: Apache-2.0 */
/* A stack overflow names the thread, its stack size and the knob; then the process dies by
 * the signal. Light and full threads, in a child process each. */
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

static void *overflow(void *arg)
{
	return (void *)(intptr_t)(depth(0) + (arg != NULL));
}

static void child(unsigned flags)
{
	uk_attr a = UK_ATTR_INIT;
	uk_thread *t;

	a.flags = flags;
	a.name = "deep-diver";
	a.stack_size = 65536;
	uk_thread_create(&t, &a, overflow, NULL);
	uk_thread_join(t, NULL);
	_exit(0);
}

static void overflow_is_loud(unsigned flags)
{
	char out[8192];
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
	CHECK(SANITIZED || strstr(out, " more like this"));
}

static void a_full_thread_overflows_loudly(void)
{
	overflow_is_loud(0);
}

static void a_light_thread_overflows_loudly(void)
{
	overflow_is_loud(UK_ATTR_LIGHT);
}

int main(void)
{
#if UK_ASAN || UK_TSAN
	SKIP("the sanitizer reports overflows itself");
#endif
	RUN(a_full_thread_overflows_loudly);
	RUN(a_light_thread_overflows_loudly);
	return 0;
}
