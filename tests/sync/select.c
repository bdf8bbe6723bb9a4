/* SPDX-License-Identifier: Apache-2.0 */
/* uk_chan_select: ready cases, waits, fairness, and transfers between selects that
 * lose nothing. */
#include "bed.h"

#define N 4
static uk_chan *c[N];

static void make(size_t cap)
{
	for (int i = 0; i < N; i++)
		CHECK_EQ(uk_chan_create(&c[i], sizeof(long), cap), 0);
}

static void unmake(void)
{
	for (int i = 0; i < N; i++)
		uk_chan_destroy(c[i]);
}

static uk_chan_case recv_case(uk_chan *ch, long *v)
{
	return (
	    uk_chan_case){ .chan = ch, .op = UK_CHAN_RECV, .elem = v, .result = 77 };
}

static uk_chan_case send_case(uk_chan *ch, long *v)
{
	return (
	    uk_chan_case){ .chan = ch, .op = UK_CHAN_SEND, .elem = v, .result = 77 };
}

static void without_a_ready_case_the_deadline_ends_it(void)
{
	long v = 0;
	uk_chan_case k[3] = { recv_case(NULL, &v) };

	make(1);
	k[1] = recv_case(c[1], &v);
	k[2] = recv_case(c[2], &v);
	CHECK_EQ(uk_chan_select(k, 3, 0), -ETIMEDOUT);
	CHECK_EQ(uk_chan_select(k, 3, uk_after(2 * UK_MS)), -ETIMEDOUT);
	CHECK_EQ(uk_chan_select(k, 0, 0), -ETIMEDOUT);
	CHECK_EQ(uk_chan_select(k, 1, uk_after(UK_MS)), -ETIMEDOUT);
	CHECK_EQ(k[1].result, 77);
	/* no node was left in the queue: the send goes into the ring */
	CHECK_EQ(uk_chan_trysend(c[1], &v), 0);
	CHECK_EQ(uk_chan_len(c[1]), 1);
	unmake();
}

static void a_ready_case_is_done_and_reported(void)
{
	long v = 0, w = 9;
	uk_chan_case k[3];

	make(1);
	k[0] = recv_case(c[0], &v);
	k[1] = recv_case(c[1], &v);
	k[2] = send_case(c[2], &w);
	CHECK_EQ(uk_chan_select(k, 3, UK_FOREVER), 2);
	CHECK_EQ(k[2].result, 0);
	CHECK_EQ(uk_chan_len(c[2]), 1);
	CHECK_EQ(uk_chan_select(k, 3, 0), -ETIMEDOUT); /* the ring is full now */
	CHECK_EQ(uk_chan_send(c[1], &w), 0);
	CHECK_EQ(uk_chan_select(k, 3, UK_FOREVER), 1);
	CHECK_EQ(v, 9);
	CHECK_EQ(uk_chan_close(c[0]), 0);
	CHECK_EQ(uk_chan_select(k, 3, UK_FOREVER), 0);
	CHECK_EQ(k[0].result, -EPIPE);
	unmake();
}

static void ready_cases_are_chosen_fairly(void)
{
	long v = 0, count[N] = { 0 };
	uk_chan_case k[N];

	make(1);
	for (int i = 0; i < N; i++) {
		k[i] = recv_case(c[i], &v);
		CHECK_EQ(uk_chan_send(c[i], &v), 0);
	}
	k[2].chan = NULL; /* a gap must not favour the case beside it */
	for (int n = 0; n < 9000; n++) {
		int i = uk_chan_select(k, N, 0);

		CHECK(i == 0 || i == 1 || i == 3);
		count[i]++;
		CHECK_EQ(uk_chan_send(c[i], &v), 0);
	}
	/* 3000 of each are expected; 300 less is more than six sigma */
	CHECK(count[0] > 2700 && count[1] > 2700 && count[3] > 2700);
	unmake();
}

static int result;

