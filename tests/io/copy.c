/* SPDX-License-Identifier: Apache-2.0 */
/* sendfile and splice. */
#include "iotest.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define BIG ((size_t)3 << 20)

static int file = -1;  /* has BIG bytes of the pattern */
static int zeros = -1; /* has BIG bytes of zero */

struct job {
	int fd;
	size_t n;
	size_t from;
	int slow;
};

static void *reader(void *arg)
{
	struct job *j = arg;
	unsigned char *b = malloc(20000);
	uint64_t seed = test_seed();
	size_t at = 0;

	for (unsigned i = 0;; i++) {
		ssize_t r = uk_read(j->fd, b, 1 + rnd(&seed) % 20000);

		CHECK(r >= 0);
		if (r == 0)
			break;
		check_fill(b, (size_t)r, j->from + at);
		at += (size_t)r;
		if (j->slow && i % 50 == 0)
			uk_sleep(MS);
	}
	j->n = at;
	free(b);
	return NULL;
}

static void make_out(int kind, int s[2])
{
	if (kind == 0)
		make_tcp(s, 8192);
	else if (kind == 1)
		make_unix(s, SOCK_STREAM);
	else
		make_tcp(s, 0);
}

static void a_large_file_goes_to_a_slow_reader(void)
{
	for (int kind = 0; kind < 3; kind++) {
		struct job j = { .slow = 1, .from = 1000 };
		off_t off = 1000;
		uk_thread *t;
		int s[2];

		make_out(kind, s);
		j.fd = s[1];
		t = spawn(reader, &j);
		CHECK_EQ(lseek(file, 77, SEEK_SET), 77);
		CHECK_EQ(uk_sendfile(s[0], file, &off, BIG - 2000), BIG - 2000);
		CHECK_EQ(off, BIG - 1000);
		CHECK_EQ(lseek(file, 0, SEEK_CUR),
			 77); /* with an offset the position stays */
		CHECK(flags_untouched(s[0]));
		uk_close(s[0]);
		join(t);
		CHECK_EQ(j.n, BIG - 2000);
		uk_close(s[1]);
	}
}

static void without_an_offset_the_position_moves(void)
{
	struct job j = { .from = 500 };
	uk_thread *t;
	int s[2];

	make_tcp(s, 8192);
	j.fd = s[1];
	t = spawn(reader, &j);
	CHECK_EQ(lseek(file, 500, SEEK_SET), 500);
	CHECK_EQ(uk_sendfile(s[0], file, NULL, 100000), 100000);
	CHECK_EQ(lseek(file, 0, SEEK_CUR), 100500);
	CHECK_EQ(uk_sendfile(s[0], file, NULL, 10), 10);
	CHECK_EQ(lseek(file, 0, SEEK_CUR), 100510);
	uk_close(s[0]);
	join(t);
	CHECK_EQ(j.n, 100010);
	uk_close(s[1]);
}

static void sendfile_stops_at_the_end_of_the_file(void)
{
	struct job j = { .from = BIG - 5000 };
	off_t off = BIG - 5000;
	uk_thread *t;
	int s[2];

	make_tcp(s, 0);
	j.fd = s[1];
	t = spawn(reader, &j);
	CHECK_EQ(uk_sendfile(s[0], file, &off, 3000), 3000);
	CHECK_EQ(uk_sendfile(s[0], file, &off, 10000), 2000); /* the end of the file */
	CHECK_EQ(off, BIG);
	CHECK_EQ(uk_sendfile(s[0], file, &off, 10000), 0);
	CHECK_EQ(uk_sendfile(s[0], file, &off, 100000), 0);
	CHECK_EQ(uk_sendfile(s[0], file, &off, 0), 0);
	CHECK_EQ(off, BIG);
	uk_close(s[0]);
	join(t);
	CHECK_EQ(j.n, 5000);
	uk_close(s[1]);
}

static void sendfile_writes_to_a_pipe_and_to_a_file(void)
{
	struct job j = { .from = 0 };
	unsigned char b[1000];
	int p[2], f = temp_file();
	off_t off = 0;
	uk_thread *t;
	ssize_t r;

	make_pipe(p, 8192);
	j.fd = p[0];
	t = spawn(reader, &j);
	CHECK_EQ(uk_sendfile(p[1], file, &off, 200000), 200000);
	uk_close(p[1]);
	join(t);
	CHECK_EQ(j.n, 200000);
	uk_close(p[0]);

	off = 100;
	r = uk_sendfile(f, file, &off, 50000);
	CHECK_EQ(r, 50000);
	CHECK_EQ(uk_pread(f, b, 1000, 49000), 1000);
	check_fill(b, 1000, 49100);
	uk_close(f);
}

