/* SPDX-License-Identifier: Apache-2.0 */
/* posix.h - for programs that know nothing of us. */
#ifndef TESTS_POSIX_H
#define TESTS_POSIX_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MUST(c)                                                                        \
	do {                                                                           \
		if (!(c)) {                                                            \
			printf("line %d: %s\n", __LINE__, #c);                         \
			fflush(stdout);                                                \
			_exit(1);                                                      \
		}                                                                      \
	} while (0)

/* What a call gives is part of the output, so it is compared with the native run. */
#define SAY(call) printf("%s: %d\n", #call, (int)(call))

/* ms from now, on a clock */
static inline struct timespec in_ms(clockid_t clock, long ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

static inline pthread_t start(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	MUST(!pthread_create(&t, NULL, fn, arg));
	return t;
}

static inline void *finish(pthread_t t)
{
	void *r;

	MUST(!pthread_join(t, &r));
	return r;
}

#endif
