/* SPDX-License-Identifier: Apache-2.0 */
/* A thread cancels main. Handlers interrupt threads that compute before and after that.
 * main is cancelled while it waits at a cancellation point, while it waits elsewhere or
 * computes with asynchronous cancellation, or while cancellation is disabled. Its
 * cleanup handlers run, pthread_join returns PTHREAD_CANCELED, and the process ends
 * with its last thread. The mutex works afterwards: main has left its queue. Each case
 * has a process of its own. */
#include <semaphore.h>
#include <signal.h>

#include "asleep.h"
#include "posix.h"

static pthread_t main_thread, sleeper;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, checked;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem, begun, cancelled;

static void gives_back(void *arg)
{
	(void)arg;
	CHECK(!pthread_mutex_unlock(&checked));
}

static void in_cond(void)
{
	CHECK(!pthread_mutex_lock(&checked));
	sem_post(&begun);
	pthread_cleanup_push(gives_back, NULL);
	for (;;)
		pthread_cond_wait(&cond, &checked);
	pthread_cleanup_pop(1);
}

static void in_sem(void)
{
	sem_post(&begun);
	sem_wait(&sem);
}

static void in_join(void)
{
	sem_post(&begun);
	pthread_join(sleeper, NULL);
}

static void in_read(void)
{
	int p[2];
	char c;

	CHECK(!pipe(p));
	sem_post(&begun);
	CHECK(!read(p[0], &c, 1));
}

static void asynchronous(void)
{
	CHECK(!pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
	sem_post(&begun);
}

static void in_lock(void)
{
	asynchronous();
	pthread_mutex_lock(&mutex);
}

static void in_rwlock(void)
{
	asynchronous();
	pthread_rwlock_wrlock(&rwlock);
}

static void in_barrier(void)
{
	asynchronous();
	pthread_barrier_wait(&barrier);
}

static void computing(void)
{
	asynchronous();
	for (;;)
		;
}

/* The cancellation arrives while it is disabled, and takes effect at the next
 * cancellation point. */
static void disabled(void)
{
	int state;

	CHECK(!pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state));
	sem_post(&begun);
	CHECK(!sem_wait(&cancelled));
	CHECK(!pthread_setcancelstate(state, NULL));
	pthread_testcancel();
}

static const struct {
	const char *name;
	void (*waits)(void);
	bool sleeps;
} cases[] = {
	{ "cond", in_cond, true },       { "sem", in_sem, true },
	{ "join", in_join, true },       { "read", in_read, true },
	{ "lock", in_lock, true },       { "rwlock", in_rwlock, true },
	{ "barrier", in_barrier, true }, { "computing", computing, false },
	{ "disabled", disabled, false },
};

static void *sleeps(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void main_sleeps(void)
{
	char id[16];

	snprintf(id, sizeof(id), "%d", (int)getpid());
	while (!task_sleeps(id))
		usleep(100);
}

static void *cancels(void *sleeps_too)
{
	void *result;
	int r;

	CHECK(!pthread_mutex_lock(&mutex));
	CHECK(!pthread_rwlock_rdlock(&rwlock));
	CHECK(!sem_post(&cancelled)); /* main may go on */
	CHECK(!sem_wait(&begun));
	if (sleeps_too)
		main_sleeps();
	/* glibc sets a flag and then signals main, which may already have ended because
	 * of the flag */
	r = pthread_cancel(main_thread);
	CHECK(!r || r == ESRCH);
	CHECK(!sem_post(&cancelled));
	CHECK(!pthread_join(main_thread, &result) && result == PTHREAD_CANCELED);
	CHECK(!pthread_mutex_unlock(&mutex) && !pthread_mutex_lock(&mutex));
	CHECK(!pthread_mutex_lock(&checked));
	puts("joined");
	fflush(stdout);
	if (sleeper)
		pthread_cancel(sleeper);
	return NULL; /* now the process ends */
}

static void says(void *name)
{
	printf("%s: cancelled\n", (const char *)name);
	fflush(stdout);
}

static void cancelled_in(int i, bool wait)
{
	pthread_cleanup_push(says, (void *)(uintptr_t)cases[i].name);
	main_thread = pthread_self();
	if (cases[i].waits == in_join)
		sleeper = start(sleeps, NULL);
	pthread_detach(start(cancels, wait && cases[i].sleeps ? &begun : NULL));
	CHECK(!sem_wait(&cancelled));
	cases[i].waits();
	pthread_cleanup_pop(0);
	CHECK(false);
}

static void main_is_cancelled_wherever_it_waits(void)
{
	pthread_mutexattr_t a;

	CHECK(!pthread_mutexattr_init(&a));
	CHECK(!pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK));
	CHECK(!pthread_mutex_init(&checked, &a));
	CHECK(!pthread_barrier_init(&barrier, NULL, 2));
	for (int i = 0; i < 2 * (int)(sizeof(cases) / sizeof(cases[0])); i++) {
		pid_t child = make_child();

		if (!child)
			cancelled_in(i / 2, i % 2);
		CHECK(end_of(child) == 0);
	}
}

/* -- handlers around the cancellation -- */

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

static void *cancels_main(void *arg)
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

static void handlers_run_before_and_after_main_is_cancelled(void)
{
	char c;
	pthread_t t;
	int p[2];

	CHECK(!pipe(p));
	CHECK(signal(SIGUSR1, on_usr) != SIG_ERR);
	main_thread = pthread_self();
	t = start(cancels_main, NULL);
	pthread_cleanup_push(ends, &t);
	CHECK(read(p[0], &c, 1) == 1);
	pthread_cleanup_pop(0);
	CHECK(false);
}

int main(void)
{
	RUN_ALONE(main_is_cancelled_wherever_it_waits);
	RUN_ALONE(handlers_run_before_and_after_main_is_cancelled);
	return 0;
}