static void errors_are_those_of_the_kernel(void)
{
	off_t off = 0, minus = -1;
	int s[2], p[2], dir = uk_open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	int wo = uk_open("/dev/null", O_WRONLY | O_CLOEXEC, 0), before = sigpipes;

	make_tcp(s, 0);
	make_pipe(p, 0);
	CHECK_EQ(uk_sendfile(-1, file, &off, 100), -EBADF);
	CHECK_EQ(uk_sendfile(s[0], -1, &off, 100), -EBADF);
	CHECK_EQ(uk_sendfile(s[0], wo, &off, 100), -EBADF);
	CHECK_EQ(uk_sendfile(s[0], file, &minus, 100), -EINVAL);
	CHECK_EQ(minus, -1);
	CHECK_EQ(uk_sendfile(s[0], dir, &off, 100), -EINVAL);
	CHECK_EQ(uk_sendfile(s[0], p[0], &off, 100), -ESPIPE);
	CHECK_EQ(uk_splice(-1, NULL, p[1], NULL, 1, 0), -EBADF);
	CHECK_EQ(uk_splice(p[0], NULL, -1, NULL, 1, 0), -EBADF);
	CHECK_EQ(uk_splice(file, &off, s[0], NULL, 1, 0), -EINVAL); /* no pipe */
	CHECK_EQ(uk_splice(p[0], &off, s[0], NULL, 1, 0), -ESPIPE);
	uk_close(s[1]);
	off = 0;
	/* the socket's buffer may still take the first bytes */
	for (int i = 0; i < 50 && uk_sendfile(s[0], file, &off, 10000) != -EPIPE; i++)
		uk_sleep(MS);
	CHECK_EQ(uk_sendfile(s[0], file, &off, 10000), -EPIPE);
	CHECK(sigpipes > before);
	uk_close(s[0]);
	uk_close(p[0]);
	uk_close(p[1]);
	uk_close(dir);
	uk_close(wo);
}

static void a_nonblocking_socket_does_not_wait(void)
{
	for (int small = 0; small < 2; small++) {
		size_t n = small ? 10000 : BIG;
		off_t off = 0, end;
		ssize_t r;
		int s[2];

		make_tcp(s, 8192);
		set_nonblock(s[0]);
		do {
			end = off;
			if (off > (off_t)BIG / 2)
				off = 0;
			r = uk_sendfile(s[0], file, &off, n);
		} while (r > 0);
		CHECK_EQ(r, -EAGAIN);
		CHECK(UK_HOSTILE || end > 0);
		uk_close(s[0]);
		uk_close(s[1]);
	}
}

struct relay {
	int in, out;
	size_t n;
};

/* A proxy: socket -> pipe -> socket. */
static void *relay(void *arg)
{
	struct relay *y = arg;
	int p[2];

	make_pipe(p, 0);
	for (;;) {
		ssize_t r = uk_splice(y->in, NULL, p[1], NULL, 30000, SPLICE_F_MOVE);

		CHECK(r >= 0);
		if (r == 0)
			break;
		y->n += (size_t)r;
		while (r) {
			ssize_t w = uk_splice(p[0], NULL, y->out, NULL, (size_t)r, 0);

			CHECK(w > 0);
			r -= w;
		}
	}
	uk_close(p[0]);
	uk_close(p[1]);
	uk_close(y->out);
	return NULL;
}

static void a_relay_of_splices_loses_nothing(void)
{
	struct job j = { .slow = 1 };
	struct relay y = { 0 };
	int a[2], b[2];
	off_t off = 0;
	uk_thread *t, *u;

	make_tcp(a, 8192);
	make_tcp(b, 8192);
	y.in = a[1];
	y.out = b[0];
	j.fd = b[1];
	t = spawn(relay, &y);
	u = spawn(reader, &j);
	CHECK_EQ(uk_sendfile(a[0], file, &off, BIG), BIG);
	uk_close(a[0]);
	join(t);
	join(u);
	CHECK_EQ(y.n, BIG);
	CHECK_EQ(j.n, BIG);
	uk_close(a[1]);
	uk_close(b[1]);
}

static void *moves_the_position(void *arg)
{
	uint32_t *stop = arg;

	while (!__atomic_load_n(stop, __ATOMIC_SEQ_CST)) {
		lseek(file, 7, SEEK_SET);
		uk_yield();
	}
	return NULL;
}

/* sendfile reads the position once at its beginning and sets it once at its end, even
 * if another thread moves it meanwhile. */
