/* SPDX-License-Identifier: Apache-2.0 */
/* A program may define its own gettid() with syscall(), as programs did before libc had
 * one. The library's syscall() must then use the library's own gettid(): if it called
 * the program's, the two would call each other forever. */
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "posix.h"

pid_t gettid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static void *asks(void *arg)
{
	pid_t *id = arg;

	*id = gettid();
	CHECK(*id == syscall(SYS_gettid));
	return NULL;
}

int main(void)
{
	pid_t id = 0;
	pthread_t t;

	CHECK(gettid() == getpid());
	CHECK(!pthread_create(&t, NULL, asks, &id));
	CHECK(!pthread_join(t, NULL));
	CHECK(id > 0 && id != getpid());
	puts("ok");
	return 0;
}
