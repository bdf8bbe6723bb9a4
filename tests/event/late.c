/* SPDX-License-Identifier: Apache-2.0 */
/* Reads that are tried late (event/late.c), on each engine. */
#include "each.h"

#include <errno.h>
#include <unistd.h>

static int pipes[3][2];
static char in[3];
static struct io_op op[3];

static void late(unsigned i)
{
	op[i] = mk(IO_READ, pipes[i][0], &in[i], 1);
	in[i] = 0;
	reactor_submit_late(&R, &op[i]);
	CHECK_EQ(op[i].state, IO_PENDING);
	CHECK(reactor_peek_fd(&R, pipes[i][0]));
}

static void put(unsigned i, char c)
{
	CHECK_EQ(write(pipes[i][1], &c, 1), 1);
}

/* The next poll returns op i alone, with res. */
static void gives(unsigned i, int res)
{
	struct io_op *done = reactor_poll(&R, NS_PER_SEC, false);

	CHECK(done == &op[i]);
	CHECK(!done->next);
	CHECK_EQ(done->state, IO_DONE);
	CHECK_EQ(done->res, res);
	CHECK(!reactor_peek_fd(&R, pipes[i][0]));
}

static void nothing_is_said_at_once(void)
{
	late(0);
	gives(0, -EAGAIN);
}

static void what_has_come_is_taken(void)
{
	late(0);
	put(0, 'a');
	gives(0, 1);
	CHECK_EQ(in[0], 'a');
}

/* Those behind it wait for what its thread may write. */
static void the_oldest_that_has_something_goes_alone(void)
{
	late(0);
	late(1);
	late(2);
	put(0, 'a');
	put(2, 'c');
	gives(0, 1);
	CHECK_EQ(op[1].state, IO_PENDING);
	CHECK_EQ(op[2].state, IO_PENDING);
	put(1, 'b');
	gives(1, 1);
	gives(2, 1);
	CHECK_EQ(in[2], 'c');
}

static void those_that_have_nothing_go_with_it(void)
{
	struct io_op *done;

	late(0);
	late(1);
	put(1, 'b');
	done = reactor_poll(&R, NS_PER_SEC, false);
	CHECK(done == &op[0] && done->res == -EAGAIN);
	CHECK(done->next == &op[1] && op[1].res == 1 && !op[1].next);
}

static void who_is_busy_tries_all(void)
{
	struct io_op *done;

	late(0);
	late(1);
	put(0, 'a');
	put(1, 'b');
	done = reactor_poll(&R, 0, true);
	CHECK(done == &op[0] && done->next == &op[1] && !op[1].next);
}

/* By what the kernel has told of something may be written. Once. */
static void what_else_has_ended_comes_first_once(void)
{
	struct io_op nop[2], *done;

	if (R.served)
		return; /* the kernel's thread takes its time */
	for (unsigned i = 0; i < 2; i++) {
		nop[i] = mk(IO_NOP, -1, NULL, 0);
		submit(&nop[i]);
		if (!i) {
			late(0);
			done = reactor_poll(&R, NS_PER_SEC, false);
			CHECK(done == &nop[0] && !done->next);
			CHECK_EQ(op[0].state, IO_PENDING);
		}
	}
	done = reactor_poll(&R, NS_PER_SEC, false);
	CHECK(done == &op[0] && done->res == -EAGAIN);
	CHECK(done->next == &nop[1] && !nop[1].next);
}

static void a_number_that_is_closed_ends_it(void)
{
	int other[2];

	late(0);
	late(1);
	put(0, 'a');
	put(1, 'b');
	CHECK_EQ(reactor_cancel_fd(&R, pipes[0][0], KEEP_NONE), 1);
	CHECK(!reactor_peek_fd(&R, pipes[0][0]));
	CHECK_EQ(op[1].state, IO_PENDING);
	/* that one needs no try, and the other has had none */
	CHECK(reactor_poll(&R, NS_PER_SEC, true) == &op[0]);
	CHECK_EQ(op[0].res, -EBADF);
	CHECK_EQ(op[1].res, 1);
	CHECK_EQ(in[0], 0);

	late(0);
	CHECK_EQ(reactor_cancel_fd(&R, pipes[0][0], KEEP_ANEW), 1);
	gives(0, REACTOR_ANEW);

	CHECK((other[0] = dup(pipes[0][0])) >= 0);
	late(0);
	CHECK_EQ(reactor_cancel_fd(&R, pipes[0][0], other[0]), 1);
	gives(0, REACTOR_MOVED);
	CHECK(op[0].fd2 != pipes[0][0] && op[0].fd2 != other[0]);
	CHECK_EQ(read(op[0].fd2, in, 1), 1); /* the same file */
	CHECK_EQ(in[0], 'a');
	close(op[0].fd2);
	close(other[0]);
}

static void another_threads_read_of_it_is_not_touched(void)
{
	struct io_op armed = mk(IO_READ, pipes[0][0], in, 1);

	submit(&armed);
	stays_pending(&armed);
	late(0);
	CHECK(reactor_poll(&R, 0, false) == &op[0]);
	CHECK_EQ(op[0].res, -EAGAIN);
	CHECK(reactor_peek_fd(&R, pipes[0][0]));
	put(0, 'a');
	CHECK_EQ(wait_op(&armed), 1);
	late(0);
	submit(&armed);
	CHECK_EQ(reactor_cancel_fd(&R, pipes[0][0], KEEP_NONE), 2);
	while (R.pending)
		reactor_poll(&R, NS_PER_MS, false);
	CHECK_EQ(op[0].res, -EBADF);
	CHECK_EQ(armed.res, -EBADF);
}

static void a_wrong_number_is_told(void)
{
	struct io_op bad = mk(IO_READ, -1, in, 1);

	reactor_submit_late(&R, &bad);
	CHECK(reactor_poll(&R, 0, false) == &bad);
	CHECK_EQ(bad.res, -EBADF);
}

static void all(void)
{
	for (unsigned i = 0; i < array_size(pipes); i++)
		CHECK_EQ(pipe(pipes[i]), 0);
	RUN_ON(nothing_is_said_at_once);
	RUN_ON(what_has_come_is_taken);
	RUN_ON(the_oldest_that_has_something_goes_alone);
	RUN_ON(those_that_have_nothing_go_with_it);
	RUN_ON(who_is_busy_tries_all);
	RUN_ON(what_else_has_ended_comes_first_once);
	RUN_ON(a_number_that_is_closed_ends_it);
	RUN_ON(another_threads_read_of_it_is_not_touched);
	RUN_ON(a_wrong_number_is_told);
	for (unsigned i = 0; i < array_size(pipes); i++) {
		close(pipes[i][0]);
		close(pipes[i][1]);
	}
}

int main(void)
{
	on_each_engine(all);
	return 0;
}
