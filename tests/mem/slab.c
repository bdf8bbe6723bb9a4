/* SPDX-License-Identifier: Apache-2.0 */
/* Slabs of type-stable objects: what code may rely on that looks at a freed object, and
 * how free objects are returned to the kernel. */
#include "test.h"

#include <pthread.h>

#include "mem/slab.h"

struct thing {
	void *link;
	uint64_t seq;
	uint64_t body[14];
};

static int count(void *obj, void *arg)
{
	(void)obj;
	++*(size_t *)arg;
	return 0;
}

static void new_memory_is_zero_and_aligned(void)
{
	static struct slab s;
	struct slab_cache c = { 0 };

	slab_init(&s, 100);
	CHECK_EQ(s.size, 128);
	for (int i = 0; i < 20000; i++) {
		unsigned char *p = slab_get(&s, i & 1 ? &c : NULL);

		CHECK(p);
		CHECK_EQ((uintptr_t)p % 64, 0);
		for (int k = 0; k < 100; k++)
			CHECK_EQ(p[k], 0);
		memset(p, 0xff, 100);
	}
}

static void a_freed_object_keeps_all_but_its_first_word(void)
{
	static struct slab s;
	struct slab_cache c = { 0 };
	struct thing *t[200];
	size_t before = 0, after = 0, reused = 0;

	slab_init(&s, sizeof(struct thing));
	for (int i = 0; i < 200; i++) {
		t[i] = slab_get(&s, &c);
		t[i]->seq = (uint64_t)i + 7;
	}
	for (int i = 0; i < 200; i++)
		slab_put(&s, i % 3 ? &c : NULL, t[i]);
	for (int i = 0; i < 200; i++)
		CHECK_EQ(t[i]->seq, i + 7);
	slab_walk(&s, count, &before);
	for (int i = 0; i < 200; i++) {
		struct thing *x = slab_get(&s, &c);

		reused += x->seq >= 7 && x->seq < 207;
		CHECK(!x->link);
		x->seq = 0;
	}
	slab_walk(&s, count, &after);
	CHECK_EQ(before, after);
	CHECK(reused >=
	      200 - (before - 200)); /* the rest of the last batch may be used as
				      * well */
}

static void the_object_freed_last_is_reused_first(void)
{
	static struct slab s;
	struct slab_cache c = { 0 };
	void *a, *b;

	slab_init(&s, 64);
	a = slab_get(&s, &c);
	b = slab_get(&s, &c);
	CHECK(a != b);
	slab_put(&s, &c, a);
	slab_put(&s, &c, b);
	CHECK(slab_get(&s, &c) == b);
	CHECK(slab_get(&s, &c) == a);
}

static void a_walk_sees_every_object_once(void)
{
	static struct slab s;
	size_t n = 0;
	struct thing *t;

	slab_init(&s, sizeof(struct thing));
	for (uint64_t i = 0; i < 5000; i++) {
		t = slab_get(&s, NULL);
		t->seq = i;
	}
	CHECK_EQ(slab_walk(&s, count, &n), 0);
	CHECK_EQ(n, 5000);
	CHECK_EQ(s.live, 5000);
}

static void flushed_objects_are_reused(void)
{
	static struct slab s;
	struct slab_cache c = { 0 };
	void *p[40];
	size_t n = 0;

	slab_init(&s, 64);
	for (int i = 0; i < 40; i++)
		p[i] = slab_get(&s, &c);
	for (int i = 0; i < 40; i++)
		slab_put(&s, &c, p[i]);
	slab_cache_flush(&s, &c);
	CHECK_EQ(c.n, 0);
	CHECK_EQ(s.live, 0);
	slab_walk(&s, count, &n);
	for (size_t i = 0; i < n; i++)
		CHECK(slab_get(&s, NULL));
	CHECK_EQ(s.live, n);
	n = 0;
	slab_walk(&s, count, &n);
	CHECK_EQ(n, s.live); /* no new object was made */
}

/* --- unused slabs are returned to the kernel --- */

static uint64_t highest;

static void note_seq(const void *obj)
{
	const struct thing *t = obj;

	highest = t->seq > highest ? t->seq : highest;
}

static void a_round(struct slab *s)
{
	slab_keep_begin(s);
	while (slab_keep_step(s, note_seq))
		;
}

static void objects_unused_for_a_round_are_returned(void)
{
	enum { N = 20000 };
	static struct thing *t[N];
	static struct slab s;
	size_t zero = 0;

	slab_init(&s, sizeof(struct thing));
	for (uint64_t i = 0; i < N; i++) {
		t[i] = slab_get(&s, NULL);
		t[i]->seq = i + 1;
		t[i]->body[13] = i + 1;
	}
	for (int i = 0; i < N; i++)
		if (i % 1000)
			slab_put(&s, NULL, t[i]);
	a_round(&s); /* the first round only counts them */
	CHECK_EQ(s.ngone, 0);
	CHECK(slab_keep_more(&s));
	a_round(&s);
	CHECK_EQ(s.nfree, 0);
	CHECK(!slab_keep_more(&s));
	CHECK_EQ(s.live, N / 1000);
	CHECK_EQ(highest, N);
	CHECK(s.ngone > N * s.size / 4096 * 9 / 10);
	for (uint64_t i = 0; i < N; i++) {
		CHECK(t[i]->seq == i + 1 || (!t[i]->seq && i % 1000));
		CHECK(t[i]->body[13] == i + 1 || (!t[i]->body[13] && i % 1000));
		zero += !t[i]->seq;
	}
	CHECK(zero > N * 9 / 10);
}

