/* SPDX-License-Identifier: Apache-2.0 */
/* echo.c - the plainest pthread server: main accepts, and each connection has a thread
 * with default attributes that sends back what arrives. It does not know the library;
 * bench/lib/posix_programs.py runs it natively and under `uk run`.
 *
 * echo PORT [epoll|loop]
 *
 * The second form (epoll) is one epoll loop without threads: the limit, with which both
 * are compared. The third (loop) is the epoll loop of a program that has threads: it
 * runs in one of them, its sockets are O_NONBLOCK, and each is read until there is
 * nothing left.
 *
 * If it cannot create a thread, it ends with a line that gives the reason; that is a
 * result, too. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "../lib/bench.h"

#define ROOM 512
#define BACKLOG 4096
#define EVENTS 256

static int listen_on(const char *port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)atoi(port)),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)&sa, sizeof(sa)) || listen(fd, BACKLOG))
		die("listen", errno);
	return fd;
}

static int next_connection(int listener, int flags)
{
	int one = 1, fd;

	do
		fd = accept4(listener, NULL, NULL, flags);
	while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
	if (fd < 0)
		die("accept", errno);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

/* Sends back what has arrived; false: the peer has closed. */
static int echo_once(int fd)
{
	char buf[ROOM];
	ssize_t n = recv(fd, buf, sizeof(buf), 0), at = 0, done;

	if (!n)
		errno = 0;
	for (; at < n; at += done) {
		done = send(fd, buf + at, (size_t)(n - at), MSG_NOSIGNAL);
		if (done < 0)
			return 0;
	}
	return n > 0;
}

static void *connection(void *arg)
{
	int fd = (int)(intptr_t)arg;

	while (echo_once(fd))
		;
	close(fd);
	return NULL;
}

static void threads(int listener)
{
	pthread_t th;

	for (long n = 0;; n++) {
		int fd = next_connection(listener, 0);
		int err = pthread_create(&th, NULL, connection, (void *)(intptr_t)fd);

		if (err) {
			fprintf(stderr, "thread %ld: ", n);
			die("pthread_create", err);
		}
		pthread_detach(th);
	}
}

/* true: the peer has closed. */
static int echo_all(int fd, int flags)
{
	if (!flags)
		return !echo_once(fd);
	while (echo_once(fd))
		;
	return errno != EAGAIN;
}

static void loop(int listener, int flags)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = listener };
	struct epoll_event got[EVENTS];
	int ep = epoll_create1(0);

	if (ep < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev))
		die("epoll", errno);
	for (;;) {
		int n = epoll_wait(ep, got, EVENTS, -1);

		for (int i = 0; i < n; i++) {
			int fd = got[i].data.fd;

			if (fd == listener) {
				ev.data.fd = next_connection(listener, flags);
				epoll_ctl(ep, EPOLL_CTL_ADD, ev.data.fd, &ev);
			} else if (echo_all(fd, flags)) {
				close(fd);
			}
		}
	}
}

static void *loop_in_a_thread(void *arg)
{
	loop((int)(intptr_t)arg, SOCK_NONBLOCK);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t th;

	if (argc < 2) {
		fprintf(stderr, "usage: echo PORT [epoll|loop]\n");
		return 2;
	}
	if (argc > 2 && !strcmp(argv[2], "loop")) {
		int err = pthread_create(&th, NULL, loop_in_a_thread,
					 (void *)(intptr_t)listen_on(argv[1]));

		if (err)
			die("pthread_create", err);
		pthread_join(th, NULL);
	} else if (argc > 2)
		loop(listen_on(argv[1]), 0);
	else
		threads(listen_on(argv[1]));
	return 0;
}
