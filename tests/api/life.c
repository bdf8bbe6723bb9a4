/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a thread, seen through the public API. */
#include <errno.h>
#include <pthread.h>
#include <uk/uk.h>

#include "test.h"

struct want {
	const char *state;
	uint64_t id;
};

static int in_state(const uk_thread_info *i, void *arg)
{
	const struct want *w = arg;

	return i->id == w->id && !strcmp(i->state, w->state);
}

/* Is t in that state now, as a dump would show it? */
static int is(uk_thread *t, const char *state)
{
	struct want w = { state, uk_thread_id(t) };

	return uk_thread_each(in_state, &w, sizeof(uk_thread_info));
}

static uint32_t go;

static void *until_go(void *arg)
{
	while (!__atomic_load_n(&go, __ATOMIC_SEQ_CST))
		uk_sleep(UK_MS / 2);
	return arg;
}

static void *give_back(void *arg)
{
	return arg;
}

static void *sleep_ms(void *arg)
{
	return (void *)(intptr_t)uk_sleep((intptr_t)arg * UK_MS);
}

struct since {
	uint64_t id;
	uk_time since;
	const char *state;
};

static int since_of(const uk_thread_info *i, void *arg)
{
	struct since *s = arg;

	if (i->id != s->id)
		return 0;
	s->since = i->since;
	s->state = i->state;
	return 1;
}

static struct since look_since(uk_thread *t)
{
	struct since s = { uk_thread_id(t), 0, "" };

	CHECK_EQ(uk_thread_each(since_of, &s, sizeof(uk_thread_info)), 1);
	return s;
}

static uk_sem begin = UK_SEM_INIT(0);

static void *waits_then_computes(void *arg)
{
	CHECK_EQ(uk_sem_wait(&begin), 0);
	while (!__atomic_load_n(&go, __ATOMIC_SEQ_CST))
		;
	return arg;
}

static struct since once_it_is(uk_thread *t, const char *state)
{
	struct since s;

	do
		s = look_since(t);
	while (strcmp(s.state, state) != 0);
	CHECK(s.since <= uk_now());
	return s;
}

static void since_is_the_beginning_of_the_present_state(void)
{
	/* on one vp, because another vp's clock may be a pass behind */
	uk_thread_attr on_one = { .vp = uk_vpset_vp(uk_vpset_default(), 0) };
	struct since parked, running, exited;
	uk_thread *t;

	__atomic_store_n(&go, 0, __ATOMIC_SEQ_CST);
	CHECK_EQ(uk_thread_create(&t, &on_one, waits_then_computes, NULL), 0);
	parked = once_it_is(t, "parked");
	CHECK_EQ(uk_sem_post(&begin), 0);
	running = once_it_is(t, "running");
	/* equal if the post came just before it parked: it goes on in the same pass */
	CHECK(running.since >= parked.since);
	__atomic_store_n(&go, 1, __ATOMIC_SEQ_CST);
	exited = once_it_is(t, "exited");
	CHECK(exited.since >= running.since);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
}

static void join_returns_what_the_thread_returned(void)
{
	uk_thread *t;
	void *r;

	CHECK_EQ(uk_thread_create(&t, NULL, give_back, &t), 0);
	CHECK_EQ(uk_thread_join(t, &r), 0);
	CHECK(r == &t);
}

static void *exit_with(void *arg)
{
	uk_thread_exit(arg);
}

static void exit_ends_the_thread_with_a_value(void)
{
	uk_thread *t;
	void *r;

	CHECK_EQ(uk_thread_create(&t, NULL, exit_with, &r), 0);
	CHECK_EQ(uk_thread_join(t, &r), 0);
	CHECK(r == &r);
}

