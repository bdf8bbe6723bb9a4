/* SPDX-License-Identifier: Apache-2.0 */
/* listen.c - the broker's socket: passed by the service manager, as sd_listen_fds(3)
 * gets it, or bound here. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "broker.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* Linux 6.16 */
#endif
#define FIRST_PASSED 3 /* SD_LISTEN_FDS_START */

static int passed(void)
{
	const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");

	return pid && n && atoi(pid) == getpid() && atoi(n) == 1 ? FIRST_PASSED : -1;
}

static bool somebody_listens(const struct sockaddr_un *a)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool yes =
	    fd >= 0 && (!connect(fd, (const void *)a, sizeof(*a)) || errno == EAGAIN);

	if (fd >= 0)
		close(fd);
	return yes;
}

/* Remove a socket that an earlier broker left, but no other file. */
static void unlink_stale(const char *path)
{
	struct stat st;

	if (!lstat(path, &st) && S_ISSOCK(st.st_mode))
		unlink(path);
}

static int bind_to(int fd, const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(a.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(a.sun_path, path);
	if (somebody_listens(&a)) {
		errno = EADDRINUSE;
		return -1;
	}
	unlink_stale(path);
	if (bind(fd, (const void *)&a, sizeof(a)) || chmod(path, 0666))
		return -1;
	return listen(fd, SOMAXCONN);
}

int broker_listen(const char *path)
{
	int fd = passed(), no = 0;

	if (fd < 0) {
		fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		if (fd < 0 || bind_to(fd, path)) {
			fprintf(stderr, "uk broker: %s: %s\n", path, strerror(errno));
			return -1;
		}
	}
	/* Refuse files that a peer sends: the peer can make their close block. An older
	 * kernel closes them itself, as for any daemon with a socket */
	setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof(no));
	return fd;
}
