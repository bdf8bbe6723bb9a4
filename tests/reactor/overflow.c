/* SPDX-License-Identifier: Apache-2.0 */
/* More ops, completions and cancellations at once than the queues hold, and the highest
 * possible fd. */
#include "each.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define MANY 20000
static struct io_op op[MANY];

static void drain_by(unsigned want, int64_t timeout)
{
	int64_t end = sys_now() + HANG_NS;
	unsigned n = 0;

	while (n < want) {
		for (struct io_op *o = R.ops->poll(&R, timeout); o; o = o->next)
			n++;
		CHECK(sys_now() < end);
	}
	CHECK_EQ(n, want);
	CHECK(!R.ops->poll(&R, 0));
}

static void drain_all(unsigned want)
{
	drain_by(want, 100 * NS_PER_MS);
}

static void twenty_thousand_ops_go_in_at_once(void)
{
	for (unsigned i = 0; i < MANY; i++) {
		op[i] = mk(IO_NOP, -1, NULL, 0);
		submit(&op[i]);
	}
	drain_all(MANY);
	for (unsigned i = 0; i < MANY; i++)
		submit(&op[i]);
	drain_by(MANY, 0); /* a poll that does not sleep also sees completions that
			    * overflowed */
}

static void twenty_thousand_completions_come_at_once(void)
{
	int fd = eventfd(0, 0);

	for (unsigned i = 0; i < MANY; i++) {
		op[i] = mk(IO_POLL, fd, NULL, POLLIN);
		submit(&op[i]);
	}
	stays_pending(&op[0]);
	CHECK_EQ(R.pending, MANY);
	eventfd_write(fd, 1);
	drain_all(MANY);
	for (unsigned i = 0; i < MANY; i++)
		CHECK_EQ(op[i].res, POLLIN);
	close(fd);
}

static void twenty_thousand_are_cancelled_at_once(void)
{
	int fd = eventfd(0, 0);

	for (int how = 0; how < 3; how++) {
		for (unsigned i = 0; i < MANY; i++) {
			op[i] = mk(IO_POLL, fd, NULL, POLLIN);
			submit(&op[i]);
		}
		if (how != 1)
			stays_pending(&op[0]);
		if (how == 2)
			CHECK_EQ(R.ops->cancel_fd(&R, fd, -1), MANY);
		else
			for (unsigned i = 0; i < MANY; i++)
				R.ops->cancel(&R, &op[i]);
		drain_all(MANY);
		for (unsigned i = 0; i < MANY; i++)
			CHECK_EQ(op[i].res, how == 2 ? -EBADF : -ECANCELED);
	}
	close(fd);
}

static void the_highest_fds_work(void)
{
	struct rlimit lim;
	struct io_op rx;
	char c;
	int sv[2], high;

	getrlimit(RLIMIT_NOFILE, &lim);
	lim.rlim_cur = lim.rlim_max;
	setrlimit(RLIMIT_NOFILE, &lim);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	high = dup2(sv[0], (int)(lim.rlim_max > 1000000 ? 1000000 : lim.rlim_max - 1));
	CHECK(high > 0);
	rx = mk(IO_RECV, high, &c, 1);
	submit(&rx);
	stays_pending(&rx);
	CHECK(reactor_peek_fd(&R, high));
	CHECK_EQ(write(sv[1], "x", 1), 1);
	CHECK_EQ(wait_op(&rx), 1);
	CHECK(!reactor_peek_fd(&R, high));
	CHECK(!reactor_peek_fd(&R, INT32_MAX));
	CHECK(!reactor_peek_fd(&R, -1));
	close(high), close(sv[0]), close(sv[1]);
}

static void all(void)
{
	RUN_ON(twenty_thousand_ops_go_in_at_once);
	RUN_ON(twenty_thousand_completions_come_at_once);
	RUN_ON(twenty_thousand_are_cancelled_at_once);
	RUN_ON(the_highest_fds_work);
}

int main(void)
{
	on_each_engine(all);
	return 0;
}
