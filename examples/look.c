/* SPDX-License-Identifier: Apache-2.0 */
/* Looking: counters, a walk over the threads, the dump. Five threads wait for one
 * semaphore, and the program sees that. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <uk/uk.h>

#define WAITERS 5

static uk_sem sem = UK_SEM_INIT(0);
static char text[1 << 16];

static void *wait_here(void *arg)
{
	uk_sem_wait(&sem);
	return arg;
}

static int count_waiters(const uk_thread_info *i, void *n)
{
	if (!strcmp(i->state, "parked") && i->object == &sem)
		++*(int *)n;
	return 0;
}

static int waiters(void)
{
	int n = 0;

	uk_thread_each(count_waiters, &n, sizeof(uk_thread_info));
	return n;
}

static int lines_with(const char *words)
{
	int n = 0;

	for (const char *p = text; (p = strstr(p, words)); p++)
		n++;
	return n;
}

int main(void)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t[WAITERS];
	uk_stats s;
	int fd = memfd_create("dump", 0);

	a.name = "waiter";
	for (int i = 0; i < WAITERS; i++)
		if (uk_thread_create(&t[i], &a, wait_here, NULL) < 0)
			return 1;
	while (waiters() < WAITERS)
		uk_sleep(UK_MS);
	printf("%d threads wait for the semaphore\n", waiters());

	uk_dump(fd); /* 2 would be standard error */
	if (pread(fd, text, sizeof(text) - 1, 0) < 0)
		return 1;
	printf("the dump shows %d\n", lines_with(" parked on semaphore "));

	for (int i = 0; i < WAITERS; i++)
		uk_sem_post(&sem);
	for (int i = 0; i < WAITERS; i++)
		uk_thread_join(t[i], NULL);
	uk_stats_get(&s, sizeof(s));
	printf("created %d, ended %d, switches %s\n", (int)s.creates, (int)s.exits,
	       s.switches >= WAITERS ? "counted" : "?");
	return 0;
}
