/* SPDX-License-Identifier: Apache-2.0 */
/* uk_dump and SIGQUIT show every thread: its state, what it waits for, which thread
 * holds that, and its frames. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include <uk/uk.h>

#include "test.h"

static uk_mutex m = UK_MUTEX_INIT;
static uint32_t stop, held;
static int pipe_fd[2];
void *waits_for_the_mutex(void *arg);
void *reads_the_pipe(void *arg);
void *computes_for_ever(void *arg);

static void *holds_the_mutex(void *arg)
{
	uk_mutex_lock(&m);
	__atomic_store_n(&held, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST))
		uk_sleep(UK_MS);
	uk_mutex_unlock(&m);
	return arg;
}

__attribute__((noinline)) void *waits_for_the_mutex(void *arg)
{
	uk_mutex_lock(&m);
	uk_mutex_unlock(&m);
	return arg;
}

__attribute__((noinline)) void *reads_the_pipe(void *arg)
{
	char c;

	CHECK_EQ(uk_read(pipe_fd[0], &c, 1), 1);
	return arg;
}

/* A dump does not change the errno of a running thread. */
__attribute__((noinline)) void *computes_for_ever(void *arg)
{
	errno = 4711;
	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST))
		;
	CHECK_EQ(errno, 4711);
	return arg;
}

static int waits_on_mutex(const uk_thread_info *i, void *arg)
{
	(void)arg;
	return !strcmp(i->name, "waiter") && !strcmp(i->waits, "mutex");
}

static int reads(const uk_thread_info *i, void *arg)
{
	(void)arg;
	return !strcmp(i->name, "reader") && !strcmp(i->waits, "io");
}

static int runs(const uk_thread_info *i, void *arg)
{
	(void)arg;
	return !strcmp(i->name, "hog") && !strcmp(i->state, "running");
}

static uk_thread *start(const char *name, void *(*fn)(void *))
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t;

	a.name = name;
	CHECK_EQ(uk_thread_create(&t, &a, fn, NULL), 0);
	return t;
}

static char text[1 << 16];

static void take_dump(int by_signal)
{
	int fd = memfd_create("dump", 0), err = dup(2);
	ssize_t n;

	if (by_signal) {
		dup2(fd, 2);
		CHECK_EQ(kill(getpid(), SIGQUIT), 0);
		dup2(err, 2);
	} else {
		uk_dump(fd);
	}
	close(err);
	n = pread(fd, text, sizeof(text) - 1, 0);
	CHECK(n > 0);
	text[n] = 0;
	close(fd);
}

static const char *line_of(const char *name)
{
	static char line[512];
	const char *p = strstr(text, name), *b, *e;

	if (!p) {
		fputs(text, stderr);
		return "";
	}
	for (b = p; b > text && b[-1] != '\n'; b--)
		;
	e = strchr(p, '\n');
	snprintf(line, sizeof(line), "%.*s", (int)(e - b), b);
	return line;
}

static void look(int by_signal)
{
	char holder[64];
	unsigned long id;

	do /* on a busy machine a thread may get no CPU to answer */
		take_dump(by_signal);
	while (strstr(text, "have not answered"));
	CHECK(sscanf(line_of("\"holder\""), " thread %lu", &id) == 1);
	snprintf(holder, sizeof(holder), "held by thread %lu", id);
	CHECK(strstr(line_of("\"waiter\""), "parked on mutex"));
	CHECK(strstr(line_of("\"waiter\""), holder));
	CHECK(strstr(line_of("\"reader\""), "parked on io fd"));
	CHECK(strstr(line_of("\"hog\""), "running"));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	CHECK(strstr(text, "waits_for_the_mutex"));
	CHECK(strstr(text, "reads_the_pipe"));
	CHECK(strstr(text, "computes_for_ever"));
#endif
}

static int count_named(const uk_thread_info *i, void *arg)
{
	int *n = arg;

	if (!strcmp(i->name, "waiter") && !strcmp(i->state, "parked") &&
	    !strcmp(i->waits, "mutex") && i->object == &m && i->holder)
		(*n)++;
	return 0;
}

static void a_dump_shows_every_thread(void)
{
	look(0);
}

static void sigquit_prints_a_dump(void)
{
	look(1);
}

/* ---- many threads with the same frames ---- */

#define MANY 60

static uk_sem gate;

__attribute__((noinline)) static void *waits_at_the_gate(void *arg)
{
	uk_sem_wait(&gate);
	return arg;
}

static int waits_there(const uk_thread_info *i, void *arg)
{
	int *n = arg;

	*n += !strcmp(i->name, "one of many") && !strcmp(i->state, "parked");
	return 0;
}

static int waiting(void)
{
	int n = 0;

	uk_thread_each(waits_there, &n, sizeof(uk_thread_info));
	return n;
}

static unsigned occur(const char *what)
{
	unsigned n = 0;

	for (const char *p = text; (p = strstr(p, what)); p++)
		n++;
	return n;
}

static void frames_that_many_threads_share_are_printed_once(void)
{
	uk_thread *t[MANY];

	uk_sem_init(&gate, 0);
	for (int i = 0; i < MANY; i++)
		t[i] = start("one of many", waits_at_the_gate);
	UNTIL(waiting() == MANY);
	take_dump(0);
	CHECK_EQ(occur("\"one of many\""), MANY);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	unsigned long id, of;
	char first[64];

	CHECK_EQ(occur("      as thread "), MANY - 1);
	CHECK(sscanf(strstr(text, "      as thread "), " as thread %lu", &of) == 1);
	snprintf(first, sizeof(first), "  thread %lu \"one of many\"", of);
	CHECK(strstr(text, first));
	CHECK(sscanf(line_of("\"one of many\""), " thread %lu", &id) == 1 && id == of);
#endif
	for (int i = 0; i < MANY; i++)
		uk_sem_post(&gate);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
}

static void the_program_can_list_its_threads(void)
{
	int n = 0;

	CHECK_EQ(uk_thread_each(count_named, &n, sizeof(uk_thread_info)), 0);
	CHECK_EQ(n, 1);
}

int main(void)
{
	uk_thread *t[4];

	/* a shell may have started us with SIGQUIT ignored */
	signal(SIGQUIT, SIG_DFL);
	CHECK_EQ(pipe(pipe_fd), 0);
	t[0] = start("holder", holds_the_mutex);
	while (!__atomic_load_n(&held, __ATOMIC_SEQ_CST))
		uk_sleep(UK_MS);
	t[1] = start("waiter", waits_for_the_mutex);
	t[2] = start("reader", reads_the_pipe);
	t[3] = start("hog", computes_for_ever);
	UNTIL(uk_thread_each(waits_on_mutex, NULL, sizeof(uk_thread_info)));
	UNTIL(uk_thread_each(reads, NULL, sizeof(uk_thread_info)));
	UNTIL(uk_thread_each(runs, NULL, sizeof(uk_thread_info)));
	RUN(a_dump_shows_every_thread);
	RUN(sigquit_prints_a_dump);
	RUN(frames_that_many_threads_share_are_printed_once);
	RUN(the_program_can_list_its_threads);
	__atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
	CHECK_EQ(write(pipe_fd[1], "x", 1), 1);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	return 0;
}
