/* SPDX-License-Identifier: Apache-2.0 */
/* A common server design: all threads block all signals, and one thread takes
 * them with sigwait or signalfd. It gets every signal sent to the process while
 * others compute. The default action of the signal (to end the process, or none)
 * makes no difference. */
#include <sched.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "posix.h"

static const int sent[] = { SIGTERM,  SIGABRT, SIGPROF, SIGURG,  SIGCHLD,
			    SIGWINCH, SIGUSR1, SIGTTIN, SIGALRM, SIGVTALRM };
#define SENT (int)(sizeof(sent) / sizeof(sent[0]))
#define TIMES 5

static int got, stop;

static int get(const int *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void *computes(void *arg)
{
	while (!get(&stop))
		__asm__ volatile("");
	return arg;
}

static void *waits(void *arg)
{
	sigset_t all;
	int sig;

	sigfillset(&all);
	for (int i = 0; i < TIMES * SENT; i++) {
		CHECK(!sigwait(&all, &sig));
		CHECK(sig == sent[i % SENT]);
		__atomic_fetch_add(&got, 1, __ATOMIC_RELEASE);
	}
	return arg;
}

static void *reads(void *arg)
{
	struct signalfd_siginfo info;
	sigset_t all;
	int fd;

	sigfillset(&all);
	fd = signalfd(-1, &all, SFD_CLOEXEC);
	CHECK(fd >= 0);
	for (int i = 0; i < TIMES * SENT; i++) {
		CHECK(read(fd, &info, sizeof(info)) == sizeof(info));
		CHECK((int)info.ssi_signo == sent[i % SENT]);
		__atomic_fetch_add(&got, 1, __ATOMIC_RELEASE);
	}
	close(fd);
	return arg;
}

static void each(void *(*fn)(void *))
{
	pthread_t t = start(fn, NULL);

	got = 0;
	for (int i = 0; i < TIMES * SENT; i++) {
		CHECK(!kill(getpid(), sent[i % SENT]));
		while (get(&got) == i)
			usleep(100);
	}
	finish(t);
	printf("got %d\n", got);
}

int main(void)
{
	pthread_t busy[2];
	sigset_t all;

	sigfillset(&all);
	CHECK(!pthread_sigmask(SIG_SETMASK, &all, NULL));
	for (int i = 0; i < 2; i++)
		busy[i] = start(computes, NULL);
	each(waits);
	each(reads);
	stop = 1;
	for (int i = 0; i < 2; i++)
		finish(busy[i]);
	return 0;
}
