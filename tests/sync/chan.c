/* SPDX-License-Identifier: Apache-2.0 */
/* Channels: order and bounds, waits that end early, close, and transfers that lose
 * nothing. */
#include "bed.h"

/* A request for too much memory returns NULL under a sanitizer, too. */
const char *__tsan_default_options(void);
const char *__asan_default_options(void);
const char *__tsan_default_options(void)
{
	return "allocator_may_return_null=1";
}

const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static uk_chan *c;

static void create_checks_its_arguments(void)
{
	CHECK_EQ(uk_chan_create(NULL, 8, 1), -EINVAL);
	CHECK_EQ(uk_chan_create(&c, SIZE_MAX, 2), -EINVAL);
	CHECK_EQ(uk_chan_create(&c, 1, SIZE_MAX), -EINVAL);
	CHECK_EQ(uk_chan_create(&c, (size_t)1 << 40, (size_t)1 << 20), -ENOMEM);
}

static void a_ring_keeps_the_order_and_its_bounds(void)
{
	CHECK_EQ(uk_chan_create(&c, sizeof(int), 3), 0);
	for (int round = 0; round < 5; round++) { /* the ring wraps around */
		int v;

		for (int i = 0; i < 3; i++)
			CHECK_EQ(uk_chan_send(c, &(int){ round * 10 + i }), 0);
		CHECK_EQ(uk_chan_len(c), 3);
		CHECK_EQ(uk_chan_trysend(c, &(int){ 99 }), -EAGAIN);
		CHECK_EQ(uk_chan_send_until(c, &(int){ 99 }, uk_after(UK_MS)),
			 -ETIMEDOUT);
		CHECK_EQ(uk_chan_recv(c, &v), 0);
		CHECK_EQ(v, round * 10);
		CHECK_EQ(uk_chan_send(c, &(int){ round * 10 + 3 }), 0);
		for (int i = 1; i < 4; i++) {
			CHECK_EQ(uk_chan_tryrecv(c, &v), 0);
			CHECK_EQ(v, round * 10 + i);
		}
		CHECK_EQ(uk_chan_tryrecv(c, &v), -EAGAIN);
		CHECK_EQ(uk_chan_recv_until(c, &v, uk_after(UK_MS)), -ETIMEDOUT);
		CHECK_EQ(uk_chan_recv_until(c, &v, 0), -ETIMEDOUT);
		CHECK_EQ(uk_chan_len(c), 0);
	}
	uk_chan_destroy(c);
}

static void elements_of_any_size_arrive_whole(void)
{
	static const size_t sizes[] = { 0, 1, 3, 4, 8, 16, 1000 };

	for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
		unsigned char in[1001], out[1001];

		CHECK_EQ(uk_chan_create(&c, sizes[k], 2), 0);
		for (size_t i = 0; i < sizeof(in); i++)
			in[i] = (unsigned char)(i * 7 + k);
		memset(out, 0xee, sizeof(out));
		CHECK_EQ(uk_chan_send(c, in), 0);
		CHECK_EQ(uk_chan_send(c, in), 0);
		CHECK_EQ(uk_chan_recv(c, out), 0);
		CHECK_EQ(uk_chan_recv(c, out), 0);
		CHECK(memcmp(in, out, sizes[k]) == 0);
		CHECK_EQ(out[sizes[k]], 0xee);
		uk_chan_destroy(c);
	}
}

static int sent;

static void *send_one(void *arg)
{
	long v = (long)(intptr_t)arg;

	CHECK_EQ(uk_chan_send(c, &v), 0);
	SET(&sent, 1);
	return NULL;
}

