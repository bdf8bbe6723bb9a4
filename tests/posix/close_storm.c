/* SPDX-License-Identifier: Apache-2.0 */
/* Several threads close, replace and query the same file descriptors at the same
 * moment. Any order is allowed, but the results must be consistent with some order. */
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "asleep.h"
#include "posix.h"

#define ROUNDS 300
#define READERS 100

static int contended;      /* the file descriptor that the threads use */
static int pair[2];        /* a stream pair that stays open */
static atomic_int done[3]; /* rounds that each thread has done */
static atomic_int turn;    /* rounds begun */

/* Two threads act at once in each round; main prepares the round and
 * checks the result. */
static void *second(void *each)
{
	void (*fn)(void) = *(void (**)(void))each;

	for (int i = 1; i <= ROUNDS; i++) {
		while (turn < i)
			sched_yield();
		fn();
		done[1] = i;
	}
	return NULL;
}

static void rounds(void (*prepare)(void), void (*first)(void), void (*other)(void),
		   void (*judge)(void))
{
	pthread_t t;

	turn = done[1] = 0;
	t = start(second, &other);
	for (int i = 1; i <= ROUNDS; i++) {
		prepare();
		turn = i;
		first();
		while (done[1] < i)
			sched_yield();
		judge();
	}
	finish(t);
}

/* --- one of two closes succeeds --- */

static atomic_int closed;

static void opens(void)
{
	contended = dup(pair[0]);
	CHECK(contended >= 0);
	closed = 0;
}

static void closes(void)
{
	if (!close(contended))
		closed++;
	else
		CHECK(errno == EBADF);
}

static void closed_once(void)
{
	CHECK(closed == 1);
}

/* --- a query sees the file, or nothing --- */

static void looks(void)
{
	struct stat st;

	for (int i = 0; i < 20; i++) {
		int twin;

		if (fstat(contended, &st))
			CHECK(errno == EBADF);
		else
			CHECK(S_ISSOCK(st.st_mode));
		twin = dup(contended);
		if (twin < 0)
			continue;
		CHECK(!fstat(twin, &st) && S_ISSOCK(st.st_mode));
		close(twin);
	}
}

/* --- a failed dup2 changes nothing --- */

static int target = -1;
static int failed;

static void opens_both(void)
{
	opens();
	target = fcntl(pair[1], F_DUPFD, 500);
	CHECK(target >= 500);
}

static void dups(void)
{
	failed = dup2(contended, target) < 0;
	CHECK(!failed || errno == EBADF);
}

static void target_lives(void)
{
	struct stat st;
	char c = 0;

	CHECK(!fstat(target, &st) && S_ISSOCK(st.st_mode));
	/* it refers to one end or to the other */
	CHECK(write(target, "x", 1) == 1);
	CHECK(read(failed ? pair[0] : pair[1], &c, 1) == 1 && c == 'x');
	CHECK(!close(target));
}

/* --- a write to a descriptor that is replaced goes to one file or the other --- */

static int pipes[2][2];
static atomic_long written;
static atomic_bool stop;

static void *writer(void *arg)
{
	(void)arg;
	while (!stop) {
		CHECK(write(contended, "12345678", 8) == 8);
		written += 8;
	}
	return NULL;
}

static void *drains(void *arg)
{
	int fd = *(int *)arg;
	char buf[4096];
	long sum = 0, n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		sum += n;
	return (void *)sum;
}

static void dup2_loses_no_written_byte(void)
{
	pthread_t w[4], d[2];
	long sum = 0;

	written = 0;
	stop = false;
	CHECK(!pipe(pipes[0]) && !pipe(pipes[1]));
	contended = fcntl(pipes[0][1], F_DUPFD, 600);
	for (int i = 0; i < 2; i++)
		d[i] = start(drains, &pipes[i][0]);
	for (int i = 0; i < 4; i++)
		w[i] = start(writer, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		CHECK(dup2(pipes[i % 2][1], contended) == contended);
		sched_yield();
	}
	stop = true;
	for (int i = 0; i < 4; i++)
		finish(w[i]);
	CHECK(!close(contended) && !close(pipes[0][1]) && !close(pipes[1][1]));
	for (int i = 0; i < 2; i++)
		sum += (long)finish(d[i]);
	CHECK(sum == written);
	close(pipes[0][0]);
	close(pipes[1][0]);
}

/* --- every reader that waited when the data arrived gets it --- */

static int many[READERS][2];
static atomic_int asleep;

static void *reader(void *arg)
{
	int i = (int)(long)arg;
	char got[5], name[16];

	snprintf(name, sizeof(name), "r%d", i);
	CHECK(!pthread_setname_np(pthread_self(), name));
	asleep++;
	CHECK(recv(many[i][0], got, 5, 0) == 5 && !memcmp(got, "bytes", 5));
	return NULL;
}

static void by_close(void)
{
	for (int i = 0; i < READERS; i++)
		CHECK(!close(many[i][0]));
}

