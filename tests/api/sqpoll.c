/* SPDX-License-Identifier: Apache-2.0 */
/* Sets with a network processor: what threads do in them is what they do in any set, whether
 * the kernel grants one or not; and its thread sleeps and is woken. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <uk/uk.h>

#include "test.h"

#define PAIRS 20
#define ROUNDS 200

static uk_vpset_attr attr_of(const char *name)
{
	uk_vpset_attr a = UK_VPSET_ATTR_INIT;

	a.name = name;
	a.n = (unsigned)uk_vps();
	a.flags = UK_VPSET_SQPOLL;
	a.idle = UK_MS;
	return a;
}

static uk_vpset *make(const uk_vpset_attr *a)
{
	uk_vpset *s;

	CHECK_EQ(uk_vpset_create_attr(&s, a), 0);
	return s;
}

static uk_thread *start(uk_vpset *s, void *(*fn)(void *), void *arg)
{
	uk_attr a = UK_ATTR_INIT;
	uk_thread *t;

	a.set = s;
	CHECK_EQ(uk_thread_create(&t, &a, fn, arg), 0);
	return t;
}

static void *echo(void *arg)
{
	const int *sv = arg;
	char buf[64];
	ssize_t n;

	while ((n = uk_recv(sv[1], buf, sizeof(buf), 0)) > 0)
		CHECK_EQ(uk_write_all(sv[1], buf, (size_t)n), n);
	CHECK_EQ(n, 0);
	return NULL;
}

static void *ask(void *arg)
{
	const int *sv = arg;

	for (int i = 0; i < ROUNDS; i++) {
		int back = 0;

		CHECK_EQ(uk_write_all(sv[0], &i, sizeof(i)), sizeof(i));
		CHECK_EQ(uk_read_all(sv[0], &back, sizeof(back)), sizeof(back));
		CHECK_EQ(back, i);
	}
	CHECK_EQ(uk_thread_set_deadline(uk_after(3 * UK_MS)), UK_FOREVER);
	CHECK_EQ(uk_recv(sv[0], arg, 1, 0), -ETIMEDOUT);
	uk_thread_set_deadline(UK_FOREVER);
	CHECK_EQ(uk_shutdown(sv[0], SHUT_WR), 0);
	return NULL;
}

/* Many pairs at once: the queue holds entries of several, and vps steal. */
static void talk(uk_vpset *s)
{
	uk_thread *t[PAIRS][2];
	int sv[PAIRS][2];

	for (int i = 0; i < PAIRS; i++) {
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sv[i]), 0);
		t[i][0] = start(s, ask, sv[i]);
		t[i][1] = start(s, echo, sv[i]);
	}
	for (int i = 0; i < PAIRS; i++) {
		CHECK_EQ(uk_thread_join(t[i][0], NULL), 0);
		CHECK_EQ(uk_thread_join(t[i][1], NULL), 0);
		CHECK_EQ(uk_close(sv[i][0]), 0);
		CHECK_EQ(uk_close(sv[i][1]), 0);
	}
}

static void bad_attributes_are_refused(void)
{
	struct {
		uk_vpset_attr a;
		char more[8];
	} big = { attr_of("big"), { 0 } };
	uk_vpset_attr a = attr_of("bad");
	uk_vpset *s;

	a.size = sizeof(a.size);
	CHECK_EQ(uk_vpset_create_attr(&s, &a), -EINVAL);
	a = attr_of("bad");
	a.net_cpu = -2;
	CHECK_EQ(uk_vpset_create_attr(&s, &a), -EINVAL);
	a = attr_of("bad");
	a.idle = -1;
	CHECK_EQ(uk_vpset_create_attr(&s, &a), -EINVAL);
	a = attr_of("bad");
	a.min_wait = UK_FOREVER;
	CHECK_EQ(uk_vpset_create_attr(&s, &a), -EINVAL);
	a = attr_of("bad");
	a.napi_prefer = 2;
	CHECK_EQ(uk_vpset_create_attr(&s, &a), -EINVAL);
	big.a.size = sizeof(big);
	big.more[7] = 1; /* something of a later library's */
	CHECK_EQ(uk_vpset_create_attr(&s, &big.a), -E2BIG);
	big.more[7] = 0;
	CHECK_EQ(uk_vpset_create_attr(&s, &big.a), 0);
}

static void a_plain_set_has_none(void)
{
	uk_vpset_attr a = UK_VPSET_ATTR_INIT;
	uk_vpset *s;

	CHECK_EQ(uk_vpset_sqpoll(uk_vpset_default()), 0);
	a.size = offsetof(uk_vpset_attr, net_cpu); /* who knows no more */
	a.n = 1;
	s = make(&a);
	CHECK_EQ(uk_vpset_sqpoll(s), 0);
	CHECK_EQ(uk_vpset_size(s), 1);
}

