/* SPDX-License-Identifier: Apache-2.0 */
/* A thread forks, and its child lives on with threads that it creates. vfork,
 * posix_spawn, system and popen work beside running threads. Programs start with the
 * mask of the thread that starts them. Handlers and masks work in a child. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "posix.h"

extern char **environ;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int handled, stop;

static void on_usr(int sig)
{
	(void)sig;
	__atomic_fetch_add(&handled, 1, __ATOMIC_SEQ_CST);
}

static int ends_with(pid_t pid)
{
	int status;

	CHECK(pid > 0);
	while (waitpid(pid, &status, 0) != pid)
		CHECK(errno == EINTR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void *adds(void *arg)
{
	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&mutex);
		++*(int *)arg;
		pthread_mutex_unlock(&mutex);
		if (i % 100 == 0)
			usleep(100);
	}
	return arg;
}

/* In the child: threads, locks and sleeps work. */
static void child_lives(void)
{
	pthread_t t[8];
	int n = 0;

	/* the thread that held it in the parent does not exist here */
	CHECK(!pthread_mutex_init(&mutex, NULL));
	for (int i = 0; i < 8; i++)
		CHECK(!pthread_create(&t[i], NULL, adds, &n));
	for (int i = 0; i < 8; i++)
		CHECK(!pthread_join(t[i], NULL));
	_exit(n == 8000 ? 7 : 1);
}

static void *busy(void *arg)
{
	int n = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
		adds(&n);
	return arg;
}

static void child_signals(void)
{
	sigset_t set, old;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK(!pthread_sigmask(SIG_BLOCK, &set, &old));
	handled = 0;
	CHECK(!kill(getpid(), SIGUSR1));
	usleep(1000);
	CHECK(handled == 0);
	CHECK(!pthread_sigmask(SIG_SETMASK, &old, NULL));
	while (!__atomic_load_n(&handled, __ATOMIC_SEQ_CST))
		usleep(1000);
	CHECK(!kill(getpid(), SIGUSR1));
	while (__atomic_load_n(&handled, __ATOMIC_SEQ_CST) < 2)
		usleep(1000);
	signal(SIGTERM, SIG_DFL);
	kill(getpid(), SIGTERM);
	for (;;)
		pause();
}

static void *forks(void *arg)
{
	pid_t pid;

	for (int i = 0; i < 5; i++) {
		pid = fork();
		if (!pid)
			child_lives();
		CHECK(ends_with(pid) == 7);
	}
	pid = fork();
	if (!pid)
		child_signals();
	printf("child ends by %d\n", ends_with(pid));
	pid = fork();
	if (!pid)
		pthread_exit(NULL); /* its last thread ends: status 0 */
	printf("child's last thread: %d\n", ends_with(pid));
	return arg;
}

/* Only the first 28 signals: the initial state of libc's two internal signals does not
 * matter. */
#define WANTED "s/^Sig\\(Blk\\|Ign\\).*\\(.......\\)$/\\1 \\2/p"
static const char show[] = "sed -n '" WANTED "' /proc/self/status";

static void *starts(void *arg)
{
	char *argv[] = { (char[]){ "sed" }, (char[]){ "-n" }, (char[]){ WANTED },
			 (char[]){ "/proc/self/status" }, NULL };
	char line[200];
	sigset_t set;
	pid_t pid;
	FILE *f;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGWINCH);
	CHECK(!pthread_sigmask(SIG_SETMASK, &set, NULL));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		execv("/bin/sed", argv);
		_exit(99);
	}
	CHECK(ends_with(pid) == 0);
	CHECK(!posix_spawn(&pid, "/bin/sed", NULL, NULL, argv, environ));
	CHECK(ends_with(pid) == 0);
	pid = vfork();
	if (!pid) {
		/* programs do this after vfork, although POSIX forbids it */
		struct sigaction dfl = { .sa_handler = SIG_DFL };

		close(100);
		sigaction(SIGPIPE, &dfl, NULL);
		sigprocmask(SIG_SETMASK, NULL, &set);
		execv("/bin/sed", argv);
		_exit(99);
	}
	CHECK(ends_with(pid) == 0);
	CHECK(system(show) == 0);
	f = popen(show, "r");
	CHECK(f);
	while (fgets(line, sizeof(line), f))
		fputs(line, stdout);
	CHECK(pclose(f) == 0);
	return arg;
}

/* A new thread in a child has no thread-specific values, whatever values the parent's
 * threads had. */
#define KEYS 40 /* libc keeps the first 32 in another place */
static pthread_key_t keys[KEYS];
static pthread_barrier_t both;

static void *has_values(void *arg)
{
	intptr_t had = 0;

	for (int i = 0; i < KEYS; i++) {
		had += pthread_getspecific(keys[i]) != NULL;
		CHECK(!pthread_setspecific(keys[i], keys));
	}
	for (int i = 0; arg && i < 2; i++)
		pthread_barrier_wait(arg);
	return (void *)had;
}

static void no_values_of_the_parents_threads(void)
{
	pthread_t t;
	void *had;
	pid_t pid;

	for (int i = 0; i < KEYS; i++)
		CHECK(!pthread_key_create(&keys[i], NULL));
	CHECK(!pthread_barrier_init(&both, NULL, 2));
	CHECK(!pthread_create(&t, NULL, has_values, &both));
	pthread_barrier_wait(&both);
	pid = fork();
	if (!pid) {
		CHECK(!pthread_create(&t, NULL, has_values, NULL));
		CHECK(!pthread_join(t, &had));
		_exit(had != NULL);
	}
	printf("old values: %d\n", ends_with(pid));
	pthread_barrier_wait(&both);
	CHECK(!pthread_join(t, &had) && !had);
	for (int i = 0; i < KEYS; i++)
		CHECK(!pthread_key_delete(keys[i]));
}

int main(void)
{
	pthread_t t, b[3];
	pid_t pid;

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGUSR1, on_usr);
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < 3; i++)
		CHECK(!pthread_create(&b[i], NULL, busy, NULL));
	CHECK(!pthread_create(&t, NULL, forks, NULL));
	CHECK(!pthread_join(t, NULL));
	CHECK(!pthread_create(&t, NULL, starts, NULL));
	CHECK(!pthread_join(t, NULL));
	pid = fork(); /* main forks */
	if (!pid)
		child_lives();
	printf("main's child: %d\n", ends_with(pid));
	RUN(no_values_of_the_parents_threads);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 3; i++)
		CHECK(!pthread_join(b[i], NULL));
	return 0;
}
