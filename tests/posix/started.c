/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that are started from threads in every possible way. They inherit main's
 * signal mask, and what the thread itself has changed in it. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix.h"

static char self[300];    /* the path of this program */
static char want[20];     /* the mask that a child is to have */
static char mask_is[400]; /* a shell command that exits with 0 if it has that mask */

static uint64_t mask_now(void)
{
	uint64_t m = 0;
	sigset_t set;

	pthread_sigmask(SIG_BLOCK, NULL, &set);
	memcpy(&m, &set, sizeof(m));
	return m;
}

static void *call(void *fn)
{
	((void (*)(void))fn)();
	return NULL;
}

static void in_thread(void (*fn)(void))
{
	pthread_t p;

	CHECK_EQ(pthread_create(&p, NULL, call, (void *)(uintptr_t)fn), 0);
	CHECK_EQ(pthread_join(p, NULL), 0);
}

static void exits_with_0(pid_t pid)
{
	int status = -1;

	CHECK(pid > 0);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
}

static char *child_argv[4], *no_env[] = { NULL };

static void by_posix_spawn(void)
{
	posix_spawnattr_t a;
	pid_t pid;

	CHECK_EQ(posix_spawn(&pid, self, NULL, NULL, child_argv, no_env), 0);
	exits_with_0(pid);
	CHECK_EQ(posix_spawnattr_init(&a), 0);
	CHECK_EQ(posix_spawnattr_setflags(&a, POSIX_SPAWN_SETPGROUP), 0);
	CHECK_EQ(posix_spawnp(&pid, self, NULL, &a, child_argv, no_env), 0);
	exits_with_0(pid);
	CHECK_EQ(posix_spawnp(&pid, "/nonexistent", NULL, &a, child_argv, no_env),
		 ENOENT);
}

/* A caller that passes a mask gets that mask. */
static void by_posix_spawn_with_a_mask(void)
{
	char hex[] = "4000", mode[] = "mask"; /* SIGTERM */
	char *argv[] = { self, mode, hex, NULL };
	posix_spawnattr_t a;
	sigset_t set;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	CHECK_EQ(posix_spawnattr_init(&a), 0);
	CHECK_EQ(posix_spawnattr_setsigmask(&a, &set), 0);
	CHECK_EQ(posix_spawnattr_setflags(&a, POSIX_SPAWN_SETSIGMASK), 0);
	CHECK_EQ(posix_spawn(&pid, self, NULL, &a, argv, no_env), 0);
	exits_with_0(pid);
}

static void by_system(void)
{
	CHECK(system(NULL));
	CHECK_EQ(system(mask_is), 0);
	CHECK_EQ(WEXITSTATUS(system("exit 7")), 7);
	CHECK_EQ(WEXITSTATUS(system("/nonexistent 2>/dev/null")), 127);
	CHECK_EQ(WTERMSIG(system("kill -KILL $$")), SIGKILL);
}

static void by_popen(void)
{
	char line[100] = "";
	FILE *f = popen(mask_is, "r"), *w, *other;

	CHECK(f);
	CHECK_EQ(pclose(f), 0);
	f = popen("echo hello; exit 3", "re");
	CHECK(f && fgets(line, sizeof(line), f));
	CHECK(!strcmp(line, "hello\n"));
	CHECK_EQ(WEXITSTATUS(pclose(f)), 3);
	CHECK(!popen("true", "x"));
	/* the second child does not hold the first one's input open */
	w = popen("cat >/dev/null", "w");
	other = popen("exec sleep 1000", "r");
	CHECK(w && other);
	CHECK_EQ(pclose(w), 0);
	CHECK_EQ(system("true"), 0);
	CHECK_EQ(fcntl(fileno(other), F_GETFD) & FD_CLOEXEC, 0);
	kill(0, SIGUSR2);
	CHECK_EQ(WTERMSIG(pclose(other)), SIGUSR2);
}

static void by_fork(void)
{
	pid_t pid = fork();

	if (!pid) {
		execv(self, child_argv);
		_exit(1);
	}
	exits_with_0(pid);
}

static void by_Fork(void)
{
	pid_t pid = _Fork();

	if (!pid) {
		execve(self, child_argv, no_env);
		_exit(1);
	}
	exits_with_0(pid);
}

/* exec replaces the process, so a forked child makes the user thread that calls it. */
static int how;

