/* SPDX-License-Identifier: Apache-2.0 */
/* main blocks SIGURG, which a socket sends for urgent data. It reaches the thread that
 * waits for it or unblocks it, while others compute and sleep. */
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "posix.h"

#define TIMES 10

static int ran, stop; /* atomics */

static int get(const int *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void on_urgent(int sig)
{
	(void)sig;
	__atomic_add_fetch(&ran, 1, __ATOMIC_RELEASE);
}

static void *computes(void *arg)
{
	while (!get(&stop))
		__asm__ volatile("");
	return arg;
}

static void *takes(void *arg)
{
	sigset_t s = only(SIGURG);
	int sig;

	for (int i = 0; i < TIMES; i++) {
		CHECK(!sigwait(&s, &sig) && sig == SIGURG);
		__atomic_add_fetch(&ran, 1, __ATOMIC_RELEASE);
	}
	return arg;
}

static void *lets_through(void *arg)
{
	mask(SIG_UNBLOCK, SIGURG);
	while (!get(&stop))
		poll(NULL, 0, 1000);
	return arg;
}

static void connect_pair(int fd[2])
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	int l = socket(AF_INET, SOCK_STREAM, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(!listen(l, 1) && !getsockname(l, (struct sockaddr *)&at, &len));
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(!connect(fd[0], (struct sockaddr *)&at, len));
	fd[1] = accept(l, NULL, NULL);
	CHECK(fd[1] >= 0 && !close(l));
}

static void urgent_data(int to, int from)
{
	char c;

	for (int i = 1; i <= TIMES; i++) {
		CHECK(send(to, "!", 1, MSG_OOB) == 1);
		while (get(&ran) < i)
			usleep(100);
		CHECK(recv(from, &c, 1, MSG_OOB) == 1);
	}
	ran = 0;
}

int main(void)
{
	pthread_t t, hog;
	int fd[2];

	connect_pair(fd);
	CHECK(!fcntl(fd[1], F_SETOWN, getpid()));
	signal(SIGURG, on_urgent);
	mask(SIG_BLOCK, SIGURG);
	hog = start(computes, NULL);
	t = start(takes, NULL);
	urgent_data(fd[0], fd[1]);
	finish(t);
	puts("taken by sigwait");
	t = start(lets_through, NULL);
	urgent_data(fd[0], fd[1]);
	puts("taken by a handler");
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	finish(t);
	finish(hog);
	return 0;
}
