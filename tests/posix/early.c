/* SPDX-License-Identifier: Apache-2.0 */
/* main uses semaphores, sleeps and mutexes before the first thread exists. A signal
 * still interrupts the first thread while it computes, and the handler runs on the
 * thread's stack. */
#include <semaphore.h>
#include <signal.h>

#include "posix.h"

static volatile int began, seen, on_stack;
static pthread_t thread;

static void handler(int sig)
{
	pthread_attr_t a;
	void *low;
	size_t size;

	(void)sig;
	CHECK(!pthread_getattr_np(thread, &a) &&
	      !pthread_attr_getstack(&a, &low, &size));
	pthread_attr_destroy(&a);
	on_stack = (char *)&a > (char *)low && (char *)&a < (char *)low + size;
	seen = 1;
}

static void *computes(void *arg)
{
	(void)arg;
	began = 1;
	while (!seen)
		;
	return NULL;
}

static void interrupted(int flags)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = flags };

	began = seen = on_stack = 0;
	CHECK(!sigaction(SIGUSR1, &sa, NULL));
	thread = start(computes, NULL);
	while (!began)
		;
	CHECK(!pthread_kill(thread, SIGUSR1));
	finish(thread);
	printf("on its stack: %d\n", on_stack);
}

int main(void)
{
	struct timespec soon = { 0, 1000000 };
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	sem_t sem;

	CHECK(!sem_init(&sem, 0, 0));
	FAILS(sem_timedwait(&sem, &soon), ETIMEDOUT);
	CHECK(!nanosleep(&soon, NULL));
	CHECK(!pthread_mutex_lock(&m) && !pthread_mutex_unlock(&m));
	interrupted(0);
	interrupted(SA_RESTART);
	return 0;
}
