/* SPDX-License-Identifier: Apache-2.0 */
/* A user that may lock no more memory (RLIMIT_MEMLOCK counts all processes of the user)
 * forks. The child cannot create rings beside those of its parent, and uses epoll. */
#include <sys/resource.h>
#include <sys/wait.h>
#include <uk/uk.h>
#include <unistd.h>

#include "test.h"

static int p[2];

static void *reads(void *arg)
{
	char c;

	CHECK_EQ(uk_read(p[0], &c, 1), 1);
	return arg;
}

static int child(void)
{
	uk_thread *t;

	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(uk_thread_create(&t, NULL, reads, NULL), 0);
	CHECK_EQ(uk_sleep(UK_MS), 0);
	CHECK_EQ(uk_write(p[1], "x", 1), 1);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK(!strcmp(uk_reactor_name(), "epoll"));
	return 0;
}

static void *forks(void *arg)
{
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();
		int st;

		CHECK(pid >= 0);
		if (!pid)
			_exit(child());
		CHECK_EQ(waitpid(pid, &st, 0), pid);
		CHECK_EQ(st, 0);
	}
	return arg;
}

static void a_child_that_cannot_create_rings_uses_epoll(void)
{
	uk_thread *t;

	CHECK_EQ(uk_thread_create(&t, NULL, forks, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	forks(NULL);
	CHECK(!strcmp(uk_reactor_name(), "io_uring"));
}

int main(void)
{
	uid_t nobody_else = 61000 + (uid_t)getpid() % 4000;
	struct rlimit none = { 0, 0 };

	if (SANITIZED)
		SKIP("sanitizers do not support the child of many threads");
	if (getenv("UK_REACTOR") && !strcmp(getenv("UK_REACTOR"), "epoll"))
		SKIP("epoll has no rings");
	unsetenv("UK_REACTOR"); /* it would fix the engine */
	if (!geteuid() && setresuid(nobody_else, nobody_else, nobody_else))
		SKIP("needs an unprivileged user");
	CHECK_EQ(uk_init(), 0);
	if (strcmp(uk_reactor_name(), "io_uring"))
		SKIP("io_uring is not available");
	CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &none), 0);
	RUN(a_child_that_cannot_create_rings_uses_epoll);
	return 0;
}
