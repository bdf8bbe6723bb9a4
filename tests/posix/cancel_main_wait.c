/* SPDX-License-Identifier: Apache-2.0 */
/* main is cancelled while it waits at a cancellation point, while it waits elsewhere or
 * computes with asynchronous cancellation, or while cancellation is disabled. Its
 * cleanup handlers run, pthread_join returns PTHREAD_CANCELED, and the process ends
 * with its last thread. The mutex works afterwards: main has left its queue. Each case
 * has a process of its own. */
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

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

int main(void)
{
	pthread_mutexattr_t a;
	int status;

	CHECK(!pthread_mutexattr_init(&a));
	CHECK(!pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK));
	CHECK(!pthread_mutex_init(&checked, &a));
	CHECK(!pthread_barrier_init(&barrier, NULL, 2));
	for (int i = 0; i < 2 * (int)(sizeof(cases) / sizeof(cases[0])); i++) {
		pid_t child = fork();

		CHECK(child >= 0);
		if (!child)
			cancelled_in(i / 2, i % 2);
		CHECK(waitpid(child, &status, 0) == child);
		CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	}
	return 0;
}
