/* SPDX-License-Identifier: Apache-2.0 */
/* The protocols of a service manager (systemd).
 *
 * LISTEN_PID, LISTEN_FDS: the listening sockets that it passes are the fds from 3 on.
 * NOTIFY_SOCKET: one datagram of lines KEY=VALUE for each change. The socket is opened
 * at the start, because its name may be unreachable later (chroot). Used only by
 * main. */
#include "web.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

static int fd = -1;

void notify_open(void)
{
	const char *name = getenv("NOTIFY_SOCKET");
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t n = name ? strlen(name) : 0;

	if (n < 2 || n >= sizeof(a.sun_path))
		return;
	memcpy(a.sun_path, name, n);
	if (name[0] == '@')
		a.sun_path[0] = 0; /* abstract: no NUL at its end */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (connect(fd, (struct sockaddr *)&a,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) < 0) {
		fprintf(stderr, "ukweb: NOTIFY_SOCKET %s: %s\n", name, strerror(errno));
		close(fd);
		fd = -1;
	}
}

void notify(const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	if (fd < 0)
		return;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < sizeof(text))
		send(fd, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int notify_inherited(int *first)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	int n = 0;

	if (pid && count && strtol(pid, NULL, 10) == getpid())
		n = atoi(count);
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	*first = 3;
	return n > 0 ? n : 0;
}
