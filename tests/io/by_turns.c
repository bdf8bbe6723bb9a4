/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads that wait for each other by turns: neither's read goes to the kernel to be told
 * when (event/late.c). */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/base.h"
#include "uk/uk.h"

#define BLOCK 1000
#define GOOD 20 /* of them that went to the kernel */

static int there[2], back[2];

static void *echo(void *arg)
{
	char c;
	int64_t n;

	while ((n = uk_read(there[0], &c, 1)) == 1)
		CHECK_EQ(uk_write(back[1], &c, 1), 1);
	CHECK_EQ(n, 0);
	return arg;
}

static uint64_t armed(void)
{
	uk_stats s;

	uk_stats_get(&s);
	return s.sqes;
}

static void round_trip(char c)
{
	char d = 0;

	CHECK_EQ(uk_write(there[1], &c, 1), 1);
	CHECK_EQ(uk_read(back[0], &d, 1), 1);
	CHECK_EQ(d, c);
}

static void block(void)
{
	for (unsigned i = 0; i < BLOCK; i++)
		round_trip((char)i);
}

/* The test's time limit is the only one: thieves may tear them apart for a while. */
static void *until_late(void *arg)
{
	uint64_t before;

	do {
		before = armed();
		block();
	} while (armed() - before > GOOD);
	return arg;
}

static void by_turns(void)
{
	uk_thread *e, *p;

	CHECK_EQ(pipe(there), 0);
	CHECK_EQ(pipe(back), 0);
	CHECK_EQ(uk_thread_create(&e, NULL, echo, NULL), 0);
	CHECK_EQ(uk_thread_create(&p, NULL, until_late, NULL), 0);
	CHECK_EQ(uk_thread_join(p, NULL), 0);
	CHECK_EQ(uk_close(there[1]), 0);
	CHECK_EQ(uk_thread_join(e, NULL), 0);
	CHECK_EQ(uk_close(there[0]), 0);
	CHECK_EQ(uk_close(back[0]), 0);
	CHECK_EQ(uk_close(back[1]), 0);
}

/* A call that is not to wait does not wait for others to run, either. */
static void *ask_often(void *arg)
{
	uk_stats before, after;
	char c;

	CHECK_EQ(pipe(there), 0);
	CHECK_EQ(fcntl(there[0], F_SETFL, O_NONBLOCK), 0);
	uk_stats_get(&before);
	for (unsigned i = 0; i < 4 * 128; i++)
		CHECK_EQ(uk_read(there[0], &c, 1), -EAGAIN);
	uk_stats_get(&after);
	CHECK_EQ(after.io_parked, before.io_parked);
	CHECK_EQ(uk_close(there[0]), 0);
	CHECK_EQ(uk_close(there[1]), 0);
	return arg;
}

static void who_may_not_wait_does_not(void)
{
	uk_thread *t;

	CHECK_EQ(uk_thread_create(&t, NULL, ask_often, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
}

int main(void)
{
	if (UK_DEBUG)
		SKIP("the fuzzer tears them apart");
	RUN(by_turns);
	RUN(who_may_not_wait_does_not);
	return 0;
}
