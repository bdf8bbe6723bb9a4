/* SPDX-License-Identifier: Apache-2.0 */
/* An echo server with one thread for each connection. It prints its port, ends at
 * end-of-file on standard input, and prints how many connections it served. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static atomic_int served, failed;

static void *serve(void *arg)
{
	int fd = (int)(long)arg;
	char buf[512];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		if (write(fd, buf, (size_t)n) != n)
			atomic_fetch_add(&failed, 1);
	close(fd);
	atomic_fetch_add(&served, 1);
	return NULL;
}

static void *accepts(void *arg)
{
	int listener = (int)(long)arg, fd;
	pthread_t t;

	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		if (pthread_create(&t, NULL, serve, (void *)(long)fd)) {
			atomic_fetch_add(&failed, 1);
			close(fd);
		} else {
			pthread_detach(t);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t n = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0), want = argc > 1 ? atoi(argv[1]) : 1;
	struct rlimit files;
	pthread_t t;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)&at, n) || listen(fd, 4096) ||
	    getsockname(fd, (struct sockaddr *)&at, &n) ||
	    pthread_create(&t, NULL, accepts, (void *)(long)fd))
		return 1;
	printf("%d\n", ntohs(at.sin_port));
	fflush(stdout);
	while (getchar() != EOF)
		;
	while (atomic_load(&served) < want)
		usleep(1000);
	printf("%d served, %d failed\n", atomic_load(&served), atomic_load(&failed));
	return 0;
}
