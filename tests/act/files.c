/* SPDX-License-Identifier: Apache-2.0 */
/* The monitor at work takes no descriptor number from the program. (That its messages come
 * out all the same, to where descriptor 2 is at that time: cap.c.) */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "test.h"
#include "uk/uk.h"

static volatile int stop;

static void *blocks(void *arg)
{
	struct timespec ts = { 0, 300000 };

	while (!stop) {
		nanosleep(&ts, NULL);
		uk_yield();
	}
	return arg;
}

static uint64_t handoffs(void)
{
	uk_stats s;

	uk_stats_get(&s);
	return s.handoffs;
}

/* Until the monitor has looked into /proc some hundred times. */
static void the_programs_next_number_is_its_own(void)
{
	int want = open("/dev/null", O_RDONLY);
	uint64_t from = handoffs();
	uk_thread *t[2];

	CHECK(want >= 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, blocks, NULL), 0);
	while (handoffs() < from + 500) {
		CHECK_EQ(close(want), 0);
		CHECK_EQ(open("/dev/null", O_RDONLY), want);
	}
	stop = 1;
	for (int i = 0; i < 2; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	CHECK_EQ(close(want), 0);
}

static void nothing_of_ours_is_below_1024(void)
{
	for (int fd = 3; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0) {
			char path[40], to[200] = "";

			snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
			if (readlink(path, to, sizeof(to) - 1) < 0)
				to[0] = 0;
			CHECK(!strstr(to, "io_uring") && !strstr(to, "eventpoll") &&
			      !strstr(to, "eventfd") && !strstr(to, "/proc/"));
		}
}

int main(void)
{
#if defined(__SANITIZE_THREAD__)
	puts("skipped: TSan has descriptors of its own");
	return 77;
#endif
	CHECK_EQ(uk_init(), 0);
	RUN(nothing_of_ours_is_below_1024);
	RUN(the_programs_next_number_is_its_own);
	RUN(nothing_of_ours_is_below_1024);
	return 0;
}
