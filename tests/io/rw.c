/* SPDX-License-Identifier: Apache-2.0 */
/* read and write in all their forms, on pipes, files, ttys and an eventfd. */
#include "iotest.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pty.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define BIG ((size_t)1 << 20)

struct job {
	int fd;
	size_t n;
	ssize_t r;
	uint64_t sum;
};

static void *late_writer(void *arg)
{
	struct job *j = arg;

	uk_sleep(5 * MS);
	CHECK_EQ(uk_write(j->fd, "hello", 5), 5);
	return NULL;
}

static void read_waits_for_a_writer(void)
{
	struct job j = { 0 };
	uk_thread *t;
	char b[64];
	int p[2];

	make_pipe(p, 0);
	j.fd = p[1];
	t = spawn(late_writer, &j);
	CHECK_EQ(read_k(p[0], b, sizeof(b), 5), 5);
	CHECK(!memcmp(b, "hello", 5));
	join(t);
	CHECK(flags_untouched(p[0]) && flags_untouched(p[1]));
	CHECK_EQ(uk_close(p[1]), 0);
	CHECK_EQ(uk_read(p[0], b, sizeof(b)), 0);
	CHECK_EQ(uk_close(p[0]), 0);
}

/* Reads in odd sizes, and pauses now and then. */
static void *slow_reader(void *arg)
{
	struct job *j = arg;
	unsigned char b[3000];
	uint64_t seed = test_seed();
	size_t at = 0;

	for (unsigned i = 0;; i++) {
		ssize_t r = uk_read(j->fd, b, 1 + rnd(&seed) % sizeof(b));

		CHECK(r >= 0);
		if (r == 0)
			break;
		check_fill(b, (size_t)r, at);
		at += (size_t)r;
		if (i % 64 == 0)
			uk_sleep(MS);
	}
	j->n = at;
	return NULL;
}

static void a_megabyte_goes_through_a_pipe_of_one_page(void)
{
	unsigned char *b = malloc(BIG);
	struct job j = { 0 };
	uk_thread *t;
	int p[2];

	make_pipe(p, 4096);
	fill(b, BIG, 0);
	j.fd = p[0];
	t = spawn(slow_reader, &j);
	CHECK_EQ(uk_write(p[1], b, BIG), BIG);
	uk_close(p[1]);
	join(t);
	CHECK_EQ(j.n, BIG);
	uk_close(p[0]);
	free(b);
}

static void writev_sends_a_megabyte_through_a_pipe_of_one_page(void)
{
	unsigned char *b = malloc(BIG);
	struct iovec v[40];
	uint64_t seed = test_seed();
	struct job j = { 0 };
	size_t at = 0;
	uk_thread *t;
	int p[2];

	make_pipe(p, 4096);
	fill(b, BIG, 0);
	for (int i = 0; i < 40; i++) {
		size_t n = i == 39 ? BIG - at : i % 7 == 3 ? 0 : rnd(&seed) % 40000;

		n = at + n > BIG ? BIG - at : n;
		v[i] = (struct iovec){ b + at, n };
		at += n;
	}
	j.fd = p[0];
	t = spawn(slow_reader, &j);
	CHECK_EQ(uk_writev(p[1], v, 40), BIG);
	uk_close(p[1]);
	join(t);
	CHECK_EQ(j.n, BIG);
	uk_close(p[0]);
	free(b);
}

static void *vec_writer(void *arg)
{
	struct job *j = arg;
	char s[] = "abcdefg";
	struct iovec v[3] = { { s, 2 }, { s, 0 }, { s + 2, 5 } };

	uk_sleep(2 * MS);
	CHECK_EQ(uk_writev(j->fd, v, 3), 7);
	return NULL;
}

