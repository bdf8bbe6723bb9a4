/* SPDX-License-Identifier: Apache-2.0 */
/* Counters count what their names say, and the doctor reports. */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <uk/uk.h>

#include "base/base.h"
#include "test.h"

static void *yields(void *arg)
{
	for (int i = 0; i < 1000; i++)
		uk_yield();
	return arg;
}

static void counters_follow_what_happens(void)
{
	uk_stats a, b, v;
	uk_thread *t[2];
	uint64_t sum = 0;

	uk_stats_get(&a, sizeof(a));
	for (int i = 0; i < 2; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, yields, NULL), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	uk_stats_get(&b, sizeof(b));
	CHECK_EQ(b.creates - a.creates, 2);
	CHECK_EQ(b.exits - a.exits, 2);
	CHECK_EQ(b.yields - a.yields, 2000);
	CHECK_EQ(b.threads, 0);
	CHECK(b.vps >= (uint64_t)uk_vp_count());
	CHECK(b.carriers >= b.vps);
	for (unsigned i = 0; i < uk_vpset_size(uk_vpset_default()); i++) {
		CHECK_EQ(uk_vp_stats(uk_vpset_vp(uk_vpset_default(), i), &v, sizeof(v)),
			 0);
		sum += v.yields;
	}
	CHECK_EQ(sum, b.yields);
}

static void the_kick_of_a_sleeping_vp_is_counted(void)
{
	uk_stats a, b;
	uk_thread *t;

	uk_stats_get(&a, sizeof(a));
	do { /* until a vp sleeps before main needs it */
		uk_sleep(UK_MS);
		CHECK_EQ(uk_thread_create(&t, NULL, yields, NULL), 0);
		CHECK_EQ(uk_thread_join(t, NULL), 0);
		uk_stats_get(&b, sizeof(b));
	} while (b.kicks == a.kicks);
	/* the sleep that the kick ended may have begun before the first look */
	CHECK(b.waits > 0);
}

static uk_sem sem = UK_SEM_INIT(0);

static void *takes_many(void *arg)
{
	for (int i = 0; i < 100; i++)
		CHECK_EQ(uk_sem_wait(&sem), 0);
	return arg;
}

static int waits_on_sem(const uk_thread_info *i, void *arg)
{
	(void)arg;
	return !strcmp(i->waits, "semaphore");
}

/* main is no user thread. What it wakes counts, too. */
static void wake_ups_by_kernel_threads_are_counted(void)
{
	uk_stats a, b;
	uk_thread *t;

	CHECK_EQ(uk_thread_create(&t, NULL, takes_many, NULL), 0);
	uk_stats_get(&a, sizeof(a));
	for (int i = 0; i < 100; i++) {
		UNTIL(uk_thread_each(waits_on_sem, NULL, sizeof(uk_thread_info)));
		CHECK_EQ(uk_sem_post(&sem), 0);
		while (__atomic_load_n(&sem.value, __ATOMIC_SEQ_CST))
			uk_yield();
	}
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	uk_stats_get(&b, sizeof(b));
	CHECK_EQ(b.readies - a.readies, 100);
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define KERNEL_CREATES 1000
#else
#define KERNEL_CREATES 100000
#endif

static void *returns(void *arg)
{
	return arg;
}

static void *creates_many(void *arg)
{
	uk_thread_attr a = { .flags = UK_THREAD_DETACHED };

	for (int i = 0; i < KERNEL_CREATES; i++)
		CHECK_EQ(uk_thread_create(NULL, &a, returns, arg), 0);
	return arg;
}

/* They share one set of counters. If one count is lost, `threads` stays wrong. */
static void kernel_threads_that_create_at_once_are_counted(void)
{
	pthread_t p[4];
	uk_stats a, b;

	uk_stats_get(&a, sizeof(a));
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&p[i], NULL, creates_many, NULL), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_join(p[i], NULL), 0);
	do
		uk_stats_get(&b, sizeof(b));
	while (b.exits - a.exits < 4 * KERNEL_CREATES);
	CHECK_EQ(b.creates - a.creates, 4 * KERNEL_CREATES);
	CHECK_EQ(b.threads, 0);
}

/* A program may use an older or newer header than the library. Its structure is shorter
 * or longer, and nothing is written past its end. */
struct framed {
	union {
		uk_stats s;
		unsigned char room[2 * sizeof(uk_stats)];
	};
};

static void a_structure_of_another_size_is_filled_to_its_end(void)
{
	struct framed f;

	for (size_t size = 0; size <= sizeof(f.room); size += 8) {
		memset(&f, 0xa5, sizeof(f));
		if (size % 16)
			uk_stats_get(&f.s, size);
		else
			CHECK_EQ(
			    uk_vp_stats(uk_vpset_vp(uk_vpset_default(), 0), &f.s, size),
			    0);
		for (size_t i = size; i < sizeof(f.room); i++)
			CHECK_EQ(f.room[i], 0xa5);
		for (size_t i = sizeof(f.s); i < size; i++)
			CHECK_EQ(f.room[i], 0);
		if (size % 16 && size > offsetof(uk_stats, creates))
			CHECK(f.s.creates > 0);
	}
}

