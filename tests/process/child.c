/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that user threads start by uk_spawn, and by fork and exec, inherit main's
 * signal mask, and the changes that the thread itself has made, but not a carrier's
 * mask. uk_waitpid waits for them. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "uk/uk.h"

static char self[300]; /* the path of this program */
static char want[20];  /* the mask that a child is to have */
static char mode[] = "mask", sh[] = "sh", c[] = "-c";
static char *checks_mask[] = { self, mode, want, NULL };

static uint64_t mask_now(void)
{
	uint64_t m = 0;
	sigset_t set;

	pthread_sigmask(SIG_BLOCK, NULL, &set);
	memcpy(&m, &set, sizeof(m));
	return m;
}

static void in_every_thread(void *(*fn)(void *))
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t;
	pthread_t p;

	for (int i = 0; i < 2; i++) {
		a.flags = i ? UK_THREAD_LIGHT : 0;
		CHECK_EQ(uk_thread_create(&t, &a, fn, &t), 0);
		CHECK_EQ(uk_thread_join(t, NULL), 0);
	}
	CHECK_EQ(pthread_create(&p, NULL, fn, NULL), 0);
	CHECK_EQ(pthread_join(p, NULL), 0);
	fn(NULL);
}

static int status_of(pid_t pid)
{
	int status = -1;

	CHECK(pid > 0);
	CHECK_EQ(uk_waitpid(pid, &status, 0), pid);
	CHECK_EQ(uk_waitpid(pid, &status, 0), -ECHILD);
	return status;
}

static pid_t shell(const char *command)
{
	char *argv[] = { sh, c, (char *)(uintptr_t)command, NULL };
	pid_t pid;

	CHECK_EQ(uk_spawn(&pid, "sh", NULL, NULL, argv, NULL), 0);
	return pid;
}

static void *spawns(void *arg)
{
	posix_spawn_file_actions_t acts;
	char *none[] = { NULL }, b[5] = "";
	posix_spawnattr_t a;
	int p[2];
	pid_t pid;

	CHECK_EQ(uk_spawn(&pid, self, NULL, NULL, checks_mask, none), 0);
	CHECK_EQ(status_of(pid), 0);
	CHECK_EQ(posix_spawnattr_init(&a), 0);
	CHECK_EQ(posix_spawnattr_setflags(&a, POSIX_SPAWN_SETPGROUP), 0);
	CHECK_EQ(uk_spawn(&pid, self, NULL, &a, checks_mask, NULL), 0);
	CHECK_EQ(status_of(pid), 0);
	CHECK_EQ(uk_spawn(&pid, "/nonexistent", NULL, &a, checks_mask, NULL), -ENOENT);
	CHECK_EQ(WEXITSTATUS(status_of(shell("exit 7"))), 7);
	CHECK_EQ(WTERMSIG(status_of(shell("kill -TERM $$"))), SIGTERM);
	/* what the program writes can be read from a pipe */
	CHECK_EQ(pipe2(p, O_CLOEXEC), 0);
	CHECK_EQ(posix_spawn_file_actions_init(&acts), 0);
	CHECK_EQ(posix_spawn_file_actions_adddup2(&acts, p[1], 1), 0);
	CHECK_EQ(uk_spawn(&pid, "sh", &acts, NULL,
			  (char *[]){ sh, c, (char[]){ "echo yes" }, NULL }, NULL),
		 0);
	CHECK_EQ(uk_close(p[1]), 0);
	CHECK_EQ(uk_read_all(p[0], b, 4), 4);
	CHECK(!strcmp(b, "yes\n"));
	CHECK_EQ(uk_close(p[0]), 0);
	CHECK_EQ(status_of(pid), 0);
	posix_spawn_file_actions_destroy(&acts);
	return arg;
}

/* A caller that passes a mask gets that mask. */
static void *spawns_with_a_mask(void *arg)
{
	char hex[] = "4000"; /* SIGTERM */
	char *argv[] = { self, mode, hex, NULL };
	posix_spawnattr_t a;
	sigset_t set;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	CHECK_EQ(posix_spawnattr_init(&a), 0);
	CHECK_EQ(posix_spawnattr_setsigmask(&a, &set), 0);
	CHECK_EQ(posix_spawnattr_setflags(&a, POSIX_SPAWN_SETSIGMASK), 0);
	CHECK_EQ(uk_spawn(&pid, self, NULL, &a, argv, NULL), 0);
	CHECK_EQ(status_of(pid), 0);
	return arg;
}

