/* SPDX-License-Identifier: Apache-2.0 */
/* A pthread program that top.py looks at under `uk run`: a mutex with a holder and two
 * waiters, and a reader of standard input. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static char waiter[] = "waiter", holder[] = "holder", reader[] = "reader";
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *waits(void *arg)
{
	pthread_setname_np(pthread_self(), arg);
	pthread_mutex_lock(&mutex);
	return NULL;
}

static void *holds(void *arg)
{
	pthread_t t;

	pthread_setname_np(pthread_self(), arg);
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < 2; i++)
		pthread_create(&t, NULL, waits, waiter);
	sleep(100000);
	return NULL;
}

static void *reads(void *arg)
{
	char c;

	pthread_setname_np(pthread_self(), arg);
	_exit((int)read(0, &c, 1));
}

int main(int argc, char **argv)
{
	pthread_t t;

	(void)argv;
	if (argc > 1) { /* makes no thread */
		puts("ready");
		fflush(stdout);
		pause();
	}
	pthread_create(&t, NULL, holds, holder);
	pthread_create(&t, NULL, reads, reader);
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
