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

	CHECK_EQ(w & KNOWN_ALL, KNOWN_MAY_FLAGS | KNOWN_MAY_LIMITS);
	known_learn(FD, w, KNOWN_BLOCKS);
	CHECK_EQ(known_ask(FD) & KNOWN_FLAGS, KNOWN_MAY_FLAGS | KNOWN_BLOCKS);
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

static void after_a_change_it_is_asked_once_more(void)
{
	uint64_t w = born(), change;

	known_learn(FD, w, KNOWN_NO_RCV);
	known_learn(FD, w = known_ask(FD), KNOWN_BLOCKS);
	change = known_change(FD);
	CHECK_EQ(known_ask(FD) & KNOWN_ALL, KNOWN_MAY_LIMITS | KNOWN_NO_RCV);
	known_learn(FD, w, KNOWN_BLOCKS);
	known_learn(FD, known_ask(FD), KNOWN_BLOCKS);
	known_changed(FD, change);
	CHECK_EQ(known_ask(FD) & KNOWN_FLAGS, KNOWN_MAY_FLAGS);
	known_learn(FD, known_ask(FD), KNOWN_NONBLOCK);
	CHECK_EQ(known_ask(FD) & KNOWN_FLAGS, KNOWN_MAY_FLAGS | KNOWN_NONBLOCK);
}

/* ---- two that change, two that ask and one that forgets for good, in all orders ---- */

enum { CHANGERS = 2, ACTORS = 5, STEPS = 3 };

static struct actor {
	unsigned at;
	uint64_t word; /* what known_change or known_ask gave */
	bool seen;
} actors[ACTORS];

static bool truth, shared; /* O_NONBLOCK; somebody else may change it */

static void step_of_change(struct actor *a, bool to)
{
	switch (a->at) {
	case 0:
		a->word = known_change(FD);
		break;
	case 1:
		truth = to;
		break;
	default:
		known_changed(FD, a->word);
	}
}

static void step_of_asker(struct actor *a)
{
	switch (a->at) {
	case 0:
		a->word = known_ask(FD);
		break;
	case 1:
		a->seen = truth;
		break;
	default:
		if (!(a->word & (KNOWN_BLOCKS | KNOWN_NONBLOCK)))
			known_learn(FD, a->word,
				    a->seen ? KNOWN_NONBLOCK : KNOWN_BLOCKS);
	}
}

/* dup, and what the second number is for. */
static void step_of_dup(const struct actor *a)
{
	if (a->at == 0)
		known_forget(FD, KNOWN_ALL);
	else if (a->at == 1)
		shared = true;
	else if (shared)
		truth = !truth;
}

static void step(unsigned who)
{
	struct actor *a = &actors[who];

	if (who < CHANGERS)
		step_of_change(a, who);
	else if (who < ACTORS - 1)
		step_of_asker(a);
	else
		step_of_dup(a);
	a->at++;
}

/* What is known is so, unless a change is under way, which need not have been seen yet. */
static void is_so(void)
{
	uint64_t w = known_ask(FD);

	for (unsigned i = 0; i < CHANGERS; i++)
		if (actors[i].at == 1 || actors[i].at == 2)
			return;
	CHECK(!(w & KNOWN_BLOCKS) || !truth);
	CHECK(!(w & KNOWN_NONBLOCK) || truth);
}

static unsigned long orders, learnt;

/* By all ways on from here: the word and the truth are put back after each. */
static void all_orders(unsigned actors_now)
{
	bool any = false;

	for (unsigned i = 0; i < actors_now; i++) {
		struct actor was = actors[i];
		uint64_t word = known_words[FD];
		bool so = truth, by_others = shared;

		if (was.at == STEPS)
			continue;
		any = true;
		step(i);
		is_so();
		all_orders(actors_now);
		actors[i] = was;
		known_words[FD] = word;
		truth = so;
		shared = by_others;
	}
	if (any)
		return;
	orders++;
	learnt += !!(known_ask(FD) & (KNOWN_BLOCKS | KNOWN_NONBLOCK));
}

static void whatever_the_order_what_is_known_is_so(void)
{
	CHECK(born());
	all_orders(ACTORS - 1);
	CHECK_EQ(orders, 369600); /* 12! / 3!^4 */
	CHECK(learnt > 0);
	CHECK(born());
	actors[3].at = STEPS; /* one that asks is enough beside the fifth */
	all_orders(ACTORS);
	CHECK_EQ(orders, 2 * 369600);
	CHECK(born());
	known_forget(FD, KNOWN_LIMITS); /* nothing is left for dup to forget */
	all_orders(ACTORS);
	CHECK_EQ(orders, 3 * 369600);
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
	RUN(after_a_change_it_is_asked_once_more);
	RUN(whatever_the_order_what_is_known_is_so);
	RUN(an_answer_of_the_last_life_is_none_of_this);
	RUN(a_fork_ends_all_that_was_before_and_under_way);
	RUN(forks_may_be_under_way_together);
	RUN(a_number_that_is_none_is_not_known);
	return 0;
}
