/* SPDX-License-Identifier: Apache-2.0 */
/* When a signal becomes ignored it is discarded wherever it is pending (POSIX,
 * sigaction). This includes SIG_DFL for signals whose default is to be ignored. */
#include <signal.h>

#include "posix.h"

static int ran;
static pthread_barrier_t both;

static void on_signal(int sig)
{
	(void)sig;
	ran++;
}

static int pending(int sig)
{
	sigset_t s;

	CHECK(!sigpending(&s));
	return sigismember(&s, sig);
}

static void meet(void)
{
	int r = pthread_barrier_wait(&both);

	CHECK(!r || r == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void *has_some(void *arg)
{
	const int *sig = arg;

	mask(SIG_BLOCK, *sig);
	signal(*sig, on_signal);
	CHECK(!raise(*sig) && pending(*sig));
	meet(); /* main makes it ignored */
	meet();
	printf("%d pending %d\n", *sig, pending(*sig));
	mask(SIG_UNBLOCK, *sig);
	CHECK(!pthread_sigmask(SIG_BLOCK, NULL, NULL) && !ran);
	return arg;
}

static void try(int sig, void (*how)(int))
{
	pthread_t t = start(has_some, &sig);

	meet();
	signal(sig, how);
	signal(sig, on_signal);
	meet();
	finish(t);
}

int main(void)
{
	CHECK(!pthread_barrier_init(&both, NULL, 2));
	try(SIGUSR1, SIG_IGN);
	try(SIGRTMIN + 1, SIG_IGN);
	try(SIGCHLD, SIG_DFL);
	try(SIGWINCH, SIG_DFL);
	return 0;
}
