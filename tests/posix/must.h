/* SPDX-License-Identifier: Apache-2.0 */
/* For the programs of this folder: what must be true, and a thread to look at it in. */
#ifndef POSIX_MUST_H
#define POSIX_MUST_H

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MUST(c)                                                                        \
	do {                                                                           \
		if (!(c)) {                                                            \
			printf("line %d: %s (errno %d)\n", __LINE__, #c, errno);       \
			exit(1);                                                       \
		}                                                                      \
	} while (0)

/* The call fails so, or says what it gave. */
#define FAILS(call, err)                                                               \
	do {                                                                           \
		long f_ = (long)((errno = 0), (call));                                 \
                                                                                       \
		if (f_ != -1 || errno != (err)) {                                      \
			printf("line %d: %s: %ld, errno %d\n", __LINE__, #call, f_,    \
			       errno);                                                 \
			exit(1);                                                       \
		}                                                                      \
	} while (0)

static inline pthread_t thread_of(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	MUST(!pthread_create(&t, NULL, fn, arg));
	return t;
}

static inline void *end_of(pthread_t t)
{
	void *r;

	MUST(!pthread_join(t, &r));
	return r;
}

/* In a thread of its own. */
static inline void run_in_thread(void *(*fn)(void *))
{
	end_of(thread_of(fn, NULL));
}

static inline long ms_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

#endif