static void sendfile_is_not_torn_if_the_position_moves(void)
{
	struct job j = { .from = 7, .slow = 1 };
	uint32_t stop = 0;
	uk_thread *t, *u;
	int s[2];

	make_tcp(s, 8192);
	j.fd = s[1];
	t = spawn(reader, &j);
	CHECK_EQ(lseek(file, 7, SEEK_SET), 7);
	u = spawn(moves_the_position, &stop);
	CHECK_EQ(uk_sendfile(s[0], file, NULL, BIG / 4), BIG / 4);
	__atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
	uk_close(s[0]);
	join(t);
	join(u);
	CHECK_EQ(j.n, BIG / 4);
	uk_close(s[1]);
}

/* A splice out of a pipe goes on until the pipe is empty, even if the other end takes
 * little at a time. */
static void a_splice_out_of_a_pipe_empties_it(void)
{
	struct job j = { .slow = 1 };
	unsigned char b[50000];
	uk_thread *t;
	int p[2], s[2];

	make_pipe(p, 0);
	make_tcp(s, 8192);
	if (fcntl(p[1], F_SETPIPE_SZ, 1 << 16) < (int)sizeof(b)) {
		puts("a pipe of this size is not permitted");
		return;
	}
	fill(b, sizeof(b), 0);
	CHECK_EQ(write(p[1], b, sizeof(b)), sizeof(b));
	j.fd = s[1];
	t = spawn(reader, &j);
	CHECK_EQ(uk_splice(p[0], NULL, s[0], NULL, BIG, 0), sizeof(b));
	uk_close(s[0]);
	join(t);
	CHECK_EQ(j.n, sizeof(b));
	uk_close(s[1]);
	uk_close(p[0]);
	uk_close(p[1]);
}

struct sender {
	int in, out;
	bool splice;
	ssize_t r;
};

static void *sends(void *arg)
{
	struct sender *j = arg;
	off_t off = 0;

	j->r = j->splice ? uk_splice(j->in, NULL, j->out, NULL, BIG, 0)
			 : uk_sendfile(j->out, j->in, &off, BIG);
	return NULL;
}

static void fills_a_pipe(int p[2], const unsigned char *b, size_t n)
{
	make_pipe(p, 0);
	CHECK(fcntl(p[1], F_SETPIPE_SZ, n) >= (int)n);
	CHECK_EQ(write(p[1], b, n), n);
}

/* The input is closed while the call waits, and its fd then refers to another file. No
 * byte of that file is sent. */
static void closed_midway(bool splice)
{
	static unsigned char b[1 << 16], zero[1 << 16];
	struct sender j = { .splice = splice };
	struct job rest = { 0 };
	uk_thread *t, *u;
	int p[2], q[2], s[2];
	ssize_t first;

	make_tcp(s, 4096);
	fill(b, sizeof(b), 0);
	fills_a_pipe(p, b, sizeof(b));
	fills_a_pipe(q, zero, sizeof(zero));
	j.in = splice ? p[0] : dup(file);
	j.out = s[0];
	t = spawn(sends, &j);
	first = uk_read(s[1], b, 100);
	CHECK(first > 0);
	check_fill(b, (size_t)first, 0);
	CHECK_EQ(uk_close(j.in), 0);
	CHECK_EQ(dup2(splice ? q[0] : zeros, j.in), j.in);
	rest.fd = s[1];
	rest.from = (size_t)first;
	u = spawn(reader, &rest);
	join(t);
	uk_close(s[0]);
	join(u);
	CHECK(j.r >= first && j.r < (splice ? (ssize_t)sizeof(b) : (ssize_t)BIG));
	CHECK_EQ(rest.n + (size_t)first, j.r);
	uk_close(s[1]);
	uk_close(j.in);
	if (!splice)
		uk_close(p[0]);
	uk_close(p[1]);
	uk_close(q[0]);
	uk_close(q[1]);
}

static void a_transfer_sends_no_byte_of_a_file_that_reuses_its_fd(void)
{
	closed_midway(false);
	closed_midway(true);
}

static void splice_works_on_files_and_pipes(void)
{
	unsigned char b[5000];
	off_t off = 123, to = 10;
	int p[2], q[2], f = temp_file();

	make_pipe(p, 0);
	make_pipe(q, 0);
	CHECK_EQ(uk_splice(file, &off, p[1], NULL, 4000, 0), 4000);
	CHECK_EQ(off, 4123);
	CHECK_EQ(uk_splice(p[0], NULL, q[1], NULL, 3000, 0), 3000);
	CHECK_EQ(uk_splice(q[0], NULL, f, &to, 3000, 0), 3000);
	CHECK_EQ(to, 3010);
	CHECK_EQ(uk_pread(f, b, 5000, 10), 3000);
	check_fill(b, 3000, 123);
	CHECK_EQ(uk_splice(p[0], NULL, q[1], NULL, 3000, 0), 1000);
	CHECK_EQ(uk_splice(p[0], NULL, q[1], NULL, 3000, SPLICE_F_NONBLOCK), -EAGAIN);
	set_nonblock(p[0]);
	CHECK_EQ(uk_splice(p[0], NULL, f, NULL, 3000, 0), -EAGAIN);
	/* the kernel gives small pipes to a user with many, so make space in q */
	CHECK_EQ(read_k(q[0], b, 5000, 1000), 1000);
	check_fill(b, 1000, 3123);
	uk_close(p[1]);
	CHECK_EQ(uk_splice(p[0], NULL, q[1], NULL, 3000, 0), 0);
	uk_close(p[0]);
	uk_close(q[0]);
	uk_close(q[1]);
	uk_close(f);
}

