/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of the pthread programs in this directory. The programs do not know the
 * library; dropin.py compares their output with that of the native run. */
#ifndef TESTS_POSIX_H
#define TESTS_POSIX_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "test.h"

/* Prints the result, so that it is compared with the native run. */
#define SAY(call) printf("%s: %d\n", #call, (int)(call))

/* Checks that the call returns -1 and sets errno to err. */
#define FAILS(call, err)                                                               \
	do {                                                                           \
		long f_ = (long)((errno = 0), (call));                                 \
                                                                                       \
		if (f_ == -1 && errno == (err))                                        \
			break;                                                         \
		fprintf(stderr, "%s:%d: %s: failed: %s: %ld, errno %d\n", __FILE__,    \
			__LINE__, __func__, #call, f_, errno);                         \
		fflush(stdout);                                                        \
		_Exit(1);                                                              \
	} while (0)

/* A system call that no library sees. */
static inline long raw_call(long n, long a, void *b, long c)
{
#if defined(__x86_64__)
	__asm__ volatile("syscall"
			 : "+a"(n)
			 : "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return n;
#else
	register long number __asm__("x8") = n;
	register long first __asm__("x0") = a;
	register void *second __asm__("x1") = b;
	register long third __asm__("x2") = c;

	__asm__ volatile("svc 0"
			 : "+r"(first)
			 : "r"(number), "r"(second), "r"(third)
			 : "memory");
	return first;
#endif
}

/* the time on `clock` in ms milliseconds */
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

/* the set of this signal alone */
static inline sigset_t only(int sig)
{
	sigset_t s;

	sigemptyset(&s);
	sigaddset(&s, sig);
	return s;
}

static inline void mask(int how, int sig)
{
	sigset_t s = only(sig);

	CHECK(!pthread_sigmask(how, &s, NULL));
}

static inline pthread_t start(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	CHECK(!pthread_create(&t, NULL, fn, arg));
	return t;
}

static inline void *finish(pthread_t t)
{
	void *r;

	CHECK(!pthread_join(t, &r));
	return r;
}

static inline void run_in_thread(void *(*fn)(void *))
{
	finish(start(fn, NULL));
}

/* fork. Nothing is left in stdout's buffer, so the child prints nothing twice. */
static inline pid_t make_child(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	return pid;
}

/* Waits for the child. Returns its exit status, or 1000 + the signal that killed it. */
static inline int end_of(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) != pid)
		CHECK(errno == EINTR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Runs fn in a child process. As long as this process has no threads, the child is a
 * new process to fn. */
static inline void run_in_child(void (*fn)(void))
{
	pid_t pid = make_child();

	if (!pid) {
		fn();
		exit(0);
	}
	CHECK(end_of(pid) == 0);
}
#define RUN_ALONE(fn) RUN_AS(fn, run_in_child(fn))

static inline long ms_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

#endif
