/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous DNS: a library with its own fds (c-ares), driven by uk_poll. Each thread
 * asks in plain blocking style and holds no kernel thread while it waits; with
 * getaddrinfo it would. The name server is a user thread of this program, so the
 * example runs anywhere. */
#include <ares.h>
#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uk/uk.h>

#define ASKERS 50

static char server[32]; /* "127.0.0.1:port" */

/* -- the client: copy this part into a program -- */

struct answer {
	int done, status;
	struct in_addr addr;
};

static void on_answer(void *arg, int status, int timeouts, struct ares_addrinfo *list)
{
	struct answer *a = arg;

	(void)timeouts;
	a->done = 1;
	a->status = status;
	if (status == ARES_SUCCESS) {
		struct sockaddr_in sin;

		memcpy(&sin, list->nodes->ai_addr, sizeof(sin));
		a->addr = sin.sin_addr;
		ares_freeaddrinfo(list);
	}
}

/* The library's fds, as it reports them. */
struct sockets {
	struct pollfd f[16];
	unsigned n;
};

static void on_socket(void *arg, ares_socket_t fd, int readable, int writable)
{
	struct sockets *s = arg;
	unsigned i = 0;

	while (i < s->n && s->f[i].fd != fd)
		i++;
	if (!readable && !writable) { /* closed */
		if (i < s->n)
			s->f[i] = s->f[--s->n];
		return;
	}
	if (i == sizeof(s->f) / sizeof(s->f[0]))
		abort();
	s->n += i == s->n;
	s->f[i].fd = fd;
	s->f[i].events = (short)((readable ? POLLIN : 0) | (writable ? POLLOUT : 0));
}

/* Run the library until it has the answer. */
static void drive(ares_channel ch, struct sockets *s, const struct answer *a)
{
	while (!a->done) {
		struct timeval tv, *left = ares_timeout(ch, NULL, &tv);
		uk_time limit = UK_FOREVER;
		struct sockets now;

		if (left)
			limit = uk_after(left->tv_sec * UK_SEC + left->tv_usec * UK_US);
		if (uk_poll(s->f, s->n, limit) < 0) {
			ares_process_fd(ch, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
			continue;
		}
		now = *s; /* the calls below may change it */
		for (unsigned i = 0; i < now.n; i++) {
			int ev = now.f[i].revents, fd = now.f[i].fd;

			if (ev)
				ares_process_fd(ch,
						ev & ~POLLOUT ? fd : ARES_SOCKET_BAD,
						ev & POLLOUT ? fd : ARES_SOCKET_BAD);
		}
	}
}

static int resolve(const char *name, struct in_addr *addr)
{
	struct sockets s = { .n = 0 };
	struct ares_options opt = { .sock_state_cb = on_socket,
				    .sock_state_cb_data = &s };
	struct ares_addrinfo_hints hints = { .ai_family = AF_INET };
	struct answer a = { 0 };
	ares_channel ch;

	if (ares_init_options(&ch, &opt, ARES_OPT_SOCK_STATE_CB) != ARES_SUCCESS)
		return -1;
	ares_set_servers_ports_csv(ch, server); /* a real program omits this */
	ares_getaddrinfo(ch, name, NULL, &hints, on_answer, &a);
	drive(ch, &s, &a);
	ares_destroy(ch);
	*addr = a.addr;
	return a.status == ARES_SUCCESS ? 0 : -1;
}

static void *ask(void *right)
{
	struct in_addr got, want;
	char name[64], text[32];
	int i = __atomic_add_fetch((int *)right, 0, __ATOMIC_SEQ_CST) % 7;

	snprintf(name, sizeof(name), "host-%d.example.test", i);
	snprintf(text, sizeof(text), "10.0.0.%d", i);
	inet_pton(AF_INET, text, &want);
	if (resolve(name, &got) == 0 && got.s_addr == want.s_addr)
		__atomic_add_fetch((int *)right, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

/* -- a name server that knows host-N -- */

static void *name_server(void *arg)
{
	static const unsigned char tail[] = { 0xc0, 12, 0, 1, 0,  1, 0, 0,
					      0,    60, 0, 4, 10, 0, 0 };
	int fd = (int)(long)arg;
	unsigned char b[512];
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	ssize_t n;

	while ((n = uk_recvfrom(fd, b, 400, 0, (struct sockaddr *)&from, &len)) > 17) {
		ssize_t q = 12;
		int ip = atoi((const char *)b + 13 + strlen("host-"));

		while (q < n && b[q])
			q += b[q] + 1;
		n = q + 5; /* only the question, not what follows it */
		b[2] |= 0x80;
		b[7] = 1; /* one answer */
		memset(b + 8, 0, 4);
		memcpy(b + n, tail, sizeof(tail));
		b[n + (ssize_t)sizeof(tail)] = (unsigned char)ip;
		n += (ssize_t)sizeof(tail) + 1;
		uk_sendto(fd, b, (size_t)n, 0, (struct sockaddr *)&from, len);
		len = sizeof(from);
	}
	return NULL;
}

int main(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), right = 0;
	uk_thread *t[ASKERS], *srv;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		return 1;
	snprintf(server, sizeof(server), "127.0.0.1:%d", ntohs(a.sin_port));
	ares_library_init(ARES_LIB_INIT_ALL);
	if (uk_thread_create(&srv, NULL, name_server, (void *)(long)fd) < 0)
		return 1;
	for (int i = 0; i < ASKERS; i++)
		if (uk_thread_create(&t[i], NULL, ask, &right) < 0)
			return 1;
	for (int i = 0; i < ASKERS; i++)
		uk_thread_join(t[i], NULL);
	uk_close(fd);
	uk_thread_join(srv, NULL);
	ares_library_cleanup();
	printf("%d of %d names resolved\n", right, ASKERS);
	return right != ASKERS;
}
