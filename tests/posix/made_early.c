/* SPDX-License-Identifier: Apache-2.0 */
/* A library that the program is linked with makes threads in its constructor, as Go's
 * libraries and OpenBLAS do. One blocks in a system call that no library sees and one
 * computes. The others run all the same, signals interrupt both, and a forked child can
 * make threads. */
#include "made_early.h"

#include <sys/wait.h>

#include "posix.h"

enum { THREADS = 20, CHILDREN = 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ran, interrupted;

static void *sleeps_and_counts(void *arg)
{
	usleep(1000);
	pthread_mutex_lock(&lock);
	ran++;
	pthread_mutex_unlock(&lock);
	return arg;
}

static void other_threads_run(void)
{
	pthread_t t[THREADS];

	ran = 0;
	for (int i = 0; i < THREADS; i++)
		t[i] = start(sleeps_and_counts, NULL);
	for (int i = 0; i < THREADS; i++)
		finish(t[i]);
	CHECK(ran == THREADS);
}

static void handler(int sig)
{
	(void)sig;
	CHECK(pthread_equal(pthread_self(), early_reader) ||
	      pthread_equal(pthread_self(), early_spinner));
	__atomic_add_fetch(&interrupted, 1, __ATOMIC_RELEASE);
}

static void signals_interrupt_them(void)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };

	CHECK(!sigaction(SIGUSR1, &sa, NULL));
	CHECK(!pthread_kill(early_reader, SIGUSR1));
	CHECK(!pthread_kill(early_spinner, SIGUSR1));
	while (__atomic_load_n(&interrupted, __ATOMIC_ACQUIRE) < 2)
		usleep(100);
}

static void forked_children_make_threads(void)
{
	for (int i = 0; i < CHILDREN; i++) {
		int status;
		pid_t pid = fork();

		if (!pid) {
			run_in_thread(sleeps_and_counts);
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid && !status);
	}
}

static void they_end(void)
{
	CHECK(write(early_pipe[1], "g", 1) == 1);
	__atomic_store_n(&early_stop, 1, __ATOMIC_RELEASE);
	finish(early_reader);
	finish(early_spinner);
}

int main(void)
{
	RUN(other_threads_run);
	RUN(signals_interrupt_them);
	RUN(forked_children_make_threads);
	RUN(they_end);
	RUN(other_threads_run);
	RUN(forked_children_make_threads);
	return 0;
}
