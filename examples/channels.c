/* SPDX-License-Identifier: Apache-2.0 */
/* Channels: a pipeline (numbers > three squarers > sum), and a select that returns at
 * the first of two events. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <uk/uk.h>

#define WORKERS 3

static uk_chan *numbers, *squares, *done;

static void *produce(void *arg)
{
	for (long i = 1; i <= 100; i++)
		if (uk_chan_send(numbers, &i) < 0)
			abort();
	uk_chan_close(numbers);
	return arg;
}

static void *square(void *arg)
{
	long n;

	while (uk_chan_recv(numbers, &n) == 0) { /* -EPIPE: closed and empty */
		n *= n;
		uk_chan_send(squares, &n);
	}
	uk_chan_send(done, NULL); /* elements of size 0: only the event */
	return arg;
}

static uk_thread *start(void *(*fn)(void *))
{
	uk_thread *t;

	if (uk_thread_create(&t, NULL, fn, NULL) < 0)
		abort();
	return t;
}

int main(void)
{
	long n, sum = 0;
	uk_chan_case s[2] = {
		{ NULL, UK_CHAN_RECV, 0, &n },
		{ NULL, UK_CHAN_RECV, 0, NULL },
	};
	uk_thread *t[WORKERS + 1];
	int left = WORKERS, r;

	if (uk_chan_create(&numbers, sizeof(long), 4) ||
	    uk_chan_create(&squares, sizeof(long), 0) ||
	    uk_chan_create(&done, 0, WORKERS))
		return 1;
	s[0].chan = squares;
	s[1].chan = done;
	t[0] = start(produce);
	for (int i = 1; i <= WORKERS; i++)
		t[i] = start(square);
	while (left)
		if (uk_chan_select(s, 2, UK_FOREVER) == 0)
			sum += n;
		else
			left--;
	printf("1 + 4 + ... + 10000 = %ld\n", sum);
	r = uk_chan_select(s, 2, uk_after(10 * UK_MS));
	printf("nothing more comes: %s\n", r == -ETIMEDOUT ? "timed out" : "?");
	for (int i = 0; i <= WORKERS; i++)
		uk_thread_join(t[i], NULL);
	uk_chan_destroy(numbers);
	uk_chan_destroy(squares);
	uk_chan_destroy(done);
	return 0;
}
