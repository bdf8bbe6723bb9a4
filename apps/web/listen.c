/* SPDX-License-Identifier: Apache-2.0 */
/* The listening sockets: internet and unix ones, bound here or inherited (from systemd,
 * or from the predecessor: successor.c).
 *
 * A stop loses no client. Closing a listening socket would reset the connections in its
 * backlog, whose clients are connected already. So: (1) a socket filter drops new SYNs
 * (such a client retries after a second, and gets the successor or a refusal), and a
 * unix socket loses its name; (2) the acceptors take the connections of the backlog
 * until none came for a while (accept.c); (3) only then the socket is closed.
 *
 * A socket that another process holds, too, is only closed here: a filter would stay on
 * it, and the other process takes the connections of its backlog. */
#include "web.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

struct listener listeners[MAX_LISTENERS]; /* written by main before there are threads */
unsigned n_listeners;

/* Accepted sockets inherit these options: no system call for each connection. */
static void tune(int fd)
{
	unsigned patience =
	    (unsigned)(cfg.t_write / UK_MS < INT32_MAX ? cfg.t_write / UK_MS
						       : INT32_MAX);
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	/* The kernel drops a peer that is gone, or keeps its window shut, for t_write:
	 * also after close, when no thread waits for the peer any more. */
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof(patience));
}

static void name_it(struct listener *l)
{
	const struct sockaddr_un *un = (const void *)&l->addr;
	char host[64], port[16];

	l->addr_len = sizeof(l->addr);
	getsockname(l->fd, (struct sockaddr *)&l->addr, &l->addr_len);
	if (l->addr.ss_family == AF_UNIX) {
		size_t n = l->addr_len - offsetof(struct sockaddr_un, sun_path);

		snprintf(l->name, sizeof(l->name), "unix:%.*s", (int)n, un->sun_path);
		return;
	}
	getnameinfo((struct sockaddr *)&l->addr, l->addr_len, host, sizeof(host), port,
		    sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(l->name, sizeof(l->name), "http%s://%s%s%s:%s/",
		 cfg.tls_cert ? "s" : "", strchr(host, ':') ? "[" : "", host,
		 strchr(host, ':') ? "]" : "", port);
}

static struct listener *add(int fd, bool shared)
{
	struct listener *l = &listeners[n_listeners++];

	atomic_init(&l->fd, fd);
	l->shared = shared;
	l->late = -1;
	name_it(l);
	return l;
}

/* ---- unix ---- */

/* Is the name a socket on which no process listens? Then it may be reused. */
static bool is_stale(const struct sockaddr_un *a)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc;
	struct stat st;

	if (fd < 0 || lstat(a->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode)) {
		close(fd);
		return false;
	}
	rc = connect(fd, (const struct sockaddr *)a, sizeof(*a));
	rc = rc < 0 ? errno : 0;
	close(fd);
	return rc == ECONNREFUSED;
}

static int open_unix(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd, rc;

	if (strlen(path) >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	strcpy(a.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (is_stale(&a))
		unlink(path);
	/* The permissions of the directory decide who may connect, not the umask. */
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || chmod(path, 0666) < 0 ||
	    listen(fd, (int)cfg.backlog) < 0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

/* ---- internet ---- */

static int open_one(const struct addrinfo *ai)
{
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, rc;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	tune(fd);
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) < 0 ||
	    listen(fd, (int)cfg.backlog) < 0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

/* "host", "host:port", "[v6]:port", "::": the port follows the only colon, or the colon
 * after a bracket. */
static void split(const char *text, char *host, size_t cap, const char **port)
{
	const char *colon = strrchr(text, ':'), *end = text + strlen(text);

	*port = cfg.port;
	if (text[0] == '[' && strchr(text, ']')) {
		end = strchr(++text, ']');
		if (end[1] == ':')
			*port = end + 2;
	} else if (colon && strchr(text, ':') == colon) {
		end = colon;
		*port = colon + 1;
	}
	snprintf(host, cap, "%.*s", (int)(end - text), text);
}

static int open_inet(const char *text)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	struct addrinfo *list, *ai;
	const char *port;
	char host[256];
	int rc, fd = -1;

	split(text, host, sizeof(host), &port);
	rc = getaddrinfo(host, port, &hints, &list);
	if (rc)
		die(EX_SETUP, "address %s port %s: %s", host, port, gai_strerror(rc));
	for (ai = list; ai && fd < 0; ai = ai->ai_next)
		fd = open_one(ai);
	freeaddrinfo(list);
	if (fd < 0)
		die(EX_SETUP, "can't listen on %s port %s: %s", host, port,
		    strerror(-fd));
	return fd;
}

static void open_named(const char *text)
{
	int fd;

	if (strncmp(text, "unix:", 5) != 0) {
		add(open_inet(text), false);
		return;
	}
	fd = open_unix(text + 5);
	if (fd < 0)
		die(EX_SETUP, "can't listen on %s: %s", text, strerror(-fd));
	add(fd, false)->unlinks = true;
}

/* ---- inherited ---- */

static void adopt(int fd, bool shared)
{
	int listens = 0, type = 0;
	socklen_t n = sizeof(int);
	struct listener *l;

	getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n);
	getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n);
	if (!listens || type != SOCK_STREAM)
		die(EX_SETUP, "the inherited fd %d is not a listening socket", fd);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	tune(fd); /* of no effect on a unix socket */
	l = add(fd, shared);
	l->unlinks = !shared && l->addr.ss_family == AF_UNIX;
}

void listen_open(void)
{
	int fds[MAX_LISTENERS], first;
	bool shared[MAX_LISTENERS];
	int n = successor_inherited(fds, shared);

	for (int i = 0; i < n; i++)
		adopt(fds[i], shared[i]);
	if (n)
		return;
	n = notify_inherited(&first);
	if (n > MAX_LISTENERS)
		die(EX_SETUP, "%d sockets were inherited, at most %d are possible", n,
		    MAX_LISTENERS);
	for (int i = 0; i < n; i++)
		adopt(first + i, true);
	if (n)
		return;
	for (unsigned i = 0; i < cfg.listens; i++)
		open_named(cfg.listen[i]);
}

/* ---- the end ---- */

/* Drop segments with SYN set; handshakes that have begun can still complete. */
static void refuse_syns(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13), /* TCP flags */
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x02, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog));
}

void listen_unlink(bool handed)
{
	for (unsigned i = 0; i < n_listeners; i++) {
		const struct sockaddr_un *a = (const void *)&listeners[i].addr;

		if (listeners[i].unlinks && !handed && a->sun_path[0])
			unlink(a->sun_path);
		listeners[i].unlinks = false;
	}
}

void listen_shut(bool handed)
{
	listen_unlink(handed);
	for (unsigned i = 0; i < n_listeners; i++) {
		const struct listener *l = &listeners[i];

		if (!handed && !l->shared && l->addr.ss_family != AF_UNIX)
			refuse_syns(l->fd);
	}
}