static void *forks(void *arg)
{
	pid_t pid = fork();

	if (!pid) {
		execv(self, checks_mask);
		_exit(1);
	}
	CHECK_EQ(status_of(pid), 0);
	return arg;
}

static void *blocks_and_spawns(void *arg)
{
	char hex[20], *argv[] = { self, mode, hex, NULL };
	sigset_t set, old;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	snprintf(hex, sizeof(hex), "%llx",
		 strtoull(want, NULL, 16) | 1ull << (SIGPIPE - 1));
	CHECK_EQ(uk_spawn(&pid, self, NULL, NULL, argv, NULL), 0);
	/* before the wait: the mask is the carrier's, and the thread may get another */
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	CHECK_EQ(status_of(pid), 0);
	return arg;
}

static void a_program_has_mains_mask(void)
{
	in_every_thread(spawns);
	in_every_thread(spawns_with_a_mask);
	in_every_thread(forks);
	in_every_thread(blocks_and_spawns);
}

static void *waits(void *arg)
{
	pid_t pid = shell("read x"), other;
	int status;

	CHECK_EQ(uk_waitpid(pid, NULL, WNOHANG), 0);
	if (arg) { /* a user thread */
		CHECK_EQ(uk_thread_cancel(uk_thread_self()), 0);
		CHECK_EQ(uk_waitpid(pid, NULL, 0), -ECANCELED);
		CHECK_EQ(uk_thread_cancel_clear(), 1);
	}
	uk_thread_set_deadline(uk_after(UK_MS));
	CHECK_EQ(uk_waitpid(pid, NULL, 0), -ETIMEDOUT);
	uk_thread_set_deadline(UK_FOREVER);
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(uk_waitpid(pid, &status, 0), pid);
	CHECK_EQ(WTERMSIG(status), SIGKILL);
	/* any child, and a stop */
	pid = shell("kill -STOP $$; exit 3");
	CHECK_EQ(uk_waitpid(pid, &status, WUNTRACED), pid);
	CHECK(WIFSTOPPED(status));
	CHECK_EQ(kill(pid, SIGCONT), 0);
	other = uk_waitpid(-1, &status, 0);
	CHECK_EQ(other, pid);
	CHECK_EQ(WEXITSTATUS(status), 3);
	CHECK_EQ(uk_waitpid(-1, NULL, 0), -ECHILD);
	CHECK_EQ(uk_waitpid(pid, NULL, 1 << 20), -EINVAL);
	return arg;
}

/* The children read from a pipe into which nothing is written. */
static void a_wait_can_be_left_and_finds_stops_and_any_child(void)
{
	int p[2], in = dup(0);

	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(dup2(p[0], 0), 0);
	in_every_thread(waits);
	CHECK_EQ(dup2(in, 0), 0);
	close(p[0]);
	close(p[1]);
	close(in);
}

static void *starts_some(void *arg)
{
	for (int i = 0; i < 5; i++) {
		CHECK_EQ(status_of(shell("exit 0")), 0);
		forks(NULL);
	}
	return arg;
}

static void many_threads_start_programs_at_once(void)
{
	uk_thread *t[8];

	for (int i = 0; i < 8; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, starts_some, NULL), 0);
	for (int i = 0; i < 8; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
}

int main(int argc, char **argv)
{
	sigset_t set;

	if (argc == 3 && !strcmp(argv[1], "mask"))
		return mask_now() == strtoull(argv[2], NULL, 16) ? 0 : 1;
	if (SANITIZED)
		SKIP("a sanitizer replaces fork, and its children print messages");
	setenv("PATH", "/usr/bin:/bin", 1); /* only directories that every user may
					     * read */
	/* one signal that carriers block, and one that they do not */
	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigaddset(&set, SIGPROF);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	snprintf(want, sizeof(want), "%llx", (unsigned long long)mask_now());
	CHECK_EQ(uk_init(), 0);
	RUN(a_program_has_mains_mask);
	RUN(a_wait_can_be_left_and_finds_stops_and_any_child);
	RUN(many_threads_start_programs_at_once);
	return 0;
}
