/* SPDX-License-Identifier: Apache-2.0 */
/* A thread sends its process a signal that only this thread unblocks: the signal is
 * delivered before the call returns (POSIX, kill). If main unblocks it or waits for it,
 * the kernel delivers it to main. */
#include <signal.h>
#include <sys/wait.h>

#include "posix.h"

#define ROUNDS 200

static __thread volatile int mine; /* volatile: the header declares kill a leaf */
static __thread volatile int code, sender, value;
static pthread_t first, ran_in;
static int ran;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	mine++;
	code = info->si_code;
	sender = info->si_pid;
	value = info->si_value.sival_int;
	ran_in = pthread_self();
	__atomic_add_fetch(&ran, 1, __ATOMIC_SEQ_CST);
}

static sigset_t of(int sig)
{
	sigset_t s;

	sigemptyset(&s);
	sigaddset(&s, sig);
	return s;
}

static void mask(int how, int sig)
{
	sigset_t s = of(sig);

	CHECK(!pthread_sigmask(how, &s, NULL));
}

static void handle(int sig)
{
	struct sigaction a = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	CHECK(!sigaction(sig, &a, NULL));
}

static void one_by_one(int sig)
{
	mine = 0;
	mask(SIG_UNBLOCK, sig);
	for (int i = 1; i <= ROUNDS; i++) {
		CHECK(!kill(getpid(), sig) && mine == i);
		CHECK(code == SI_USER && sender == getpid());
	}
	CHECK(!sigqueue(getpid(), sig, (union sigval){ .sival_int = 7 }));
	CHECK(mine == ROUNDS + 1 && code == SI_QUEUE);
	CHECK(value == 7 && sender == getpid());
	mask(SIG_BLOCK, sig);
}

static void *sends(void *arg)
{
	one_by_one(SIGUSR1);
	one_by_one(SIGTERM);
	one_by_one(SIGRTMIN + 3);
	one_by_one(SIGPIPE);
	one_by_one(SIGURG);
	return arg;
}

static void *pends(void *arg)
{
	sigset_t s;
	int sig;

	mine = 0;
	mask(SIG_BLOCK, SIGUSR1);
	CHECK(!kill(getpid(), SIGUSR1) && !mine);
	CHECK(!sigpending(&s) && sigismember(&s, SIGUSR1));
	s = of(SIGUSR1);
	CHECK(!sigwait(&s, &sig) && sig == SIGUSR1);
	SAY(kill(getpid(), 0));
	CHECK(kill(getpid(), 65) == -1 && errno == EINVAL);
	return arg;
}

/* -- main gets it, although its mask blocks it otherwise -- */

static void *sends_main(void *arg)
{
	char path[64], line[128];
	int there = 0;

	mask(SIG_UNBLOCK, SIGUSR1);
	mine = 0;
	snprintf(path, sizeof(path), "/proc/self/task/%d/status", getpid());
	while (!there) { /* until main has unblocked it */
		FILE *f = fopen(path, "r");
		unsigned long long blocked = ~0ull;

		while (f && fgets(line, sizeof(line), f))
			sscanf(line, "SigBlk: %llx", &blocked);
		fclose(f);
		there = !(blocked >> (SIGUSR1 - 1) & 1);
	}
	CHECK(!kill(getpid(), SIGUSR1));
	return arg;
}

static void main_takes_the_signal(void)
{
	sigset_t open, wait = of(SIGUSR1);
	pthread_t t;
	int sig;

	CHECK(!pthread_sigmask(SIG_SETMASK, NULL, &open));
	sigdelset(&open, SIGUSR1);
	mine = 0;
	t = start(sends_main, NULL);
	CHECK(sigsuspend(&open) == -1 && errno == EINTR && mine == 1);
	finish(t);
	t = start(sends_main, NULL);
	CHECK(!sigwait(&wait, &sig) && sig == SIGUSR1 && mine == 1);
	finish(t);
	puts("main is signalled");
}

/* -- the default action -- */

static void *dies(void *sig)
{
	mask(SIG_UNBLOCK, *(int *)sig);
	kill(getpid(), *(int *)sig);
	return sig;
}

static void death(int sig)
{
	int status;
	pid_t pid;

	signal(sig, SIG_DFL);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		finish(start(dies, &sig));
		_exit(7);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	printf("signal %d, exit %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0,
	       WIFEXITED(status) ? WEXITSTATUS(status) : 0);
}

int main(void)
{
	static const int sigs[] = { SIGUSR1, SIGTERM, SIGPIPE, SIGURG };

	setvbuf(stdout, NULL, _IOLBF, 0);
	first = pthread_self();
	for (int i = 0; i < 4; i++) {
		handle(sigs[i]);
		mask(SIG_BLOCK, sigs[i]);
	}
	handle(SIGRTMIN + 3);
	mask(SIG_BLOCK, SIGRTMIN + 3);
	finish(start(sends, NULL));
	SAY(pthread_equal(ran_in, first));
	finish(start(pends, NULL));
	RUN(main_takes_the_signal);
	SAY(ran);
	for (int i = 0; i < 4; i++)
		death(sigs[i]);
	return 0;
}