static void by_range(void)
{
	CHECK(!close_range((unsigned)many[0][0], (unsigned)many[READERS - 1][0], 0));
}

static void by_dup2(void)
{
	for (int i = 0; i < READERS; i++)
		CHECK(dup2(pair[0], many[i][0]) == many[i][0]);
	by_close();
}

static void *one_closes(void *arg)
{
	CHECK(!close(many[(long)arg][0]));
	return NULL;
}

static void by_threads(void)
{
	pthread_t t[READERS];

	for (long i = 0; i < READERS; i++)
		t[i] = start(one_closes, (void *)i);
	for (int i = 0; i < READERS; i++)
		finish(t[i]);
}

static void told_and_closed(void (*way)(void))
{
	pthread_t t[READERS];

	asleep = 0;
	for (long i = 0; i < READERS; i++) {
		int s[2];

		CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s));
		many[i][0] = fcntl(s[0], F_DUPFD, 400 + (int)i);
		many[i][1] = s[1];
		close(s[0]);
		t[i] = start(reader, (void *)i);
	}
	for (int i = 0; i < READERS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "r%d", i);
		until_sleeps(name);
	}
	for (int i = 0; i < READERS; i++)
		CHECK(write(many[i][1], "bytes", 5) == 5);
	way();
	for (int i = 0; i < READERS; i++) {
		finish(t[i]);
		CHECK(!close(many[i][1]));
	}
}

/* --- whatever happens to the descriptors, each record is read once --- */

#define STREAMS 8
#define FDS 4
#define RECORDS 50 /* few enough that write never blocks, as possibly no thread reads */

static int stream[STREAMS][2];
static int place[FDS];
static atomic_uchar seen[STREAMS][RECORDS];
static atomic_int writing;

static void *writes_records(void *arg)
{
	uint64_t s = (uint64_t)(long)arg;

	for (uint64_t i = 0; i < RECORDS; i++) {
		uint64_t record = s << 32 | i;

		CHECK(write(stream[s][1], &record, 8) == 8);
	}
	writing--;
	return NULL;
}

static void saw(uint64_t record)
{
	CHECK(record >> 32 < STREAMS && (uint32_t)record < RECORDS);
	CHECK(!seen[record >> 32][(uint32_t)record]++);
}

/* Returns false at the end of a stream. */
static bool reads_one(int fd)
{
	uint64_t record;
	ssize_t n = read(fd, &record, 8);

	if (n == 8)
		saw(record);
	else
		CHECK(n == 0 || (n < 0 && errno == EBADF));
	return n != 0;
}

static void *reads_records(void *arg)
{
	unsigned at = (unsigned)(long)arg;

	while (reads_one(place[at++ % FDS]))
		;
	return NULL;
}

/* Makes each descriptor refer to one stream after another. */
static void *changes(void *arg)
{
	for (unsigned i = 0; writing; i++) {
		int at = place[i % FDS], s = (int)(i % STREAMS);

		switch (i / FDS % 4) {
		case 0:
			close(at);
			break;
		case 1:
			close_range((unsigned)at, (unsigned)at, 0);
			break;
		default:
			break;
		}
		CHECK(dup2(stream[s][0], at) == at);
		sched_yield();
	}
	return arg;
}

static void read_once(void)
{
	pthread_t w[STREAMS], r[16], c;

	writing = STREAMS;
	for (int i = 0; i < STREAMS; i++)
		CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, stream[i]));
	for (int i = 0; i < FDS; i++)
		CHECK((place[i] = fcntl(stream[i][0], F_DUPFD, 700 + i)) == 700 + i);
	for (long i = 0; i < 16; i++)
		r[i] = start(reads_records, (void *)i);
	for (long i = 0; i < STREAMS; i++)
		w[i] = start(writes_records, (void *)i);
	c = start(changes, NULL);
	for (int i = 0; i < STREAMS; i++) {
		finish(w[i]);
		close(stream[i][1]);
	}
	finish(c);
	for (int i = 0; i < 16; i++)
		finish(r[i]);
	for (int i = 0; i < STREAMS; i++)
		while (reads_one(stream[i][0]))
			;
	for (int i = 0; i < STREAMS; i++) {
		for (int k = 0; k < RECORDS; k++)
			CHECK(seen[i][k]-- == 1);
		close(stream[i][0]);
	}
	for (int i = 0; i < FDS; i++)
		close(place[i]);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	rounds(opens, closes, closes, closed_once);
	puts("closed once");
	rounds(opens, closes, looks, closed_once);
	puts("a query sees the file or nothing");
	rounds(opens_both, dups, closes, target_lives);
	puts("a failed dup2 changes nothing");
	RUN(dup2_loses_no_written_byte);
	puts("replaced under writers");
	told_and_closed(by_close);
	told_and_closed(by_range);
	told_and_closed(by_dup2);
	told_and_closed(by_threads);
	puts("waiting readers get the data");
	for (int i = 0; i < 20; i++)
		read_once();
	puts("read once");
	return 0;
}
