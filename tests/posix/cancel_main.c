/* SPDX-License-Identifier: Apache-2.0 */
/* A thread cancels main. Handlers interrupt threads that compute before
 * and after that. */
#include <signal.h>
#include <unistd.h>

#include "posix.h"

static pthread_t main_thread;
static volatile int ran, ready;

static void on_usr(int sig)
{
	(void)sig;
	ran = 1;
}

static void *computes(void *arg)
{
	ready = 1;
	while (!ran)
		;
	return arg;
}

static void interrupt_one(void)
{
	pthread_t t;

	ran = ready = 0;
	t = start(computes, NULL);
	while (!ready)
		usleep(1000);
	CHECK(!pthread_kill(t, SIGUSR1));
	finish(t);
}

static void *cancels(void *arg)
{
	interrupt_one();
	printf("before\n");
	CHECK(!pthread_cancel(main_thread));
	interrupt_one();
	printf("after\n");
	fflush(stdout);
	return arg;
}

static void ends(void *arg)
{
	finish(*(pthread_t *)arg);
	printf("main is cancelled\n");
	exit(0);
}

int main(void)
{
	char c;
	pthread_t t;
	int p[2];

	CHECK(!pipe(p));
	CHECK(signal(SIGUSR1, on_usr) != SIG_ERR);
	main_thread = pthread_self();
	t = start(cancels, NULL);
	pthread_cleanup_push(ends, &t);
	CHECK(read(p[0], &c, 1) == 1);
	pthread_cleanup_pop(0);
	return 1;
}
