/* SPDX-License-Identifier: Apache-2.0 */
/* Input and output: an echo server in plain blocking style, one user thread for each
 * connection, and a hundred clients in the same process. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uk/uk.h>

#define CLIENTS 100

static struct sockaddr_in address;

static void start(void *(*fn)(void *), void *arg)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;

	a.flags = UK_THREAD_DETACHED;
	if (uk_thread_create(NULL, &a, fn, arg) < 0)
		abort();
}

static void *serve(void *arg)
{
	int fd = (int)(long)arg;
	char buf[256];
	ssize_t n;

	uk_thread_set_deadline(uk_after(30 * UK_SEC)); /* of the whole connection */
	while ((n = uk_recv(fd, buf, sizeof(buf), 0)) > 0)
		if (uk_write_all(fd, buf, (size_t)n) < 0)
			break;
	uk_close(fd);
	return NULL;
}

static void *accept_them(void *arg)
{
	int listener = (int)(long)arg, fd;

	while ((fd = uk_accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		start(serve, (void *)(long)fd);
	return NULL;
}

static void *client(void *right)
{
	int fd = uk_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char ask[32], reply[32];
	size_t n;

	n = (size_t)snprintf(ask, sizeof(ask), "client %d", fd);
	if (uk_connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	    uk_write_all(fd, ask, n) == (ssize_t)n &&
	    uk_read_all(fd, reply, n) == (ssize_t)n && !memcmp(ask, reply, n))
		__atomic_add_fetch((int *)right, 1, __ATOMIC_SEQ_CST);
	uk_close(fd);
	return NULL;
}

int main(void)
{
	int listener = uk_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), right = 0;
	socklen_t len = sizeof(address);
	uk_thread *t[CLIENTS];

	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&address, len) ||
	    listen(listener, CLIENTS) ||
	    getsockname(listener, (struct sockaddr *)&address, &len))
		return 1;
	start(accept_them, (void *)(long)listener);
	for (int i = 0; i < CLIENTS; i++)
		if (uk_thread_create(&t[i], NULL, client, &right) < 0)
			return 1;
	for (int i = 0; i < CLIENTS; i++)
		uk_thread_join(t[i], NULL);
	printf("%d of %d clients got back what they sent\n", right, CLIENTS);
	uk_close(listener); /* the acceptor gets -EBADF and ends */
	return 0;
}
