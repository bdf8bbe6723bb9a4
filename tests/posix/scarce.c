/* SPDX-License-Identifier: Apache-2.0 */
/* Threads create detached threads in a loop while the address space holds only a few
 * stacks. A creation succeeds as soon as any thread has ended and freed its stack. */
#include <sched.h>
#include <sys/resource.h>

#include "posix.h"

enum { CREATORS = 2, EACH = 2000 };

static pthread_attr_t detached;
static int ended;

static void *ends(void *arg)
{
	__atomic_add_fetch(&ended, 1, __ATOMIC_SEQ_CST);
	return arg;
}

static void *creates(void *arg)
{
	pthread_t t;

	/* natively, too, this fails until a thread that ended has freed its stack */
	for (int n = 0; n < EACH;)
		n += !pthread_create(&t, &detached, ends, NULL);
	return arg;
}

int main(void)
{
	struct rlimit rl = { (rlim_t)800 << 20, (rlim_t)800 << 20 };
	pthread_t t[CREATORS];

	setenv("UK_VPS", "8", 1);
	CHECK(!setrlimit(RLIMIT_AS, &rl));
	CHECK(!pthread_attr_init(&detached));
	CHECK(!pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED));
	CHECK(!pthread_attr_setstacksize(&detached, (size_t)16 << 20));
	for (int i = 0; i < CREATORS; i++)
		t[i] = start(creates, NULL);
	for (int i = 0; i < CREATORS; i++)
		finish(t[i]);
	while (__atomic_load_n(&ended, __ATOMIC_SEQ_CST) < CREATORS * EACH)
		sched_yield();
	puts("all have run");
	return 0;
}
