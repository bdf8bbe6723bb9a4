/* SPDX-License-Identifier: Apache-2.0 */
/* A socket whose connect failed behaves as one that was never connected: recv returns
 * an error, and a second connect gives the same result. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "posix.h"

#define PATIENCE_MS 500

static struct sockaddr_in here(int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET };

	at.sin_port = htons((uint16_t)port);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return at;
}

static void try(int s, const struct sockaddr_in *at)
{
	int r = connect(s, (const struct sockaddr *)at, sizeof(*at));

	printf("connect: %s\n", r ? strerror(errno) : "done");
}

static void look(int s)
{
	struct pollfd p = { s, POLLIN | POLLOUT, 0 };
	char c;
	long r = recv(s, &c, 1, 0);

	printf("recv: %ld %s\n", r, r ? strerror(errno) : "");
	CHECK(poll(&p, 1, 0) == 1);
	printf("events %x\n", p.revents);
}

static void *refused(void *arg)
{
	struct sockaddr_in nobody = here(1);
	int s = socket(AF_INET, SOCK_STREAM, 0);

	for (int i = 0; i < 3; i++) {
		try(s, &nobody);
		look(s);
	}
	close(s);
	return arg;
}

/* The backlog of the listener is full, so no connect is answered. The kernel gives up
 * after PATIENCE_MS. */
static void *not_answered(void *arg)
{
	int l = socket(AF_INET, SOCK_STREAM, 0), s = socket(AF_INET, SOCK_STREAM, 0);
	int full[4], ms = PATIENCE_MS;
	struct sockaddr_in at = here(0);
	socklen_t len = sizeof(at);

	CHECK(!bind(l, (struct sockaddr *)&at, len) && !listen(l, 0));
	CHECK(!getsockname(l, (struct sockaddr *)&at, &len));
	for (int i = 0; i < 4; i++) {
		full[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		connect(full[i], (struct sockaddr *)&at, len);
	}
	CHECK(!setsockopt(s, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms)));
	try(s, &at);
	look(s);
	try(s, &at);
	for (int i = 0; i < 4; i++)
		close(full[i]);
	close(s);
	close(l);
	return arg;
}

int main(void)
{
	run_in_thread(refused);
	run_in_thread(not_answered);
	return 0;
}