static void cold_objects_are_used_before_new_ones(void)
{
	enum { N = 5000 };
	static struct thing *t[N];
	static struct slab s;
	size_t before = 0, after = 0;

	slab_init(&s, sizeof(struct thing));
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < N; i++) {
			t[i] = slab_get(&s, NULL);
			CHECK(!t[i]->link);
			CHECK_EQ(t[i]->body[5], 0); /* no object of another owner */
			t[i]->body[5] = 1;
		}
		CHECK_EQ(s.ngone, 0);
		for (int i = 0; i < N; i++) {
			t[i]->body[5] = 0;
			slab_put(&s, NULL, t[i]);
		}
		if (!round)
			slab_walk(&s, count, &before);
		a_round(&s);
		a_round(&s);
		CHECK_EQ(s.live, 0);
		CHECK(s.ngone);
	}
	slab_walk(&s, count, &after);
	CHECK_EQ(before, after);
}

static void objects_used_since_the_last_round_stay(void)
{
	enum { N = 1000 };
	static struct thing *t[N];
	static struct slab s;

	slab_init(&s, sizeof(struct thing));
	for (int i = 0; i < N; i++)
		t[i] = slab_get(&s, NULL);
	for (int i = 0; i < N; i++)
		slab_put(&s, NULL, t[i]);
	a_round(&s);
	for (int i = 0; i < N; i++)
		t[i] = slab_get(&s, NULL);
	for (int i = 0; i < N; i++)
		slab_put(&s, NULL, t[i]);
	a_round(&s);
	CHECK_EQ(s.ngone, 0);
	CHECK_EQ(s.nfree, N);
}

static uint32_t ended;

static void *trades(void *arg)
{
	struct slab *s = arg;
	struct thing *mine[300];

	for (int round = 0; round < 300; round++) {
		for (int i = 0; i < 300; i++) {
			mine[i] = slab_get(s, NULL);
			CHECK(mine[i]);
			mine[i]->seq = mine[i]->body[13] = (uintptr_t)mine;
		}
		for (int i = 0; i < 300; i++) {
			CHECK_EQ(mine[i]->seq, (uintptr_t)mine);
			CHECK_EQ(mine[i]->body[13], (uintptr_t)mine);
			slab_put(s, NULL, mine[i]);
		}
	}
	__atomic_add_fetch(&ended, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

/* No object in use is taken for a free one, also on pages that hold free ones. */
static void objects_in_use_are_not_returned(void)
{
	static struct slab s;
	pthread_t id[2];

	slab_init(&s, sizeof(struct thing));
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&id[i], NULL, trades, &s), 0);
	while (__atomic_load_n(&ended, __ATOMIC_SEQ_CST) < 2)
		a_round(&s);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_join(id[i], NULL), 0);
	a_round(&s);
	a_round(&s);
	CHECK_EQ(s.live, 0);
	CHECK(s.ngone);
}

static void objects_larger_than_a_chunk_work(void)
{
	static struct slab s;

	slab_init(&s, 300000);
	for (int i = 0; i < 20; i++) {
		char *p = slab_get(&s, NULL);

		CHECK(p);
		memset(p, 1, 300000);
	}
}

#define WORKERS 4
static struct slab shared;
static uint64_t owned_twice;

static void *churn(void *arg)
{
	struct slab_cache c = { 0 };
	struct thing *mine[96];
	unsigned seed = (unsigned)(uintptr_t)arg;

	for (int round = 0; round < 4000; round++) {
		int n = 1 + rand_r(&seed) % 96;

		for (int i = 0; i < n; i++) {
			mine[i] = slab_get(&shared, seed & 1 ? &c : NULL);
			if (xchg_acq_rel(&mine[i]->seq, 1))
				fetch_add_relaxed(&owned_twice, 1);
		}
		for (int i = 0; i < n; i++) {
			store_release(&mine[i]->seq, 0);
			slab_put(&shared, seed & 2 ? &c : NULL, mine[i]);
		}
	}
	slab_cache_flush(&shared, &c);
	return NULL;
}

static void no_object_has_two_owners(void)
{
	pthread_t t[WORKERS];

	slab_init(&shared, sizeof(struct thing));
	for (uintptr_t i = 0; i < WORKERS; i++)
		pthread_create(&t[i], NULL, churn, (void *)(i + 1));
	for (int i = 0; i < 1000; i++) {
		size_t n = 0;

		slab_walk(&shared, count, &n);
		CHECK(n <= WORKERS * (96 + 96));
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_join(t[i], NULL);
	CHECK_EQ(owned_twice, 0);
	CHECK_EQ(shared.live, 0);
}

int main(void)
{
	RUN(new_memory_is_zero_and_aligned);
	RUN(a_freed_object_keeps_all_but_its_first_word);
	RUN(the_object_freed_last_is_reused_first);
	RUN(a_walk_sees_every_object_once);
	RUN(flushed_objects_are_reused);
	RUN(objects_larger_than_a_chunk_work);
	RUN(objects_unused_for_a_round_are_returned);
	RUN(cold_objects_are_used_before_new_ones);
	RUN(objects_used_since_the_last_round_stay);
	RUN(objects_in_use_are_not_returned);
	RUN(no_object_has_two_owners);
	return 0;
}
