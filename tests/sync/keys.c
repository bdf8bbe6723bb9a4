/* SPDX-License-Identifier: Apache-2.0 */
/* Thread-local keys of user threads and foreign threads. */
#include "bed.h"

static uk_key key, key2;
static long destroyed, rounds;

static void values_and_errors(void)
{
	uk_key k = 0;

	CHECK_EQ(uk_key_set(999999, &k), -EINVAL);
	CHECK_EQ(uk_key_delete(999999), -EINVAL);
	CHECK(uk_key_get(999999) == NULL);
	CHECK_EQ(uk_key_create(&k, NULL), 0);
	CHECK(uk_key_get(k) == NULL);
	CHECK_EQ(uk_key_set(k, &k), 0);
	CHECK(uk_key_get(k) == &k);
	CHECK_EQ(uk_key_set(k, NULL), 0);
	CHECK(uk_key_get(k) == NULL);
	CHECK_EQ(uk_key_delete(k), 0);
	CHECK_EQ(uk_key_delete(k), -EINVAL);
	CHECK_EQ(uk_key_set(k, &k), -EINVAL);
	CHECK(uk_key_get(k) == NULL);
}

static void a_key_that_is_created_again_is_empty(void)
{
	static uk_key all[2000];
	unsigned n = 0;

	while (uk_key_create(&all[n], NULL) == 0) {
		CHECK_EQ(uk_key_set(all[n], &all[n]), 0);
		CHECK(++n < 2000);
	}
	CHECK(n >= 512); /* more than POSIX promises */
	for (unsigned i = 0; i < n; i++) {
		CHECK(uk_key_get(all[i]) == &all[i]);
		CHECK_EQ(uk_key_delete(all[i]), 0);
	}
	CHECK_EQ(uk_key_create(&all[0], NULL), 0);
	CHECK(uk_key_get(all[0]) == NULL);
	CHECK_EQ(uk_key_delete(all[0]), 0);
}

static void count(void *value)
{
	ADD(&destroyed, (long)(intptr_t)value);
}

static void set_again(void *value)
{
	ADD(&rounds, 1);
	CHECK_EQ(uk_key_set(key2, value), 0);
}

static void own_values(unsigned i, struct rng *r)
{
	for (int n = 0; n < 200; n++) {
		CHECK_EQ(uk_key_set(key, (void *)(uintptr_t)(i + 1)), 0);
		if (rnd(r, 4) == 0)
			uk_yield();
		CHECK_EQ((uintptr_t)uk_key_get(key), i + 1);
	}
}

static void each_thread_has_its_own_value_and_destroys_it_at_its_end(void)
{
	static const unsigned kinds[] = { ALL_USER, MIXED, ALL_FOREIGN };

	for (unsigned k = 0; k < 3; k++) {
		destroyed = 0;
		CHECK_EQ(uk_key_create(&key, count), 0);
		crew_run(8, kinds[k], own_values);
		CHECK_EQ(destroyed, 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8);
		CHECK_EQ(uk_key_delete(key), 0);
	}
}

static void set_key2(unsigned i, struct rng *r)
{
	(void)i, (void)r;
	CHECK_EQ(uk_key_set(key2, &key2), 0);
}

static void a_destructor_that_sets_again_runs_four_times(void)
{
	CHECK_EQ(uk_key_create(&key2, set_again), 0);
	crew_run(1, ALL_USER, set_key2);
	CHECK_EQ(rounds, 4);
	CHECK_EQ(uk_key_delete(key2), 0);
}

static void a_deleted_keys_destructor_does_not_run(void)
{
	struct crew crew;

	destroyed = 0;
	CHECK_EQ(uk_key_create(&key, count), 0);
	CHECK_EQ(uk_key_set(key, (void *)1), 0);
	CHECK_EQ(uk_key_delete(key), 0);
	CHECK_EQ(uk_key_create(&key, count), 0);
	crew_start(&crew, 4, MIXED, own_values);
	crew_join(&crew);
	CHECK_EQ(destroyed, 1 + 2 + 3 + 4);
	CHECK_EQ(uk_key_delete(key), 0);
}

static void create_and_delete(unsigned i, struct rng *r)
{
	(void)i;
	for (int n = 0; n < 500; n++) {
		uk_key k;

		CHECK_EQ(uk_key_create(&k, count), 0);
		CHECK(uk_key_get(k) == NULL);
		CHECK_EQ(uk_key_set(k, (void *)1), 0);
		if (rnd(r, 8) == 0)
			uk_yield();
		CHECK_EQ((uintptr_t)uk_key_get(k), 1);
		CHECK_EQ(uk_key_delete(k), 0);
	}
}

static void threads_can_create_and_delete_keys_at_once(void)
{
	crew_run(8, MIXED, create_and_delete);
}

int main(void)
{
	bed_init();
	RUN(values_and_errors);
	RUN(a_key_that_is_created_again_is_empty);
	RUN(each_thread_has_its_own_value_and_destroys_it_at_its_end);
	RUN(a_destructor_that_sets_again_runs_four_times);
	RUN(a_deleted_keys_destructor_does_not_run);
	RUN(threads_can_create_and_delete_keys_at_once);
	return 0;
}