static void a_rendezvous_waits_for_its_partner(void)
{
	uk_thread *t;
	long v = 5;

	CHECK_EQ(uk_chan_create(&c, sizeof(long), 0), 0);
	CHECK_EQ(uk_chan_trysend(c, &v), -EAGAIN);
	CHECK_EQ(uk_chan_tryrecv(c, &v), -EAGAIN);
	CHECK_EQ(uk_chan_send_until(c, &v, uk_after(UK_MS)), -ETIMEDOUT);
	CHECK_EQ(uk_chan_recv_until(c, &v, uk_after(UK_MS)), -ETIMEDOUT);
	SET(&sent, 0);
	CHECK_EQ(uk_thread_create(&t, NULL, send_one, (void *)42), 0);
	settle_down();
	CHECK_EQ(GET(&sent), 0);
	CHECK_EQ(uk_chan_recv(c, &v), 0);
	CHECK_EQ(v, 42);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	uk_chan_destroy(c);
}

static void a_receive_lets_a_sender_that_waits_for_a_full_ring_go_on(void)
{
	uk_thread *t;
	long v = 1;

	CHECK_EQ(uk_chan_create(&c, sizeof(long), 2), 0);
	CHECK_EQ(uk_chan_send(c, &v), 0);
	CHECK_EQ(uk_chan_send(c, &v), 0);
	CHECK_EQ(uk_thread_create(&t, NULL, send_one, (void *)3), 0);
	settle_down();
	CHECK_EQ(uk_chan_recv(c, &v), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0); /* its element is in the ring now */
	CHECK_EQ(uk_chan_len(c), 2);
	CHECK_EQ(uk_chan_trysend(c, &v), -EAGAIN);
	CHECK_EQ(uk_chan_recv(c, &v), 0);
	CHECK_EQ(v, 1);
	CHECK_EQ(uk_chan_recv(c, &v), 0);
	CHECK_EQ(v, 3);
	uk_chan_destroy(c);
}

static void *be_cancelled(void *arg)
{
	long v = 0;

	CHECK_EQ(arg ? uk_chan_send(c, &v) : uk_chan_recv(c, &v), -ECANCELED);
	return NULL;
}

static void cancel_ends_a_send_and_a_receive(void)
{
	for (uintptr_t way = 0; way < 2; way++) {
		uk_thread *t;
		long v;

		CHECK_EQ(uk_chan_create(&c, sizeof(long), 0), 0);
		CHECK_EQ(uk_thread_create(&t, NULL, be_cancelled, (void *)way), 0);
		settle_down();
		CHECK_EQ(uk_thread_cancel(t), 0);
		CHECK_EQ(uk_thread_join(t, NULL), 0);
		/* no thread is left in the queues */
		CHECK_EQ(uk_chan_trysend(c, &v), -EAGAIN);
		CHECK_EQ(uk_chan_tryrecv(c, &v), -EAGAIN);
		uk_chan_destroy(c);
	}
}

static int hung_up;

static void wait_for_close(unsigned i, struct rng *r)
{
	long v = 1;

	(void)r;
	CHECK_EQ(i < 4 ? uk_chan_send(c, &v) : uk_chan_recv(c, &v), -EPIPE);
	ADD(&hung_up, 1);
}

static void close_ends_all_waits_and_what_is_in_the_ring_can_be_received(void)
{
	struct crew crew;
	long v = 7;

	CHECK_EQ(uk_chan_create(&c, sizeof(long), 2), 0);
	CHECK_EQ(uk_chan_send(c, &v), 0);
	CHECK_EQ(uk_chan_send(c, &v), 0);
	crew_start(&crew, 4, MIXED, wait_for_close); /* senders; the ring is full */
	settle_down();
	CHECK_EQ(uk_chan_close(c), 0);
	crew_join(&crew);
	CHECK_EQ(hung_up, 4);
	CHECK_EQ(uk_chan_send(c, &v), -EPIPE);
	CHECK_EQ(uk_chan_trysend(c, &v), -EPIPE);
	for (int i = 0; i < 2; i++) {
		v = 0;
		CHECK_EQ(uk_chan_recv(c, &v), 0);
		CHECK_EQ(v, 7);
	}
	CHECK_EQ(uk_chan_recv(c, &v), -EPIPE);
	CHECK_EQ(uk_chan_tryrecv(c, &v), -EPIPE);
	CHECK_EQ(uk_chan_close(c), -EPIPE);
	uk_chan_destroy(c);
}

