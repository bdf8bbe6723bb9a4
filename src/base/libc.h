/* SPDX-License-Identifier: Apache-2.0 */
/* libc.h - libc's own functions, where the preload library defines others under their
 * names.
 *
 * A layer that needs a kernel thread must get one, also in a program whose
 * pthread_create makes user threads. So the names that the preload library defines are
 * reached only through this table; src/LIBC marks them. In the library the table holds
 * the names themselves, whatever they resolve to (a sanitizer's interceptors, too). The
 * preload library has its own table and fills it with the next definitions at the first
 * use, because constructors of other libraries may call it before its own has run. */
#ifndef BASE_LIBC_H
#define BASE_LIBC_H

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <time.h>

/* A libc name that one of our libraries defines. */
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
	__typeof__(&posix_spawnp) posix_spawnp;
};

const struct libc *libc(void);
#define LIBC(name) (libc()->name)

#endif
