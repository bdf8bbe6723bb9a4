/* SPDX-License-Identifier: Apache-2.0 */
/* A stream that is received ahead, and the close that meets it in every state: nobody waits
 * for ever on a number that is dead. (What the bytes do: io/ahead.) A poll without a limit
 * that has nothing to wait for hangs: that is how these tests fail. */
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

/* A connected pair whose s[0] is received ahead: its shot is armed. */
static void stream(void)
{
	struct io_op op;
	char b;

	R.ops->poll(
	    &R, 0); /* it knows now who polls: a shot that another armed is paused */
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_EQ(write(s[1], "a", 1), 1);
	op = ahead(&b);
	CHECK_EQ(run_op(&op), 1);
	CHECK(reactor_peek_fd(&R, s[0]));
}

/* What uk_close does first: the number means a file that nothing can be asked of. */
static void kill_number(void)
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

static void a_close_is_served_by_the_poll_that_sees_it(void)
{
	stream();
	kill_number();
	CHECK_EQ(R.ops->cancel_fd(&R, s[0], -1), 1);
	for (int i = 0; i < 3; i++)
		syscall(
		    SYS_getppid); /* what the cancel has ended is in the queue now */
	until_forgotten();
}

static void a_waiter_is_told(void)
{
	struct io_op op;
	char b;

	stream();
	op = ahead(&b);
	submit(&op);
	stays_pending(&op);
	kill_number();
	CHECK_EQ(R.ops->cancel_fd(&R, s[0], -1), 2);
	CHECK_EQ(wait_op(&op), -EBADF);
	until_forgotten();
}

static void who_comes_while_it_closes_is_told(void)
{
	struct io_op op;
	char b;

	stream();
	kill_number();
	R.ops->cancel_fd(&R, s[0], -1);
	op = ahead(&b);
	submit(&op);
	CHECK_EQ(wait_op(&op), -EBADF);
	until_forgotten();
}

static void who_comes_after_that_is_told_and_leaves_nothing(void)
{
	struct io_op op;
	char b;

	stream();
	kill_number();
	R.ops->cancel_fd(&R, s[0], -1);
	while (reactor_peek_fd(&R, s[0]))
		R.ops->poll(&R, -1);
	op = ahead(&b);
	submit(&op);
	CHECK_EQ(wait_op(&op), -EBADF);
	until_forgotten();
}

/* The shot has ended by itself and is to be armed anew for a waiter. */
static void who_waits_while_it_rests_is_told(void)
{
	struct io_op op;
	char b[2];

	stream();
	CHECK_EQ(shutdown(s[1], SHUT_WR), 0);
	op = ahead(b);
	CHECK_EQ(run_op(&op), 0);
	op = ahead(b);
	submit(&op);
	kill_number();
	R.ops->cancel_fd(&R, s[0], -1);
	wait_op(&op);
	CHECK(op.res == -EBADF || op.res == 0);
	until_forgotten();
}

/* The queue is full of submissions when the close comes: to make room is to reap. */
static void a_full_queue_changes_nothing(void)
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
		shutdown(s[1], SHUT_WR); /* its end is among what is reaped */
		kill_number();
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

/* One completion brings what several wait for; `ends`: the last one gets the end instead. */
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

static void bytes_go_to_all_who_wait(void)
{
	one_write_for(2, false);
}

static void the_end_overtakes_no_byte(void)
{
	one_write_for(3, true);
}

static void *polls(void *arg)
{
	R.ops->poll(&R, 0);
	return arg;
}

/* Its shot is paused while somebody waits, because another kernel thread polls now: it is
 * armed anew, room in the queue or not, before the poll sleeps. (That there is none, is the
 * hostile build's doing.) */
static void a_rearmed_stream_wakes_the_sleep(void)
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
	RUN_ON(a_close_is_served_by_the_poll_that_sees_it);
	RUN_ON(a_waiter_is_told);
	RUN_ON(who_comes_while_it_closes_is_told);
	RUN_ON(who_comes_after_that_is_told_and_leaves_nothing);
	RUN_ON(who_waits_while_it_rests_is_told);
	RUN_ON(a_full_queue_changes_nothing);
	RUN_ON(bytes_go_to_all_who_wait);
	RUN_ON(the_end_overtakes_no_byte);
	RUN_ON(a_rearmed_stream_wakes_the_sleep);
}

int main(void)
{
	on_each_engine(all);
	return 0;
}
