/* SPDX-License-Identifier: Apache-2.0 */
/* A program with one thread uses all kinds of locks and waits on them. It has one
 * kernel thread all the time: the runtime starts no other. */
#include <dirent.h>
#include <linux/futex.h>
#include <semaphore.h>
#include <sys/syscall.h>

#include "posix.h"

static void nothing(void) {}

static int kernel_threads(void)
{
	DIR *d = opendir("/proc/self/task");
	int n = 0;

	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

int main(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	pthread_once_t once = PTHREAD_ONCE_INIT;
	struct timespec soon = in_ms(CLOCK_REALTIME, 5), span = { 0, 5000000 };
	pthread_barrier_t b;
	uint32_t word = 0;
	sem_t s;

	CHECK(!pthread_mutex_lock(&m));
	SAY(pthread_mutex_timedlock(&m, &soon));
	soon = in_ms(CLOCK_REALTIME, 5);
	SAY(pthread_cond_timedwait(&c, &m, &soon));
	CHECK(!pthread_cond_signal(&c) && !pthread_cond_broadcast(&c));
	CHECK(!pthread_mutex_unlock(&m));
	CHECK(!pthread_rwlock_rdlock(&l));
	soon = in_ms(CLOCK_REALTIME, 5);
	SAY(pthread_rwlock_timedwrlock(&l, &soon));
	CHECK(!pthread_rwlock_unlock(&l));
	CHECK(!sem_init(&s, 0, 0) && !sem_post(&s) && !sem_wait(&s));
	soon = in_ms(CLOCK_REALTIME, 5);
	SAY(sem_timedwait(&s, &soon));
	CHECK(!pthread_once(&once, nothing));
	CHECK(!pthread_barrier_init(&b, NULL, 1));
	SAY(pthread_barrier_wait(&b));
	SAY(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &span));
	SAY(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1));
	printf("kernel threads: %d\n", kernel_threads());
	finish(start((void *(*)(void *))(void (*)(void))kernel_threads, NULL));
	return 0;
}