static void readv_scatters(void)
{
	char a[3], c[10];
	struct iovec v[2] = { { a, 3 }, { c, 10 } };
	struct job j = { 0 };
	uk_thread *t;
	int p[2];

	make_pipe(p, 0);
	j.fd = p[1];
	t = spawn(vec_writer, &j);
	CHECK_EQ(uk_readv(p[0], v, 2), 7);
	CHECK(!memcmp(a, "abc", 3) && !memcmp(c, "defg", 4));
	join(t);
	CHECK_EQ(uk_readv(p[0], v, -1), -EINVAL);
	CHECK_EQ(uk_readv(p[0], v, 100000), -EINVAL);
	CHECK_EQ(uk_writev(p[1], v, -1), -EINVAL);
	CHECK_EQ(uk_writev(p[1], v, 100000), -EINVAL);
	CHECK_EQ(uk_writev(p[1], v, 0), 0);
	uk_close(p[0]);
	uk_close(p[1]);
}

static void errors_are_those_of_the_kernel(void)
{
	char b[16];
	struct iovec v = { b, sizeof(b) };
	int p[2], dir = uk_open("/tmp", O_RDONLY | O_DIRECTORY, 0);

	make_pipe(p, 0);
	CHECK_EQ(uk_read(-1, b, 1), -EBADF);
	CHECK_EQ(uk_read(1000000, b, 1), -EBADF);
	CHECK_EQ(uk_write(-1, b, 1), -EBADF);
	CHECK_EQ(uk_readv(-1, &v, 1), -EBADF);
	CHECK_EQ(uk_writev(-1, &v, 1), -EBADF);
	CHECK_EQ(uk_read(p[1], b, 1), -EBADF);
	CHECK_EQ(uk_write(p[0], b, 1), -EBADF);
	CHECK_EQ(uk_read(dir, b, 1), -EISDIR);
	CHECK_EQ(uk_pread(p[0], b, 1, 0), -ESPIPE);
	CHECK_EQ(uk_pwrite(p[1], b, 1, 0), -ESPIPE);
	CHECK_EQ(uk_preadv(p[0], &v, 1, 0), -ESPIPE);
	CHECK_EQ(uk_pwritev(p[1], &v, 1, 0), -ESPIPE);
	CHECK_EQ(uk_pread(-1, b, 1, 0), -EBADF);
	CHECK_EQ(uk_pwrite(-1, b, 1, 0), -EBADF);
	CHECK_EQ(uk_write(p[1], b, 1), 1);
	CHECK_EQ(uk_read(p[0], (void *)8, 1), -EFAULT);
	CHECK_EQ(uk_write(p[1], (void *)8, 1), -EFAULT);
	CHECK_EQ(uk_close(dir), 0);
	CHECK_EQ(uk_close(dir), -EBADF);
	CHECK_EQ(uk_close(-1), -EBADF);
	uk_close(p[0]);
	uk_close(p[1]);
}

static void writing_to_a_broken_pipe_raises_sigpipe_and_fails(void)
{
	int p[2], before = sigpipes;

	make_pipe(p, 0);
	uk_close(p[0]);
	CHECK_EQ(uk_write(p[1], "x", 1), -EPIPE);
	CHECK_EQ(sigpipes, before + 1);
	uk_close(p[1]);
}

/* write(2) raises SIGPIPE. uk_write_all on a socket returns -EPIPE, and the program
 * lives. */
static void write_all_raises_sigpipe_for_a_pipe_but_not_for_a_socket(void)
{
	static const int types[] = { SOCK_STREAM, SOCK_SEQPACKET };
	int s[2], before = sigpipes;

	for (size_t i = 0; i < 2; i++) {
		make_unix(s, types[i]);
		close(s[0]);
		CHECK_EQ(uk_write_all(s[1], "x", 1), -EPIPE);
		CHECK_EQ(sigpipes, before);
		CHECK_EQ(uk_write(s[1], "x", 1), -EPIPE);
		before += types[i] == SOCK_STREAM; /* the kernel signals for streams */
		CHECK_EQ(sigpipes, before);
		close(s[1]);
	}
	make_pipe(s, 0);
	close(s[0]);
	CHECK_EQ(uk_write_all(s[1], "x", 1), -EPIPE);
	CHECK_EQ(sigpipes, before + 1);
	close(s[1]);
}

