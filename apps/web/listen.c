/* SPDX-License-Identifier: Apache-2.0 */
/* The listening socket and the acceptor.
 *
 * Stopping without losing anybody. Closing a listening socket resets the connections in its
 * backlog, whose clients believe to be connected. So: (1) a socket filter drops new SYNs
 * from now on (a client that comes now retries a second later, and meets our successor or
 * a refusal); (2) the acceptor, woken by a connection of our own where it blocks, takes what
 * is in the backlog until nothing came for DRAIN; (3) only then is the socket closed.
 *
 * Want of descriptors (EMFILE and kin) leaves the connection in the backlog, and accept
 * would fail again at once: idle keep-alives are closed, and the acceptor sleeps a little. */
#include "web.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DRAIN (40 * UK_MS)
#define PATIENCE (2 * UK_SEC)

static int lfd = -1;
static char name[96];
static struct sockaddr_storage bound;
static socklen_t bound_len = sizeof(bound);
static uk_mutex lock = UK_MUTEX_INIT;
static uk_cond ended = UK_COND_INIT;
static bool done; /* under lock */

const char *listen_name(void)
{
	return name;
}

static int open_one(const struct addrinfo *ai)
{
	int fd = uk_socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, rc;
	unsigned patience = (unsigned)(cfg.t_write / UK_MS < INT32_MAX ? cfg.t_write / UK_MS
								       : INT32_MAX);

	if (fd < 0)
		return fd;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	/* Accepted sockets inherit it: no system call per connection. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	/* The kernel itself drops a peer that is gone, or keeps its window shut, for t_write:
	 * also after our close, when no thread is there any more to lose patience. */
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof(patience));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) < 0 ||
	    listen(fd, (int)cfg.backlog) < 0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

void listen_open(void)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	struct addrinfo *list, *ai;
	char host[64], port[16];
	int rc = getaddrinfo(cfg.bind, cfg.port, &hints, &list);

	if (rc)
		die(EX_SETUP, "address %s port %s: %s", cfg.bind, cfg.port, gai_strerror(rc));
	for (ai = list, lfd = -1; ai && lfd < 0; ai = ai->ai_next)
		lfd = open_one(ai);
	freeaddrinfo(list);
	if (lfd < 0)
		die(EX_SETUP, "can't listen on %s port %s: %s", cfg.bind, cfg.port,
		    strerror(-lfd));
	getsockname(lfd, (struct sockaddr *)&bound, &bound_len);
	getnameinfo((struct sockaddr *)&bound, bound_len, host, sizeof(host), port,
		    sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(name, sizeof(name), strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

/* Drop segments with SYN set; the rest of a handshake under way still passes. */
static void refuse_syns(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13), /* TCP flags */
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x02, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	setsockopt(lfd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog));
}

/* A connection to ourselves ends a blocking accept in any mode, without a race. */
static void wake(void)
{
	struct sockaddr_storage to = bound;
	struct sockaddr_in *four = (void *)&to;
	struct sockaddr_in6 *six = (void *)&to;
	int fd = socket(bound.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return;
	if (bound.ss_family == AF_INET && four->sin_addr.s_addr == htonl(INADDR_ANY))
		four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bound.ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr))
		six->sin6_addr = in6addr_loopback;
	/* Non-blocking: if the backlog is full the acceptor is not asleep. */
	if (connect(fd, (struct sockaddr *)&to, bound_len) < 0 && errno != EINPROGRESS)
		say("waking the acceptor: %s", strerror(errno));
	close(fd);
}

void listen_stop(void)
{
	wake();
	refuse_syns();
}

int listen_wait_end(uk_time deadline)
{
	int rc = 0;

	uk_mutex_lock(&lock);
	while (!done && rc == 0)
		rc = uk_cond_wait_until(&ended, &lock, deadline);
	uk_mutex_unlock(&lock);
	return rc;
}

/* Blocks until there is a connection. While stopping: -EAGAIN when the backlog is empty. */
static int accept_one(struct ticket *t)
{
	socklen_t n = sizeof(t->peer);
	struct sockaddr *a = (struct sockaddr *)&t->peer;
	int fd;

	if (atomic_load(&stopping)) {
		if (cfg.mode == MODE_UK_SET) {
			struct pollfd p = { .fd = lfd, .events = POLLIN };

			if (poll(&p, 1, DRAIN / UK_MS) <= 0)
				return -EAGAIN;
		} else if (uk_wait(lfd, POLLIN, uk_after(DRAIN)) < 0) {
			return -EAGAIN;
		}
	}
	if (cfg.mode != MODE_UK_SET)
		return uk_accept4(lfd, a, &n, SOCK_CLOEXEC);
	/* The founding comparison: this thread has its vp to itself and blocks in the kernel. */
	fd = accept4(lfd, a, &n, SOCK_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* No thread to be had: say so in the client's language. */
static void turn_away(struct ticket *t, int rc)
{
	static const char busy[] = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n"
				   "Content-Length: 0\r\nConnection: close\r\n\r\n";
	static uk_time said;

	if (!cfg.tls_cert)
		uk_send(t->fd, busy, sizeof(busy) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	uk_close(t->fd);
	free(t);
	COUNT(0, refused, 1);
	if (uk_now() - said > UK_SEC) {
		said = uk_now();
		say("no thread for a connection: %s", strerror(-rc));
	}
	conns_leave();
}

/* No thread for now (UK_STACK_LIMIT, the system's limits): an idle connection gives its own
 * up, and a busy one ends soon; the client waits as if it stood in the backlog. */
static int start_thread(struct ticket *t)
{
	uk_time end = 0;
	int rc;

	while ((rc = spawn_conn(t)) == -EAGAIN) {
		if (end == 0)
			end = uk_after(PATIENCE);
		else if (uk_now() > end)
			break;
		conns_close_idle(1);
		uk_sleep(2 * UK_MS);
	}
	return rc;
}

static void accept_failed(int rc)
{
	static uk_time said;

	if (rc == -ECONNABORTED || rc == -EPROTO || rc == -EINTR)
		return;
	COUNT(0, accept_errors, 1);
	if (uk_now() - said > UK_SEC) {
		said = uk_now();
		say("accept: %s; closing idle connections", strerror(-rc));
	}
	uk_sleep(conns_close_idle(8) ? 2 * UK_MS : 50 * UK_MS);
}

void *acceptor_main(void *arg)
{
	(void)arg;
	while (conns_enter() == 0) {
		struct ticket *t = malloc(sizeof(*t));
		int fd = t ? accept_one(t) : -ENOMEM, rc;

		if (fd < 0) {
			free(t);
			conns_leave();
			if (fd == -EAGAIN && atomic_load(&stopping))
				break;
			accept_failed(fd);
			continue;
		}
		t->fd = fd;
		rc = start_thread(t);
		if (rc < 0)
			turn_away(t, rc);
	}
	uk_close(lfd);
	uk_mutex_lock(&lock);
	done = true;
	uk_cond_broadcast(&ended);
	uk_mutex_unlock(&lock);
	return NULL;
}
