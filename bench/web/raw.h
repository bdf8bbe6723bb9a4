/* SPDX-License-Identifier: Apache-2.0 */
/* raw.h - what the two raw loops share: the reply, the listening socket, the end of a
 * request. They are the limit, not web servers: they only understand GET without a
 * body. */
#ifndef RAW_H
#define RAW_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include "../lib/bench.h"

#define SMALL_BODY "hello, world\n"
static const char small_reply[] =
    "HTTP/1.1 200 OK\r\nServer: raw\r\nContent-Type: text/plain\r\n"
    "Content-Length: 13\r\n\r\n" SMALL_BODY;
#define SMALL_LEN (sizeof small_reply - 1)

static inline int listen_on(int port, int flags)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port) };
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
	inet_pton(AF_INET, "127.0.0.1", &sa.sin_addr);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) ||
	    bind(fd, (struct sockaddr *)&sa, sizeof sa) || listen(fd, 16384))
		die("listen", errno);
	return fd;
}

/* Requests are "GET PATH HTTP/1.1 ... \r
 * \r
 * " and arrive in one piece. Anything else ends the connection, so the client reports
 * an error. */
static inline int request_whole(const char *p, size_t n)
{
	return n > 18 && !memcmp(p, "GET ", 4) && !memcmp(p + n - 4, "\r\n\r\n", 4);
}

#endif
