/* SPDX-License-Identifier: Apache-2.0 */
/* Select: wait on many channels, do exactly one of the operations.
 *
 * 1. Try the cases in a random order and do the first that is ready. Every ready case
 *    has the same chance.
 * 2. If none is ready, publish a node for each case, one channel at a time, trying
 *    again under each lock. As soon as one is published, a partner may complete it;
 *    from then on our own claim must be won before an operation is done (chan.h).
 * 3. Park; then withdraw the nodes. The claim word tells which case was done.
 *
 * No two channels are ever locked at once. Rejected: locking all in address order
 * (twice n locks held together, for a wait that one partner ends).
 */
#include <stdlib.h>

#include "sync/chan.h"
#include "sync/futex.h"

#define INLINE_CASES 12

struct select {
	uk_chan_case *cases;
	unsigned n;
	uint32_t claim; /* CLAIM_...: by any partner, under its channel's lock */
	struct uk_thread *thread;
	uint64_t token;
	uint32_t *order; /* a random permutation of the cases */
	struct chan_node *nodes;
};

static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ULL;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/* Fisher-Yates. Threads need different values of the counter, but no order. */
static void shuffle(struct select *s)
{
	static uint64_t counter;
	uint64_t r = mix(fetch_add_relaxed(&counter, 0x9e3779b97f4a7c15ULL));

	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t j = (uint32_t)((r >> 32) * (i + 1) >> 32);

		s->order[i] = s->order[j];
		s->order[j] = i;
		r = mix(r + 0x9e3779b97f4a7c15ULL);
	}
}

/* Try one case under its lock; with `publish`, queue for it if it is not ready. */
static int attempt(struct select *s, uint32_t i, bool publish)
{
	uk_chan_case *k = &s->cases[i];
	struct chan_wake wake;
	bool locked;
	int ret;

	if (!k->chan)
		return -EAGAIN;
	locked = chan_enter(k->chan, vp_of(s->thread));
	ret = chan_op(k->chan, k->op, k->elem, publish ? &s->claim : NULL, i, &wake);
	if (ret == -EAGAIN && publish) {
		struct chan_node *n = &s->nodes[i];

		n->thread = s->thread;
		n->token = s->token;
		n->elem = k->elem;
		n->claim = &s->claim;
		n->index = i;
		chan_push(k->chan, k->op, n);
	}
	chan_leave(k->chan, locked);
	chan_fire(&wake);
	return ret;
}

/* Steps 1 and 2. 0 or -EPIPE: *done is the case; -EAGAIN: none is ready; -EALREADY: a
 * partner has completed one. *upto counts the published cases. */
static int pass(struct select *s, bool publish, unsigned *upto, uint32_t *done)
{
	for (*upto = 0; *upto < s->n; (*upto)++) {
		int ret = attempt(s, s->order[*upto], publish);

		if (ret == -EAGAIN)
			continue;
		*done = s->order[*upto];
		return ret;
	}
	return -EAGAIN;
}

/* Take back the first `upto` nodes. A partner completes a node under the lock that we
 * take here, so its copy is over when we return. */
static void withdraw(struct select *s, unsigned upto)
{
	for (unsigned i = 0; i < upto; i++) {
		struct chan_node *n = &s->nodes[s->order[i]];
		struct uk_chan *c = s->cases[s->order[i]].chan;
		bool locked;

		if (!c)
			continue;
		locked = chan_enter(c, vp_of(s->thread));
		if (n->linked) {
			list_del(&n->link);
			n->linked = false;
		}
		chan_leave(c, locked);
	}
}

void select_lost(const void *select)
{
	const struct select *s = select;

	for (unsigned i = 0; i < s->n; i++)
		if (s->cases[i].chan)
			chan_lost(s->cases[i].chan);
}

/* Nothing was ready: steps 2 and 3. */
static int select_wait(struct select *s, int64_t deadline)
{
	unsigned upto, why = WAKE_OK;
	uint32_t done;
	int ret;

	s->token = wait_begin(s->thread, WAIT_SELECT, s);
	ret = pass(s, true, &upto, &done);
	if (ret == 0 || ret == -EPIPE) {
		/* we won the claim: only a deadline or a cancellation can still fire */
		wait_abandon(s->thread, s->token, &why);
		withdraw(s, upto);
		s->cases[done].result = ret;
		return (int)done;
	}
	/* all are published, or one is completed already: then its partner fires us */
	why = wait_park(s->thread, s->token, deadline);
	if (why != WAKE_OK && chan_claim(&s->claim, CLAIM_GONE)) {
		withdraw(s, upto);
		return wake_error(why);
	}
	withdraw(s, upto);
	done = load_acquire(&s->claim) - CLAIM_TAKEN;
	s->cases[done].result = s->nodes[done].result;
	return (int)done;
}

static int select_run(struct select *s, int64_t deadline)
{
	unsigned upto;
	uint32_t done;
	int ret = rt_begin();

	if (unlikely(ret))
		return ret;
	shuffle(s);
	for (unsigned i = 0; i < s->n; i++)
		if (s->cases[i].chan)
			chan_touch(s->cases[i].chan, s->cases[i].op, s->cases[i].elem);
	s->thread = rt_enter();
	ret = pass(s, false, &upto, &done);
	if (ret != -EAGAIN) {
		s->cases[done].result = ret;
		ret = (int)done;
	} else {
		ret = deadline ? select_wait(s, deadline) : -ETIMEDOUT;
	}
	rt_exit();
	return ret;
}

int uk_chan_select(uk_chan_case *cases, unsigned n, uk_time deadline)
{
	uint32_t order[INLINE_CASES];
	struct chan_node nodes[INLINE_CASES];
	struct select s = { .cases = cases, .n = n, .order = order, .nodes = nodes };
	void *big;
	int ret;

	if (n > INT32_MAX / 2)
		return -EINVAL;
	if (n <= INLINE_CASES)
		return select_run(&s, deadline);
	big = malloc(n * (sizeof(*nodes) + sizeof(*order)));
	if (!big)
		return -ENOMEM;
	s.nodes = big;
	s.order = (uint32_t *)(void *)(s.nodes + n);
	ret = select_run(&s, deadline);
	free(big);
	return ret;
}
