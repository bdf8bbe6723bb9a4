/* SPDX-License-Identifier: Apache-2.0 */
/* A CONNECT proxy of the usual form, with a user thread for each connection.
 * docs/PORTING.md describes how it was made from threaded.c.
 *
 *	ported PORT MAX		listens on 127.0.0.1:PORT (0: any), up to MAX clients */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>
#include <uk/uk.h>

#define HEAD_SECONDS 10

static uk_mutex lock = UK_MUTEX_INIT;
static long served, refused, bytes; /* under lock */
static uk_sem room, stop;
static int listener;

static void count(long *what, long n)
{
	uk_mutex_lock(&lock);
	*what += n;
	uk_mutex_unlock(&lock);
}

static void say(int fd, const char *format, ...)
{
	char line[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	uk_write_all(fd, line, strlen(line));
}

/* Read up to the empty line, within HEAD_SECONDS for all of it. */
static int read_head(int fd, char *buf, size_t size)
{
	size_t n = 0;

	uk_thread_set_deadline(uk_after(HEAD_SECONDS * UK_SEC));
	while (n < size - 1) {
		ssize_t r = uk_recv(fd, buf + n, 1, 0);

		if (r <= 0)
			return -1;
		buf[++n] = 0;
		if (n >= 4 && !strcmp(buf + n - 4, "\r\n\r\n"))
			break;
	}
	uk_thread_set_deadline(UK_FOREVER);
	return n < size - 1 ? 0 : -1;
}

static int connect_to(const char *host, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list, *a;
	int fd = -EHOSTUNREACH, rc;

	uk_blocking_begin(); /* libc's call, likely to wait for the name server */
	rc = getaddrinfo(host, port, &hints, &list);
	uk_blocking_end();
	if (rc)
		return fd;
	for (a = list; a && fd < 0; a = a->ai_next) {
		fd = uk_socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, 0);
		if (fd >= 0 && (rc = uk_connect(fd, a->ai_addr, a->ai_addrlen)) < 0) {
			uk_close(fd);
			fd = rc;
		}
	}
	freeaddrinfo(list);
	return fd;
}

/* Pass what one side sent to the other. 0: end of file. */
static int pass(int from, int to)
{
	char buf[16384];
	ssize_t n = uk_recv(from, buf, sizeof(buf), 0);

	if (n < 0)
		return -1;
	if (n == 0) {
		uk_shutdown(to, SHUT_WR);
		return 0;
	}
	if (uk_write_all(to, buf, (size_t)n) < 0)
		return -1;
	count(&bytes, n);
	return 1;
}

static void relay(int a, int b)
{
	struct pollfd p[2] = { { a, POLLIN, 0 }, { b, POLLIN, 0 } };

	while (p[0].fd >= 0 || p[1].fd >= 0) {
		if (uk_poll(p, 2, UK_FOREVER) < 0)
			return;
		for (int i = 0; i < 2; i++) {
			if (!p[i].revents)
				continue;
			switch (pass(i ? b : a, i ? a : b)) {
			case 0:
				p[i].fd = -1; /* the other direction goes on */
				break;
			case -1:
				return;
			}
		}
	}
}

static void *serve(void *arg)
{
	int fd = (int)(long)arg, up;
	char head[4096], host[256], port[8];

	if (read_head(fd, head, sizeof(head)) ||
	    sscanf(head, "CONNECT %255[^: ]:%7[0-9] ", host, port) != 2) {
		say(fd, "HTTP/1.1 400 Bad Request\r\n\r\n");
		count(&refused, 1);
	} else if ((up = connect_to(host, port)) < 0) {
		say(fd, "HTTP/1.1 502 Bad Gateway\r\n\r\n%s\r\n", strerror(-up));
		count(&refused, 1);
	} else {
		say(fd, "HTTP/1.1 200 OK\r\n\r\n");
		relay(fd, up);
		uk_close(up);
		count(&served, 1);
	}
	uk_close(fd);
	uk_sem_post(&room);
	return NULL;
}

static void on_signal(int sig)
{
	(void)sig;
	uk_sem_post(&stop); /* one of the few library calls allowed here */
}

static void *accept_them(void *arg)
{
	uk_thread_attr attr = UK_THREAD_ATTR_INIT;
	int fd;

	attr.flags = UK_THREAD_DETACHED;
	attr.stack_size = 128 * 1024;
	while (uk_sem_wait(&room) == 0) {
		fd = uk_accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd == -EBADF) /* closed by main */
			break;
		if (fd < 0 || uk_thread_create(NULL, &attr, serve, (void *)(long)fd)) {
			if (fd >= 0)
				uk_close(fd);
			uk_sem_post(&room);
		}
	}
	uk_sem_post(&room);
	return arg;
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	unsigned max = argc > 2 ? (unsigned)atoi(argv[2]) : 1000;
	struct sigaction sa = { .sa_handler = on_signal };
	socklen_t len = sizeof(a);
	uk_thread *t;

	a.sin_port = htons((in_port_t)(argc > 1 ? atoi(argv[1]) : 0));
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	uk_sem_init(&room, max);
	uk_sem_init(&stop, 0);
	listener = uk_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&a, len) || listen(listener, 512) ||
	    getsockname(listener, (struct sockaddr *)&a, &len)) {
		perror("listen");
		return 1;
	}
	printf("listens on %d\n", ntohs(a.sin_port));
	fflush(stdout);
	if (uk_thread_create(&t, NULL, accept_them, NULL))
		return 1;
	while (uk_sem_wait(&stop))
		;
	uk_close(listener);
	uk_thread_join(t, NULL);
	for (unsigned i = 0; i < max; i++) /* wait for all connections */
		uk_sem_wait(&room);
	printf("%ld served, %ld refused, %ld bytes\n", served, refused, bytes);
	return 0;
}
