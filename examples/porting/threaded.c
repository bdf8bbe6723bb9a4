/* SPDX-License-Identifier: Apache-2.0 */
/* A CONNECT proxy of the usual form, with a kernel thread for each connection.
 * docs/PORTING.md ports it to user threads; ported.c is the result.
 *
 *	threaded PORT MAX	listens on 127.0.0.1:PORT (0: any), up to MAX clients */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
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

#define HEAD_SECONDS 10

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long served, refused, bytes; /* under lock */
static sem_t room;
static volatile sig_atomic_t over;
static int listener;

static void count(long *what, long n)
{
	pthread_mutex_lock(&lock);
	*what += n;
	pthread_mutex_unlock(&lock);
}

static int write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t w = write(fd, p, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -1;
		p += w;
		n -= (size_t)w;
	}
	return 0;
}

static void say(int fd, const char *format, ...)
{
	char line[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	write_all(fd, line, strlen(line));
}

/* Read up to the empty line, within HEAD_SECONDS for each read. */
static int read_head(int fd, char *buf, size_t size)
{
	struct timeval tv = { HEAD_SECONDS, 0 };
	size_t n = 0;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	while (n < size - 1) {
		ssize_t r = recv(fd, buf + n, 1, 0);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return -1;
		buf[++n] = 0;
		if (n >= 4 && !strcmp(buf + n - 4, "\r\n\r\n"))
			break;
	}
	tv.tv_sec = 0;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	return n < size - 1 ? 0 : -1;
}

static int connect_to(const char *host, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list, *a;
	int fd = -1;

	if (getaddrinfo(host, port, &hints, &list))
		return -1;
	for (a = list; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen)) {
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(list);
	return fd;
}

/* Pass what one side sent to the other. 0: end of file. */
static int pass(int from, int to)
{
	char buf[16384];
	ssize_t n = recv(from, buf, sizeof(buf), 0);

	if (n < 0)
		return errno == EINTR ? 1 : -1;
	if (n == 0) {
		shutdown(to, SHUT_WR);
		return 0;
	}
	if (write_all(to, buf, (size_t)n))
		return -1;
	count(&bytes, n);
	return 1;
}

static void relay(int a, int b)
{
	struct pollfd p[2] = { { a, POLLIN, 0 }, { b, POLLIN, 0 } };

	while (p[0].fd >= 0 || p[1].fd >= 0) {
		if (poll(p, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			return;
		}
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
		say(fd, "HTTP/1.1 502 Bad Gateway\r\n\r\n%s\r\n", strerror(errno));
		count(&refused, 1);
	} else {
		say(fd, "HTTP/1.1 200 OK\r\n\r\n");
		relay(fd, up);
		close(up);
		count(&served, 1);
	}
	close(fd);
	sem_post(&room);
	return NULL;
}

static void on_signal(int sig)
{
	(void)sig;
	over = 1;
	shutdown(listener, SHUT_RDWR); /* accept returns */
}

static void accept_them(void)
{
	while (!over) {
		pthread_attr_t attr;
		pthread_t t;
		int fd;

		while (sem_wait(&room) && errno == EINTR)
			;
		fd = accept(listener, NULL, NULL);
		if (fd < 0) {
			sem_post(&room);
			if (errno == EINTR || errno == ECONNABORTED)
				continue;
			break;
		}
		pthread_attr_init(&attr);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		pthread_attr_setstacksize(&attr, 128 * 1024);
		if (pthread_create(&t, &attr, serve, (void *)(long)fd)) {
			close(fd);
			sem_post(&room);
		}
		pthread_attr_destroy(&attr);
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	unsigned max = argc > 2 ? (unsigned)atoi(argv[2]) : 1000;
	struct sigaction sa = { .sa_handler = on_signal };
	socklen_t len = sizeof(a);

	a.sin_port = htons((in_port_t)(argc > 1 ? atoi(argv[1]) : 0));
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	sem_init(&room, 0, max);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&a, len) || listen(listener, 512) ||
	    getsockname(listener, (struct sockaddr *)&a, &len)) {
		perror("listen");
		return 1;
	}
	printf("listens on %d\n", ntohs(a.sin_port));
	fflush(stdout);
	accept_them();
	for (unsigned i = 0; i < max; i++) /* wait for all connections */
		sem_wait(&room);
	printf("%ld served, %ld refused, %ld bytes\n", served, refused, bytes);
	return 0;
}
