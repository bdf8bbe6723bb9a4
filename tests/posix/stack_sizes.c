/* SPDX-License-Identifier: Apache-2.0 */
/* Thread stacks from the smallest that libc allows to several GiB. Numeric programs
 * request such sizes (OMP_STACKSIZE) and hardly touch them. Each thread has the size
 * that it requested. */
#include <limits.h>
#include <sys/mman.h>

#include "posix.h"

static void *looks(void *arg)
{
	size_t want = *(size_t *)arg, size;
	pthread_attr_t a;
	char *low, here;

	CHECK(!pthread_getattr_np(pthread_self(), &a));
	CHECK(!pthread_attr_getstack(&a, (void **)&low, &size));
	CHECK(&here >= low && &here < low + size);
	CHECK(size + 16384 >= want);
	/* touch one page near the low end, not all pages */
	*(volatile char *)(&here - want + 16384) = 1;
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
	return 0;
}