/* Waits until the pipe is full, so that something has been written, and closes it. */
static void *late_closer(void *arg)
{
	struct job *j = arg;
	int in = 0;

	while (in < 4096) {
		uk_sleep(MS);
		CHECK_EQ(ioctl(j->fd, FIONREAD, &in), 0);
	}
	CHECK_EQ(uk_close(j->fd), 0);
	return NULL;
}

static void a_write_to_a_pipe_that_breaks_returns_the_count(void)
{
	unsigned char *b = calloc(1, BIG);
	struct job j = { 0 };
	uk_thread *t;
	int p[2];
	ssize_t r;

	make_pipe(p, 4096);
	j.fd = p[0];
	t = spawn(late_closer, &j);
	r = uk_write(p[1], b, BIG);
	CHECK_EQ(r, 4096);
	join(t);
	CHECK_EQ(uk_write(p[1], b, BIG), -EPIPE);
	uk_close(p[1]);
	free(b);
}

static void a_nonblocking_fd_does_not_wait(void)
{
	char b[8192];
	struct iovec v[2] = { { b, 100 }, { b + 100, 100 } };
	ssize_t r;
	int p[2], e;

	memset(b, 0, sizeof(b));
	make_pipe(p, 4096);
	set_nonblock(p[0]);
	set_nonblock(p[1]);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(uk_read(p[0], b, 10), -EAGAIN);
		CHECK_EQ(uk_readv(p[0], v, 2), -EAGAIN);
	}
	r = uk_write(p[1], b, sizeof(b));
	CHECK_EQ(r, 4096);
	CHECK_EQ(uk_write(p[1], b, sizeof(b)), -EAGAIN);
	CHECK_EQ(uk_writev(p[1], v, 2), -EAGAIN);
	CHECK_EQ(read_k(p[0], b, 4096, 4096), 4096);
	CHECK_EQ(uk_read(p[0], b, 4096), -EAGAIN);
	CHECK_EQ(uk_write(p[1], b, 10), 10);
	CHECK_EQ(uk_readv(p[0], v, 2), 10);
	uk_close(p[0]);
	uk_close(p[1]);
	e = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	CHECK_EQ(uk_read(e, b, 8), -EAGAIN);
	uk_close(e);
}

static void *late_event(void *arg)
{
	struct job *j = arg;
	uint64_t v = 7;

	uk_sleep(3 * MS);
	CHECK_EQ(uk_write(j->fd, &v, 8), 8);
	return NULL;
}

static void an_eventfd_waits_like_a_pipe(void)
{
	struct job j = { .fd = eventfd(0, EFD_CLOEXEC) };
	uk_thread *t = spawn(late_event, &j);
	uint64_t v = 0;

	CHECK_EQ(uk_read(j.fd, &v, 4), -EINVAL);
	CHECK_EQ(read_k(j.fd, &v, 8, 8), 8);
	CHECK_EQ(v, 7);
	join(t);
	uk_close(j.fd);
}

static void *late_count(void *arg)
{
	struct job *j = arg;
	uint64_t v;

	uk_sleep(3 * MS);
	CHECK_EQ(uk_read(j->fd, &v, 8), 8);
	CHECK_EQ(v, UINT64_MAX - 1);
	return NULL;
}