static void what_is_refused_is_told_and_done_without(void)
{
	uk_vpset_attr a = attr_of("refused");
	uk_vpset *s;

	a.net_cpu = 1 << 20; /* no machine has it */
	s = make(&a);
	CHECK(uk_vpset_sqpoll(s) < 0);
	talk(s);
}

static void threads_talk_through_it(void)
{
	uk_vpset_attr a = attr_of("talk");
	uk_vpset *s = make(&a);

	printf("# network processor: %d\n", uk_vpset_sqpoll(s));
	talk(s);
}

static void threads_talk_in_batches(void)
{
	uk_vpset_attr a = attr_of("batch");

	a.min_wait = 50 * UK_US;
	a.batch = 8;
	a.napi = 20 * UK_US;
	talk(make(&a));
}

static int closed[2];

static void *closes(void *arg)
{
	for (uintptr_t i = (uintptr_t)arg; i; i--)
		uk_yield();
	CHECK_EQ(uk_close(closed[0]), 0);
	return NULL;
}

static void *is_closed(void *arg)
{
	char c;

	CHECK_EQ(uk_recv(closed[0], &c, 1, 0), -EBADF);
	return arg;
}

static void who_waits_is_told_of_a_close(void)
{
	uk_vpset_attr a = attr_of("close");
	uk_vpset *s = make(&a);

	for (uintptr_t i = 0; i < 50; i++) {
		uk_thread *t, *u;

		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, closed), 0);
		t = start(s, is_closed, NULL);
		u = start(s, closes, (void *)(i % 10));
		CHECK_EQ(uk_thread_join(t, NULL), 0);
		CHECK_EQ(uk_thread_join(u, NULL), 0);
		CHECK_EQ(uk_close(closed[1]), 0);
	}
}

static void *opens(void *arg)
{
	int fd = uk_open("/proc/self/stat", O_RDONLY, 0);
	char c;

	CHECK(fd >= 0);
	CHECK_EQ(uk_read(fd, &c, 1), 1);
	CHECK_EQ(uk_close(fd), 0);
	return arg;
}

static void files_are_opened_by_who_asks(void)
{
	uk_vpset_attr a = attr_of("open");

	CHECK_EQ(uk_thread_join(start(make(&a), opens, NULL), NULL), 0);
}

/* -- its thread, as the kernel shows it -- */

static void task_file(char *to, size_t n, const char *tid, const char *name, char *path)
{
	FILE *f;

	snprintf(path, 300, "/proc/self/task/%s/%s", tid, name);
	f = fopen(path, "r");
	to[0] = 0;
	if (!f)
		return;
	n = fread(to, 1, n - 1, f);
	to[n] = 0;
	fclose(f);
}

/* Do all threads of that kind sleep; and how often have they gone to sleep? Who is about to, or
 * was preempted then, is said to sleep, too, and is not yet counted. */
static bool all_sleep(long *times)
{
	DIR *d = opendir("/proc/self/task");
	const struct dirent *e;
	bool sleep = true;

	*times = 0;
	while ((e = readdir(d))) {
		char text[4096], path[300], *at;

		task_file(text, sizeof(text), e->d_name, "comm", path);
		if (strncmp(text, "iou-sqp", 7))
			continue;
		task_file(text, sizeof(text), e->d_name, "status", path);
		at = strstr(text, "State:\t");
		sleep &= at && at[7] == 'S';
		at = strstr(text, "\nvoluntary_ctxt_switches:\t");
		*times += at ? atol(at + 26) : 0;
	}
	closedir(d);
	return sleep;
}

static void it_sleeps_when_there_is_nothing_and_is_woken(void)
{
	uk_vpset_attr a = attr_of("sleep");
	uk_vpset *s = make(&a);
	long before, after;

	if (uk_vpset_sqpoll(s) < 0) {
		printf("skipped: no network processor here, error %d\n",
		       uk_vpset_sqpoll(s));
		return;
	}
	for (int i = 0; i < 5; i++) {
		UNTIL(all_sleep(&before));
		talk(s);
		UNTIL(all_sleep(&after) && after > before);
	}
}

int main(void)
{
	CHECK_EQ(uk_init(), 0);
	RUN(bad_attributes_are_refused);
	RUN(a_plain_set_has_none);
	RUN(what_is_refused_is_told_and_done_without);
	RUN(threads_talk_through_it);
	RUN(threads_talk_in_batches);
	RUN(who_waits_is_told_of_a_close);
	RUN(files_are_opened_by_who_asks);
	RUN(it_sleeps_when_there_is_nothing_and_is_woken);
	return 0;
}
