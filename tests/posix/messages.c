/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads write to one pipe, socket, queue or terminal, and many read from it.
 * What is one message natively, or stays together, is so here. */
#include <fcntl.h>
#include <mqueue.h>
#include <pty.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <termios.h>

#include "posix.h"

#define WRITERS 6
#define READERS 4
#define EACH 150
#define MESSAGE 3000
#define LINES 12
#define LINE 6000 /* more than a terminal accepts at once */
#define TYPED 200
#define STREAM (1 << 20)

static int in, out;
static mqd_t queue;
static int got[WRITERS];

static void run(pthread_t *t, void *(*fn)(void *), intptr_t n)
{
	for (intptr_t i = 0; i < n; i++)
		t[i] = start(fn, (void *)i);
}

static void all_end(pthread_t *t, int n)
{
	for (int i = 0; i < n; i++)
		finish(t[i]);
}

/* -- messages of equal length that consist of the writer's letter -- */

static void fill(char *m, intptr_t writer)
{
	memset(m, 'a' + (int)writer, MESSAGE);
}

static void account(const char *m, ssize_t n)
{
	CHECK(n == MESSAGE && m[0] >= 'a' && m[0] < 'a' + WRITERS);
	for (int i = 1; i < MESSAGE; i++)
		CHECK(m[i] == m[0]);
	__atomic_fetch_add(&got[m[0] - 'a'], 1, __ATOMIC_SEQ_CST);
}

static void *writes(void *arg)
{
	char m[MESSAGE];
	struct iovec v[2] = { { m, 100 }, { m + 100, MESSAGE - 100 } };

	fill(m, (intptr_t)arg);
	for (int i = 0; i < EACH; i++)
		CHECK((i & 1 ? writev(out, v, 2) : write(out, m, MESSAGE)) == MESSAGE);
	return NULL;
}

/* A read from a pipe returns one record, as all have the same length; elsewhere it
 * returns a message. */
static void *reads(void *arg)
{
	char m[MESSAGE];
	ssize_t r;

	while ((r = read(in, m, MESSAGE)) > 1)
		account(m, r);
	CHECK(r == 0 || r == 1);
	return arg;
}

/* File descriptors arrive with the bytes of their own message. */
static void *sends_fds(void *arg)
{
	char m[MESSAGE];
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(sizeof(int))];
	} c;

	fill(m, (intptr_t)arg);
	for (int i = 0; i < EACH; i++) {
		struct iovec v = { m, MESSAGE };
		struct msghdr h = { .msg_iov = &v,
				    .msg_iovlen = 1,
				    .msg_control = &c,
				    .msg_controllen = sizeof(c) };
		int p[2];

		CHECK(!pipe(p) && write(p[1], m, 1) == 1 && !close(p[1]));
		c.h = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
					.cmsg_level = SOL_SOCKET,
					.cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&c.h), p, sizeof(int));
		CHECK(sendmsg(out, &h, 0) == MESSAGE);
		CHECK(!close(p[0]));
	}
	return NULL;
}

static void *takes_fds(void *arg)
{
	for (;;) {
		char m[MESSAGE], letter;
		union {
			struct cmsghdr h;
			char space[CMSG_SPACE(sizeof(int))];
		} c;
		struct iovec v = { m, MESSAGE };
		struct msghdr h = { .msg_iov = &v,
				    .msg_iovlen = 1,
				    .msg_control = &c,
				    .msg_controllen = sizeof(c) };
		ssize_t r = recvmsg(in, &h, 0);
		int fd;

		if (r <= 1)
			return arg;
		account(m, r);
		CHECK(h.msg_controllen >= CMSG_LEN(sizeof(int)));
		memcpy(&fd, CMSG_DATA(&c.h), sizeof(fd));
		CHECK(read(fd, &letter, 1) == 1 && letter == m[0] && !close(fd));
	}
}

