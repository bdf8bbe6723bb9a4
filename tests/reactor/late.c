/* SPDX-License-Identifier: Apache-2.0 */
/* Late tries (reactor/late.c): reads that found nothing are tried once more before they
 * are armed. On each engine. */
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

/* The next poll returns op i alone, with result res. */
static void gives(unsigned i, int res)
{
	struct io_op *done = reactor_poll(&R, NS_PER_SEC, false);

	CHECK(done == &op[i]);
	CHECK(!done->next);
	CHECK_EQ(done->state, IO_DONE);
	CHECK_EQ(done->res, res);
	CHECK(!reactor_peek_fd(&R, pipes[i][0]));
}

static void a_late_try_that_finds_nothing_gets_eagain(void)
{
	late(0);
	gives(0, -EAGAIN);
}

static void a_late_try_takes_what_has_arrived(void)
{
	late(0);
	put(0, 'a');
	gives(0, 1);
	CHECK_EQ(in[0], 'a');
}

/* Later ops wait, because the thread of the first one may write what they wait for. */
static void the_tries_stop_after_one_success(void)
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

static void failed_tries_before_a_success_complete_with_it(void)
{
	struct io_op *done;

	late(0);
	late(1);
	put(1, 'b');
	done = reactor_poll(&R, NS_PER_SEC, false);
	CHECK(done == &op[0] && done->res == -EAGAIN);
	CHECK(done->next == &op[1] && op[1].res == 1 && !op[1].next);
}

static void a_busy_vp_tries_all_ops(void)
{
	struct io_op *done;

	late(0);
	late(1);
	put(0, 'a');
	put(1, 'b');
	done = reactor_poll(&R, 0, true);
	CHECK(done == &op[0] && done->next == &op[1] && !op[1].next);
}

/* Threads whose ops the kernel has completed run first, once, because they may
 * write. */
static void other_completions_come_first_once(void)
{
	struct io_op nop[2], *done;

	if (R.served)
		return; /* the kernel's SQPOLL thread takes its time */
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

static void a_close_ends_a_late_op(void)
{
	int other[2];

	late(0);
	late(1);
	put(0, 'a');
	put(1, 'b');
	CHECK_EQ(reactor_cancel_fd(&R, pipes[0][0], KEEP_NONE), 1);
	CHECK(!reactor_peek_fd(&R, pipes[0][0]));
	CHECK_EQ(op[1].state, IO_PENDING);
	/* the first op has ended without a try; the second has not been tried yet */
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
	CHECK_EQ(read(op[0].fd2, in, 1), 1); /* it is a duplicate of the same file */
	CHECK_EQ(in[0], 'a');
	close(op[0].fd2);
	close(other[0]);
}

static void an_armed_read_of_the_same_fd_stays_armed(void)
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

static void a_bad_fd_gets_ebadf(void)
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
	RUN_ON(a_late_try_that_finds_nothing_gets_eagain);
	RUN_ON(a_late_try_takes_what_has_arrived);
	RUN_ON(the_tries_stop_after_one_success);
	RUN_ON(failed_tries_before_a_success_complete_with_it);
	RUN_ON(a_busy_vp_tries_all_ops);
	RUN_ON(other_completions_come_first_once);
	RUN_ON(a_close_ends_a_late_op);
	RUN_ON(an_armed_read_of_the_same_fd_stays_armed);
	RUN_ON(a_bad_fd_gets_ebadf);
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
