/* SPDX-License-Identifier: Apache-2.0 */
/* Old names that libc keeps for old binaries act on the same state as the current
 * names: a lock taken by one is held for the other, and a handler set by one is known
 * to the other. */
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix.h"

#ifndef __x86_64__
int main(void)
{
	puts("skip: libc on this machine has no such names");
	return 77;
}
#else
#define OLD(name) __asm__(".symver old" #name "," #name "@GLIBC_2.2.5")

OLD(__pthread_mutex_init);
OLD(__pthread_mutex_lock);
OLD(__pthread_mutex_trylock);
OLD(__pthread_mutex_unlock);
OLD(__pthread_rwlock_rdlock);
OLD(__pthread_rwlock_tryrdlock);
OLD(__pthread_rwlock_trywrlock);
OLD(__pthread_rwlock_wrlock);
OLD(__pthread_rwlock_unlock);
OLD(__pthread_once);
OLD(pthread_yield);

int old__pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *a);
int old__pthread_mutex_lock(pthread_mutex_t *m);
int old__pthread_mutex_trylock(pthread_mutex_t *m);
int old__pthread_mutex_unlock(pthread_mutex_t *m);
int old__pthread_rwlock_rdlock(pthread_rwlock_t *l);
int old__pthread_rwlock_tryrdlock(pthread_rwlock_t *l);
int old__pthread_rwlock_trywrlock(pthread_rwlock_t *l);
int old__pthread_rwlock_wrlock(pthread_rwlock_t *l);
int old__pthread_rwlock_unlock(pthread_rwlock_t *l);
int old__pthread_once(pthread_once_t *once, void (*fn)(void));
int oldpthread_yield(void);
int __sched_yield(void);
int __sigaction(int sig, const struct sigaction *a, struct sigaction *old);
int __sigsuspend(const sigset_t *mask);
pid_t __vfork(void);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t given = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int onces, sum, ready;
static pthread_t handled_by;

static void *tries(void *arg)
{
	CHECK(pthread_mutex_trylock(&mutex) == EBUSY);
	CHECK(old__pthread_mutex_trylock(&mutex) == EBUSY);
	CHECK(pthread_rwlock_trywrlock(&lock) == EBUSY);
	CHECK(old__pthread_rwlock_trywrlock(&lock) == EBUSY);
	CHECK(pthread_rwlock_tryrdlock(&lock) == (arg ? 0 : EBUSY));
	if (arg)
		CHECK(!old__pthread_rwlock_unlock(&lock));
	CHECK(old__pthread_rwlock_tryrdlock(&lock) == (arg ? 0 : EBUSY));
	if (arg)
		CHECK(!pthread_rwlock_unlock(&lock));
	return NULL;
}

static void held(bool by_reader)
{
	finish(start(tries, by_reader ? &ready : NULL));
}

static void excludes(void)
{
	CHECK(!old__pthread_mutex_lock(&mutex));
	CHECK(!old__pthread_rwlock_wrlock(&lock));
	held(false);
	CHECK(!pthread_mutex_unlock(&mutex));
	CHECK(!pthread_rwlock_unlock(&lock));
	CHECK(!pthread_mutex_lock(&mutex));
	CHECK(!old__pthread_rwlock_rdlock(&lock));
	held(true);
	CHECK(!old__pthread_mutex_unlock(&mutex));
	CHECK(!old__pthread_rwlock_unlock(&lock));
}

static void *counts(void *arg)
{
	int n;

	for (n = 0; n < 2000; n++) {
		if (arg ? pthread_mutex_lock(&mutex) : old__pthread_mutex_lock(&mutex))
			abort();
		sum++;
		if (n % 100 == 0)
			n % 200 ? oldpthread_yield() : __sched_yield();
		if (arg ? old__pthread_mutex_unlock(&mutex)
			: pthread_mutex_unlock(&mutex))
			abort();
	}
	return NULL;
}

static void *waits(void *arg)
{
	CHECK(!old__pthread_mutex_lock(&mutex));
	ready = 1;
	while (ready != 2)
		CHECK(!pthread_cond_wait(&given, &mutex));
	CHECK(!old__pthread_mutex_unlock(&mutex));
	return arg;
}

static void gives(void)
{
	pthread_t t = start(waits, NULL);
	bool done = false;

	while (!done) {
		CHECK(!old__pthread_mutex_lock(&mutex));
		done = ready == 1;
		if (done)
			ready = 2;
		CHECK(!pthread_cond_signal(&given));
		CHECK(!old__pthread_mutex_unlock(&mutex));
	}
	finish(t);
}

static void run_once(void)
{
	onces++;
}

static void handler(int sig)
{
	(void)sig;
	handled_by = pthread_self();
}

static void signals(void)
{
	struct sigaction a = { .sa_handler = handler }, was;
	sigset_t usr, none;

	sigemptyset(&none);
	usr = only(SIGUSR1);
	CHECK(!__sigaction(SIGUSR1, &a, NULL));
	CHECK(!sigaction(SIGUSR1, NULL, &was) && was.sa_handler == handler);
	CHECK(!pthread_sigmask(SIG_BLOCK, &usr, NULL));
	CHECK(!pthread_kill(pthread_self(), SIGUSR1));
	CHECK(!handled_by);
	FAILS(__sigsuspend(&none), EINTR);
	CHECK(pthread_equal(handled_by, pthread_self()));
}

static void forks(void)
{
	pid_t pid = __vfork();

	if (!pid)
		_exit(close(0) ? 1 : 7);
	CHECK(pid > 0 && end_of(pid) == 7);
}

static void *all(void *arg)
{
	pthread_t t[4];
	long k;

	CHECK(!old__pthread_mutex_init(&mutex, NULL));
	excludes();
	for (k = 0; k < 4; k++)
		t[k] = start(counts, (void *)(k & 1));
	for (k = 0; k < 4; k++)
		finish(t[k]);
	CHECK(sum == 8000);
	gives();
	CHECK(!old__pthread_once(&once, run_once));
	CHECK(!pthread_once(&once, run_once) && onces == 1);
	signals();
	forks();
	return arg;
}

/* Hides the comparison from the compiler, which may assume that two
 * functions differ. */
static int is_one(void *volatile a, void *volatile b)
{
	return a == b;
}

int main(void)
{
	void *ours = dlsym(RTLD_DEFAULT, "uk_yield");

	/* a yield's result does not show which function ran */
	CHECK(!ours || is_one((void *)oldpthread_yield, (void *)sched_yield));
	CHECK(!ours || is_one((void *)__sched_yield, (void *)sched_yield));
	run_in_thread(all);
	puts("ok");
	return 0;
}
#endif