/* The case of a web server: 10,000 bytes to a client that keeps up should cost little
 * more than two system calls, the read and the send. */
static void a_small_file_costs_two_calls(void)
{
	static unsigned char b[10000];
	uk_stats before, after;
	int s[2], n = 200;
	off_t off;

	make_tcp(s, 0);
	uk_stats_get(&before, sizeof(before));
	for (int i = 0; i < n; i++) {
		off = 0;
		CHECK_EQ(uk_sendfile(s[0], file, &off, sizeof(b)), sizeof(b));
		for (size_t at = 0; at < sizeof(b);) {
			ssize_t r = recv(s[1], b + at, sizeof(b) - at, 0);

			CHECK(r > 0);
			at += (size_t)r;
		}
	}
	uk_stats_get(&after, sizeof(after));
	if (!UK_HOSTILE)
		CHECK(after.io_inline - before.io_inline >= (uint64_t)n);
	printf("%.2f system calls per file, %.2f parks\n",
	       (double)(after.syscalls - before.syscalls) / n,
	       (double)(after.io_parked - before.io_parked) / n);
	if (!UK_HOSTILE)
		CHECK(after.syscalls - before.syscalls <= (uint64_t)n * 3);
	uk_close(s[0]);
	uk_close(s[1]);
}

/* From now on a send with MSG_DONTWAIT gets -EAGAIN, as under TCP's memory pressure. */
static void sends_take_nothing(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendto, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[3])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MSG_DONTWAIT, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof(f) / sizeof(f[0]), f };

	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			 SECCOMP_FILTER_FLAG_TSYNC, &p),
		 0);
}

/* sendfile pauses between its tries, about a thousand times a second. */
static void ready_and_takes_nothing(size_t n, int room)
{
	uk_stats before, after;
	off_t off = 0;
	int s[2];

	make_tcp(s, room);
	uk_stats_get(&before, sizeof(before));
	uk_thread_set_deadline(uk_after(200 * MS));
	CHECK_EQ(uk_sendfile(s[0], file, &off, n), -ETIMEDOUT);
	uk_thread_set_deadline(UK_FOREVER);
	uk_stats_get(&after, sizeof(after));
	printf("%llu system calls\n",
	       (unsigned long long)(after.syscalls - before.syscalls));
	CHECK(after.syscalls - before.syscalls < 5000);
	uk_close(s[0]);
	uk_close(s[1]);
}

/* This is the last test, because the filter stays. (After the hostile build's
 * false answers, sendfile itself is called, which the filter lets through.) */
static void sendfile_does_not_spin_on_a_socket_that_takes_nothing(void)
{
	sends_take_nothing();
	ready_and_takes_nothing(10000, 0);
	ready_and_takes_nothing(100000, 1);
}

int main(void)
{
	unsigned char *b = malloc(BIG);

	io_test_init(HANG_SEC);
	file = temp_file();
	fill(b, BIG, 0);
	CHECK_EQ(write(file, b, BIG), BIG);
	free(b);
	zeros = temp_file();
	CHECK_EQ(ftruncate(zeros, BIG), 0);
	BOTH(a_large_file_goes_to_a_slow_reader);
	BOTH(without_an_offset_the_position_moves);
	BOTH(sendfile_is_not_torn_if_the_position_moves);
	BOTH(a_splice_out_of_a_pipe_empties_it);
	BOTH(sendfile_stops_at_the_end_of_the_file);
	BOTH(sendfile_writes_to_a_pipe_and_to_a_file);
	BOTH(errors_are_those_of_the_kernel);
	BOTH(a_nonblocking_socket_does_not_wait);
	BOTH(a_relay_of_splices_loses_nothing);
	BOTH(a_transfer_sends_no_byte_of_a_file_that_reuses_its_fd);
	BOTH(splice_works_on_files_and_pipes);
	USER(a_small_file_costs_two_calls);
	if (!UK_HOSTILE)
		USER(sendfile_does_not_spin_on_a_socket_that_takes_nothing);
	return 0;
}
