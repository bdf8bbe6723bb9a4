/* SPDX-License-Identifier: Apache-2.0 */
/* What is recorded about a socket (fd/known.h), without the calls that use it: what is
 * learnt and what is forgotten. tests/posix/known.c tests the calls after which it is
 * forgotten. */
#include "fd/known.h"

#include <string.h>
#include <sys/socket.h>

#include "test.h"

enum { FD = 5 };

static uint64_t born(void)
{
	known_born(FD, known_before(), 0);
	return known_ask(FD);
}

static void of_a_new_socket_the_flags_are_known(void)
{
	CHECK_EQ(born() & KNOWN_ALL, KNOWN_MAY_FLAGS | KNOWN_MAY_LIMITS | KNOWN_BLOCKS);
	known_born(FD, known_before(), SOCK_NONBLOCK);
	CHECK_EQ(known_ask(FD) & KNOWN_FLAGS, KNOWN_MAY_FLAGS | KNOWN_NONBLOCK);
	known_learn(FD, known_ask(FD), KNOWN_NO_RCV);
	CHECK(!(known_ask(FD) & KNOWN_NO_SND));
	CHECK(known_ask(FD) & KNOWN_NO_RCV);
}

static void what_is_forgotten_is_not_learnt_again(void)
{
	uint64_t w = born();

	known_forget(FD, KNOWN_FLAGS);
	known_learn(FD, w, KNOWN_BLOCKS);             /* asked before the forget */
	known_learn(FD, known_ask(FD), KNOWN_BLOCKS); /* asked after */
	CHECK(!(known_ask(FD) & KNOWN_BLOCKS));
	known_learn(FD, known_ask(FD), KNOWN_NO_SND);
	CHECK(known_ask(FD) & KNOWN_NO_SND);
}

static void after_a_change_the_socket_is_asked_about_once_more(void)
{
	uint64_t w = born(), change;

	known_learn(FD, w, KNOWN_NO_RCV);
	w = known_ask(FD);
	change = known_change(FD);
	CHECK_EQ(known_ask(FD) & KNOWN_ALL, KNOWN_MAY_LIMITS | KNOWN_NO_RCV);
	known_learn(FD, w, KNOWN_BLOCKS);
	known_learn(FD, known_ask(FD), KNOWN_BLOCKS);
	known_changed(FD, change, 0);
	CHECK_EQ(known_ask(FD) & KNOWN_FLAGS, KNOWN_MAY_FLAGS);
	known_learn(FD, known_ask(FD), KNOWN_NONBLOCK);
	CHECK_EQ(known_ask(FD) & KNOWN_FLAGS, KNOWN_MAY_FLAGS | KNOWN_NONBLOCK);
	known_changed(FD, known_change(FD), KNOWN_BLOCKS);
	CHECK_EQ(known_ask(FD) & KNOWN_FLAGS, KNOWN_MAY_FLAGS | KNOWN_BLOCKS);
}

/* ---- two actors change, two ask and one forgets, in all orders ---- */

enum { CHANGERS = 2, ACTORS = 5, STEPS = 3 };

static struct actor {
	unsigned at;
	uint64_t word; /* what known_change or known_ask returned */
	bool seen;
} actors[ACTORS];

static bool truth, shared; /* O_NONBLOCK; another fd may change it */

static bool says; /* what a change has set is said at its end */

static unsigned flags_of(bool nonblock)
{
	return nonblock ? KNOWN_NONBLOCK : KNOWN_BLOCKS;
}

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
		known_changed(FD, a->word, says ? flags_of(to) : 0);
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
			known_learn(FD, a->word, flags_of(a->seen));
	}
}

/* A dup, and then a change by the second fd. */
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

/* What is known is true, unless a change is under way, which need not have been seen
 * yet. */
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

/* Runs all orders of the remaining steps, and restores the word and the truth after
 * each. */
static void all_orders(unsigned actors_now)
{
	bool any = false;

	for (unsigned i = 0; i < actors_now; i++) {
		struct actor was = actors[i];
		uint64_t word = fd_at(FD)->known;
		bool so = truth, by_others = shared;

		if (was.at == STEPS)
			continue;
		any = true;
		step(i);
		is_so();
		all_orders(actors_now);
		actors[i] = was;
		fd_at(FD)->known = word;
		truth = so;
		shared = by_others;
	}
	if (any)
		return;
	orders++;
	learnt += !!(known_ask(FD) & (KNOWN_BLOCKS | KNOWN_NONBLOCK));
}

static void in_every_order(void)
{
	orders = learnt = 0;
	memset(actors, 0, sizeof(actors));
	CHECK(born());
	all_orders(ACTORS - 1);
	CHECK_EQ(orders, 369600); /* 12! / 3!^4 */
	CHECK(learnt > 0);
	CHECK(born());
	actors[3].at = STEPS; /* with the fifth actor, one that asks is enough */
	all_orders(ACTORS);
	CHECK_EQ(orders, 2 * 369600);
	CHECK(born());
	known_forget(FD, KNOWN_LIMITS); /* nothing is left for dup to forget */
	all_orders(ACTORS);
	CHECK_EQ(orders, 3 * 369600);
}

static void what_is_known_is_true_in_every_order(void)
{
	in_every_order();
	says = true;
	in_every_order();
}

static void an_answer_about_an_earlier_file_of_the_fd_is_not_recorded(void)
{
	uint64_t w = born();

	known_forget(FD, KNOWN_ALL);
	born();
	known_learn(FD, w, KNOWN_NO_RCV);
	CHECK(!(known_ask(FD) & KNOWN_NO_RCV));
}

static void a_fork_forgets_what_is_known_and_what_is_being_asked(void)
{
	uint64_t during;

	CHECK(born());
	fd_share_begin();
	CHECK_EQ(known_ask(FD), 0);
	CHECK_EQ(born(), 0);
	during = known_before();
	fd_share_end();
	known_born(FD, during, 0);
	CHECK_EQ(known_ask(FD), 0);
	CHECK(born());
}

static void forks_may_overlap(void)
{
	fd_share_begin();
	fd_share_begin();
	fd_share_end();
	CHECK_EQ(born(), 0);
	fd_share_end();
	CHECK(born());
}

static void nothing_is_known_about_an_invalid_fd(void)
{
	known_born(-1, known_before(), 0);
	known_forget(-1, KNOWN_ALL);
	CHECK_EQ(known_ask(-1), 0);
	CHECK_EQ(known_ask(FD_MOST), 0);
}

int main(void)
{
	RUN(of_a_new_socket_the_flags_are_known);
	RUN(what_is_forgotten_is_not_learnt_again);
	RUN(after_a_change_the_socket_is_asked_about_once_more);
	RUN(what_is_known_is_true_in_every_order);
	RUN(an_answer_about_an_earlier_file_of_the_fd_is_not_recorded);
	RUN(a_fork_forgets_what_is_known_and_what_is_being_asked);
	RUN(forks_may_overlap);
	RUN(nothing_is_known_about_an_invalid_fd);
	return 0;
}