static void bad_attributes_are_refused(void)
{
	uk_thread_attr a;
	uk_thread *t;

	uk_thread_attr_init(&a);
	a.flags = 1u << 20;
	CHECK_EQ(uk_thread_create(&t, &a, give_back, NULL), -EINVAL);
	uk_thread_attr_init(&a);
	a.reserved[1] = 1;
	CHECK_EQ(uk_thread_create(&t, &a, give_back, NULL), -EINVAL);
	uk_thread_attr_init(&a);
	a.stack_size = ((size_t)1 << 40) + 1;
	CHECK_EQ(uk_thread_create(&t, &a, give_back, NULL), -EINVAL);
	CHECK_EQ(uk_thread_create(&t, NULL, NULL, NULL), -EINVAL);
	CHECK_EQ(uk_thread_create(NULL, NULL, give_back, NULL), -EINVAL);
}

static uint32_t ran;

static void *count(void *arg)
{
	(void)arg;
	__atomic_fetch_add(&ran, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void detached_threads_free_themselves(void)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_stats s;

	a.flags = UK_THREAD_DETACHED;
	__atomic_store_n(&ran, 0, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 10000; i++)
		CHECK_EQ(uk_thread_create(NULL, &a, count, NULL), 0);
	while (__atomic_load_n(&ran, __ATOMIC_SEQ_CST) != 10000)
		uk_sleep(UK_MS);
	do {
		uk_sleep(UK_MS);
		uk_stats_get(&s, sizeof(s));
	} while (s.threads != 0);
}

static void a_thread_can_be_detached_later(void)
{
	uk_thread *t;

	CHECK_EQ(uk_thread_create(&t, NULL, sleep_ms, (void *)5), 0);
	CHECK_EQ(uk_thread_detach(t), 0);
	CHECK_EQ(uk_thread_join(t, NULL), -EINVAL);
	CHECK_EQ(uk_thread_create(&t, NULL, give_back, NULL), 0);
	uk_sleep(20 * UK_MS);
	CHECK_EQ(uk_thread_detach(t), 0); /* has ended: freed now */
}

static void join_times_out_and_may_be_repeated(void)
{
	uk_thread *t;
	void *r;

	__atomic_store_n(&go, 0, __ATOMIC_SEQ_CST);
	CHECK_EQ(uk_thread_create(&t, NULL, until_go, NULL), 0);
	CHECK_EQ(uk_thread_join_until(t, &r, uk_after(5 * UK_MS)), -ETIMEDOUT);
	CHECK_EQ(uk_thread_join_until(t, &r, uk_after(5 * UK_MS)), -ETIMEDOUT);
	__atomic_store_n(&go, 1, __ATOMIC_SEQ_CST);
	CHECK_EQ(uk_thread_join(t, &r), 0);
	CHECK(r == NULL);
}

static void *join_arg(void *arg)
{
	return (void *)(intptr_t)uk_thread_join(arg, NULL);
}

static void *join_self(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)uk_thread_join(uk_thread_self(), NULL);
}

static void only_one_thread_can_join_and_none_itself(void)
{
	uk_thread *t, *j;
	void *r;

	__atomic_store_n(&go, 0, __ATOMIC_SEQ_CST);
	CHECK_EQ(uk_thread_create(&t, NULL, until_go, NULL), 0);
	CHECK_EQ(uk_thread_create(&j, NULL, join_arg, t), 0);
	UNTIL(is(j, "parked"));
	CHECK_EQ(uk_thread_join(t, NULL), -EINVAL);
	__atomic_store_n(&go, 1, __ATOMIC_SEQ_CST);
	CHECK_EQ(uk_thread_join(j, &r), 0);
	CHECK(r == NULL);
	CHECK_EQ(uk_thread_create(&t, NULL, join_self, NULL), 0);
	CHECK_EQ(uk_thread_join(t, &r), 0);
	CHECK_EQ((intptr_t)r, -EDEADLK);
}

static int order[4], norder;

static void note(void *arg)
{
	order[norder++] = (int)(intptr_t)arg;
}

