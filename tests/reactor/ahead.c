/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that are received ahead: a close in every state of the shot ends all waits
 * (the tests of the bytes are in io/ahead.c), and a shot that another thread armed.
 * Where an op would wait for ever, a poll without a time-out hangs; this is how these
 * tests fail. */
#include "each.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int s[2];

static struct io_op ahead(char *b)
{
	return mk(IO_RECV_AHEAD, s[0], b, 1);
}

/* Makes a connected pair and receives ahead on s[0], so that its shot is armed. */
static void stream(void)
{
	struct io_op op;
	char b;

	R.ops->poll(&R,
		    0); /* first, so that the reactor knows this thread: it pauses shots
		     * that another thread has armed */
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_EQ(write(s[1], "a", 1), 1);
	op = ahead(&b);
	CHECK_EQ(run_op(&op), 1);
	CHECK(reactor_peek_fd(&R, s[0]));
}

/* What uk_close does first: the fd now means a file on which no I/O is possible. */
static void kill_fd(void)
{
	int dead = open("/", O_PATH | O_CLOEXEC);

	CHECK_EQ(dup3(dead, s[0], O_CLOEXEC), s[0]);
	close(dead);
}

static void until_forgotten(void)
{
	while (reactor_peek_fd(&R, s[0]))
		R.ops->poll(&R, -1);
	close(s[0]);
	close(s[1]);
}

static void a_poll_completes_the_close(void)
{
	stream();
	kill_fd();
	CHECK_EQ(R.ops->cancel_fd(&R, s[0], -1), 1);
	for (int i = 0; i < 3; i++)
		syscall(
		    SYS_getppid); /* the completions of what was cancelled are queued
				   * now */
	until_forgotten();
}

static void a_close_ends_an_op_that_waits(void)
{
	struct io_op op;
	char b;

	stream();
	op = ahead(&b);
	submit(&op);
	stays_pending(&op);
	kill_fd();
	CHECK_EQ(R.ops->cancel_fd(&R, s[0], -1), 2);
	CHECK_EQ(wait_op(&op), -EBADF);
	until_forgotten();
}

static void an_op_submitted_during_the_close_gets_ebadf(void)
{
	struct io_op op;
	char b;

	stream();
	kill_fd();
	R.ops->cancel_fd(&R, s[0], -1);
	op = ahead(&b);
	submit(&op);
	CHECK_EQ(wait_op(&op), -EBADF);
	until_forgotten();
}

static void an_op_after_the_close_gets_ebadf_and_leaves_nothing(void)
{
	struct io_op op;
	char b;

	stream();
	kill_fd();
	R.ops->cancel_fd(&R, s[0], -1);
	while (reactor_peek_fd(&R, s[0]))
		R.ops->poll(&R, -1);
	op = ahead(&b);
	submit(&op);
	CHECK_EQ(wait_op(&op), -EBADF);
	until_forgotten();
}

/* The shot has ended at the end of the stream and is to be armed again for an op that
 * waits. */
static void a_close_ends_an_op_that_waits_for_a_new_shot(void)
{
	struct io_op op;
	char b[2];

	stream();
	CHECK_EQ(shutdown(s[1], SHUT_WR), 0);
	op = ahead(b);
	CHECK_EQ(run_op(&op), 0);
	op = ahead(b);
	submit(&op);
	kill_fd();
	R.ops->cancel_fd(&R, s[0], -1);
	wait_op(&op);
	CHECK(op.res == -EBADF || op.res == 0);
	until_forgotten();
}

/* The submission queue is full when the close comes. To make space, the reactor reaps
 * completions. */
static void a_close_works_with_a_full_queue(void)
{
	enum { N = 512 };
	static struct io_op nop[N], op[2];
	static char b[2];

	for (unsigned room = 0; room < 4; room++) {
		stream();
		for (int i = 0; i < 2; i++) {
			op[i] = ahead(&b[i]);
			submit(&op[i]);
		}
		R.ops->poll(&R, 0);
		for (unsigned i = 0; i < N - room; i++) {
			nop[i] = mk(IO_NOP, -1, NULL, 0);
			submit(&nop[i]);
		}
		shutdown(s[1], SHUT_WR); /* the end of the stream is among the
					  * completions that are reaped */
		kill_fd();
		R.ops->cancel_fd(&R, s[0], -1);
		for (int i = 0; i < 2; i++) {
			wait_op(&op[i]);
			CHECK(op[i].res == -EBADF || op[i].res == 0);
		}
		for (unsigned i = 0; i < N - room; i++)
			CHECK_EQ(wait_op(&nop[i]), 0);
		until_forgotten();
	}
}

/* One completion serves several ops. If `ends`, the last op gets the end of the
 * stream. */
static void one_write_for(int n, bool ends)
{
	struct io_op op[3];
	char b[3] = "";

	stream();
	for (int i = 0; i < n; i++) {
		op[i] = ahead(&b[i]);
		submit(&op[i]);
	}
	R.ops->poll(&R, 0);
	CHECK_EQ(write(s[1], "xy", 2), 2);
	if (ends)
		CHECK_EQ(shutdown(s[1], SHUT_WR), 0);
	for (int i = 0; i < n; i++)
		CHECK_EQ(wait_op(&op[i]), i < 2);
	CHECK(b[0] == 'x' && b[1] == 'y');
	R.ops->cancel_fd(&R, s[0], -1);
	until_forgotten();
}

static void one_completion_serves_all_ops_that_wait(void)
{
	one_write_for(2, false);
}

static void the_end_of_the_stream_comes_after_all_bytes(void)
{
	one_write_for(3, true);
}

static void *polls(void *arg)
{
	R.ops->poll(&R, 0);
	return arg;
}

/* The shot is paused although an op waits, because now another kernel thread polls. The
 * reactor arms it again before the poll sleeps, whether the submission queue has space
 * or not. (The hostile build fills the queue.) */
static void a_stream_that_is_armed_again_ends_the_sleep(void)
{
	struct io_op op[2];
	pthread_t th;
	char b[2];

	for (int i = 0; i < 200; i++) {
		stream();
		CHECK_EQ(pthread_create(&th, NULL, polls, NULL), 0);
		CHECK_EQ(pthread_join(th, NULL), 0);
		for (int k = 0; k < 2; k++) {
			op[k] = ahead(&b[k]);
			submit(&op[k]);
		}
		for (int k = 0; k < 2; k++) {
			CHECK_EQ(write(s[1], &"pq"[k], 1), 1);
			while (op[k].state != IO_DONE)
				R.ops->poll(&R, -1);
			CHECK_EQ(op[k].res, 1);
			CHECK_EQ(b[k], "pq"[k]);
		}
		R.ops->cancel_fd(&R, s[0], -1);
		until_forgotten();
	}
}

static void all(void)
{
	if (!R.ops->can(&R, IO_RECV_AHEAD)) {
		printf("ok %s: does not receive ahead\n", engine);
		return;
	}
	RUN_ON(a_poll_completes_the_close);
	RUN_ON(a_close_ends_an_op_that_waits);
	RUN_ON(an_op_submitted_during_the_close_gets_ebadf);
	RUN_ON(an_op_after_the_close_gets_ebadf_and_leaves_nothing);
	RUN_ON(a_close_ends_an_op_that_waits_for_a_new_shot);
	RUN_ON(a_close_works_with_a_full_queue);
	RUN_ON(one_completion_serves_all_ops_that_wait);
	RUN_ON(the_end_of_the_stream_comes_after_all_bytes);
	RUN_ON(a_stream_that_is_armed_again_ends_the_sleep);
}

int main(void)
{
	on_each_engine(all);
	return 0;
}
