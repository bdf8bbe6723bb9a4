/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that fast.py counts. A user thread writes a call's number to `mark` before
 * it and 0 after it. Prints the addresses of `mark` and of uk_recv. */
#include <uk/uk.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { BYTES = 64, ROUNDS = 5 };
enum { TIMES = 3 }; /* the first finds nothing known of the sockets */
enum { SEND = 1, RECV, CLOSE, BLOCK, CHAN };

static volatile unsigned long mark;

#define COUNTED(number, call, result)                                                  \
	do {                                                                           \
		long r_;                                                               \
                                                                                       \
		mark = (number);                                                       \
		r_ = (call);                                                           \
		mark = 0;                                                              \
		if (r_ != (result))                                                    \
			abort();                                                       \
	} while (0)

static uk_chan *there, *home;

static void *echo(void *arg)
{
	long v;

	while (!uk_chan_recv(there, &v))
		uk_chan_send(home, &v);
	return arg;
}

static int trip(void)
{
	long v = 0;

	return uk_chan_send(there, &v) + uk_chan_recv(home, &v);
}

static void trips(void)
{
	uk_thread *t;

	if (uk_chan_create(&there, sizeof(long), 0) ||
	    uk_chan_create(&home, sizeof(long), 0) ||
	    uk_thread_create(&t, NULL, echo, NULL) || trip())
		abort();
	COUNTED(CHAN, trip(), 0);
	uk_chan_close(there);
	uk_thread_join(t, NULL);
	uk_chan_destroy(there);
	uk_chan_destroy(home);
}

static void *calls(void *arg)
{
	char buf[BYTES] = { 0 };
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv))
		abort();
	for (int i = 0; i < TIMES; i++) {
		COUNTED(SEND, uk_send(sv[0], buf, BYTES, MSG_NOSIGNAL), BYTES);
		COUNTED(RECV, uk_recv(sv[1], buf, BYTES, 0), BYTES);
	}
	uk_close(sv[0]); /* makes what later ones only use */
	COUNTED(CLOSE, uk_close(sv[1]), 0);
	uk_blocking_begin(); /* the dynamic linker binds these */
	uk_blocking_end();
	COUNTED(BLOCK, (uk_blocking_begin(), uk_blocking_end(), 0), 0);
	trips();
	return arg;
}

int main(void)
{
	uk_thread *t;

	printf("%p %p\n", (void *)(unsigned long)&mark,
	       (void *)(unsigned long)&uk_recv);
	fflush(stdout);
	for (int i = 0; i < ROUNDS; i++)
		if (uk_thread_create(&t, NULL, calls, NULL) || uk_thread_join(t, NULL))
			return 1;
	return 0;
}
