/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores: errors, deadlines, cancellation, posts from signal handlers, and reuse of
 * the memory. */
#include <signal.h>
#include <sys/time.h>

#include "bed.h"

static uk_sem s, s2;

static void values_and_errors(void)
{
	uk_sem i = UK_SEM_INIT(2);

	CHECK_EQ(uk_sem_wait(&i), 0);
	CHECK_EQ(uk_sem_trywait(&i), 0);
	CHECK_EQ(uk_sem_trywait(&i), -EAGAIN);
	CHECK_EQ(uk_sem_post(&i), 0);
	CHECK_EQ(uk_sem_wait_until(&i, 0),
		 0); /* no wait is needed, so the deadline does not count */
	CHECK_EQ(uk_sem_wait_until(&i, 0), -ETIMEDOUT);
	CHECK_EQ(uk_sem_wait_until(&i, uk_after(2 * UK_MS)), -ETIMEDOUT);
	CHECK_EQ(i.waiters, 0);
	CHECK_EQ(uk_sem_init(&i, (uint32_t)INT32_MAX + 1), -EINVAL);
	CHECK_EQ(uk_sem_init(&i, INT32_MAX), 0);
	CHECK_EQ(uk_sem_post(&i), -EOVERFLOW);
	CHECK_EQ(i.value, INT32_MAX);
}

static void *wait_for_cancel(void *arg)
{
	CHECK_EQ(uk_sem_wait(arg), -ECANCELED);
	return NULL;
}

