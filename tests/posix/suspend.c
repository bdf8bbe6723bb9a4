/* SPDX-License-Identifier: Apache-2.0 */
/* A signal that arrives just before a thread sleeps ends that sleep. This holds for
 * sigsuspend, ppoll and pselect with a mask, and for sigsuspend in a handler that
 * interrupted a computing thread, as garbage collectors stop the world. Each signal is
 * sent only once, so a lost one hangs the test. Also: a signal that arrives while main
 * posts a semaphore runs its handler under the handler's sa_mask, which collectors rely
 * on when they stop main there. A SA_RESETHAND handler is called, too. */
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/select.h>

#include "posix.h"

#define ROUNDS 600

static int handled, stop; /* atomics */
static sem_t stopped, done;

static void on_usr1(int sig)
{
	(void)sig;
	__atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
}

static void by_suspend(const sigset_t *open)
{
	CHECK(sigsuspend(open) == -1 && errno == EINTR);
}

static void by_ppoll(const sigset_t *open)
{
	CHECK(ppoll(NULL, 0, NULL, open) == -1 && errno == EINTR);
}

static void by_pselect(const sigset_t *open)
{
	CHECK(pselect(0, NULL, NULL, NULL, NULL, open) == -1 && errno == EINTR);
}

static void *sleeps(void *arg)
{
	void (*by)(const sigset_t *) = arg;
	sigset_t open;

	sigemptyset(&open);
	for (int i = 0; i < ROUNDS; i++) {
		by(&open);
		CHECK(__atomic_load_n(&handled, __ATOMIC_SEQ_CST) == i + 1);
		sem_post(&done);
	}
	return NULL;
}

static void taken(sem_t *s)
{
	while (sem_wait(s))
		CHECK(errno == EINTR);
}

static void *sends(void *arg)
{
	pthread_t t = *(pthread_t *)arg;

	for (int i = 0; i < ROUNDS; i++) {
		CHECK(!pthread_kill(t, SIGUSR1));
		taken(&done);
	}
	return NULL;
}

static void just_before(void (*by)(const sigset_t *), const char *what, int from_main)
{
	sigset_t usr1;
	pthread_t t;

	handled = 0;
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	CHECK(!pthread_sigmask(SIG_BLOCK, &usr1, NULL));
	t = start(sleeps, (void *)by);
	if (from_main)
		sends(&t);
	else
		finish(start(sends, &t));
	finish(t);
	printf("%s\n", what);
}

/* -- a collector stops the world -- */

static void on_stop(int sig)
{
	sigset_t only;

	(void)sig;
	sigfillset(&only);
	sigdelset(&only, SIGUSR1);
	sem_post(&stopped);
	sigsuspend(&only);
	sem_post(&done);
}

static void *computes(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		;
	return arg;
}

static void collector_stops_the_world(void)
{
	struct sigaction sa = { .sa_handler = on_stop, .sa_flags = SA_RESTART };
	pthread_t t[2];

	sigfillset(&sa.sa_mask);
	CHECK(!sigaction(SIGUSR2, &sa, NULL) && !sem_init(&stopped, 0, 0));
	for (int i = 0; i < 2; i++)
		t[i] = start(computes, NULL);
	for (int n = 0; n < ROUNDS / 3; n++) {
		for (int i = 0; i < 2; i++)
			CHECK(!pthread_kill(t[i], SIGUSR2));
		for (int i = 0; i < 2; i++)
			taken(&stopped);
		for (int i = 0; i < 2; i++)
			CHECK(!pthread_kill(t[i], SIGUSR1));
		for (int i = 0; i < 2; i++)
			taken(&done);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		finish(t[i]);
	printf("stopped the world\n");
}

/* -- signals to main during its calls -- */

static struct sigaction of_main;

static void on_main(int sig)
{
	sigset_t now;

	pthread_sigmask(SIG_BLOCK, NULL, &now);
	CHECK(sigismember(&now, sig) && sigismember(&now, SIGTERM));
	if (of_main.sa_flags & (int)SA_RESETHAND)
		CHECK(!sigaction(sig, &of_main, NULL));
	__atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
}

static void *sends_main(void *arg)
{
	for (int i = 0; i < 5 * ROUNDS; i++) {
		sem_post(&stopped);
		CHECK(!pthread_kill(*(pthread_t *)arg, SIGUSR2));
		taken(&done);
		while (__atomic_load_n(&handled, __ATOMIC_SEQ_CST) == i)
			sched_yield();
	}
	return NULL;
}

static void main_posts(int flags)
{
	pthread_t me = pthread_self(), t;

	of_main = (struct sigaction){ .sa_handler = on_main, .sa_flags = flags };
	sigfillset(&of_main.sa_mask);
	handled = 0;
	CHECK(!sigaction(SIGUSR2, &of_main, NULL));
	t = start(sends_main, &me);
	for (int i = 0; i < 5 * ROUNDS; i++) {
		taken(&stopped);
		sem_post(&done);
	}
	finish(t);
	printf("main\n");
}

int main(void)
{
	struct sigaction sa = { .sa_handler = on_usr1, .sa_flags = SA_RESTART };
	sigset_t none;

	CHECK(!sigaction(SIGUSR1, &sa, NULL) && !sem_init(&done, 0, 0));
	for (int from_main = 0; from_main < 2; from_main++) {
		just_before(by_suspend, "sigsuspend", from_main);
		just_before(by_ppoll, "ppoll", from_main);
		just_before(by_pselect, "pselect", from_main);
	}
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	RUN(collector_stops_the_world);
	main_posts(SA_RESTART);
	main_posts((int)SA_RESETHAND);
	return 0;
}
