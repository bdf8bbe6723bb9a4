/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous calls: one thread has many requests in flight. It reads the parts of a
 * file in the order in which they complete. A request that gets no data ends at its
 * deadline, or when it is cancelled. Linked requests run in order. The completions of a
 * stream come through a channel, with buffers of a pool. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uk/uk.h>

#define PARTS 64
#define SIZE 512

static char text[PARTS][SIZE];

static int parts(uk_group *g, int fd)
{
	uk_op ops[PARTS];
	uk_completion ends[16];
	int right = 0, r;

	for (int i = 0; i < PARTS; i++)
		ops[i] =
		    UK_OP(.kind = UK_OP_READ, .fd = fd, .addr = text[i], .len = SIZE,
			  .off = (int64_t)i * SIZE, .tag = (uint64_t)i);
	if (uk_group_submit(g, ops, PARTS) != PARTS)
		return -1;
	while ((r = uk_group_wait_any(g, ends, 16, UK_FOREVER)) > 0)
		for (int i = 0; i < r; i++)
			right += ends[i].res == SIZE &&
				 text[ends[i].tag][0] == 'A' + (int)ends[i].tag % 26;
	return right;
}

static long the_end_of(uk_group *g)
{
	uk_completion e = { 0 };

	uk_group_wait_any(g, &e, 1, UK_FOREVER);
	return (long)e.res;
}

/* One operation receives repeatedly, each time into a buffer of the pool. */
static int stream(const char *line)
{
	uk_op all = UK_OP(.kind = UK_OP_RECV, .options = UK_OP_POOL | UK_OP_MULTI);
	int s[2], bytes = 0;
	uk_buf_pool *pool;
	uk_group *g;
	uk_chan *c;
	uk_completion e = { 0 };

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) || uk_buf_pool_create(&pool, 4, 4) ||
	    uk_chan_create(&c, sizeof(uk_completion), 1) || uk_group_create(&g, 8) ||
	    uk_group_to_chan(g, c))
		return -1;
	all.fd = s[0];
	all.addr2 = pool;
	uk_group_submit(g, &all, 1);
	while (*line) {
		uk_send(s[1], line, 1, 0);
		uk_chan_recv(c, &e);
		if (e.res != 1 || *(char *)e.buf != *line++)
			break;
		uk_buf_put(pool, e.buf);
		bytes++;
	}
	uk_group_destroy(g);
	uk_chan_destroy(c);
	uk_buf_pool_destroy(pool);
	return bytes;
}

int main(void)
{
	char name[] = "/tmp/uk-example-XXXXXX", c;
	uk_op silent =
	    UK_OP(.kind = UK_OP_READ, .addr = &c, .len = 1, .off = UK_OP_HERE);
	uk_op chain[2] = { UK_OP(.kind = UK_OP_WRITE, .addr = "0", .len = 1,
				 .options = UK_OP_LINK),
			   UK_OP(.kind = UK_OP_FSYNC) };
	int fd = mkstemp(name), p[2];
	uk_completion both[2];
	uk_group *g;

	if (fd < 0 || unlink(name) || pipe(p) || uk_group_create(&g, PARTS))
		return 1;
	for (int i = 0; i < PARTS; i++) {
		memset(text[0], 'A' + i % 26, SIZE);
		if (uk_pwrite(fd, text[0], SIZE, (off_t)i * SIZE) != SIZE)
			return 1;
	}
	printf("%d of %d parts are right\n", parts(g, fd), PARTS);

	silent.fd = p[0];
	silent.deadline = uk_after(10 * UK_MS);
	uk_group_submit(g, &silent, 1);
	printf("at its deadline: %s\n", strerror(-(int)the_end_of(g)));
	silent.deadline = UK_FOREVER;
	uk_group_submit(g, &silent, 1);
	uk_group_cancel(g, silent.id);
	printf("cancelled: %s\n", strerror(-(int)the_end_of(g)));

	chain[0].fd = chain[1].fd = fd;
	uk_group_submit(g, chain, 2);
	uk_group_wait_all(g, both, 2, UK_FOREVER);
	printf("written: %d, synced: %d\n", (int)both[0].res, (int)both[1].res);

	uk_group_destroy(g);
	printf("%d bytes received\n", stream("one by one"));
	return 0;
}
