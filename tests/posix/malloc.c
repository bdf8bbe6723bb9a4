/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose malloc takes a pthread mutex, calls pthread_once and yields while it
 * holds it. Thread creation waits for that mutex as any other caller of malloc does. The
 * first call comes before any library's constructor: no function that malloc calls may
 * call malloc, not even at its first use. */
#include "posix.h"

#define MAKERS 12
#define ROUNDS 20

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int inside;
static __thread bool holds;

static void nothing(void) {}

static void enter(void)
{
	static unsigned n;

	if (holds)
		abort();
	pthread_mutex_lock(&lock);
	holds = true;
	if (inside++)
		abort();
	pthread_once(&once, nothing);
	if (++n % 4 == 0)
		sched_yield();
	inside--;
}

static void leave(void)
{
	holds = false;
	pthread_mutex_unlock(&lock);
}

void *malloc(size_t n)
{
	void *p;

	enter();
	p = __libc_malloc(n);
	leave();
	return p;
}

void *calloc(size_t n, size_t size)
{
	void *p;

	enter();
	p = __libc_calloc(n, size);
	leave();
	return p;
}

void *realloc(void *p, size_t n)
{
	enter();
	p = __libc_realloc(p, n);
	leave();
	return p;
}

void free(void *p)
{
	enter();
	__libc_free(p);
	leave();
}

static void first(void)
{
	void *volatile p = malloc(1);

	free(p);
}

static void (*const before_constructors)(void)
    __attribute__((section(".preinit_array"), used)) = first;

static void *uses(void *arg)
{
	void *p[16];

	for (int i = 0; i < 16; i++) {
		p[i] = malloc((size_t)i * 100 + 1);
		CHECK(p[i]);
	}
	for (int i = 0; i < 16; i++)
		free(p[i]);
	return arg;
}

static void *makes(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_t a = start(uses, NULL), b = start(uses, NULL);

		uses(NULL);
		finish(a);
		finish(b);
	}
	return arg;
}

int main(void)
{
	pthread_t t[MAKERS];

	for (int i = 0; i < MAKERS; i++)
		t[i] = start(makes, NULL);
	makes(NULL);
	for (int i = 0; i < MAKERS; i++)
		finish(t[i]);
	puts("done");
	return 0;
}
