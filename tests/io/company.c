/* SPDX-License-Identifier: Apache-2.0 */
/* Short messages on streams that are received ahead. If many threads run for a short
 * time each, their sends go to the kernel together. All bytes arrive in order, even if
 * the peer's queue is full. Errors are those of send(2). */
#include "test.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "uk/uk.h"

#define PAIRS 64
#define ROUNDS 300
#define LEN 100

static int end[PAIRS][2];

static void pair_open(int i)
{
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, end[i]), 0);
}

static void all(void *(*fn)(void *), int n)
{
	uk_thread *t[2 * PAIRS];

	for (int i = 0; i < n; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, fn, &end[i / 2][i % 2]), 0);
	for (int i = 0; i < n; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
}

static void close_all(void)
{
	for (int i = 0; i < PAIRS; i++)
		for (int k = 0; k < 2; k++)
			if (end[i][k] >= 0)
				CHECK_EQ(uk_close(end[i][k]), 0);
}

static void get(int fd, char *to, size_t n)
{
	for (ssize_t r; n; n -= (size_t)r, to += r) {
		r = uk_recv(fd, to, n, 0);
		CHECK(r > 0);
	}
}

/* Called by the user thread itself, whose vp is to receive. */
static int begin(void *arg)
{
	int fd = *(int *)arg;

	if (fd >= 0)
		CHECK_EQ(uk_recv_ahead(fd), 0);
	return fd;
}

static bool is_second(void *arg)
{
	return ((int *)arg - &end[0][0]) & 1;
}

/* The second thread of a pair begins. */
static void *talks(void *arg)
{
	int fd = begin(arg);
	bool first = is_second(arg);
	char *out = malloc(LEN), in[LEN];

	for (int i = 0; i < ROUNDS; i++) {
		if (!first || i)
			get(fd, in, LEN);
		for (int k = 0; k < LEN; k++) {
			CHECK(!i || in[k] == (char)(i - first + k));
			out[k] = (char)(i + k);
		}
		CHECK_EQ(uk_send(fd, out, LEN, MSG_NOSIGNAL), LEN);
	}
	if (first)
		get(fd, in, LEN);
	free(out);
	return arg;
}

static void many_pairs_talk_with_few_system_calls(void)
{
	uk_stats a, b;
	uint64_t calls;

	for (int i = 0; i < PAIRS; i++)
		pair_open(i);
	uk_stats_get(&a, sizeof(a));
	all(talks, 2 * PAIRS);
	uk_stats_get(&b, sizeof(b));
	close_all();
	calls = (b.syscalls - a.syscalls) * 100 / (2 * PAIRS * ROUNDS);
	printf("%lu system calls for 100 messages\n", (unsigned long)calls);
	if (uk_vp_count() > 1 || strcmp(uk_reactor_name(), "io_uring") || UK_TSAN ||
	    UK_ASAN || UK_CHECKS || UK_HOSTILE)
		return; /* other vps share the work, or the build is slow or random */
	CHECK(calls < 50);
}

#define PUSHED (256 * 1024)

static void *pushes(void *arg)
{
	int fd = begin(arg);
	bool first = is_second(arg);
	char *buf = malloc(4096);

	for (size_t n = 0; n < PUSHED; n += 4096) {
		for (size_t k = 0; k < 4096; k++)
			buf[k] = (char)((n + k) * 7 / 64);
		if (first) {
			CHECK_EQ(uk_send(fd, buf, 4096, MSG_NOSIGNAL), 4096);
			continue;
		}
		char in[4096];

		uk_yield();
		get(fd, in, sizeof(in));
		CHECK(!memcmp(in, buf, sizeof(in)));
	}
	free(buf);
	return arg;
}

static void a_send_waits_for_a_full_queue(void)
{
	for (int i = 0; i < PAIRS; i++)
		pair_open(i);
	all(pushes, 2 * PAIRS);
	close_all();
}

static void *fails(void *arg)
{
	int fd = begin(arg);
	char c[LEN] = { 0 };

	if (is_second(arg))
		return arg;
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(uk_send(fd, c, LEN, MSG_NOSIGNAL), -EPIPE);
		uk_yield();
	}
	return arg;
}

static void a_send_to_a_closed_peer_fails(void)
{
	for (int i = 0; i < PAIRS; i++) {
		pair_open(i);
		CHECK_EQ(uk_close(end[i][1]), 0);
		end[i][1] = -1;
	}
	all(fails, 2 * PAIRS);
	close_all();
}

static void *faults(void *arg)
{
	int fd = begin(arg);

	for (int i = 0; i < 20; i++) {
		CHECK_EQ(uk_send(fd, (void *)16, LEN, MSG_NOSIGNAL), -EFAULT);
		uk_yield();
	}
	return arg;
}

static void a_send_from_invalid_memory_fails(void)
{
	for (int i = 0; i < PAIRS; i++)
		pair_open(i);
	all(faults, 2 * PAIRS);
	close_all();
}

int main(void)
{
	CHECK_EQ(uk_init(), 0);
	if (!strcmp(uk_reactor_name(), "epoll"))
		SKIP("epoll does not receive ahead");
	RUN(many_pairs_talk_with_few_system_calls);
	RUN(a_send_waits_for_a_full_queue);
	RUN(a_send_to_a_closed_peer_fails);
	RUN(a_send_from_invalid_memory_fails);
	return 0;
}