static void cancel_ends_the_wait(void)
{
	uk_thread *t;

	CHECK_EQ(uk_sem_init(&s, 0), 0);
	CHECK_EQ(uk_thread_create(&t, NULL, wait_for_cancel, &s), 0);
	EVENTUALLY(GET(&s.waiters) == 1);
	CHECK_EQ(uk_thread_cancel(t), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK_EQ(s.waiters, 0);
	CHECK_EQ(uk_sem_post(&s), 0);
	CHECK_EQ(s.value, 1);
}

#define ROUNDS 3000

static void ping_pong(unsigned i, struct rng *r)
{
	(void)r;
	for (int n = 0; n < ROUNDS; n++) {
		CHECK_EQ(uk_sem_wait(i % 2 ? &s2 : &s), 0);
		CHECK_EQ(uk_sem_post(i % 2 ? &s : &s2), 0);
	}
}

static void no_post_is_lost(void)
{
	static const unsigned kinds[] = { ALL_USER, MIXED, ALL_FOREIGN };

	for (unsigned k = 0; k < 3; k++) {
		CHECK_EQ(uk_sem_init(&s, 1), 0);
		CHECK_EQ(uk_sem_init(&s2, 0), 0);
		crew_run(6, kinds[k], ping_pong);
		CHECK_EQ(s.value + s2.value, 1);
		CHECK_EQ(s.waiters + s2.waiters, 0);
	}
}

static long got, missed, posted;

static void wait_tightly(unsigned i, struct rng *r)
{
	for (int n = 0; n < ROUNDS; n++) {
		int ret;

		if (i % 2) {
			CHECK_EQ(uk_sem_post(&s), 0);
			ADD(&posted, 1);
			if (rnd(r, 4) == 0)
				uk_sleep(rnd(r, 60) * UK_US);
			continue;
		}
		ret = uk_sem_wait_until(&s, uk_after(rnd(r, 60) * UK_US));
		CHECK(ret == 0 || ret == -ETIMEDOUT);
		ADD(ret ? &missed : &got, 1);
	}
}

static void a_timeout_during_a_post_loses_nothing(void)
{
	CHECK_EQ(uk_sem_init(&s, 0), 0);
	crew_run(8, MIXED, wait_tightly);
	CHECK_EQ(got + s.value, posted);
	CHECK_EQ(s.waiters, 0);
	CHECK(missed > 0);
}

/* -- The patient threads wait without a deadline. If a thread that leaves takes a
 * wake-up along, they are not woken although the value is positive. -- */

static long taken;

static void patient_or_not(unsigned i, struct rng *r)
{
	long end = 0;

	while (!end) {
		int ret = uk_sem_wait_until(&s, i % 2 ? UK_FOREVER
						      : uk_after(rnd(r, 50) * UK_US));

		if (ret == 0)
			end = ADD(&taken, 1) + 1 >= ROUNDS;
		else
			uk_sleep(20 * UK_US); /* or its next wait hides the fault */
	}
	CHECK_EQ(uk_sem_post(&s), 0); /* so that the other threads end, too */
}

static void a_timeout_does_not_swallow_a_wake_up(void)
{
	struct crew crew;

	CHECK_EQ(uk_sem_init(&s, 0), 0);
	crew_start(&crew, 8, MIXED, patient_or_not);
	for (int n = 0; n < ROUNDS; n++) {
		CHECK_EQ(uk_sem_post(&s), 0);
		SOON(GET(&taken) > n);
	}
	crew_join(&crew);
	CHECK_EQ(s.waiters, 0);
}

static long handled, received;
static int stop;

static void post_from_handler(int sig)
{
	(void)sig;
	if (uk_sem_post(&s2) == 0)
		ADD(&handled, 1);
}

/* Takes what the handler posts, and keeps the runtime busy, so that signals interrupt
 * it inside. */
static void receive_and_churn(unsigned i, struct rng *r)
{
	(void)r;
	while (!GET(&stop)) {
		if (i % 2) {
			/* so short that the bucket of s2 is locked all the time */
			if (uk_sem_wait_until(&s2, uk_after(5 * UK_US)) == 0)
				ADD(&received, 1);
		} else {
			CHECK_EQ(uk_sem_wait(&s), 0);
			CHECK_EQ(uk_sem_post(&s), 0);
		}
	}
}

static void a_signal_handler_may_post(void)
{
	struct sigaction sa = { .sa_handler = post_from_handler,
				.sa_flags = SA_RESTART };
	struct itimerval every = { { 0, 200 }, { 0, 200 } }, none = { 0 };
	struct crew crew;

	CHECK_EQ(uk_sem_init(&s, 1), 0);
	CHECK_EQ(uk_sem_init(&s2, 0), 0);
	CHECK_EQ(sigaction(SIGALRM, &sa, NULL), 0);
	crew_start(&crew, 8, MIXED, receive_and_churn);
	CHECK_EQ(setitimer(ITIMER_REAL, &every, NULL), 0);
	EVENTUALLY(GET(&received) > 300);
	CHECK_EQ(setitimer(ITIMER_REAL, &none, NULL), 0);
	/* all posts arrive, although no more signals come */
	EVENTUALLY(GET(&received) == GET(&handled));
	SET(&stop, 1);
	crew_join(&crew);
	/* a handler may post after that, as sanitizers delay signals */
	EVENTUALLY(GET(&s2.value) == GET(&handled) - GET(&received));
	CHECK_EQ(s2.waiters, 0);
}

static uk_sem s3;
static long posted3, taken3;
static int stop3;

static void post_again(int sig)
{
	(void)sig;
	if (uk_sem_post(&s3) == 0)
		ADD(&posted3, 1);
}

/* A kernel thread that calls the library only to post, so it has no descriptor. */
static void *only_posts(void *arg)
{
	while (!GET(&stop3))
		if (GET(&s3.waiters) && uk_sem_post(&s3) == 0)
			ADD(&posted3, 1);
	return arg;
}

static void take_posts(unsigned i, struct rng *r)
{
	(void)i, (void)r;
	while (!GET(&stop3))
		if (uk_sem_wait_until(&s3, uk_after(UK_MS)) == 0)
			ADD(&taken3, 1);
}

static void a_handler_may_post_the_semaphore_that_its_thread_is_posting(void)
{
	struct sigaction sa = { .sa_handler = post_again, .sa_flags = SA_RESTART };
	struct crew crew;
	pthread_t poster;

	CHECK_EQ(uk_sem_init(&s3, 0), 0);
	CHECK_EQ(sigaction(SIGUSR1, &sa, NULL), 0);
	crew_start(&crew, 4, ALL_USER, take_posts);
	CHECK_EQ(pthread_create(&poster, NULL, only_posts, NULL), 0);
	for (int i = 0; i < 20000; i++) {
		CHECK_EQ(pthread_kill(poster, SIGUSR1), 0);
		if (i % 64 == 0)
			uk_yield();
	}
	SET(&stop3, 1);
	CHECK_EQ(pthread_join(poster, NULL), 0);
	crew_join(&crew);
	CHECK_EQ(GET(&taken3) + (long)GET(&s3.value), GET(&posted3));
	CHECK_EQ(s3.waiters, 0);
}

static void *post_late(void *arg)
{
	uk_sleep(2 * UK_MS);
	CHECK_EQ(uk_sem_post(arg), 0);
	return NULL;
}

static void a_thread_that_got_the_post_may_free_the_semaphore(void)
{
	for (int i = 0; i < 30; i++) {
		uk_sem local = UK_SEM_INIT(0);
		uk_thread *t;

		CHECK_EQ(uk_thread_create(&t, NULL, post_late, &local), 0);
		CHECK_EQ(uk_sem_wait(&local), 0);
		memset(&local, 0xa5, sizeof(local));
		CHECK_EQ(uk_thread_join(t, NULL), 0);
		for (size_t k = 0; k < sizeof(local); k++)
			CHECK_EQ(((unsigned char *)&local)[k], 0xa5);
	}
}

int main(void)
{
	bed_init();
	RUN(values_and_errors);
	RUN(cancel_ends_the_wait);
	RUN(no_post_is_lost);
	RUN(a_timeout_during_a_post_loses_nothing);
	RUN(a_timeout_does_not_swallow_a_wake_up);
	RUN(a_signal_handler_may_post);
	RUN(a_handler_may_post_the_semaphore_that_its_thread_is_posting);
	RUN(a_thread_that_got_the_post_may_free_the_semaphore);
	return 0;
}
