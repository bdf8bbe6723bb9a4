/* SPDX-License-Identifier: Apache-2.0 */
/* The words of io/known.h by themselves: what is learnt, what is not any more. The calls that
 * make a program forget are in tests/posix/known.c. */
#include "io/known.h"

#include "test.h"

enum { FD = 5 };

static uint64_t born(void)
{
	known_born(FD, known_before());
	return known_ask(FD);
}

static void a_new_socket_is_asked_once(void)
{
	uint64_t w = born();

	CHECK_EQ(w & KNOWN_ALL, KNOWN_MAY_BLOCK | KNOWN_MAY_LIMITS);
	known_learn(FD, w, KNOWN_BLOCKS);
	CHECK_EQ(known_ask(FD) & KNOWN_FLAGS, KNOWN_FLAGS);
	known_learn(FD, known_ask(FD), KNOWN_NO_RCV);
	CHECK(!(known_ask(FD) & KNOWN_NO_SND));
	CHECK(known_ask(FD) & KNOWN_NO_RCV);
}

static void what_is_forgotten_is_not_learnt_again(void)
{
	uint64_t w = born();

	known_forget(FD, KNOWN_FLAGS);
	known_learn(FD, w, KNOWN_BLOCKS);             /* asked before */
	known_learn(FD, known_ask(FD), KNOWN_BLOCKS); /* and after */
	CHECK(!(known_ask(FD) & KNOWN_BLOCKS));
	known_learn(FD, known_ask(FD), KNOWN_NO_SND);
	CHECK(known_ask(FD) & KNOWN_NO_SND);
}

static void an_answer_of_the_last_life_is_none_of_this(void)
{
	uint64_t w = born();

	known_forget(FD, KNOWN_ALL);
	born();
	known_learn(FD, w, KNOWN_BLOCKS);
	CHECK(!(known_ask(FD) & KNOWN_BLOCKS));
}

static void a_fork_ends_all_that_was_before_and_under_way(void)
{
	uint64_t during;

	known_learn(FD, born(), KNOWN_BLOCKS);
	sched_share_begin();
	CHECK_EQ(known_ask(FD), 0);
	CHECK_EQ(born(), 0);
	during = known_before();
	sched_share_end();
	known_born(FD, during);
	CHECK_EQ(known_ask(FD), 0);
	CHECK(born());
}

static void forks_may_be_under_way_together(void)
{
	sched_share_begin();
	sched_share_begin();
	sched_share_end();
	CHECK_EQ(born(), 0);
	sched_share_end();
	CHECK(born());
}

static void a_number_that_is_none_is_not_known(void)
{
	known_born(-1, known_before());
	known_forget(-1, KNOWN_ALL);
	CHECK_EQ(known_ask(-1), 0);
	CHECK_EQ(known_ask(SCHED_AHEAD_FDS), 0);
}

int main(void)
{
	RUN(a_new_socket_is_asked_once);
	RUN(what_is_forgotten_is_not_learnt_again);
	RUN(an_answer_of_the_last_life_is_none_of_this);
	RUN(a_fork_ends_all_that_was_before_and_under_way);
	RUN(forks_may_be_under_way_together);
	RUN(a_number_that_is_none_is_not_known);
	return 0;
}