static int ends_in_zeros(const uk_thread_info *i, void *arg)
{
	const unsigned char *p = (const unsigned char *)i;

	for (size_t k = sizeof(*i); k < *(size_t *)arg; k++)
		CHECK_EQ(p[k], 0);
	CHECK(i->id > 0);
	return 77;
}

static void fields_that_an_older_library_does_not_know_are_zero(void)
{
	size_t size = 2 * sizeof(uk_thread_info);

	CHECK_EQ(uk_thread_each(ends_in_zeros, &size, size), 77);
	CHECK_EQ(uk_thread_each(ends_in_zeros, &size, 1 << 20), -EINVAL);
}

enum { WAITS = 1000 };

static void *receives(void *fd)
{
	char c[2];

	for (int i = 0; i < WAITS; i++)
		CHECK_EQ(uk_recv((int)(intptr_t)fd, c, sizeof(c), 0), 1);
	return fd;
}

/* Two calls ask about the socket (fd/known.c). Then io_uring submits the receive and
 * sleeps by one; epoll arms the socket, sleeps and receives. There is no call in vain,
 * but for a few at the beginning, and in the builds that disturb the schedule. */
static void a_vp_sleeps_by_as_few_calls_as_possible(void)
{
	uint64_t each = strcmp(uk_reactor_name(), "epoll") ? 3 : 5;
	uk_thread_attr attr = UK_THREAD_ATTR_INIT;
	uk_stats a, b, seen;
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(addr);
	int from = uk_socket(AF_UNIX, SOCK_DGRAM, 0),
	    to = uk_socket(AF_UNIX, SOCK_DGRAM, 0);
	const uk_vp *vp;
	uk_vpset *set;
	uk_thread *t;

	CHECK_EQ(uk_vpset_create(&set, "one", 1, NULL, 0), 0);
	attr.set = set;
	vp = uk_vpset_vp(set, 0);
	CHECK_EQ(bind(to, (struct sockaddr *)&addr, sizeof(sa_family_t)), 0);
	CHECK_EQ(getsockname(to, (struct sockaddr *)&addr, &len), 0);
	CHECK_EQ(connect(from, (struct sockaddr *)&addr, len), 0);
	CHECK_EQ(uk_vp_stats(vp, &a, sizeof(a)), 0);
	seen = a;
	CHECK_EQ(uk_thread_create(&t, &attr, receives, (void *)(intptr_t)to), 0);
	for (int i = 0; i < WAITS; i++) {
		do
			CHECK_EQ(uk_vp_stats(vp, &b, sizeof(b)), 0);
		while (b.waits == seen.waits);
		seen = b;
		/* a sleep, not a poll that finds the message at once */
		for (uk_time at = uk_now(); uk_now() - at < 20 * UK_US;)
			;
		CHECK_EQ(send(from, "", 1, 0), 1);
	}
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK_EQ(uk_vp_stats(vp, &b, sizeof(b)), 0);
	printf("%llu calls for %llu sleeps\n",
	       (unsigned long long)(b.syscalls - a.syscalls),
	       (unsigned long long)(b.waits - a.waits));
	CHECK(UK_CHECKS || UK_HOSTILE ||
	      b.syscalls - a.syscalls <
		  (b.waits - a.waits) * each + (b.waits - a.waits) / 2);
	uk_close(from);
	uk_close(to);
}

static void counters_have_names(void)
{
	int n = 0;

#define X(name, text) n += sizeof(#name) > 1 && sizeof(text) > 5;
	UK_COUNTERS(X)
#undef X
	CHECK(n > 20);
	CHECK(strlen(uk_version()) > 0);
	CHECK(!strcmp(uk_reactor_name(), "io_uring") ||
	      !strcmp(uk_reactor_name(), "epoll"));
}

static void row(const char *name, const char *value, int ok, void *arg)
{
	CHECK(name[0] && value[0] && (ok == 0 || ok == 1));
	++*(int *)arg;
}

static void the_doctor_reports_several_rows(void)
{
	int n = 0;

	CHECK(uk_doctor(row, &n) >= 0);
	CHECK(n >= 8);
}

int main(void)
{
	CHECK_EQ(uk_init(), 0);
	RUN(counters_follow_what_happens);
	RUN(wake_ups_by_kernel_threads_are_counted);
	RUN(kernel_threads_that_create_at_once_are_counted);
	RUN(the_kick_of_a_sleeping_vp_is_counted);
	RUN(a_structure_of_another_size_is_filled_to_its_end);
	RUN(fields_that_an_older_library_does_not_know_are_zero);
	RUN(a_vp_sleeps_by_as_few_calls_as_possible);
	RUN(counters_have_names);
	RUN(the_doctor_reports_several_rows);
	return 0;
}