static void exec_in_some_way(void)
{
	int fd = open(self, O_RDONLY | O_CLOEXEC);
	uint64_t before = mask_now();

	CHECK_EQ(execl("/nonexistent", "x", (char *)NULL), -1);
	CHECK_EQ(errno, ENOENT);
	CHECK_EQ(execvp("nonexistent-program", child_argv), -1);
	CHECK_EQ(errno, ENOENT);
	CHECK(mask_now() == before);
	switch (how) {
	case 0:
		execl(self, self, "mask", want, (char *)NULL);
		break;
	case 1:
		execlp(self, self, "mask", want, (char *)NULL);
		break;
	case 2:
		execle(self, self, "mask", want, (char *)NULL, no_env);
		break;
	case 3:
		execv(self, child_argv);
		break;
	case 4:
		execve(self, child_argv, no_env);
		break;
	case 5:
		execvp(self, child_argv);
		break;
	case 6:
		execvpe(self, child_argv, no_env);
		break;
	case 7:
		fexecve(fd, child_argv, no_env);
		break;
	default:
		execveat(AT_FDCWD, self, child_argv, no_env, 0);
		break;
	}
	CHECK(0); /* exec returned */
}

static void an_execed_program_has_mains_mask(void)
{
	for (how = 0; how < 9; how++) {
		pid_t pid = fork();

		if (!pid) {
			in_thread(exec_in_some_way);
			_exit(1);
		}
		exits_with_0(pid);
	}
}

static void vfork_once(void)
{
	volatile int here = 0;
	pid_t pid = vfork();

	if (!pid) {
		here = 1;
		execve(self, child_argv, no_env);
		_exit(1);
	}
	CHECK_EQ(here, 1);
	exits_with_0(pid);
}

static void by_vfork(void)
{
	for (int i = 0; i < 3; i++)
		vfork_once();
}

/* --- a mask that the thread has changed itself --- */

static void blocks_and_spawns(void)
{
	char hex[20], mode[] = "mask";
	char *argv[] = { self, mode, hex, NULL };
	sigset_t set, old;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	snprintf(hex, sizeof(hex), "%llx",
		 strtoull(want, NULL, 16) | 1ull << (SIGPIPE - 1));
	CHECK_EQ(posix_spawn(&pid, self, NULL, NULL, argv, no_env), 0);
	exits_with_0(pid);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void a_mask_changed_by_the_thread_is_inherited(void)
{
	in_thread(blocks_and_spawns);
}

static void a_spawned_program_has_mains_mask(void)
{
	void (*const ways[])(void) = { by_posix_spawn, by_posix_spawn_with_a_mask,
				       by_system,      by_popen,
				       by_fork,        by_Fork,
				       by_vfork };

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		in_thread(ways[i]);
		ways[i]();
	}
}

/* Many threads start programs while others fork. */
static void *starts_some(void *arg)
{
	for (int i = 0; i < 5; i++) {
		FILE *f = popen("echo x", "r");
		char line[10] = "";

		CHECK(f && fgets(line, sizeof(line), f));
		CHECK_EQ(pclose(f), 0);
		CHECK_EQ(system("true"), 0);
		by_vfork();
		by_fork();
	}
	return arg;
}

static void many_threads_start_programs_at_once(void)
{
	pthread_t t[8];

	for (int i = 0; i < 8; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, starts_some, NULL), 0);
	for (int i = 0; i < 8; i++)
		CHECK_EQ(pthread_join(t[i], NULL), 0);
}

static void nothing(int sig)
{
	(void)sig;
}

int main(int argc, char **argv)
{
	sigset_t set;
	static char mode[] = "mask";

	if (argc == 3 && !strcmp(argv[1], "mask"))
		return mask_now() == strtoull(argv[2], NULL, 16) ? 0 : 1;
	setenv("PATH", "/usr/bin:/bin", 1); /* only directories that every user may
					     * read */
	/* one signal that carriers block, and one that they do not */
	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigaddset(&set, SIGPROF);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGUSR2, nothing); /* a started program has the default action again */
	setpgid(0, 0);
	CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	snprintf(want, sizeof(want), "%llx", (unsigned long long)mask_now());
	snprintf(mask_is, sizeof(mask_is), "exec %s mask %s", self, want);
	child_argv[0] = self;
	child_argv[1] = mode;
	child_argv[2] = want;
	RUN(a_spawned_program_has_mains_mask);
	RUN(an_execed_program_has_mains_mask);
	RUN(a_mask_changed_by_the_thread_is_inherited);
	RUN(many_threads_start_programs_at_once);
	return 0;
}
