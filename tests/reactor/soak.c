/* SPDX-License-Identifier: Apache-2.0 */
/* Random submissions, cancellations, closes and reopened sockets on many byte streams.
 * Every byte arrives once and in order. Every op completes once, with an allowed
 * result. */
#include "each.h"

#include <inttypes.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/env.h"

#define STREAMS 48
#define STEPS 60000

struct stream {
	struct io_op rx, poll;
	int sv[2];
	uint8_t next_out, next_in;
	char buf[64];
	bool cancelled, closing;
};

static struct stream st[STREAMS];
static uint64_t rng;
static uint64_t results[4]; /* bytes received, cancelled, bad fd, polled */

static uint32_t draw(uint32_t n)
{
	uint64_t z = rng += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (uint32_t)((z ^ (z >> 31)) % n);
}

static bool idle(const struct io_op *op)
{
	return op->state == IO_IDLE || op->state == IO_DONE;
}

static void reopen(struct stream *s)
{
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s->sv), 0);
	s->next_in = s->next_out = 0;
	s->closing = false;
}

static void on_done(struct io_op *op)
{
	struct stream *s = op->thread;

	CHECK_EQ(op->state, IO_DONE);
	CHECK(op->home == &R);
	if (op == &s->poll) {
		CHECK(op->res == POLLIN || op->res == -ECANCELED || op->res == -EBADF ||
		      (s->closing && op->res > 0));
		results[3]++;
		return;
	}
	if (op->res > 0) {
		/* bytes that a cancelled receive still got count; those of a closed
		 * stream do not */
		for (int i = 0; i < op->res && !s->closing; i++)
			CHECK_EQ((uint8_t)s->buf[i], s->next_in++);
		results[0]++;
	} else if (op->res == -ECANCELED) {
		CHECK(s->cancelled);
		results[1]++;
	} else {
		CHECK_EQ(op->res, -EBADF);
		CHECK(s->closing);
		results[2]++;
	}
	s->cancelled = false;
}

static void poll_once(int64_t ns)
{
	for (struct io_op *op = R.ops->poll(&R, ns), *next; op; op = next) {
		next = op->next;
		on_done(op);
	}
}

static void step(struct stream *s)
{
	char out[40];
	uint32_t n;

	switch (draw(9)) {
	case 0:
	case 1:
	case 2: /* the peer sends */
		n = 1 + draw(sizeof(out));
		for (uint32_t i = 0; i < n; i++)
			out[i] = (char)(s->next_out + i);
		ssize_t w = s->closing ? 0 : send(s->sv[1], out, n, MSG_DONTWAIT);
		s->next_out = (uint8_t)(s->next_out + (w > 0 ? w : 0));
		break;
	case 3:
	case 4: /* receive */
		if (!idle(&s->rx) || s->closing)
			break;
		s->rx = mk(draw(2) ? IO_RECV : IO_READ, s->sv[0], s->buf, 1 + draw(64));
		s->rx.thread = s;
		submit(&s->rx);
		break;
	case 5:
		if (!idle(&s->poll) || s->closing)
			break;
		s->poll = mk(IO_POLL, s->sv[0], NULL, POLLIN);
		s->poll.thread = s;
		submit(&s->poll);
		break;
	case 6:
		if (s->rx.state == IO_PENDING && draw(2)) {
			s->cancelled = true;
			R.ops->cancel(&R, &s->rx);
		} else if (s->poll.state == IO_PENDING) {
			R.ops->cancel(&R, &s->poll);
		}
		break;
	case 7: /* close; cancel_fd first, close only when no op is pending */
		if (draw(8))
			break;
		s->closing = true;
		R.ops->cancel_fd(&R, s->sv[0], -1);
		while (!idle(&s->rx) || !idle(&s->poll))
			poll_once(NS_PER_MS);
		close(s->sv[0]), close(s->sv[1]);
		reopen(s);
		break;
	case 8:
		poll_once(draw(4) ? 0 : (int64_t)draw(20000));
		break;
	}
}

static void every_byte_arrives_once_and_every_op_returns_once(void)
{
	memset(results, 0, sizeof(results));
	memset(st, 0, sizeof(st));
	for (unsigned i = 0; i < STREAMS; i++)
		reopen(&st[i]);
	for (unsigned i = 0; i < STEPS; i++)
		step(&st[draw(STREAMS)]);
	for (unsigned i = 0; i < STREAMS; i++) {
		st[i].closing = true;
		R.ops->cancel_fd(&R, st[i].sv[0], -1);
	}
	for (int64_t end = sys_now() + HANG_NS; R.pending; poll_once(NS_PER_MS))
		CHECK(sys_now() < end);
	for (unsigned i = 0; i < STREAMS; i++)
		close(st[i].sv[0]), close(st[i].sv[1]);
	printf("# %s: %" PRIu64 " data, %" PRIu64 " cancelled, %" PRIu64
	       " bad fd, %" PRIu64 " polls\n",
	       engine, results[0], results[1], results[2], results[3]);
	CHECK(results[0] && results[1] && results[2] && results[3]);
}

static void all(void)
{
	RUN_ON(every_byte_arrives_once_and_every_op_returns_once);
}

int main(void)
{
	rng = env_key_number(ENV_SEED, (uint64_t)sys_now());
	printf("UK_DEBUG=seed=%" PRIu64 "\n", rng);
	on_each_engine(all);
	return 0;
}
