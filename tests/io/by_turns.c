/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads that wait for each other in turn: neither thread's reads go to the engine
 * (reactor/late.c). */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/base.h"
#include "uk/uk.h"

#define BLOCK 1000
#define GOOD 20 /* at most so many reads of a block go to the engine */

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

	uk_stats_get(&s, sizeof(s));
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

/* Repeats until it is so, because thieves may separate the threads for a while. The
 * only limit is the time limit of the test. */
static void *until_late(void *arg)
{
	uint64_t before;

	do {
		before = armed();
		block();
	} while (armed() - before > GOOD);
	return arg;
}

static void reads_in_turn_do_not_go_to_the_engine(void)
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

/* A call that may not wait does not let other threads run first, either. */
static void *ask_often(void *arg)
{
	uk_stats before, after;
	char c;

	CHECK_EQ(pipe(there), 0);
	CHECK_EQ(fcntl(there[0], F_SETFL, O_NONBLOCK), 0);
	uk_stats_get(&before, sizeof(before));
	for (unsigned i = 0; i < 4 * 128; i++)
		CHECK_EQ(uk_read(there[0], &c, 1), -EAGAIN);
	uk_stats_get(&after, sizeof(after));
	CHECK_EQ(after.io_parked, before.io_parked);
	CHECK_EQ(uk_close(there[0]), 0);
	CHECK_EQ(uk_close(there[1]), 0);
	return arg;
}

static void a_nonblocking_read_does_not_wait(void)
{
	uk_thread *t;

	CHECK_EQ(uk_thread_create(&t, NULL, ask_often, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
}

int main(void)
{
	if (UK_CHECKS)
		SKIP("the fuzzer separates the threads");
	RUN(reads_in_turn_do_not_go_to_the_engine);
	RUN(a_nonblocking_read_does_not_wait);
	return 0;
}