/* Also once it is known to have no form of write that cannot block. */
static void a_full_eventfd_makes_its_writer_wait(void)
{
	struct job j = { .fd = eventfd(0, EFD_CLOEXEC) };
	uint64_t one = 1, most = UINT64_MAX - 2, v = 0;
	int64_t none;

	for (int i = 0; i < 3; i++) {
		uk_thread *t;

		CHECK_EQ(uk_write(j.fd, &one, 8), 8);
		CHECK_EQ(uk_write(j.fd, &most, 8), 8);
		none = uk_thread_set_deadline(uk_now() + MS);
		CHECK_EQ(uk_write(j.fd, &one, 8), -ETIMEDOUT);
		uk_thread_set_deadline(none);
		t = spawn(late_count, &j);
		CHECK_EQ(uk_write(j.fd, &one, 8), 8);
		join(t);
		set_nonblock(j.fd);
		CHECK_EQ(uk_write(j.fd, &most, 8), 8);
		CHECK_EQ(uk_write(j.fd, &one, 8), -EAGAIN);
		CHECK_EQ(uk_read(j.fd, &v, 8), 8);
		CHECK_EQ(v, UINT64_MAX - 1);
		CHECK_EQ(uk_write(j.fd, &one, 4), -EINVAL);
		CHECK_EQ(fcntl(j.fd, F_SETFL, 0), 0);
	}
	uk_close(j.fd);
}

static void *all_writer(void *arg)
{
	struct job *j = arg;
	unsigned char b[1000];

	for (size_t at = 0; at < j->n; at += sizeof(b)) {
		fill(b, sizeof(b), at);
		CHECK_EQ(uk_write_all(j->fd, b, sizeof(b)), sizeof(b));
		if (at % 10000 == 0)
			uk_yield();
	}
	uk_close(j->fd);
	return NULL;
}

static void read_all_and_write_all_transfer_all_bytes(void)
{
	for (int nb = 0; nb < 2; nb++) {
		unsigned char *b = malloc(200000);
		struct job j = { .n = 100000 };
		uk_thread *t;
		int p[2];

		make_pipe(p, 4096);
		if (nb) {
			set_nonblock(p[0]);
			set_nonblock(p[1]);
		}
		j.fd = p[1];
		t = spawn(all_writer, &j);
		CHECK_EQ(uk_read_all(p[0], b, 60000), 60000);
		check_fill(b, 60000, 0);
		CHECK_EQ(uk_read_all(p[0], b, 200000), 40000);
		check_fill(b, 40000, 60000);
		CHECK_EQ(uk_read_all(p[0], b, 10), 0);
		join(t);
		CHECK_EQ(uk_read_all(-1, b, 10), -EBADF);
		CHECK_EQ(uk_write_all(-1, b, 10), -EBADF);
		uk_close(p[0]);
		free(b);
	}
}

static void files_are_read_and_written_at_their_positions(void)
{
	int fd = temp_file(), ap;
	unsigned char b[1000];
	struct iovec v[2] = { { b, 100 }, { b + 100, 200 } };
	char name[64];

	fill(b, 300, 0);
	CHECK_EQ(uk_write(fd, b, 100), 100);
	CHECK_EQ(uk_write(fd, b + 100, 200), 200);
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), 300);
	CHECK_EQ(uk_read(fd, b, 10), 0);
	CHECK_EQ(lseek(fd, 50, SEEK_SET), 50);
	memset(b, 0, sizeof(b));
	CHECK_EQ(read_k(fd, b, sizeof(b), 250), 250);
	check_fill(b, 250, 50);
	CHECK_EQ(uk_pread(fd, b, 100, 200), 100);
	check_fill(b, 100, 200);
	CHECK_EQ(uk_pread(fd, b, 500, 200), 100);
	CHECK_EQ(uk_pread(fd, b, 10, 300), 0);
	CHECK_EQ(uk_pread(fd, b, 10, -1), -EINVAL);
	CHECK_EQ(uk_pwrite(fd, b, 10, -1), -EINVAL);
	CHECK_EQ(uk_preadv(fd, v, 2, 0), 300);
	check_fill(b, 300, 0);
	CHECK_EQ(uk_preadv(fd, v, 2, 100), 200);
	check_fill(b, 200, 100);
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), 300);
	fill(b, 300, 1000);
	CHECK_EQ(uk_pwritev(fd, v, 2, 1000), 300);
	CHECK_EQ(uk_pwrite(fd, "z", 1, 999), 1);
	CHECK_EQ(uk_pread(fd, b, 301, 999), 301);
	CHECK_EQ(b[0], 'z');
	check_fill(b + 1, 300, 1000);
	lseek(fd, 0, SEEK_SET);
	CHECK_EQ(uk_readv(fd, v, 2), 300);
	check_fill(b, 300, 0);
	CHECK_EQ(uk_writev(fd, v, 2), 300);
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), 600);

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	ap = uk_open(name, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
	CHECK(ap >= 0);
	CHECK_EQ(uk_write(ap, "tail", 4), 4);
	CHECK_EQ(uk_pread(fd, b, 10, 1300), 4);
	CHECK_EQ(uk_read(ap, b, 1), -EBADF);
	uk_close(ap);
	uk_close(fd);
}

