/* SPDX-License-Identifier: Apache-2.0 */
/* A new thread inherits its creator's name. Also pthread_tryjoin_np of a running
 * thread, and the attributes of a thread on a stack of the program. */
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "posix.h"

#define STACK (256 << 10)

static pthread_barrier_t both;

static void *says(void *arg)
{
	char name[16] = "", same[16] = "";

	CHECK(!pthread_getname_np(pthread_self(), name, sizeof(name)));
	CHECK(!prctl(PR_GET_NAME, same) && !strcmp(name, same));
	printf("%s has %s\n", (const char *)arg, name);
	return arg;
}

static void *renamed(void *arg)
{
	CHECK(!pthread_setname_np(pthread_self(), "worker"));
	finish(start(says, (char[]){ "a worker's" }));
	return arg;
}

static void threads_inherit_names(void)
{
	CHECK(!prctl(PR_SET_NAME, "program"));
	finish(start(says, (char[]){ "main's" }));
	CHECK(!prctl(PR_SET_NAME, "other"));
	finish(start(says, (char[]){ "main's second" }));
	finish(start(renamed, NULL));
	finish(start(says, (char[]){ "main's last" }));
}

static void *meets(void *arg)
{
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	return arg;
}

static void tryjoin_of_a_running_thread_is_busy(void)
{
	pthread_t t = start(meets, NULL);

	pthread_barrier_wait(&both);
	CHECK(!pthread_detach(t));
	printf("detached: %d\n", pthread_tryjoin_np(t, NULL) == EBUSY);
	printf("itself: %d\n", pthread_tryjoin_np(pthread_self(), NULL) == EBUSY);
	pthread_barrier_wait(&both);
}

static void *says_guard(void *arg)
{
	pthread_attr_t a;
	size_t guard = 1, size = 0;
	void *low = NULL;

	CHECK(!pthread_getattr_np(pthread_self(), &a));
	CHECK(!pthread_attr_getguardsize(&a, &guard) &&
	      !pthread_attr_getstack(&a, &low, &size));
	printf("guard %zu, size %zu, its own %d\n", guard, size, low == arg);
	CHECK(!pthread_attr_destroy(&a));
	return arg;
}

static void attributes_show_the_given_stack(void)
{
	void *low = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t a;
	pthread_t t;

	CHECK(low != MAP_FAILED && !pthread_attr_init(&a));
	CHECK(!pthread_attr_setstack(&a, low, STACK));
	CHECK(!pthread_create(&t, &a, says_guard, low));
	finish(t);
	CHECK(!pthread_attr_destroy(&a));
}

int main(void)
{
	CHECK(!pthread_barrier_init(&both, NULL, 2));
	RUN(threads_inherit_names);
	RUN(tryjoin_of_a_running_thread_is_busy);
	RUN(attributes_show_the_given_stack);
	return 0;
}
