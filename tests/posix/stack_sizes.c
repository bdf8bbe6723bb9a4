/* SPDX-License-Identifier: Apache-2.0 */
/* Thread stacks from the smallest that libc allows to several GiB. Numeric programs
 * request such sizes (OMP_STACKSIZE) and hardly touch them. Each thread has the size
 * that it requested, and overflows when it uses more. */
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix.h"

/* A number, because a compiler may take for granted that a pointer into an object stays
 * in it. */
static inline void touch(uintptr_t at)
{
	*(volatile char *)at = 1;
}

static void *looks(void *arg)
{
	size_t want = *(size_t *)arg, size;
	pthread_attr_t a;
	char *low, here;

	CHECK(!pthread_getattr_np(pthread_self(), &a));
	CHECK(!pthread_attr_getstack(&a, (void **)&low, &size));
	CHECK(&here >= low && &here < low + size);
	CHECK(size == (want & ~(size_t)63));
	/* touch one page near the low end, not all pages */
	touch((uintptr_t)&here - want + 16384);
	return NULL;
}

static void with(size_t size)
{
	pthread_attr_t a;
	pthread_t t;
	int r;

	CHECK(!pthread_attr_init(&a));
	CHECK(!pthread_attr_setstacksize(&a, size));
	r = pthread_create(&t, &a, looks, &size);
	printf("%zu: %d\n", size, r);
	if (!r)
		finish(t);
}

static volatile size_t
    *depth; /* bytes used by the thread that overflows; shared memory */

static void *overflows(void *arg)
{
	char here;

	for (*depth = 256;; *depth += 64)
		touch((uintptr_t)&here - *depth);
	return arg;
}

static void overflow_of(size_t size)
{
	struct rlimit none = { 0, 0 };
	int status, null = open("/dev/null", O_WRONLY);
	pid_t pid = fork();

	if (!pid) {
		pthread_attr_t a;
		pthread_t t;

		setrlimit(RLIMIT_CORE, &none);
		dup2(null, STDERR_FILENO);
		pthread_attr_init(&a);
		pthread_attr_setstacksize(&a, size);
		if (!pthread_create(&t, &a, overflows, NULL))
			pthread_join(t, NULL);
		_exit(1);
	}
	close(null);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	CHECK(*depth<size && * depth> size - 3 * 4096);
}

int main(void)
{
	void *may = mmap(NULL, (size_t)64 << 30, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	with((size_t)PTHREAD_STACK_MIN);
	for (size_t size = 1 << 15; size <= 1 << 30; size *= 2)
		with(size + 4096);
	if (may != MAP_FAILED) { /* the address space is not limited */
		munmap(may, (size_t)64 << 30);
		for (int i = 0; i < 3; i++)
			with((size_t)4 << 30);
		with((size_t)12 << 30);
	}
	with((size_t)1 << 46);
	depth = mmap(NULL, sizeof(*depth), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(depth != MAP_FAILED);
	overflow_of((size_t)PTHREAD_STACK_MIN);
	overflow_of(100000);
	overflow_of(256 << 10);
	overflow_of((1 << 20) + 4096);
	return 0;
}
