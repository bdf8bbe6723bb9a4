/* SPDX-License-Identifier: Apache-2.0 */
/* A child forked by a thread sends itself signals, and leaves a handler by a jump
 * several times, before it does anything else. Also: a signal pending for the process
 * is delivered to the thread that unblocks it, before the unblocking call returns. */
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <wchar.h>

#include "posix.h"

static volatile int ran, value;
static sigjmp_buf back;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	ran++;
	value = info->si_value.sival_int;
}

static void on_fault(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

static sigset_t of(int sig)
{
	sigset_t s;

	sigemptyset(&s);
	sigaddset(&s, sig);
	return s;
}

static void in_child(int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid)
		_exit(fn());
	CHECK(waitpid(pid, &status, 0) == pid);
	printf("signal %d, exit %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0,
	       WIFEXITED(status) ? WEXITSTATUS(status) : 0);
}

static int raises(void)
{
	raise(SIGUSR1);
	pthread_kill(pthread_self(), SIGUSR1);
	pthread_sigqueue(pthread_self(), SIGUSR1, (union sigval){ .sival_int = 5 });
	kill(getpid(), SIGUSR1);
	return ran * 10 + 1;
}

static int queues(void)
{
	pthread_sigqueue(pthread_self(), SIGUSR1, (union sigval){ .sival_int = 5 });
	return value;
}

static int pends(void)
{
	sigset_t s = of(SIGUSR1);
	int was;

	sigprocmask(SIG_BLOCK, &s, NULL);
	raise(SIGUSR1);
	was = ran;
	sigprocmask(SIG_UNBLOCK, &s, NULL);
	return was * 10 + ran;
}

static int dies(void)
{
	raise(SIGTERM);
	return 9;
}

static __attribute__((noinline)) int deeper(volatile char *above)
{
	volatile char much[4096];

	much[0] = *above;
	return above == much ? 0 : deeper(much) + much[0];
}

static int overflows(void)
{
	stack_t st = { .ss_sp = malloc(65536), .ss_size = 65536 };
	struct sigaction a = { .sa_handler = on_fault, .sa_flags = SA_ONSTACK };
	volatile int times = 0;
	volatile char here = 0;

	sigaltstack(&st, NULL);
	sigaction(SIGSEGV, &a, NULL);
	sigsetjmp(back, 1);
	if (times++ < 5)
		return deeper(&here);
	return times;
}

static void *forks(void *arg)
{
	in_child(raises);
	in_child(queues);
	in_child(pends);
	in_child(dies);
	in_child(overflows);
	return arg;
}

/* -- pending for the process; main blocks it, too -- */

static void *opens(void *arg)
{
	sigset_t s = of(SIGUSR1), now;

	for (int i = 1; i <= 100; i++) {
		ran = 0;
		CHECK(!pthread_sigmask(SIG_BLOCK, &s, NULL));
		CHECK(!kill(getpid(), SIGUSR1) && !ran);
		CHECK(!sigpending(&now) && sigismember(&now, SIGUSR1));
		CHECK(!pthread_sigmask(SIG_UNBLOCK, &s, NULL) && ran == 1);
		CHECK(!sigpending(&now) && !sigismember(&now, SIGUSR1));
	}
	return arg;
}

static void *reads(void *arg)
{
	FILE *f = popen("echo a", "r");

	CHECK(f);
	printf("bytes: %d\n", fwide(f, 0) < 0);
	pclose(f);
	return arg;
}

int main(void)
{
	struct sigaction a = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	sigset_t s = of(SIGUSR1);

	setvbuf(stdout, NULL, _IOLBF, 0);
	CHECK(!sigaction(SIGUSR1, &a, NULL));
	finish(start(forks, NULL));
	CHECK(!pthread_sigmask(SIG_BLOCK, &s, NULL));
	finish(start(opens, NULL));
	finish(start(reads, NULL));
	return 0;
}
