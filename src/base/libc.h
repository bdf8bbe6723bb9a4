/* SPDX-License-Identifier: Apache-2.0 */
/* libc.h - libc's own functions, where a drop-in defines others under their names.
 *
 * A room of the runtime that needs a kernel thread must get a kernel thread, also in a
 * program whose pthread_create makes user threads. So what a drop-in defines is reached
 * through this one table. In the library it holds the names themselves, whoever stands
 * behind them (a sanitizer's interceptors, too); the drop-in has a table of its own, which
 * it fills with what comes after it, the first time that anybody asks: constructors of other
 * libraries may call us before ours has run. src/LIBC marks these names. */
#ifndef BASE_LIBC_H
#define BASE_LIBC_H

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

/* A name of libc's that a library of ours defines. */
#define LIBC_API __attribute__((visibility("default")))

struct libc {
	int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
			      void *);
	int (*pthread_detach)(pthread_t);
	int (*pthread_join)(pthread_t, void **);
	int (*pthread_sigmask)(int, const sigset_t *, sigset_t *);
	int (*clone)(int (*)(void *), void *, int, void *, ...);
	int (*clock_gettime)(clockid_t, struct timespec *);
	int (*fclose)(FILE *);
	int (*sigaction)(int, const struct sigaction *, struct sigaction *);
	ssize_t (*getrandom)(void *, size_t, unsigned);
};

const struct libc *libc(void);
#define LIBC(name) (libc()->name)

#endif