static void *receive_until_close(void *arg)
{
	long v;

	(void)arg;
	CHECK_EQ(uk_chan_recv(c, &v), -EPIPE);
	return NULL;
}

static void close_wakes_receivers(void)
{
	uk_thread *t[3];

	CHECK_EQ(uk_chan_create(&c, sizeof(long), 1), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, receive_until_close, NULL), 0);
	settle_down();
	CHECK_EQ(uk_chan_close(c), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	uk_chan_destroy(c);
}

/* -- Each value 0..N-1 is sent once, and each receiver marks what it gets. A receiver
 * gets the values of one sender in order. -- */

#define PER_SENDER 2000
#define SENDERS 4
static unsigned char seen[SENDERS * PER_SENDER];
static long timeouts, tight;

static int transfer(bool send, long *v, struct rng *r)
{
	int ret;

	do {
		uk_time d = tight ? uk_after(rnd(r, 40) * UK_US) : UK_FOREVER;

		if (tight && rnd(r, 4) == 0)
			ret = send ? uk_chan_trysend(c, v) : uk_chan_tryrecv(c, v);
		else
			ret = send ? uk_chan_send_until(c, v, d)
				   : uk_chan_recv_until(c, v, d);
		if (ret == -ETIMEDOUT)
			ADD(&timeouts, 1);
	} while (ret == -ETIMEDOUT || ret == -EAGAIN);
	return ret;
}

static void exchange(unsigned i, struct rng *r)
{
	long last[SENDERS], v;

	for (int k = 0; k < SENDERS; k++)
		last[k] = -1;
	for (long n = 0; n < PER_SENDER; n++) {
		if (i < SENDERS) {
			v = i * PER_SENDER + n;
			CHECK_EQ(transfer(true, &v, r), 0);
			continue;
		}
		CHECK_EQ(transfer(false, &v, r), 0);
		CHECK(v >= 0 && v < SENDERS * PER_SENDER);
		CHECK_EQ(__atomic_fetch_add(&seen[v], 1, __ATOMIC_SEQ_CST), 0);
		CHECK(v > last[v / PER_SENDER]);
		last[v / PER_SENDER] = v;
		if (rnd(r, 64) == 0)
			uk_yield();
	}
}

static void every_element_arrives_once(void)
{
	static const unsigned kinds[] = { ALL_USER, MIXED, ALL_FOREIGN };

	for (tight = 0; tight < 2; tight++) {
		for (size_t cap = 0; cap < 6; cap += cap + 1) { /* 0, 1, 3 */
			for (unsigned k = 0; k < 3; k++) {
				memset(seen, 0, sizeof(seen));
				CHECK_EQ(uk_chan_create(&c, sizeof(long), cap), 0);
				crew_run(2 * SENDERS, kinds[k], exchange);
				for (size_t i = 0; i < sizeof(seen); i++)
					CHECK_EQ(seen[i], 1);
				CHECK_EQ(uk_chan_len(c), 0);
				uk_chan_destroy(c);
			}
		}
	}
	CHECK(timeouts > 0);
}

static uk_thread *victims[4];
static long sent_sum, got_sum;
static int cancels;

static void *exchange_under_cancel(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	for (long n = 1; n <= PER_SENDER;) {
		long v = n;
		int ret = i % 2 ? uk_chan_send(c, &v) : uk_chan_recv(c, &v);

		if (ret == -ECANCELED) {
			uk_thread_cancel_clear();
			ADD(&cancels, 1);
			continue;
		}
		CHECK_EQ(ret, 0);
		ADD(i % 2 ? &sent_sum : &got_sum, v);
		n++;
	}
	ADD(&sent, 1);
	return NULL;
}