/* A page in the middle that is not in the page cache must not look like the end of the
 * file. */
static void an_uncached_page_is_not_the_end_of_the_file(void)
{
	size_t n = 64 * 4096;
	unsigned char *b = malloc(n);
	int fd = temp_file();

	fill(b, n, 0);
	CHECK_EQ(uk_write_all(fd, b, n), n);
	CHECK_EQ(uk_fsync(fd), 0);
	for (int way = 0; way < 2; way++) {
		CHECK_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
		CHECK_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), 0);
		CHECK_EQ(pread(fd, b, 4096, 0),
			 4096); /* only the first page is cached */
		memset(b, 0, n);
		lseek(fd, 0, SEEK_SET);
		if (way)
			CHECK_EQ(uk_pread(fd, b, n, 0), n);
		else
			CHECK_EQ(uk_read(fd, b, n), n);
		check_fill(b, n, 0);
	}
	uk_close(fd);
	free(b);
}

#define RECORD ((size_t)24576)
#define RECORDS 200
#define SHARERS 8

static unsigned char counted[RECORDS];

static void *takes_records(void *arg)
{
	struct job *j = arg;
	unsigned char *b = malloc(RECORD);
	struct iovec v[2] = { { b, 100 }, { b + 100, RECORD - 100 } };
	ssize_t r;

	while ((r = j->n ? uk_read(j->fd, b, RECORD) : uk_readv(j->fd, v, 2)) > 0) {
		CHECK_EQ(r, RECORD);
		for (size_t i = 1; i < RECORD; i++)
			CHECK(b[i] == b[0]);
		__atomic_fetch_add(&counted[b[0]], 1, __ATOMIC_SEQ_CST);
	}
	CHECK_EQ(r, 0);
	free(b);
	return NULL;
}

/* Of each record some pages are not in the page cache. */
static void threads_that_share_a_position_read_each_record_once(void)
{
	unsigned char *b = malloc(RECORD);
	struct job j[SHARERS];
	uk_thread *t[SHARERS];
	int fd = temp_file();

	for (int i = 0; i < RECORDS; i++) {
		memset(b, i, RECORD);
		CHECK_EQ(uk_write(fd, b, RECORD), RECORD);
	}
	CHECK_EQ(uk_fsync(fd), 0);
	for (off_t i = 0; i < RECORDS; i++) {
		off_t at = i * (off_t)RECORD;

		posix_fadvise(fd, at, (off_t)RECORD, POSIX_FADV_RANDOM);
		posix_fadvise(fd, at + (i % 4 + 1) * 4096, 4096 * (1 + i % 3),
			      POSIX_FADV_DONTNEED);
	}
	lseek(fd, 0, SEEK_SET);
	memset(counted, 0, sizeof(counted));
	for (size_t i = 0; i < SHARERS; i++) {
		j[i] = (struct job){ .fd = fd, .n = i & 1 };
		t[i] = spawn(takes_records, &j[i]);
	}
	for (int i = 0; i < SHARERS; i++)
		join(t[i]);
	for (int i = 0; i < RECORDS; i++)
		CHECK_EQ(counted[i], 1);
	uk_close(fd);
	free(b);
}

