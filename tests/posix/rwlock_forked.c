/* SPDX-License-Identifier: Apache-2.0 */
/* A process-shared reader-writer lock between a process and the child that it forked.
 * The child's thread is a copy of the caller. Each waits for the other, and gets
 * EDEADLK if it would wait for itself. */
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix.h"

#define ROUNDS 2000

struct common {
	pthread_rwlock_t l;
	pthread_barrier_t both;
	long n;
};

static struct common *x;

static void make(void)
{
	pthread_rwlockattr_t a;
	pthread_barrierattr_t b;

	x = mmap(NULL, sizeof(*x), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		 -1, 0);
	CHECK(x != MAP_FAILED);
	CHECK(!pthread_rwlockattr_init(&a) && !pthread_barrierattr_init(&b));
	CHECK(!pthread_rwlockattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
	CHECK(!pthread_barrierattr_setpshared(&b, PTHREAD_PROCESS_SHARED));
	CHECK(!pthread_rwlock_init(&x->l, &a));
	CHECK(!pthread_barrier_init(&x->both, &b, 2));
}

static void adds(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		CHECK(!pthread_rwlock_wrlock(&x->l));
		x->n++;
		CHECK(!pthread_rwlock_unlock(&x->l));
		CHECK(!pthread_rwlock_rdlock(&x->l) && x->n);
		CHECK(!pthread_rwlock_unlock(&x->l));
	}
}

static void holds(void)
{
	CHECK(!pthread_rwlock_wrlock(&x->l));
	SAY(pthread_rwlock_wrlock(&x->l));
	SAY(pthread_rwlock_rdlock(&x->l));
	SAY(pthread_rwlock_trywrlock(&x->l));
	fflush(stdout);
	pthread_barrier_wait(&x->both);
	pthread_barrier_wait(&x->both);
	CHECK(!pthread_rwlock_unlock(&x->l));
}

static void finds_held(void)
{
	struct timespec soon;

	pthread_barrier_wait(&x->both);
	SAY(pthread_rwlock_trywrlock(&x->l));
	SAY(pthread_rwlock_tryrdlock(&x->l));
	soon = in_ms(CLOCK_REALTIME, 20);
	SAY(pthread_rwlock_timedwrlock(&x->l, &soon));
	soon = in_ms(CLOCK_MONOTONIC, 20);
	SAY(pthread_rwlock_clockrdlock(&x->l, CLOCK_MONOTONIC, &soon));
	fflush(stdout);
	pthread_barrier_wait(&x->both);
}

static void *two(void *arg)
{
	pid_t child = make_child();

	if (child)
		finds_held();
	else
		holds();
	adds();
	if (!child)
		exit(0);
	CHECK(end_of(child) == 0);
	printf("added %ld\n", x->n);
	return arg;
}

/* -- the owner dies while libc's record of it is only an id, which may equal the
 * caller's -- */

static void *holds_and_ends(void *arg)
{
	bool ours = dlsym(RTLD_DEFAULT, "uk_thread_each") != NULL;
	int mine = gettid();
	pid_t child;

	child = fork();
	CHECK(child >= 0);
	if (!child) {
		CHECK(!pthread_rwlock_wrlock(&x->l));
		x->l.__data.__cur_writer = ours ? mine : gettid();
		_exit(0);
	}
	CHECK(end_of(child) == 0);
	return arg;
}

static void *finds_it_abandoned(void *arg)
{
	struct timespec soon, begun, now;

	holds_and_ends(NULL);
	soon = in_ms(CLOCK_REALTIME, 200);
	CHECK(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun));
	SAY(pthread_rwlock_timedwrlock(&x->l, &soon));
	CHECK(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now));
	now.tv_nsec += (now.tv_sec - begun.tv_sec) * 1000000000 - begun.tv_nsec;
	printf("spins: %d\n", now.tv_nsec > 100000000);
	soon = in_ms(CLOCK_MONOTONIC, 20);
	SAY(pthread_rwlock_clockrdlock(&x->l, CLOCK_MONOTONIC, &soon));
	SAY(pthread_rwlock_trywrlock(&x->l));
	return arg;
}

int main(void)
{
	make();
	finish(start(two, NULL));
	finish(start(finds_it_abandoned, NULL));
	return 0;
}
