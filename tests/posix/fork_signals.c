/* SPDX-License-Identifier: Apache-2.0 */
/* Signals and forks.
 * - A handler forks. It interrupts a thread that computes or waits in a call. In the
 *   handler the child creates threads and starts programs, which inherit its signal
 *   mask. The child also returns from the handler and goes on, and signals reach it.
 * - A child forked by a thread sends itself signals, and leaves a handler by a jump
 *   several times, before it does anything else.
 * - A child starts with the mask of its creator, whatever arrives at that moment, and
 * its
 *   handlers run, whichever call created it (fork, vfork, _Fork, clone). Both main and
 *   another thread create children. */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>

#include "posix.h"

/* -- handlers fork -- */

#define WANTED "s/^SigBlk:.*\\(....\\)$/\\1/p"

static int (*child)(void);
static volatile int handled, stop, arrived;
static int status;

static volatile int in_child;
static int ends[2], nothing;

static void on_fork(int sig)
{
	pid_t pid = fork();

	(void)sig;
	CHECK(pid >= 0);
	if (!pid) {
		if (child)
			_exit(child());
		in_child = 1;
		CHECK(dup2(nothing, ends[0]) == ends[0]); /* so that read returns */
		return;
	}
	status = end_of(pid);
	handled++;
}

static void on_usr2(int sig)
{
	(void)sig;
	arrived++;
}

static void *twice(void *arg)
{
	return (void *)(2 * (intptr_t)arg);
}

static int threads(void)
{
	intptr_t sum = 0;

	for (intptr_t i = 0; i < 10; i++)
		sum += (intptr_t)finish(start(twice, (void *)i));
	return (int)sum;
}

static int execs(void)
{
	execlp("sed", "sed", "-n", WANTED, "/proc/self/status", (char *)NULL);
	return 99;
}

static int vforks(void)
{
	pid_t pid = vfork();

	if (!pid)
		_exit(execs());
	return end_of(pid);
}

static int forks(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(threads());
	return end_of(pid);
}

/* The child, after it returned from the handler to the interrupted code. */
static _Noreturn void goes_on(void)
{
	kill(getpid(), SIGUSR2);
	for (int i = 0; i < 1000 && !arrived; i++)
		usleep(1000);
	_exit(arrived == 1 && threads() == 90 ? 17 : 97);
}

static void *computes(void *arg)
{
	while (!stop)
		if (in_child)
			goes_on();
	return arg;
}

static void *reads(void *arg)
{
	char c;
	ssize_t n;

	while ((n = read(ends[0], &c, 1)) < 0)
		if (in_child)
			goes_on();
	if (in_child)
		goes_on();
	return arg;
}

static const struct {
	const char *name;
	int (*child)(void);
} what[] = { { "threads", threads },
	     { "exec", execs },
	     { "vfork", vforks },
	     { "forks", forks },
	     { "goes on", NULL } };

static void each(pthread_t t)
{
	for (unsigned i = 0; i < sizeof(what) / sizeof(what[0]); i++)
		for (int n = 0; n < 3; n++) {
			int before = handled;

			child = what[i].child;
			CHECK(!pthread_kill(t, SIGUSR1));
			while (handled == before)
				usleep(100);
			printf("%s: %d\n", what[i].name, status);
			fflush(stdout);
		}
}

static void handlers_fork(void)
{
	struct sigaction a = { .sa_handler = on_fork };
	pthread_t t;

	CHECK(!sigaction(SIGUSR1, &a, NULL));
	signal(SIGUSR2, on_usr2);
	CHECK(!pipe(ends) && (nothing = open("/dev/null", O_RDONLY)) >= 0);
	t = start(computes, NULL);
	each(t);
	stop = 1;
	finish(t);

	t = start(reads, NULL);
	usleep(10000);
	each(t);
	CHECK(write(ends[1], "x", 1) == 1);
	finish(t);
}

/* -- a child signals itself -- */

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
	sigset_t s = only(SIGUSR1);
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

static void *makes_children(void *arg)
{
	static int (*const all[])(void) = { raises, queues, pends, dies, overflows };

	for (int i = 0; i < 5; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(all[i]());
		SAY(end_of(pid));
	}
	return arg;
}

static void a_child_signals_itself(void)
{
	struct sigaction a = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	CHECK(!sigaction(SIGUSR1, &a, NULL));
	run_in_thread(makes_children);
}

/* -- a child is created while signals arrive -- */

#define ROUNDS 20
#define STACK 65536

static char *self, word[] = "child";
static volatile int over;
static pthread_t maker;

static void on_hit(int sig)
{
	(void)sig;
	ran++;
}

static void *storm(void *arg)
{
	while (!over) {
		pthread_kill(maker, SIGUSR1);
		sched_yield();
	}
	return arg;
}

/* Whether the program that the child executes starts with SIGUSR1 blocked. */
static int is_clean(void)
{
	sigset_t s;

	CHECK(!sigprocmask(SIG_SETMASK, NULL, &s));
	return sigismember(&s, SIGUSR1);
}

static void begins_clean(pid_t (*make)(void))
{
	char *argv[] = { self, word, NULL };
	pthread_t t;

	maker = pthread_self();
	over = 0;
	t = start(storm, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		pid_t pid = make();

		if (!pid) {
			execv(self, argv);
			_exit(9);
		}
		CHECK(end_of(pid) == 0);
	}
	over = 1;
	finish(t);
	CHECK(!is_clean());
}

/* In a child: it signals itself, both while the signal is unblocked and while it is
 * blocked. */
static int hears(void *arg)
{
	sigset_t s = only(SIGUSR1), old;

	(void)arg;
	ran = 0;
	if (kill(getpid(), SIGUSR1) || ran != 1)
		return 1;
	if (sigprocmask(SIG_BLOCK, &s, &old) || sigismember(&old, SIGUSR1))
		return 2;
	if (kill(getpid(), SIGUSR1) || ran != 1)
		return 3;
	if (sigprocmask(SIG_SETMASK, &old, NULL) || ran != 2)
		return 4;
	return raise(SIGUSR1) || ran != 3 ? 5 : 0;
}

static pid_t by_syscall(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void hear_in(pid_t (*make)(void))
{
	pid_t pid = make();

	if (!pid)
		_exit(hears(NULL));
	CHECK(end_of(pid) == 0);
}

static void *all(void *arg)
{
	static char stack[STACK] __attribute__((aligned(16)));

	begins_clean(vfork);
	begins_clean(fork);
	begins_clean(_Fork);
	hear_in(fork);
	hear_in(_Fork);
	hear_in(by_syscall);
	hear_in(vfork);
	CHECK(end_of(clone(hears, stack + sizeof(stack), SIGCHLD, NULL)) == 0);
	return arg;
}

static void a_child_gets_its_signals(void)
{
	struct sigaction a = { .sa_handler = on_hit, .sa_flags = SA_RESTART };

	CHECK(!sigaction(SIGUSR1, &a, NULL));
	run_in_thread(all);
	all(NULL);
}

int main(int argc, char **argv)
{
	self = argv[0];
	if (argc > 1)
		return is_clean();
	setvbuf(stdout, NULL, _IOLBF, 0);
	RUN_ALONE(handlers_fork);
	RUN_ALONE(a_child_signals_itself);
	RUN_ALONE(a_child_gets_its_signals);
	return 0;
}