static void *with_cleanups(void *arg)
{
	CHECK_EQ(uk_cleanup_push(note, (void *)1), 0);
	CHECK_EQ(uk_cleanup_push(note, (void *)2), 0);
	CHECK_EQ(uk_cleanup_push(note, (void *)3), 0);
	CHECK_EQ(uk_cleanup_pop(0), 0);
	CHECK_EQ(uk_cleanup_push(note, (void *)4), 0);
	CHECK_EQ(uk_cleanup_pop(1), 0);
	return arg;
}

static void cleanups_run_last_pushed_first(void)
{
	uk_thread *t;

	CHECK_EQ(uk_thread_create(&t, NULL, with_cleanups, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK_EQ(norder, 3);
	CHECK(order[0] == 4 && order[1] == 2 && order[2] == 1);
}

static void *named(void *arg)
{
	char buf[32];

	(void)arg;
	uk_thread_get_name(uk_thread_self(), buf, sizeof(buf));
	CHECK(!strcmp(buf, "worker"));
	CHECK_EQ(uk_thread_set_name(uk_thread_self(), "renamed"), 0);
	uk_thread_get_name(uk_thread_self(), buf, sizeof(buf));
	CHECK(!strcmp(buf, "renamed"));
	return (void *)(uintptr_t)uk_thread_id(uk_thread_self());
}

static void threads_have_names_and_unique_ids(void)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t;
	void *id1, *id2;

	a.name = "worker";
	CHECK_EQ(uk_thread_create(&t, &a, named, NULL), 0);
	CHECK_EQ(uk_thread_join(t, &id1), 0);
	CHECK_EQ(uk_thread_create(&t, &a, named, NULL), 0);
	CHECK_EQ(uk_thread_join(t, &id2), 0);
	CHECK(id1 != id2);
	CHECK(uk_thread_self() == NULL); /* main is a kernel thread */
}

static void *stack_of_self(void *arg)
{
	void *base;
	size_t size;

	CHECK_EQ(uk_thread_stack(uk_thread_self(), &base, &size), 0);
	CHECK_EQ(size, (size_t)arg);
	CHECK((char *)&base > (char *)base && (char *)&base < (char *)base + size);
	return NULL;
}

static void stacks_have_the_size_asked_for(void)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t;

	for (size_t s = 16384; s <= (1u << 22); s *= 4) {
		a.stack_size = s - 100; /* rounded up */
		CHECK_EQ(uk_thread_create(&t, &a, stack_of_self, (void *)s), 0);
		CHECK_EQ(uk_thread_join(t, NULL), 0);
	}
}

static void *foreign_body(void *arg)
{
	uk_thread *t;

	(void)arg;
	CHECK(uk_thread_self() == NULL);
	CHECK_EQ(uk_thread_create(&t, NULL, sleep_ms, (void *)1), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK_EQ(uk_sleep(UK_MS), 0);
	CHECK_EQ(uk_yield(), 0);
	return NULL;
}

static void kernel_threads_come_and_go(void)
{
	pthread_t p[8];

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 8; i++)
			CHECK_EQ(pthread_create(&p[i], NULL, foreign_body, NULL), 0);
		for (int i = 0; i < 8; i++)
			pthread_join(p[i], NULL);
	}
}

int main(void)
{
	RUN(since_is_the_beginning_of_the_present_state);
	RUN(join_returns_what_the_thread_returned);
	RUN(exit_ends_the_thread_with_a_value);
	RUN(bad_attributes_are_refused);
	RUN(detached_threads_free_themselves);
	RUN(a_thread_can_be_detached_later);
	RUN(join_times_out_and_may_be_repeated);
	RUN(only_one_thread_can_join_and_none_itself);
	RUN(cleanups_run_last_pushed_first);
	RUN(threads_have_names_and_unique_ids);
	RUN(stacks_have_the_size_asked_for);
	RUN(kernel_threads_come_and_go);
	return 0;
}