/* The library does not see close(2) and dup2(2). The fd is a pipe now, and its deadline
 * counts. */
static void an_fd_that_becomes_a_pipe_by_dup2_waits_like_one(void)
{
	int fd = temp_file(), p[2];
	char b[4] = "abc";

	CHECK_EQ(uk_write(fd, b, 4), 4);
	CHECK_EQ(uk_pread(fd, b, 4, 0), 4);
	lseek(fd, 0, SEEK_SET);
	CHECK_EQ(uk_read(fd, b, 4), 4);
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(dup2(p[0], fd), fd);
	close(p[0]);
	uk_thread_set_deadline(uk_now() + 5 * MS);
	CHECK_EQ(uk_read(fd, b, 4), -ETIMEDOUT);
	uk_thread_set_deadline(UK_FOREVER);
	close(p[1]);
	close(fd);
}

static void devices_answer_at_once(void)
{
	int null = uk_open("/dev/null", O_RDWR | O_CLOEXEC, 0);
	int zero = uk_open("/dev/zero", O_RDONLY | O_CLOEXEC, 0);
	int proc = uk_open("/proc/self/status", O_RDONLY | O_CLOEXEC, 0);
	char b[100] = { 1 }, *big = malloc(BIG);

	CHECK_EQ(uk_read(zero, big, BIG), BIG);
	free(big);
	CHECK_EQ(uk_write(null, b, 100), 100);
	CHECK_EQ(uk_read(null, b, 100), 0);
	CHECK_EQ(read_k(zero, b, 100, 100), 100);
	CHECK_EQ(b[0], 0);
	CHECK_EQ(read_k(proc, b, 5, 5), 5);
	CHECK(!memcmp(b, "Name:", 5));
	uk_close(null);
	uk_close(zero);
	uk_close(proc);
}

static void *tty_typist(void *arg)
{
	struct job *j = arg;

	uk_sleep(5 * MS);
	CHECK_EQ(uk_write(j->fd, "line\n", 5), 5);
	return NULL;
}

static void a_tty_can_be_read_and_written(void)
{
	struct job j = { 0 };
	int master, tty;
	uk_thread *t;
	char b[100];
	ssize_t r;

	if (openpty(&master, &tty, NULL, NULL, NULL) < 0) {
		printf("no pty is available here\n");
		return;
	}
	j.fd = master;
	t = spawn(tty_typist, &j);
	CHECK_EQ(read_k(tty, b, sizeof(b), 5), 5);
	CHECK(!memcmp(b, "line\n", 5));
	join(t);
	CHECK_EQ(uk_write(tty, "out", 3), 3);
	/* after the echo of the line, which comes in pieces */
	for (size_t got = 0; !memmem(b, got, "out", 3); got += (size_t)r) {
		r = uk_read(master, b + got, sizeof(b) - got);
		CHECK(r > 0);
	}
	CHECK(flags_untouched(tty) && flags_untouched(master));
	uk_close(tty);
	uk_close(master);
}

static void *pager(void *arg)
{
	struct job *j = arg;
	char rec[4096];

	memset(rec, 'a' + j->fd % 2, sizeof(rec));
	for (int i = 0; i < 200; i++)
		CHECK_EQ(uk_write((int)j->n, rec, sizeof(rec)), sizeof(rec));
	return NULL;
}

