/* SPDX-License-Identifier: Apache-2.0 */
/* -ETIMEDOUT and -EAGAIN at a time limit mean that nothing was there. If a thread gets
 * no CPU until after its limit, data that came in time is there when it looks, and the
 * kernel returns it natively. So does the library, however late the timer, the reactor
 * and the thread run. */
#include "iotest.h"

#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#define LIMIT UK_SEC /* all threads wait by then, even on a busy machine */
#define N(a) (sizeof(a) / sizeof((a)[0]))

static uk_vp *vp;

struct reader {
	ssize_t (*call)(int);
	int fd, from;
	uk_thread *thread;
};

static ssize_t by_recv(int fd)
{
	char b;

	return uk_recv(fd, &b, 1, 0);
}

static ssize_t by_read(int fd)
{
	char b;

	return uk_read(fd, &b, 1);
}

static ssize_t by_recvmsg(int fd)
{
	char b;
	struct iovec v = { &b, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	return uk_recvmsg(fd, &m, 0);
}

static ssize_t by_recvfrom(int fd)
{
	char b;

	return uk_recvfrom(fd, &b, 1, 0, NULL, NULL);
}

static ssize_t by_readv(int fd)
{
	char b;
	struct iovec v = { &b, 1 };

	return uk_readv(fd, &v, 1);
}

static ssize_t by_recv_ahead(int fd)
{
	CHECK_EQ(uk_recv_ahead(fd), 0);
	return by_recv(fd);
}

static ssize_t by_wait(int fd)
{
	return uk_wait_fd(fd, POLLIN, uk_after(LIMIT));
}

static ssize_t by_accept(int fd)
{
	int c = uk_accept4(fd, NULL, NULL, 0);

	if (c < 0)
		return c;
	uk_close(c);
	return 1;
}

static void *reads(void *arg)
{
	struct reader *r = arg;

	return (void *)r->call(r->fd);
}

static void *reads_by_a_deadline(void *arg)
{
	uk_thread_set_deadline(uk_after(LIMIT));
	return reads(arg);
}

static int is_parked(const uk_thread_info *i, void *arg)
{
	return i->id == *(uint64_t *)arg && !strcmp(i->state, "parked");
}

static void begin(struct reader *r, unsigned n, void *(*how)(void *))
{
	uk_thread_attr a = { .vp = vp };

	for (unsigned i = 0; i < n; i++)
		CHECK_EQ(uk_thread_create(&r[i].thread, &a, how, &r[i]), 0);
	for (unsigned i = 0; i < n; i++) {
		uint64_t id = uk_thread_id(r[i].thread);

		while (!uk_thread_each(is_parked, &id, sizeof(uk_thread_info)))
			uk_yield();
	}
}

/* Keeps the vp until the limits of all readers are over. */
static void keep_the_vp(void)
{
	struct timespec t = { LIMIT / UK_SEC, LIMIT % UK_SEC + 50 * MS };

	while (nanosleep(&t, &t) != 0)
		;
}

static void all_have_one(struct reader *r, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		CHECK_EQ((ssize_t)join(r[i].thread), 1);
		uk_close(r[i].fd);
		uk_close(r[i].from);
	}
}

static void write_to(const struct reader *r, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		CHECK_EQ(write(r[i].from, "x", 1), 1);
}

static void pair(struct reader *r)
{
	int s[2];

	make_unix(s, SOCK_STREAM);
	r->fd = s[0];
	r->from = s[1];
}

static void before_the_threads_deadline(void)
{
	struct reader r[] = { { .call = by_recv },       { .call = by_read },
			      { .call = by_readv },      { .call = by_recvmsg },
			      { .call = by_recvfrom },   { .call = by_wait },
			      { .call = by_recv_ahead }, { .call = by_read } };
	int p[2];

	for (unsigned i = 0; i < N(r) - 1; i++)
		pair(&r[i]);
	make_pipe(p, 0);
	r[N(r) - 1].fd = p[0];
	r[N(r) - 1].from = p[1];
	begin(r, N(r), reads_by_a_deadline);
	write_to(r, N(r));
	keep_the_vp();
	all_have_one(r, N(r));
}

static void before_the_limit_of_the_socket(void)
{
	struct reader r[] = { { .call = by_recv },
			      { .call = by_read },
			      { .call = by_readv },
			      { .call = by_recvmsg },
			      { .call = by_recvfrom } };
	struct timeval tv = { LIMIT / UK_SEC, LIMIT % UK_SEC / UK_US };

	for (unsigned i = 0; i < N(r); i++) {
		pair(&r[i]);
		CHECK_EQ(setsockopt(r[i].fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)),
			 0);
	}
	begin(r, N(r), reads);
	write_to(r, N(r));
	keep_the_vp();
	all_have_one(r, N(r));
}

static void a_connection_too(void)
{
	struct sockaddr_in a;
	struct reader r = { by_accept, make_listener(&a, 5), -1, NULL };

	begin(&r, 1, reads_by_a_deadline);
	r.from = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_EQ(connect(r.from, (void *)&a, sizeof(a)), 0);
	keep_the_vp();
	all_have_one(&r, 1);
}

/* Runs on the vp of the readers, and keeps it from them. */
static void what_came_in_time_is_found_after_the_limit(void)
{
	uk_thread_pin(vp);
	before_the_threads_deadline();
	before_the_limit_of_the_socket();
	a_connection_too();
	uk_thread_pin(NULL);
}

int main(void)
{
	/* after an injected -EAGAIN a wait begins again, when its limit is over */
	if (UK_HOSTILE)
		SKIP("the hostile build begins waits again");
	setenv("UK_ACTIVATION", "off", 1); /* else the vp is handed off */
	io_test_init(HANG_SEC);
	vp = uk_vpset_vp(uk_vpset_default(), 0);
	USER(what_came_in_time_is_found_after_the_limit);
	return 0;
}
