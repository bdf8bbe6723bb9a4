/* SPDX-License-Identifier: Apache-2.0 */
/* The monitor never occupies an fd of the program. (cap.c tests that its messages still
 * go to the file that fd 2 means at that time.) */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "monitor/file_table.h"
#include "sched/vp.h"
#include "test.h"
#include "uk/uk.h"

static volatile int stop;

static void *blocks(void *arg)
{
	struct timespec ts = { 0, 300000 };

	while (!stop) {
		nanosleep(&ts, NULL);
		uk_yield();
	}
	return arg;
}

static uint64_t handoffs(void)
{
	uk_stats s;

	uk_stats_get(&s, sizeof(s));
	return s.handoffs;
}

/* Runs until the monitor has looked into /proc some hundred times. */
static void the_monitor_never_takes_the_next_fd(void)
{
	int want = open("/dev/null", O_RDONLY);
	uint64_t from = handoffs();
	uk_thread *t[2];

	CHECK(want >= 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, blocks, NULL), 0);
	while (handoffs() < from + 500) {
		CHECK_EQ(close(want), 0);
		CHECK_EQ(open("/dev/null", O_RDONLY), want);
	}
	stop = 1;
	for (int i = 0; i < 2; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	CHECK_EQ(close(want), 0);
}

static char inherited[1024];

/* If half of the limit of open files is less than 1024: below that half. */
static void no_fd_of_the_library_is_below_1024(void)
{
	struct rlimit rl;
	int low = 1024;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &rl), 0);
	if (rl.rlim_cur < 2048)
		low = (int)rl.rlim_cur / 2;
	for (int fd = 3; fd < low; fd++)
		if (fcntl(fd, F_GETFD) >= 0 && !inherited[fd]) {
			char path[40], to[200] = "";

			snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
			if (readlink(path, to, sizeof(to) - 1) < 0)
				to[0] = 0;
			CHECK(!strstr(to, "io_uring") && !strstr(to, "eventpoll") &&
			      !strstr(to, "eventfd") && !strstr(to, "/proc/"));
		}
}

#if UK_CHECKS
static void *kicks(void *arg)
{
	if (arg)
		CHECK(files_own());
	reactor_kick(&vp_all[0]->reactor);
	return NULL;
}

static int child_kicks(void *apart)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		pthread_t t;

		uk_init();
		files_await(); /* the child's monitor, too, sets the word that says
			        * which thread has its own fd table */
		pthread_create(&t, NULL, kicks, apart);
		pthread_join(t, NULL);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return status;
}

/* In the fd table of such a thread, the reactor's fd is another file or none. */
static void a_thread_with_its_own_fd_table_may_not_kick(void)
{
	int status = child_kicks(&status);

	CHECK_EQ(child_kicks(NULL), 0);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}
#endif

int main(void)
{
#if defined(__SANITIZE_THREAD__)
	puts("skipped: TSan opens fds itself");
	return 77;
#endif
#if UK_CHECKS
	RUN(a_thread_with_its_own_fd_table_may_not_kick);
#endif
	for (int fd = 3; fd < 1024; fd++)
		inherited[fd] = fcntl(fd, F_GETFD) >= 0;
	CHECK_EQ(uk_init(), 0);
	RUN(no_fd_of_the_library_is_below_1024);
	RUN(the_monitor_never_takes_the_next_fd);
	RUN(no_fd_of_the_library_is_below_1024);
	return 0;
}