static void *select_all(void *arg)
{
	long v = 0;
	uk_chan_case k[N];

	for (int i = 0; i < N; i++)
		k[i] = recv_case(c[i], &v);
	result = uk_chan_select(k, N, UK_FOREVER);
	if (result >= 0 && k[result].result == 0)
		*(long *)arg = v;
	return NULL;
}

static void a_select_waits_for_its_partner(void)
{
	for (size_t cap = 0; cap < 2; cap++) {
		for (int i = 0; i < N; i++) {
			uk_thread *t;
			long got = 0, w = 100 + i;

			make(cap);
			CHECK_EQ(uk_thread_create(&t, NULL, select_all, &got), 0);
			settle_down();
			CHECK_EQ(uk_chan_send(c[i], &w), 0);
			CHECK_EQ(uk_thread_join(t, NULL), 0);
			CHECK_EQ(result, i);
			CHECK_EQ(got, w);
			for (int k = 0; k < N; k++) /* withdrawn from all channels */
				CHECK_EQ(uk_chan_trysend(c[k], &w), cap ? 0 : -EAGAIN);
			unmake();
		}
	}
}

static void close_and_cancel_end_a_select(void)
{
	uk_thread *t;
	long got = 0;

	make(0);
	CHECK_EQ(uk_thread_create(&t, NULL, select_all, &got), 0);
	settle_down();
	CHECK_EQ(uk_chan_close(c[2]), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK_EQ(result, 2);
	unmake();
	make(0);
	CHECK_EQ(uk_thread_create(&t, NULL, select_all, &got), 0);
	settle_down();
	CHECK_EQ(uk_thread_cancel(t), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK_EQ(result, -ECANCELED);
	for (int i = 0; i < N; i++)
		CHECK_EQ(uk_chan_trysend(c[i], &got), -EAGAIN);
	unmake();
}

static void a_select_does_not_match_its_own_cases(void)
{
	long v = 1, w = 2;
	uk_chan_case k[2];

	make(0);
	k[0] = recv_case(c[0], &v);
	k[1] = send_case(c[0], &w);
	CHECK_EQ(uk_chan_select(k, 2, uk_after(2 * UK_MS)), -ETIMEDOUT);
	CHECK_EQ(uk_chan_tryrecv(c[0], &v), -EAGAIN);
	unmake();
}

static void many_cases_use_the_heap(void)
{
	static uk_chan *many[100];
	uk_chan_case k[100];
	long v = 0, w = 5;

	for (int i = 0; i < 100; i++) {
		CHECK_EQ(uk_chan_create(&many[i], sizeof(long), 1), 0);
		k[i] = recv_case(many[i], &v);
	}
	CHECK_EQ(uk_chan_select(k, 100, uk_after(UK_MS)), -ETIMEDOUT);
	CHECK_EQ(uk_chan_send(many[73], &w), 0);
	CHECK_EQ(uk_chan_select(k, 100, UK_FOREVER), 73);
	CHECK_EQ(v, 5);
	for (int i = 0; i < 100; i++)
		uk_chan_destroy(many[i]);
}

/* -- All threads select over all channels. Half of them send their next value to any
 * channel, the others receive. Each value arrives once. -- */

#define PER_THREAD 1500
#define PAIRS 4
static unsigned char seen[PAIRS * PER_THREAD];
static long timeouts, tight;

static int select_any(bool send, long *v, struct rng *r)
{
	int i, rotation = (int)rnd(r, N);
	long each[N];
	uk_chan_case k[N];

	for (int n = 0; n < N; n++) {
		int ch = (n + rotation) % N;

		each[n] = *v;
		k[n] = send ? send_case(c[ch], &each[n]) : recv_case(c[ch], &each[n]);
	}
	i = uk_chan_select(k, N, tight ? uk_after(rnd(r, 40) * UK_US) : UK_FOREVER);
	if (i < 0)
		return i;
	CHECK(i < N);
	CHECK_EQ(k[i].result, 0);
	for (int n = 0; n < N; n++) { /* the buffers of other cases are unchanged */
		if (n != i)
			CHECK_EQ(each[n], *v);
	}
	*v = each[i];
	return 0;
}

static void exchange(unsigned i, struct rng *r)
{
	for (long n = 0; n < PER_THREAD; n++) {
		bool send = i < PAIRS;
		long v = send ? i * PER_THREAD + n : -1;
		int ret;

		do {
			if (rnd(r, 4)) {
				ret = select_any(send, &v, r);
			} else { /* a single operation; only some find a partner */
				uk_chan *ch = c[rnd(r, N)];
				uk_time d = uk_after(rnd(r, 40) * UK_US);

				ret = send ? uk_chan_send_until(ch, &v, d)
					   : uk_chan_recv_until(ch, &v, d);
			}
			if (ret == -ETIMEDOUT)
				ADD(&timeouts, 1);
		} while (ret == -ETIMEDOUT);
		CHECK_EQ(ret, 0);
		if (!send) {
			CHECK(v >= 0 && v < PAIRS * PER_THREAD);
			CHECK_EQ(__atomic_fetch_add(&seen[v], 1, __ATOMIC_SEQ_CST), 0);
		}
	}
}

static void selects_meet_selects_and_lose_nothing(void)
{
	static const unsigned kinds[] = { ALL_USER, MIXED, ALL_FOREIGN };

	for (tight = 0; tight < 2; tight++) {
		for (size_t cap = 0; cap < 3; cap++) {
			for (unsigned k = 0; k < 3; k++) {
				memset(seen, 0, sizeof(seen));
				make(cap);
				crew_run(2 * PAIRS, kinds[k], exchange);
				for (size_t i = 0; i < sizeof(seen); i++)
					CHECK_EQ(seen[i], 1);
				for (int i = 0; i < N; i++)
					CHECK_EQ(uk_chan_len(c[i]), 0);
				unmake();
			}
		}
	}
	CHECK(timeouts > 0);
}

/* If a matching pair is missed, two threads wait for each other. Each thread both sends
 * and receives in one select without a deadline, so each meeting has to happen. Thread
 * 0 receives from all channels, so every waiting thread can meet it. Otherwise all
 * might choose one channel to send to and the others to receive from, and no two would
 * match. The sums of what was sent and received must agree. */
static long out_sum, in_sum, in_count, out_count;
static int closing;

static void send_or_receive(unsigned i, struct rng *r)
{
	for (long n = 1;; n++) {
		long v = 0, w = i * 100000 + n;
		unsigned from = i ? 2 : N;
		uk_chan_case k[1 + N];
		int ret;

		k[0] = send_case(c[rnd(r, N)], &w);
		for (unsigned j = 0; j < from; j++)
			k[1 + j] = recv_case(c[i ? rnd(r, N) : j], &v);
		ret = uk_chan_select(k, 1 + from, UK_FOREVER);
		CHECK(ret >= 0);
		if (k[ret].result == -EPIPE) {
			CHECK(GET(&closing));
			return;
		}
		if (ret == 0) {
			ADD(&out_sum, w);
			ADD(&out_count, 1);
		} else {
			ADD(&in_sum, v);
			ADD(&in_count, 1);
		}
	}
}

static void no_matching_pair_is_missed(void)
{
	struct crew crew;

	make(0);
	crew_start(&crew, 12, MIXED, send_or_receive);
	EVENTUALLY(GET(&in_count) > 100000);
	SET(&closing, 1);
	for (int i = 0; i < N; i++)
		CHECK_EQ(uk_chan_close(c[i]), 0);
	crew_join(&crew);
	CHECK_EQ(in_count, out_count);
	CHECK_EQ(in_sum, out_sum);
	unmake();
}

int main(void)
{
	bed_init();
	RUN(without_a_ready_case_the_deadline_ends_it);
	RUN(a_ready_case_is_done_and_reported);
	RUN(ready_cases_are_chosen_fairly);
	RUN(a_select_waits_for_its_partner);
	RUN(close_and_cancel_end_a_select);
	RUN(a_select_does_not_match_its_own_cases);
	RUN(many_cases_use_the_heap);
	RUN(selects_meet_selects_and_lose_nothing);
	RUN(no_matching_pair_is_missed);
	return 0;
}
