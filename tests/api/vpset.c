/* SPDX-License-Identifier: Apache-2.0 */
/* Vp sets: placement, round robin, pinning, binding, reactive vps. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uk/uk.h>

#include "test.h"

static void *where(void *arg)
{
	(void)arg;
	for (int i = 0; i < 10; i++)
		uk_yield();
	return uk_vp_self();
}

static void a_set_keeps_its_threads(void)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_vpset *s;
	uk_thread *t[50];

	CHECK_EQ(uk_vpset_create(&s, "pair", 2, NULL, 0), 0);
	CHECK_EQ(uk_vpset_size(s), 2);
	CHECK(uk_vpset_vp(s, 0) && uk_vpset_vp(s, 1) && !uk_vpset_vp(s, 2));
	CHECK(uk_vp_id(uk_vpset_vp(s, 0)) != uk_vp_id(uk_vpset_vp(s, 1)));
	a.set = s;
	for (int i = 0; i < 50; i++)
		CHECK_EQ(uk_thread_create(&t[i], &a, where, NULL), 0);
	for (int i = 0; i < 50; i++) {
		void *vp;

		CHECK_EQ(uk_thread_join(t[i], &vp), 0);
		CHECK(vp == uk_vpset_vp(s, 0) || vp == uk_vpset_vp(s, 1));
	}
}

static void *pinned_body(void *arg)
{
	for (int i = 0; i < 200; i++) {
		uk_vp *vp = uk_vp_self();

		/* NULL: the machine is slow, and the thread was taken for a hog */
		CHECK(!vp || vp == arg);
		if (i % 3 == 0)
			uk_sleep(UK_MS / 20);
		else
			uk_yield();
	}
	return NULL;
}

static void pinned_threads_stay(void)
{
	uk_vpset *s;
	uk_thread *t[30];

	CHECK_EQ(uk_vpset_create(&s, "three", 3, NULL, 0), 0);
	for (unsigned i = 0; i < 30; i++) {
		uk_thread_attr a = UK_THREAD_ATTR_INIT;

		a.vp = uk_vpset_vp(s, i % 3);
		CHECK_EQ(uk_thread_create(&t[i], &a, pinned_body, a.vp), 0);
	}
	for (int i = 0; i < 30; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
}

static void *wander(void *arg)
{
	uk_vpset *s = arg;

	CHECK(uk_vpset_self() == s);
	for (unsigned i = 0; i < 300; i++) {
		uk_vp *vp = uk_vpset_vp(s, i % 3);

		CHECK_EQ(uk_thread_pin(vp), 0);
		CHECK(uk_vp_self() == vp);
		uk_yield();
		CHECK(uk_vp_self() == vp);
	}
	CHECK_EQ(uk_thread_pin(NULL), 0);
	return NULL;
}

static void a_thread_may_pin_itself_to_one_vp_after_another(void)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_vpset *s;
	uk_thread *t[10];

	CHECK_EQ(uk_vpset_create(&s, "three", 3, NULL, 0), 0);
	a.set = s;
	for (int i = 0; i < 10; i++)
		CHECK_EQ(uk_thread_create(&t[i], &a, wander, s), 0);
	for (int i = 0; i < 10; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	CHECK_EQ(uk_thread_pin(uk_vpset_vp(s, 0)),
		 -EPERM); /* main is a kernel thread */
}

static void *cpu_of(void *arg)
{
	(void)arg;
	for (int i = 0; i < 5; i++)
		uk_sleep(UK_MS);
	return (void *)(intptr_t)sched_getcpu();
}

static void bound_vps_run_on_their_cpu(void)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	cpu_set_t all, one;
	uk_vpset *s;
	int last = -1;

	CHECK_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
	for (int c = 0; c < CPU_SETSIZE; c++)
		if (CPU_ISSET(c, &all))
			last = c;
	CPU_ZERO(&one);
	CPU_SET(last, &one);
	CHECK_EQ(uk_vpset_create(&s, "bound", 1, &one, UK_VPSET_BIND), 0);
	a.set = s;
	for (int i = 0; i < 3; i++) {
		uk_thread *t;
		void *cpu;

		CHECK_EQ(uk_thread_create(&t, &a, cpu_of, NULL), 0);
		CHECK_EQ(uk_thread_join(t, &cpu), 0);
		CHECK_EQ((intptr_t)cpu, last);
	}
	CHECK_EQ(uk_vp_bind(uk_vpset_vp(s, 0), &all), 0);
	CPU_ZERO(&one);
	CHECK_EQ(uk_vp_bind(uk_vpset_vp(s, 0), &one), -EINVAL);
}

static int sv[2];

static void *echo(void *arg)
{
	char buf[64];
	ssize_t n;

	while ((n = uk_recv(sv[1], buf, sizeof(buf), 0)) > 0)
		CHECK_EQ(uk_send(sv[1], buf, (size_t)n, 0), n);
	CHECK_EQ(n, 0);
	return arg;
}

static void *ask(void *arg)
{
	for (int i = 0; i < 500; i++) {
		char buf[64];

		CHECK_EQ(uk_send(sv[0], &i, sizeof(i), 0), sizeof(i));
		CHECK_EQ(uk_read_all(sv[0], buf, sizeof(i)), sizeof(i));
		CHECK(!memcmp(buf, &i, sizeof(i)));
	}
	CHECK_EQ(uk_thread_set_deadline(uk_after(3 * UK_MS)), UK_FOREVER);
	CHECK_EQ(uk_recv(sv[0], sv, 1, 0), -ETIMEDOUT);
	uk_thread_set_deadline(UK_FOREVER);
	CHECK_EQ(uk_shutdown(sv[0], SHUT_WR), 0);
	return arg;
}

static void reactive_vps_do_the_waiting(void)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t, *u;
	uk_vpset *s;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	CHECK_EQ(uk_vpset_create(&s, "reactive", 2, NULL, UK_VPSET_NET | UK_VPSET_IO),
		 0);
	a.set = s;
	CHECK_EQ(uk_thread_create(&t, &a, echo, NULL), 0);
	CHECK_EQ(uk_thread_create(&u, &a, ask, NULL), 0);
	CHECK_EQ(uk_thread_join(u, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK_EQ(uk_close(sv[0]), 0);
	CHECK_EQ(uk_close(sv[1]), 0);
}

static void bad_sets_are_refused(void)
{
	uk_vpset *s;
	cpu_set_t none;

	CPU_ZERO(&none);
	CHECK_EQ(uk_vpset_create(&s, "x", 1, &none, 0), -EINVAL);
	CHECK_EQ(uk_vpset_create(&s, "x", 100000, NULL, 0), -EINVAL);
	CHECK_EQ(uk_vpset_create(&s, "x", 1, NULL, 1u << 30), -EINVAL);
}

int main(void)
{
	CHECK_EQ(uk_init(), 0);
	RUN(a_set_keeps_its_threads);
	RUN(pinned_threads_stay);
	RUN(a_thread_may_pin_itself_to_one_vp_after_another);
	RUN(bound_vps_run_on_their_cpu);
	RUN(reactive_vps_do_the_waiting);
	RUN(bad_sets_are_refused);
	return 0;
}