static void writes_of_up_to_a_page_are_atomic(void)
{
	struct job a = { .fd = 0 }, c = { .fd = 1 };
	uk_thread *t, *u;
	char b[4096];
	int p[2];

	make_pipe(p, 8192);
	a.n = c.n = (size_t)p[1];
	t = spawn(pager, &a);
	u = spawn(pager, &c);
	for (int i = 0; i < 400; i++) {
		CHECK_EQ(uk_read_all(p[0], b, sizeof(b)), sizeof(b));
		for (size_t k = 1; k < sizeof(b); k++)
			CHECK_EQ(b[k], b[0]);
	}
	join(t);
	join(u);
	uk_close(p[0]);
	uk_close(p[1]);
}

static int busy_pipe[2];
static uint32_t busy_over;

static void *busy_with_io(void *arg)
{
	char c = 'b';

	/* each call is done at once; a read is tried, because the last one filled its
	 * buffer */
	while (!__atomic_load_n(&busy_over, __ATOMIC_SEQ_CST)) {
		CHECK_EQ(uk_write(busy_pipe[1], &c, 1), 1);
		CHECK_EQ(uk_read(busy_pipe[0], &c, 1), 1);
	}
	return arg;
}

static void *ends_busy(void *arg)
{
	CHECK_EQ(uk_sleep(MS), 0);
	__atomic_store_n(&busy_over, 1, __ATOMIC_SEQ_CST);
	return arg;
}

static void io_that_never_waits_lets_others_run(void)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *b, *e;

	make_pipe(busy_pipe, 0);
	busy_over = 0;
	a.vp = uk_vpset_vp(uk_vpset_default(), 0);
	CHECK_EQ(uk_thread_create(&b, &a, busy_with_io, NULL), 0);
	CHECK_EQ(uk_thread_create(&e, &a, ends_busy, NULL), 0);
	join(e);
	join(b);
	CHECK_EQ(uk_close(busy_pipe[0]), 0);
	CHECK_EQ(uk_close(busy_pipe[1]), 0);
}

/* From now on RWF_NOWAIT is refused, as by pipes before Linux 6.4. */
static void nowait_is_refused(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_preadv2, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwritev2, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[5])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, RWF_NOWAIT, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof(f) / sizeof(f[0]), f };

	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			 SECCOMP_FILTER_FLAG_TSYNC, &p),
		 0);
}

int main(void)
{
	io_test_init(HANG_SEC);
	BOTH(read_waits_for_a_writer);
	BOTH(a_megabyte_goes_through_a_pipe_of_one_page);
	BOTH(writev_sends_a_megabyte_through_a_pipe_of_one_page);
	BOTH(readv_scatters);
	BOTH(io_that_never_waits_lets_others_run);
	BOTH(errors_are_those_of_the_kernel);
	BOTH(writing_to_a_broken_pipe_raises_sigpipe_and_fails);
	BOTH(write_all_raises_sigpipe_for_a_pipe_but_not_for_a_socket);
	BOTH(a_write_to_a_pipe_that_breaks_returns_the_count);
	BOTH(a_nonblocking_fd_does_not_wait);
	BOTH(an_eventfd_waits_like_a_pipe);
	BOTH(a_full_eventfd_makes_its_writer_wait);
	BOTH(read_all_and_write_all_transfer_all_bytes);
	BOTH(files_are_read_and_written_at_their_positions);
	BOTH(an_uncached_page_is_not_the_end_of_the_file);
	BOTH(threads_that_share_a_position_read_each_record_once);
	BOTH(an_fd_that_becomes_a_pipe_by_dup2_waits_like_one);
	BOTH(devices_answer_at_once);
	BOTH(a_tty_can_be_read_and_written);
	BOTH(writes_of_up_to_a_page_are_atomic);
	nowait_is_refused(); /* the filter stays */
	BOTH(read_waits_for_a_writer);
	BOTH(a_megabyte_goes_through_a_pipe_of_one_page);
	BOTH(writev_sends_a_megabyte_through_a_pipe_of_one_page);
	BOTH(a_nonblocking_fd_does_not_wait);
	BOTH(a_full_eventfd_makes_its_writer_wait);
	return 0;
}
