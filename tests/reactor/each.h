/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of the reactor tests: one reactor R, on which each test runs with every
 * engine. */
#ifndef TESTS_EVENT_EACH_H
#define TESTS_EVENT_EACH_H

#include "test.h"

#include "reactor/engine.h"

static struct reactor R;
static const char *engine;
static bool is_uring;
/* For an SQPOLL ring, whose kernel thread sleeps as soon as it may. */
static struct net_cpu net_cpu;

static inline struct io_op mk(enum io_kind kind, int fd, const void *addr, uint32_t len)
{
	return (struct io_op){ .kind = (uint8_t)kind,
			       .fd = fd,
			       .addr = addr,
			       .len = len,
			       .off = -1,
			       .off2 = -1 };
}

static inline void submit(struct io_op *op)
{
	CHECK(op->state == IO_IDLE || op->state == IO_DONE);
	R.ops->submit(&R, op);
	CHECK_EQ(op->state, IO_PENDING);
}

/* Polls until op is done; other ops that complete meanwhile are only marked. */
static inline int wait_op(struct io_op *op)
{
	int64_t give_up = sys_now() + HANG_NS;

	while (op->state != IO_DONE) {
		R.ops->poll(&R, 100 * NS_PER_MS);
		CHECK(sys_now() < give_up);
	}
	return op->res;
}

static inline int run_op(struct io_op *op)
{
	submit(op);
	return wait_op(op);
}

/* Polls for a while; op must stay pending. */
static inline void stays_pending(struct io_op *op)
{
	for (int i = 0; i < 3; i++)
		R.ops->poll(&R, NS_PER_MS);
	CHECK(op->state == IO_PENDING);
}

/* A ring counts as locked memory of its user, and other processes of the user may have
 * used up the limit. */
static inline bool no_locked_memory(int err)
{
	return err == -ENOMEM && is_uring && sys0(SYS_getuid);
}

#define RUN_ON(fn)                                                                     \
	do {                                                                           \
		if (!is_chosen(#fn))                                                   \
			break;                                                         \
		CHECK_EQ(R.pending, 0);                                                \
		fn();                                                                  \
		CHECK_EQ(R.pending, 0);                                                \
		printf("ok %s: %s\n", engine, #fn);                                    \
		fflush(stdout);                                                        \
	} while (0)

/* UK_REACTOR=uring or epoll limits the run to one engine. */
static inline void on_each_engine(void (*all)(void))
{
	static const struct {
		const char *want, *say;
		bool no_msg, sq_thread;
	} e[] = { { "uring", "uring", false, false },
		  { "uring", "uring+eventfd", true, false },
		  { "uring", "uring+sqpoll", false, true },
		  { "uring", "uring+sqpoll+eventfd", true, true },
		  { "epoll", "epoll", false, false } };
	const char *one = getenv("UK_REACTOR");

	for (unsigned i = 0; i < array_size(e); i++) {
		int err;

		if (one && strcmp(one, e[i].want))
			continue;
		engine = e[i].say;
		is_uring = !strcmp(e[i].want, "uring");
		uring_no_msg_kick = e[i].no_msg;
		net_cpu = (struct net_cpu){ .cpu = -1, .idle_ms = 1, .ring = -1 };
		err = reactor_init(&R, e[i].want, e[i].sq_thread ? &net_cpu : NULL);
		if (err && is_uring) {
			printf("no io_uring here: %d\n", err);
			continue;
		}
		CHECK_EQ(err, 0);
		if (net_cpu.err)
			printf("no SQPOLL here: %d\n", net_cpu.err);
		else
			all();
		reactor_fini(&R);
	}
}

#endif
