/* SPDX-License-Identifier: Apache-2.0 */
/* raw_epoll.c - the limit with epoll: one kernel thread, level-triggered, one read and
 * one write a request. /small is answered from memory; any other path is a file of
 * ROOT: open, fstat, header with MSG_MORE, sendfile, close.
 * raw_epoll PORT ROOT */
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include "raw.h"

static int root_fd;

static int send_file(int fd, const char *path)
{
	struct stat st;
	char head[256];
	int f = openat(root_fd, path, O_RDONLY | O_CLOEXEC);
	if (f < 0 || fstat(f, &st)) {
		if (f >= 0)
			close(f);
		return -1;
	}
	int n = snprintf(head, sizeof head,
			 "HTTP/1.1 200 OK\r\nServer: raw\r\n"
			 "Content-Type: application/octet-stream\r\n"
			 "Content-Length: %lld\r\n\r\n",
			 (long long)st.st_size);
	off_t off = 0;
	int ok = send(fd, head, (size_t)n, MSG_MORE | MSG_NOSIGNAL) == n &&
		 sendfile(fd, f, &off, (size_t)st.st_size) == st.st_size;
	close(f);
	return ok ? 0 : -1; /* a full socket buffer counts as an error and ends the
			 * connection */
}

static int serve(int fd)
{
	char buf[4096];
	ssize_t n = recv(fd, buf, sizeof buf, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0 || !request_whole(buf, (size_t)n))
		return -1;
	if (!memcmp(buf + 4, "/small ", 7))
		return send(fd, small_reply, SMALL_LEN, MSG_DONTWAIT | MSG_NOSIGNAL) ==
			       (ssize_t)SMALL_LEN
			   ? 0
			   : -1;
	char *end = memchr(buf + 5, ' ', (size_t)n - 5);
	if (!end || strstr(buf, ".."))
		return -1;
	*end = 0;
	return send_file(fd, buf + 5);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	root_fd = open(argv[2], O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		die(argv[2], errno);
	int lfd = listen_on(atoi(argv[1]), SOCK_NONBLOCK);
	int ep = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev[512] = { { .events = EPOLLIN, .data.fd = lfd } };
	epoll_ctl(ep, EPOLL_CTL_ADD, lfd, ev);
	for (;;) {
		int n = epoll_wait(ep, ev, 512, -1);
		for (int i = 0; i < n; i++) {
			int fd = ev[i].data.fd;
			if (fd != lfd) {
				if (serve(fd) < 0)
					close(fd);
				continue;
			}
			while ((fd = accept4(lfd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
				struct epoll_event e = { .events = EPOLLIN,
							 .data.fd = fd };
				epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
			}
		}
	}
}
