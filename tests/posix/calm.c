/* SPDX-License-Identifier: Apache-2.0 */
/* A program without signal handlers never sees EINTR, even from calls that the
 * kernel does not restart, while operations of its other threads complete.
 * Time limits hold. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "posix.h"

#define PAIRS 4
#define TURNS 40
#define LIMIT_MS 3

static int over;

static void *echo(void *arg)
{
	const int *fd = arg;
	char c;

	while (recv(fd[1], &c, 1, 0) == 1)
		CHECK(send(fd[1], &c, 1, 0) == 1);
	return NULL;
}

/* Keeps operations completing in some vp's ring. */
static void *ask(void *arg)
{
	const int *fd = arg;
	char c = 0;

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		CHECK(send(fd[0], &c, 1, 0) == 1);
		CHECK(recv(fd[0], &c, 1, 0) == 1);
	}
	CHECK(!shutdown(fd[0], SHUT_WR));
	return NULL;
}

static void waits(int set, int ep, int how)
{
	struct timespec limit = { .tv_nsec = LIMIT_MS * 1000000 };
	long begin = ms_now();
	struct sembuf down = { .sem_op = -1 };
	struct epoll_event e;
	sigset_t usr = only(SIGUSR1);

	switch (how) {
	case 0:
		CHECK(semtimedop(set, &down, 1, &limit) == -1 && errno == EAGAIN);
		break;
	case 1:
		CHECK(syscall(SYS_semtimedop, set, &down, 1, &limit) == -1 &&
		      errno == EAGAIN);
		break;
	case 2:
		CHECK(syscall(SYS_rt_sigtimedwait, &usr, NULL, &limit, 8) == -1 &&
		      errno == EAGAIN);
		break;
	case 3:
		CHECK(syscall(SYS_epoll_pwait, ep, &e, 1, LIMIT_MS, NULL, 8) == 0);
		break;
	default:
		CHECK(epoll_wait(ep, &e, 1, LIMIT_MS) == 0);
	}
	CHECK(ms_now() - begin >= LIMIT_MS - 1); /* limits are whole milliseconds */
}

static void *wait_all(void *arg)
{
	int set = semget(IPC_PRIVATE, 1, 0600), ep = epoll_create1(0);

	mask(SIG_BLOCK, SIGUSR1);
	CHECK(set >= 0 && ep >= 0);
	for (int i = 0; i < TURNS; i++)
		for (int how = 0; how < 5; how++)
			waits(set, ep, how);
	CHECK(!semctl(set, 0, IPC_RMID));
	CHECK(!close(ep));
	return arg;
}

int main(void)
{
	pthread_t t[PAIRS][2], w[2];
	int fd[PAIRS][2];

	for (int i = 0; i < PAIRS; i++) {
		CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, fd[i]));
		CHECK(!pthread_create(&t[i][0], NULL, ask, fd[i]));
		CHECK(!pthread_create(&t[i][1], NULL, echo, fd[i]));
	}
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&w[i], NULL, wait_all, NULL));
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_join(w[i], NULL));
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < PAIRS; i++)
		for (int k = 0; k < 2; k++)
			CHECK(!pthread_join(t[i][k], NULL));
	puts("ok");
	return 0;
}