static void *mq_writes(void *arg)
{
	char m[MESSAGE];

	fill(m, (intptr_t)arg);
	for (int i = 0; i < EACH; i++)
		CHECK(!mq_send(queue, m, MESSAGE, 0));
	return NULL;
}

static void *mq_reads(void *arg)
{
	char m[MESSAGE];
	ssize_t r;

	while ((r = mq_receive(queue, m, MESSAGE, NULL)) > 1)
		account(m, r);
	CHECK(r == 1);
	return arg;
}

static void stop(int i)
{
	(void)i;
	CHECK(write(out, "", 1) == 1);
}

static void mq_stop(int i)
{
	(void)i;
	CHECK(!mq_send(queue, "", 1, 0));
}

static void storm(const char *what, void *(*writer)(void *), void *(*reader)(void *),
		  int readers, void (*stops)(int))
{
	pthread_t w[WRITERS], r[READERS];

	memset(got, 0, sizeof(got));
	run(r, reader, readers);
	run(w, writer, WRITERS);
	all_end(w, WRITERS);
	for (int i = 0; i < readers; i++)
		stops(i);
	all_end(r, readers);
	for (int i = 0; i < WRITERS; i++)
		CHECK(got[i] == EACH);
	puts(what);
}

static void closes(int i)
{
	(void)i;
	CHECK(!close(out));
}

static void pair(int type)
{
	int p[2];

	CHECK(!socketpair(AF_UNIX, type, 0, p));
	in = p[0];
	out = p[1];
}

static void sockets_keep_messages(void)
{
	pair(SOCK_DGRAM);
	storm("datagrams", writes, reads, READERS, stop);
	CHECK(!close(in) && !close(out));
	pair(SOCK_SEQPACKET);
	storm("packets", writes, reads, READERS, stop);
	storm("packets with descriptors", sends_fds, takes_fds, READERS, stop);
	CHECK(!close(in) && !close(out));
}

static void pipes_keep_records(void)
{
	int p[2];

	CHECK(!pipe(p));
	in = p[0];
	out = p[1];
	storm("a pipe", writes, reads, 1, closes);
	CHECK(!close(in));
	CHECK(!pipe2(p, O_DIRECT));
	in = p[0];
	out = p[1];
	storm("a pipe of packets", writes, reads, READERS, stop);
	CHECK(!close(in) && !close(out));
}

static void queues_keep_messages(void)
{
	struct mq_attr a = { .mq_maxmsg = 4, .mq_msgsize = MESSAGE };
	char name[40];

	snprintf(name, sizeof(name), "/uk-messages-%d", getpid());
	queue = mq_open(name, O_CREAT | O_RDWR, 0600, &a);
	CHECK(queue != (mqd_t)-1 && !mq_unlink(name));
	storm("a queue", mq_writes, mq_reads, READERS, mq_stop);
	CHECK(!mq_close(queue));
}

/* -- a stream: the bytes of each writer are in order, and none is lost -- */

static void *streams(void *arg)
{
	unsigned char *m = malloc(STREAM);
	int mine = (int)(intptr_t)arg;

	for (int i = 0; i < STREAM; i++)
		m[i] = (unsigned char)(mine << 7 | i % 127);
	CHECK(write(out, m, STREAM) == STREAM);
	free(m);
	return NULL;
}

static void *sorts(void *arg)
{
	unsigned char m[20000];
	int next[2] = { 0, 0 };
	ssize_t r;

	while ((r = read(in, m, sizeof(m))) > 0)
		for (ssize_t i = 0; i < r; i++) {
			int mine = m[i] >> 7;

			CHECK((m[i] & 127) == next[mine] % 127);
			next[mine]++;
		}
	CHECK(next[0] == STREAM && next[1] == STREAM);
	return arg;
}

static void one_stream(const char *what)
{
	pthread_t r = start(sorts, NULL), w[2];

	run(w, streams, 2);
	all_end(w, 2);
	CHECK(!close(out));
	finish(r);
	CHECK(!close(in));
	puts(what);
}

