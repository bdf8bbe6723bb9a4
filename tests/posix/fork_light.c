/* SPDX-License-Identifier: Apache-2.0 */
/* fork() copies few pages: a child that only exits touches at most MOST pages, and so
 * the parent has few pages left to copy. This holds for more than half of the forks. */
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix.h"

enum { FORKS = 20, MOST = 190 };

static long faults(void)
{
	struct rusage u;

	CHECK(!getrusage(RUSAGE_SELF, &u));
	return u.ru_minflt;
}

static void *forks(void *arg)
{
	int status, light = 0;

	for (int i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid)
			_exit(faults() > MOST);
		CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
		light += !WEXITSTATUS(status);
	}
	CHECK(light > FORKS / 2);
	return arg;
}

int main(void)
{
	run_in_thread(forks);
	puts("few page faults");
	return 0;
}