static void a_cancel_during_a_transfer_loses_nothing(void)
{
	struct rng r = { bed_seed };

	for (size_t cap = 0; cap < 2 || (!cancels && cap < 100); cap++) {
		sent_sum = got_sum = 0;
		SET(&sent, 0);
		CHECK_EQ(uk_chan_create(&c, sizeof(long), cap), 0);
		for (uintptr_t i = 0; i < 4; i++)
			CHECK_EQ(uk_thread_create(&victims[i], NULL,
						  exchange_under_cancel, (void *)i),
				 0);
		while (GET(&sent) < 4) {
			uk_thread_cancel(victims[rnd(&r, 4)]);
			if (rnd(&r, 4) == 0)
				uk_sleep(rnd(&r, 30) * UK_US);
			else
				uk_yield();
		}
		for (int i = 0; i < 4; i++)
			CHECK_EQ(uk_thread_join(victims[i], NULL), 0);
		CHECK_EQ(sent_sum, got_sum);
		CHECK_EQ(uk_chan_len(c), 0);
		uk_chan_destroy(c);
	}
	CHECK(cancels > 0);
}

static long in_flight;

/* User thread 0 sends and user thread 1 receives. Thread 2 is foreign: on a single vp
 * (UK_VPS=1) it takes away the channel's bias to this vp, at any moment of the
 * transfer. */
static void ping_and_intrude(unsigned i, struct rng *r)
{
	long v = 1;

	if (i == 2) {
		for (uint32_t k = rnd(r, 20000); k; k--)
			__asm__ volatile("");
		if (uk_chan_trysend(c, &v) == 0)
			ADD(&in_flight, 1);
	} else if (i == 0) {
		for (int n = 0; n < 300; n++) {
			CHECK_EQ(uk_chan_send(c, &v), 0);
			ADD(&in_flight, 1);
		}
		CHECK_EQ(uk_chan_close(c), 0);
	} else {
		for (; uk_chan_recv(c, &v) == 0; v = 0) {
			CHECK_EQ(v, 1);
			ADD(&in_flight, -1);
		}
	}
}

static void a_foreign_thread_finds_the_channel_consistent_at_any_moment(void)
{
	for (size_t n = 0; n < 500; n++) {
		in_flight = 0;
		CHECK_EQ(uk_chan_create(&c, sizeof(long), n % 3), 0);
		crew_run(3, 4u, ping_and_intrude);
		CHECK_EQ(in_flight, 0);
		uk_chan_destroy(c);
	}
}

static void *answer(void *arg)
{
	uk_chan *reply = arg;
	long v = 1;

	CHECK_EQ(uk_chan_send(reply, &v), 0);
	return NULL;
}

/* The usual pattern: a channel for one answer, which the receiver of the answer
 * destroys. */
static void the_receiver_of_the_answer_may_destroy_the_channel(void)
{
	for (int i = 0; i < 200; i++) {
		uk_chan *reply;
		uk_thread *t;
		long v;

		CHECK_EQ(uk_chan_create(&reply, sizeof(long), i % 2), 0);
		CHECK_EQ(uk_thread_create(&t, NULL, answer, reply), 0);
		CHECK_EQ(uk_chan_recv(reply, &v), 0);
		uk_chan_destroy(reply); /* ASan reports a use after free */
		CHECK_EQ(uk_thread_join(t, NULL), 0);
	}
}

int main(void)
{
	bed_init();
	RUN(create_checks_its_arguments);
	RUN(a_ring_keeps_the_order_and_its_bounds);
	RUN(elements_of_any_size_arrive_whole);
	RUN(a_rendezvous_waits_for_its_partner);
	RUN(a_receive_lets_a_sender_that_waits_for_a_full_ring_go_on);
	RUN(cancel_ends_a_send_and_a_receive);
	RUN(close_ends_all_waits_and_what_is_in_the_ring_can_be_received);
	RUN(close_wakes_receivers);
	RUN(every_element_arrives_once);
	RUN(a_cancel_during_a_transfer_loses_nothing);
	RUN(a_foreign_thread_finds_the_channel_consistent_at_any_moment);
	RUN(the_receiver_of_the_answer_may_destroy_the_channel);
	return 0;
}