static void streams_keep_order(void)
{
	int p[2];

	pair(SOCK_STREAM);
	one_stream("a stream");
	CHECK(!pipe(p));
	in = p[0];
	out = p[1];
	one_stream("a pipe as a stream");
}

/* -- a terminal: the bytes of one write stay together -- */

static void *prints(void *arg)
{
	char m[LINE];

	memset(m, 'a' + (int)(intptr_t)arg, LINE);
	m[LINE - 1] = '\n';
	for (int i = 0; i < LINES; i++)
		CHECK(write(out, m, LINE) == LINE);
	return NULL;
}

static void *looks(void *arg)
{
	char m[700];
	int at = 0, letter = 0;
	ssize_t r;

	for (int lines = 0; lines < WRITERS * LINES;) {
		r = read(in, m, sizeof(m));
		CHECK(r > 0);
		for (ssize_t i = 0; i < r; i++)
			if (m[i] == '\n') {
				CHECK(at == LINE - 1);
				got[letter - 'a']++;
				at = 0;
				lines++;
			} else {
				CHECK(!at || letter == m[i]);
				letter = m[i];
				at++;
			}
	}
	return arg;
}

static void terminal_keeps_writes_together(void)
{
	pthread_t r, w[WRITERS];
	struct termios t;

	memset(got, 0, sizeof(got));
	CHECK(!openpty(&in, &out, NULL, NULL, NULL) && !tcgetattr(out, &t));
	cfmakeraw(&t);
	CHECK(!tcsetattr(out, TCSANOW, &t));
	r = start(looks, NULL);
	run(w, prints, WRITERS);
	all_end(w, WRITERS);
	finish(r);
	CHECK(!close(in) && !close(out));
	for (int i = 0; i < WRITERS; i++)
		CHECK(got[i] == LINES);
	puts("a terminal");
}

/* -- a terminal with many readers: each read returns one line -- */

static void *reads_lines(void *arg)
{
	char m[2 * TYPED];
	ssize_t r;

	while ((r = read(out, m, sizeof(m))) > 0) { /* the slave side */
		CHECK(r == TYPED && m[0] >= 'a' && m[0] < 'a' + WRITERS);
		for (int i = 1; i < TYPED - 1; i++)
			CHECK(m[i] == m[0]);
		CHECK(m[TYPED - 1] == '\n');
		__atomic_fetch_add(&got[m[0] - 'a'], 1, __ATOMIC_SEQ_CST);
	}
	CHECK(r == 0);
	return arg;
}

static void readers_get_whole_lines(void)
{
	const char end[] = { 4 }; /* ^D: one read returns 0 */
	pthread_t r[READERS];
	char m[TYPED];
	struct termios t;

	memset(got, 0, sizeof(got));
	CHECK(!openpty(&in, &out, NULL, NULL, NULL) && !tcgetattr(out, &t));
	t.c_lflag &= (tcflag_t)~ECHO;
	CHECK(!tcsetattr(out, TCSANOW, &t));
	run(r, reads_lines, READERS);
	for (int i = 0; i < WRITERS * LINES; i++) {
		memset(m, 'a' + i % WRITERS, TYPED);
		m[TYPED - 1] = '\n';
		CHECK(write(in, m, TYPED) == TYPED);
		if (i % LINES == 0)
			usleep(1000); /* lets the readers wait */
	}
	for (int i = 0; i < READERS; i++)
		CHECK(write(in, end, 1) == 1);
	all_end(r, READERS);
	CHECK(!close(in) && !close(out));
	for (int i = 0; i < WRITERS; i++)
		CHECK(got[i] == LINES);
	puts("lines typed at a terminal");
}

int main(void)
{
	RUN(sockets_keep_messages);
	RUN(pipes_keep_records);
	RUN(queues_keep_messages);
	RUN(streams_keep_order);
	RUN(terminal_keeps_writes_together);
	RUN(readers_get_whole_lines);
	return 0;
}
