/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous calls: every kind of request, and every way to collect completions, on
 * the engine of this run. */
#include "../io/iotest.h"

#include <linux/stat.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* On epoll each request is a light thread, and TSan supports at most 8,128 threads. */
#ifdef __SANITIZE_THREAD__
#define MANY 4000u
#else
#define MANY 10000u
#endif
#define PIPES 50u

static uk_group *g;

static void group(unsigned depth)
{
	CHECK_EQ(uk_group_create(&g, depth), 0);
}

static void done(void)
{
	uk_completion e;

	CHECK_EQ(uk_group_wait_any(g, &e, 1, UK_FOREVER), 0); /* nothing is left */
	uk_group_destroy(g);
}

static uint64_t submit(uk_op o)
{
	CHECK_EQ(uk_group_submit(g, &o, 1), 1);
	CHECK(o.id);
	return o.id;
}

/* The result of the only request in flight. */
static int64_t end(void)
{
	uk_completion e = { 0 };

	CHECK_EQ(uk_group_wait_any(g, &e, 1, UK_FOREVER), 1);
	return e.res;
}

static int64_t one(uk_op o)
{
	submit(o);
	return end();
}

#define READ(f, b, n)                                                                  \
	UK_OP(.kind = UK_OP_READ, .fd = (f), .addr = (b), .len = (n), .off = UK_OP_HERE)
#define WRITE(f, b, n)                                                                 \
	UK_OP(.kind = UK_OP_WRITE, .fd = (f), .addr = (b), .len = (n),                 \
	      .off = UK_OP_HERE)

static void streams_are_read_and_written(void)
{
	char a[8], b[8], c[4] = "", d[4] = "";
	struct iovec in[2] = { { c, 2 }, { d, 2 } }, out[2] = { { a, 2 }, { b, 2 } };
	int p[2], turns = 3;

	group(8);
	make_pipe(p, 0);
	memset(a, 'a', sizeof(a));
	memset(b, 'b', sizeof(b));
	while (turns--) { /* the first time the library does not know the fds */
		CHECK_EQ(one(WRITE(p[1], "x", 1)), 1);
		CHECK_EQ(one(READ(p[0], c, 1)), 1);
		CHECK_EQ(c[0], 'x');
		submit(READ(p[0], c, 1));
		CHECK_EQ(uk_write(p[1], "y", 1), 1);
		CHECK_EQ(end(), 1);
		CHECK_EQ(c[0], 'y');
		CHECK_EQ(one(UK_OP(.kind = UK_OP_WRITEV, .fd = p[1], .addr = out,
				   .len = 2, .off = UK_OP_HERE)),
			 4);
		CHECK_EQ(one(UK_OP(.kind = UK_OP_READV, .fd = p[0], .addr = in,
				   .len = 2, .off = UK_OP_HERE)),
			 4);
		CHECK(c[0] == 'a' && c[1] == 'a' && d[0] == 'b' && d[1] == 'b');
	}
	uk_close(p[1]);
	CHECK_EQ(one(READ(p[0], c, 1)), 0);
	uk_close(p[0]);
	done();
}

static void files_are_read_and_written(void)
{
	int f = temp_file();
	char b[4] = "";
	struct iovec v = { b, 1 };

	group(8);
	CHECK_EQ(
	    one(UK_OP(.kind = UK_OP_WRITE, .fd = f, .addr = "q", .len = 1, .off = 5)),
	    1);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_READ, .fd = f, .addr = b, .len = 1, .off = 5)),
		 1);
	CHECK_EQ(b[0], 'q');
	CHECK_EQ(
	    one(UK_OP(.kind = UK_OP_WRITEV, .fd = f, .addr = &v, .len = 1, .off = 6)),
	    1);
	b[0] = 0;
	CHECK_EQ(
	    one(UK_OP(.kind = UK_OP_READV, .fd = f, .addr = &v, .len = 1, .off = 6)),
	    1);
	CHECK_EQ(b[0], 'q');
	CHECK_EQ(one(UK_OP(.kind = UK_OP_READ, .fd = f, .addr = b, .len = 1, .off = 7)),
		 0);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_FSYNC, .fd = f)), 0);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_FSYNC, .fd = f, .flags = 1)), 0);
	/* at the position of the file, which each write moves */
	CHECK_EQ(one(WRITE(f, "12", 1)), 1);
	CHECK_EQ(one(WRITE(f, "34", 1)), 1);
	CHECK_EQ(pread(f, b, 2, 0), 2);
	CHECK(b[0] == '1' && b[1] == '3');
	uk_close(f);
	done();
}

static void sockets_connect_and_transfer_bytes(void)
{
	struct sockaddr_in at, peer;
	socklen_t len = sizeof(peer);
	int s[2], l = make_listener(&at, 8), c;
	char b[4] = "";
	struct iovec v = { b, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	uk_completion e[2];

	group(8);
	make_unix(s, SOCK_STREAM);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_SEND, .fd = s[0], .addr = "s", .len = 1)), 1);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_RECV, .fd = s[1], .addr = b, .len = 1)), 1);
	CHECK_EQ(b[0], 's');
	b[0] = 'm';
	CHECK_EQ(one(UK_OP(.kind = UK_OP_SENDMSG, .fd = s[0], .addr = &m)), 1);
	b[0] = 0;
	CHECK_EQ(one(UK_OP(.kind = UK_OP_RECVMSG, .fd = s[1], .addr = &m)), 1);
	CHECK_EQ(b[0], 'm');
	CHECK_EQ(one(UK_OP(.kind = UK_OP_RECV, .fd = s[1], .addr = b, .len = 1,
			   .flags = MSG_DONTWAIT)),
		 -EAGAIN);
	uk_close(s[0]);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_RECV, .fd = s[1], .addr = b, .len = 1)), 0);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_SEND, .fd = s[1], .addr = "s", .len = 1)),
		 -EPIPE);
	uk_close(s[1]);

	for (int nonblock = 0; nonblock < 2; nonblock++) {
		c = socket(AF_INET,
			   SOCK_STREAM | SOCK_CLOEXEC | (nonblock ? SOCK_NONBLOCK : 0),
			   0);
		submit(UK_OP(.kind = UK_OP_ACCEPT, .fd = l, .addr = &peer,
			     .addr2 = &len, .flags = SOCK_CLOEXEC, .tag = 1));
		submit(UK_OP(.kind = UK_OP_CONNECT, .fd = c, .addr = &at,
			     .len = sizeof(at), .tag = 2));
		CHECK_EQ(uk_group_wait_all(g, e, 2, UK_FOREVER), 2);
		CHECK(e[0].tag + e[1].tag == 3 && e[0].tag != e[1].tag);
		for (int i = 0; i < 2; i++) {
			CHECK(e[i].tag == 1 ? e[i].res > 2 : e[i].res == 0);
			if (e[i].tag == 1)
				uk_close((int)e[i].res);
		}
		uk_close(c);
	}
	uk_close(l);
	l = make_deaf(&at);
	c = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_EQ(
	    one(UK_OP(.kind = UK_OP_CONNECT, .fd = c, .addr = &at, .len = sizeof(at))),
	    -ECONNREFUSED);
	uk_close(c);
	uk_close(l);
	CHECK_EQ(sigpipes, 0);
	done();
}

static void files_are_opened_examined_and_renamed(void)
{
	char dir[] = "/tmp/uk-async-XXXXXX", to[] = "b";
	struct statx st = { 0 };
	int64_t d, f;

	group(8);
	CHECK(mkdtemp(dir));
	d = one(UK_OP(.kind = UK_OP_OPENAT, .fd = AT_FDCWD, .addr = dir,
		      .flags = O_DIRECTORY | O_CLOEXEC));
	CHECK(d > 2);
	f = one(UK_OP(.kind = UK_OP_OPENAT, .fd = (int)d, .addr = "a",
		      .flags = O_CREAT | O_RDWR | O_CLOEXEC, .len = 0600));
	CHECK(f > 2 && f != d);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_WRITE, .fd = (int)f, .addr = "abc", .len = 1,
			   .off = 2)),
		 1);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_STATX, .fd = (int)d, .addr = "a",
			   .len = STATX_SIZE, .addr2 = &st)),
		 0);
	CHECK_EQ(st.stx_size, 3);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_RENAME, .fd = (int)d, .addr = "a",
			   .fd2 = (int)d, .addr2 = to)),
		 0);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_STATX, .fd = (int)d, .addr = "a",
			   .len = STATX_SIZE, .addr2 = &st)),
		 -ENOENT);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_CLOSE, .fd = (int)f)), 0);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_CLOSE, .fd = (int)f)), -EBADF);
	CHECK_EQ(unlinkat((int)d, "b", 0), 0);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_CLOSE, .fd = (int)d)), 0);
	CHECK_EQ(rmdir(dir), 0);
	done();
}

static void polls_and_timeouts_complete(void)
{
	int p[2];

	group(8);
	make_pipe(p, 0);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_NOP)), 0);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_POLL, .fd = p[1], .flags = POLLOUT)), POLLOUT);
	submit(UK_OP(.kind = UK_OP_POLL, .fd = p[0], .flags = POLLIN));
	CHECK_EQ(uk_write(p[1], "x", 1), 1);
	CHECK_EQ(end(), POLLIN);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_TIMEOUT, .deadline = uk_after(UK_MS))), 0);
	CHECK_EQ(one((uk_op){ .kind = UK_OP_TIMEOUT }), 0);
	uk_close(p[0]);
	uk_close(p[1]);
	done();
}

static void errors_are_those_of_the_calls(void)
{
	static const int with_fd[] = { UK_OP_READ, UK_OP_WRITE, UK_OP_RECV,
				       UK_OP_SEND, UK_OP_FSYNC, UK_OP_CLOSE,
				       UK_OP_POLL, UK_OP_ACCEPT };
	char *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int f = temp_file(), p[2];
	char b[300], nowhere_to[] = "/nowhere/b";

	group(8);
	make_pipe(p, 0);
	CHECK_EQ(write(p[1], "x", 1), 1);
	CHECK_EQ(pwrite(f, "x", 1, 0), 1);
	for (unsigned i = 0; i < sizeof(with_fd) / sizeof(with_fd[0]); i++) {
		CHECK_EQ(one(UK_OP(.kind = with_fd[i], .fd = -1,
				   .addr = with_fd[i] == UK_OP_ACCEPT ? NULL : b,
				   .len = 1, .off = UK_OP_HERE,
				   .flags = with_fd[i] == UK_OP_POLL ? POLLIN : 0)),
			 -EBADF);
		CHECK_EQ(one(UK_OP(.kind = with_fd[i], .fd = 1 << 19,
				   .addr = with_fd[i] == UK_OP_ACCEPT ? NULL : b,
				   .len = 1, .off = UK_OP_HERE,
				   .flags = with_fd[i] == UK_OP_POLL ? POLLIN : 0)),
			 -EBADF);
	}
	CHECK_EQ(one(UK_OP(.kind = UK_OP_READ, .fd = p[1], .addr = b, .len = 1,
			   .off = UK_OP_HERE)),
		 -EBADF);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_OPENAT, .fd = AT_FDCWD,
			   .addr = "/nowhere/at/all", .flags = O_RDONLY)),
		 -ENOENT);
	CHECK_EQ(
	    one(UK_OP(.kind = UK_OP_RENAME, .fd = AT_FDCWD, .addr = "/nowhere/at/all",
		      .fd2 = AT_FDCWD, .addr2 = nowhere_to)),
	    -ENOENT);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_STATX, .fd = AT_FDCWD,
			   .addr = "/nowhere/at/all", .addr2 = b)),
		 -ENOENT);
	CHECK_EQ(one(READ(p[0], nowhere, 1)), -EFAULT);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_READ, .fd = f, .addr = nowhere, .len = 1)),
		 -EFAULT);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_OPENAT, .fd = AT_FDCWD, .addr = nowhere)),
		 -EFAULT);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_STATX, .fd = AT_FDCWD, .addr = "/",
			   .addr2 = nowhere)),
		 -EFAULT);
	CHECK_EQ(
	    one(UK_OP(.kind = UK_OP_READ, .fd = p[0], .addr = b, .len = 1, .off = 3)),
	    -ESPIPE);
	CHECK_EQ(
	    one(UK_OP(.kind = UK_OP_READ, .fd = f, .addr = b, .len = 1, .off = -2)),
	    -EINVAL);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_RECV, .fd = f, .addr = b, .len = 1)),
		 -ENOTSOCK);
	CHECK_EQ(one(UK_OP(.kind = 12345)), -EINVAL);
	CHECK_EQ(one(UK_OP(.kind = -1)), -EINVAL);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_NOP, .options = 32)), -EINVAL);
	CHECK_EQ(
	    one(UK_OP(.kind = UK_OP_TIMEOUT, .deadline = 1, .options = UK_OP_MULTI)),
	    -EINVAL);
	/* the fds are the wrong way round: neither ever becomes ready */
	CHECK_EQ(one(UK_OP(.kind = UK_OP_SPLICE, .fd = p[0], .off = UK_OP_HERE,
			   .fd2 = p[1], .off2 = UK_OP_HERE, .len = 1)),
		 -EBADF);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_TIMEOUT, .deadline = 1, .reserved = 1)),
		 -EINVAL);
	CHECK_EQ(uk_group_create(&(uk_group *){ NULL }, 0), -EINVAL);
	CHECK_EQ(uk_group_create(NULL, 1), -EINVAL);
	CHECK_EQ(uk_group_wait_any(g, NULL, 0, 0), -EINVAL);
	CHECK_EQ(uk_group_cancel(g, 1ull << 40), -ENOENT);
	CHECK_EQ(uk_group_cancel(g, 77), -ENOENT);
	uk_close(f);
	uk_close(p[0]);
	uk_close(p[1]);
	munmap(nowhere, 4096);
	done();
}

/* The library reads the description of a request before the request begins. A bad
 * pointer there is an error and no signal, even if there was memory once. */
static void a_bad_pointer_completes_with_efault(void)
{
	char *was = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	     *bad[2] = { NULL, was }, b[300];
	int s[2];

	group(8);
	memset(was, '/', 4096);
	CHECK_EQ(mprotect(was, 4096, PROT_NONE), 0);
	make_unix(s, SOCK_STREAM);
	CHECK_EQ(write(s[1], "x", 1), 1);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(
		    one(UK_OP(.kind = UK_OP_OPENAT, .fd = AT_FDCWD, .addr = bad[i])),
		    -EFAULT);
		CHECK_EQ(one(UK_OP(.kind = UK_OP_STATX, .fd = AT_FDCWD, .addr = bad[i],
				   .addr2 = b)),
			 -EFAULT);
		CHECK_EQ(one(UK_OP(.kind = UK_OP_READV, .fd = s[0], .addr = bad[i],
				   .len = 1, .off = UK_OP_HERE)),
			 -EFAULT);
		CHECK_EQ(one(UK_OP(.kind = UK_OP_SENDMSG, .fd = s[0], .addr = bad[i])),
			 -EFAULT);
		CHECK_EQ(one(UK_OP(.kind = UK_OP_SENDMSG, .fd = s[0], .addr = bad[i],
				   .options = UK_OP_ZEROCOPY)),
			 -EFAULT);
		CHECK_EQ(one(UK_OP(.kind = UK_OP_RECVMSG, .fd = s[0], .addr = bad[i])),
			 -EFAULT);
		CHECK_EQ(one(UK_OP(.kind = UK_OP_FUTEX, .addr = bad[i])), -EFAULT);
	}
	uk_close(s[0]);
	uk_close(s[1]);
	munmap(was, 4096);
	done();
}

static void a_request_on_a_nonblocking_fd_waits(void)
{
	char b[2];
	int p[2], s[2];

	group(8);
	make_pipe(p, 0);
	make_unix(s, SOCK_STREAM);
	set_nonblock(p[0]);
	set_nonblock(s[0]);
	for (int i = 0; i < 3; i++) {
		submit(READ(p[0], b, 1));
		CHECK_EQ(uk_group_wait_any(g, &(uk_completion){ 0 }, 1,
					   i ? uk_after(UK_MS) : 0),
			 -ETIMEDOUT);
		CHECK_EQ(write(p[1], "x", 1), 1);
		CHECK_EQ(end(), 1);
		submit(UK_OP(.kind = UK_OP_RECV, .fd = s[0], .addr = b, .len = 1));
		CHECK_EQ(uk_group_wait_any(g, &(uk_completion){ 0 }, 1, 0), -ETIMEDOUT);
		CHECK_EQ(write(s[1], "x", 1), 1);
		CHECK_EQ(end(), 1);
	}
	for (int i = 0; i < 2; i++) {
		uk_close(p[i]);
		uk_close(s[i]);
	}
	done();
}

static void a_buffer_may_be_memory_that_was_never_touched(void)
{
	size_t n = 64 * 1024;
	unsigned char *m = mmap(NULL, n, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		      *w = malloc(n);
	int f = temp_file();

	group(8);
	fill(w, n, 0);
	CHECK_EQ(pwrite(f, w, n, 0), n);
	for (size_t at = 0; at < n;) {
		int64_t r = one(UK_OP(.kind = UK_OP_READ, .fd = f, .addr = m + at,
				      .len = n - at, .off = (int64_t)at));

		CHECK(r > 0);
		at += (size_t)r;
	}
	check_fill(m, n, 0);
	CHECK(one(UK_OP(.kind = UK_OP_READ, .fd = f, .addr = m, .len = n)) >
	      0); /* its pages are there now */
	check_fill(m, n, 0);
	munmap(m, n);
	free(w);
	uk_close(f);
	done();
}

/* The hostile build shortens transfers. */
static void read_16(int f, char *b, int64_t at, const char *want)
{
	int64_t r =
	    one(UK_OP(.kind = UK_OP_READ, .fd = f, .addr = b, .len = 16, .off = at));

	CHECK(r == 16 || (UK_HOSTILE && r > 0));
	CHECK(!memcmp(b, want + at, (size_t)r));
}

static uint64_t given_to_the_ring(void)
{
	uk_stats s;

	uk_stats_get(&s, sizeof(s));
	return s.sqes;
}

/* A plain call makes a single read of a file in the page cache. A read of a file that
 * is not cached goes to the ring, and a read behind a drain waits. */
static void a_single_read_of_a_cached_file_is_a_plain_call(void)
{
	enum { N = 20 };
	char *w = malloc(N * 4096), b[16];
	int f = temp_file(), p[2];
	uint64_t sqes;
	uk_op o[2];
	uk_completion e[2];

	group(4);
	make_pipe(p, 0);
	fill((unsigned char *)w, N * 4096, 0);
	CHECK_EQ(pwrite(f, w, N * 4096, 0), N * 4096);
	read_16(f, b, 0, w);
	sqes = given_to_the_ring();
	for (int i = 0; i < N; i++)
		read_16(f, b, i * 4096, w);
	CHECK(!uk_thread_self() || UK_HOSTILE || given_to_the_ring() - sqes < N / 2);
	CHECK_EQ(fsync(f), 0);
	for (int i = 0; i < N; i++) {
		posix_fadvise(f, 0, 0, POSIX_FADV_DONTNEED);
		read_16(f, b, i * 4096, w);
	}
	submit(READ(p[0], b, 1));
	submit(UK_OP(.kind = UK_OP_NOP, .options = UK_OP_DRAIN));
	submit(UK_OP(.kind = UK_OP_READ, .fd = f, .addr = b + 1, .len = 1, .tag = 1));
	CHECK_EQ(uk_group_wait_any(g, e, 2, 0), -ETIMEDOUT);
	CHECK_EQ(uk_write(p[1], "x", 1), 1);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(uk_group_wait_any(g, e, 1, UK_FOREVER), 1);
	CHECK_EQ(e[0].tag, 1);
	/* if the group is full, it is not read */
	for (int i = 0; i < 4; i++)
		submit(READ(p[0], b, 1));
	b[1] = 'q';
	o[0] = UK_OP(.kind = UK_OP_READ, .fd = f, .addr = b + 1, .len = 1);
	CHECK_EQ(uk_group_submit(g, o, 1), -EAGAIN);
	CHECK_EQ(b[1], 'q');
	uk_group_destroy(g);
	uk_close(p[0]);
	uk_close(p[1]);
	uk_close(f);
	free(w);
}

static void a_group_takes_as_many_requests_as_it_has_places(void)
{
	uk_op o[5];
	uk_completion e[5];
	char b[5];
	int p[2];

	group(3);
	make_pipe(p, 0);
	for (int i = 0; i < 5; i++)
		o[i] = READ(p[0], &b[i], 1);
	CHECK_EQ(uk_group_submit(g, o, 5), 3);
	CHECK_EQ(uk_group_submit(g, o + 3, 2), -EAGAIN);
	CHECK_EQ(uk_group_submit(g, o, 0), 0);
	CHECK_EQ(uk_group_wait_any(g, e, 5, 0), -ETIMEDOUT);
	CHECK_EQ(uk_group_wait_all(g, e, 2, uk_after(UK_MS)), -ETIMEDOUT);
	CHECK_EQ(write(p[1], "xx", 2), 2);
	CHECK_EQ(uk_group_wait_all(g, e, 2, UK_FOREVER), 2);
	CHECK_EQ(uk_group_wait_all(g, e, 2, uk_after(UK_MS)), -ETIMEDOUT);
	CHECK_EQ(uk_group_submit(g, o, 5), 2);
	CHECK_EQ(write(p[1], "xxx", 3), 3);
	CHECK_EQ(uk_group_wait_all(g, e, 1, UK_FOREVER),
		 1); /* at most as many as e has entries */
	CHECK_EQ(uk_group_wait_all(g, e, 5, UK_FOREVER), 2);
	uk_close(p[0]);
	uk_close(p[1]);
	done();
}

static void linked_requests_run_in_order_or_not_at_all(void)
{
	int f = temp_file();
	char b[4] = "";
	uk_op o[4];
	uk_completion e[4];

	group(4);
	for (int turn = 0; turn < 2; turn++) {
		o[0] = UK_OP(.kind = UK_OP_WRITE, .fd = f, .addr = "a", .len = 1,
			     .off = turn, .options = UK_OP_LINK, .tag = 0);
		o[1] = UK_OP(.kind = UK_OP_FSYNC, .fd = turn ? -1 : f,
			     .options = UK_OP_LINK, .tag = 1);
		o[2] = UK_OP(.kind = UK_OP_READ, .fd = f, .addr = b, .len = 1,
			     .off = turn, .tag = 2);
		o[3] = UK_OP(.kind = UK_OP_NOP, .tag = 3);
		b[0] = 0;
		CHECK_EQ(uk_group_submit(g, o, 4), 4);
		CHECK_EQ(uk_group_wait_all(g, e, 4, UK_FOREVER), 4);
		for (int i = 0, last = -1; i < 4; i++) {
			int64_t want[2][4] = { { 1, 0, 1, 0 },
					       { 1, -EBADF, -ECANCELED, 0 } };

			CHECK_EQ(e[i].res, want[turn][e[i].tag]);
			if (e[i].tag == 3)
				continue;
			CHECK((int)e[i].tag > last);
			last = (int)e[i].tag;
		}
		CHECK_EQ(b[0], turn ? 0 : 'a');
	}
	CHECK_EQ(uk_group_submit(g, o + 3, 1), 1);
	CHECK_EQ(uk_group_submit(g, o, 3), 3);
	CHECK_EQ(uk_group_wait_all(g, e, 4, UK_FOREVER), 4);
	CHECK_EQ(uk_group_submit(g, o + 2, 2), 2);
	CHECK_EQ(uk_group_submit(g, o, 3), -EAGAIN); /* all of a chain, or nothing */
	CHECK_EQ(uk_group_wait_all(g, e, 4, UK_FOREVER), 2);
	uk_close(f);
	done();
}

static void a_close_ends_waiting_requests(void)
{
	char b[8];
	uk_completion e[8];
	int p[2];

	group(8);
	for (int turn = 0; turn < 20; turn++) {
		make_pipe(p, 0);
		for (int i = 0; i < 8; i++)
			submit(i % 2 ? UK_OP(.kind = UK_OP_POLL, .fd = p[0],
					     .flags = POLLIN)
				     : READ(p[0], &b[i], 1));
		CHECK_EQ(uk_close(p[0]), 0);
		CHECK_EQ(uk_group_wait_all(g, e, 8, UK_FOREVER), 8);
		for (int i = 0; i < 8; i++)
			CHECK_EQ(e[i].res, -EBADF);
		uk_close(p[1]);
	}
	done();
}

/* The fd refers to another file when the request begins. The request must not use that
 * file. */
static void a_request_does_not_use_a_file_that_reuses_its_fd(void)
{
	uk_op ops[2] = { UK_OP(.kind = UK_OP_TIMEOUT, .options = UK_OP_LINK) };
	int p[2], q[2];
	char b[2] = "";
	uk_completion e[3];

	group(8);
	make_pipe(p, 0);
	ops[0].deadline = uk_after(5 * UK_MS);
	ops[1] = READ(p[0], b, 1);
	CHECK_EQ(uk_group_submit(g, ops, 2), 2);
	submit(UK_OP(.kind = UK_OP_READ, .fd = p[0], .addr = b + 1, .len = 1,
		     .off = UK_OP_HERE, .deadline = uk_after(UK_SEC)));
	uk_close(p[1]);
	uk_close(p[0]);
	make_pipe(q, 0);
	CHECK_EQ(uk_write_all(q[1], "xy", 2), 2);
	CHECK_EQ(uk_group_wait_all(g, e, 3, UK_FOREVER), 3);
	for (int i = 0; i < 3; i++) /* 0: end of file, if it was in time */
		CHECK(e[i].res == 0 || (e[i].id != ops[0].id && e[i].res == -EBADF));
	CHECK_EQ(uk_read_all(q[0], b, 2), 2);
	CHECK(b[0] == 'x' && b[1] == 'y');
	uk_close(q[0]);
	uk_close(q[1]);
	done();
}

static void a_destroyed_group_touches_no_memory_any_more(void)
{
	char b[16] = "", c[16];
	int p[2];

	make_pipe(p, 0);
	for (int turn = 0; turn < 30; turn++) {
		group(16);
		for (int i = 0; i < 16; i++)
			submit(i % 4 == 3 ? UK_OP(.kind = UK_OP_TIMEOUT,
						  .deadline = uk_after(3600 * UK_SEC))
					  : READ(p[0], &b[i], 1));
		uk_group_destroy(g);
		CHECK_EQ(write(p[1], "0123456789", 10), 10);
		for (int n = 0; n < 10;) {
			ssize_t r = read(p[0], c + n, (size_t)(10 - n));

			CHECK(r > 0);
			n += (int)r;
		}
		CHECK(!memcmp(c, "0123456789", 10));
		CHECK_EQ(b[0] | b[5] | b[14], 0);
	}
	uk_close(p[0]);
	uk_close(p[1]);
	uk_group_destroy(NULL);
}

/* A byte races with a cancel, or with a deadline, for the same read. The byte is read,
 * or it is still in the pipe; never both, never neither. */
static void race(int how)
{
	uint64_t seed = test_seed() + (uint64_t)how;
	int p[PIPES][2];
	char b[PIPES];

	group(PIPES);
	for (unsigned i = 0; i < PIPES; i++)
		make_pipe(p[i], 0);
	for (int turn = 0; turn < 40; turn++) {
		uint64_t id[PIPES];
		uk_completion e[PIPES];
		unsigned seen = 0;

		for (unsigned i = 0; i < PIPES; i++) {
			uk_op o = READ(p[i][0], &b[i], 1);

			b[i] = 0;
			o.tag = i;
			if (how)
				o.deadline =
				    uk_after((int64_t)(rnd(&seed) % 300) * UK_US);
			id[i] = submit(o);
		}
		for (unsigned i = 0; i < PIPES; i++) {
			bool first = rnd(&seed) & 1;

			if (first)
				CHECK_EQ(uk_write(p[i][1], "x", 1), 1);
			if (rnd(&seed) & 1)
				uk_yield();
			if (!how) {
				int r = uk_group_cancel(g, id[i]);

				CHECK(r == 0 || r == -ENOENT);
			}
			if (!first)
				CHECK_EQ(uk_write(p[i][1], "x", 1), 1);
		}
		CHECK_EQ(uk_group_wait_all(g, e, PIPES, UK_FOREVER), PIPES);
		for (unsigned i = 0; i < PIPES; i++) {
			unsigned k = (unsigned)e[i].tag;

			CHECK_EQ(e[i].id, id[k]);
			if (e[i].res != 1) {
				CHECK_EQ(e[i].res, how ? -ETIMEDOUT : -ECANCELED);
				CHECK_EQ(b[k], 0);
				CHECK_EQ(read(p[k][0], &b[k], 1), 1);
			}
			CHECK_EQ(b[k], 'x');
			seen++;
		}
		CHECK_EQ(seen, PIPES);
	}
	for (unsigned i = 0; i < PIPES; i++) {
		uk_close(p[i][0]);
		uk_close(p[i][1]);
	}
	done();
}

static void a_cancel_loses_no_byte(void)
{
	race(0);
}

static void a_deadline_loses_no_byte(void)
{
	race(1);
}

static _Atomic(uint64_t) unwanted; /* id of the request to cancel; 1: end */
static uk_sem asked_for;

static void *canceller(void *arg)
{
	for (;;) {
		int r;

		CHECK_EQ(uk_sem_wait(&asked_for), 0);
		if (unwanted == 1)
			return arg;
		r = uk_group_cancel(g, unwanted);
		CHECK(r == 0 || r == -ENOENT);
	}
}

/* The completion is collected and its place is needed again, while a thread is still
 * cancelling the request. */
static void a_request_that_is_being_cancelled_keeps_its_place(void)
{
	uk_thread *t[2];
	int p[2];
	char b;

	group(1);
	make_pipe(p, 0);
	CHECK_EQ(uk_sem_init(&asked_for, 0), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, canceller, NULL), 0);
	for (int turn = 0; turn < 2000; turn++) {
		unwanted = submit(READ(p[0], &b, 1));
		CHECK_EQ((uint32_t)unwanted, 1); /* the group's only place */
		CHECK_EQ(uk_sem_post(&asked_for), 0);
		CHECK_EQ(uk_sem_post(&asked_for), 0);
		CHECK_EQ(end(), -ECANCELED);
	}
	unwanted = 1;
	for (int i = 0; i < 2; i++)
		CHECK_EQ(uk_sem_post(&asked_for), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	uk_close(p[0]);
	uk_close(p[1]);
	done();
}

static void ten_thousand_requests_can_be_in_flight(void)
{
	uk_op *o = calloc(MANY, sizeof(*o));
	uk_completion *e = calloc(MANY, sizeof(*e));
	char *b = calloc(1, MANY);
	int p[PIPES][2];
	unsigned n = 0;

	group(MANY);
	for (unsigned i = 0; i < PIPES; i++)
		make_pipe(p[i], 0);
	for (unsigned i = 0; i < MANY; i++) {
		o[i] = READ(p[i % PIPES][0], b + i, 1);
		o[i].tag = i;
	}
	CHECK_EQ(uk_group_submit(g, o, MANY), MANY);
	CHECK_EQ(uk_group_wait_any(g, e, MANY, 0), -ETIMEDOUT);
	for (unsigned i = 0; i < MANY; i++)
		CHECK_EQ(uk_write(p[i % PIPES][1], "x", 1), 1);
	while (n < MANY) {
		int r = uk_group_wait_all(g, e, 100, UK_FOREVER);

		CHECK(r >= 100 || n + (unsigned)r == MANY);
		for (int i = 0; i < r; i++) {
			CHECK_EQ(e[i].res, 1);
			CHECK_EQ(b[e[i].tag], 'x');
			b[e[i].tag] = 'y';
		}
		n += (unsigned)r;
	}
	for (unsigned i = 0; i < PIPES; i++) {
		uk_close(p[i][0]);
		uk_close(p[i][1]);
	}
	done();
	free(b);
	free(e);
	free(o);
}

static void *waits(void *arg)
{
	uk_completion e;
	int r;

	(void)arg;
	while ((r = uk_group_wait_any(g, &e, 1, UK_FOREVER)) == -EBUSY)
		uk_yield();
	return (void *)(intptr_t)r;
}

static void only_one_thread_waits_and_it_can_be_cancelled(void)
{
	uk_thread *t;
	uk_completion e;
	char b;
	int p[2], r;

	group(8);
	make_pipe(p, 0);
	submit(READ(p[0], &b, 1));
	t = spawn(waits, NULL);
	while ((r = uk_group_wait_any(g, &e, 1, uk_after(UK_MS))) == -ETIMEDOUT)
		uk_yield(); /* until t waits */
	CHECK_EQ(r, -EBUSY);
	uk_thread_cancel(t);
	CHECK_EQ((intptr_t)join(t), -ECANCELED);
	t = spawn(waits, NULL);
	CHECK_EQ(write(p[1], "x", 1), 1); /* the request is still there */
	CHECK_EQ((intptr_t)join(t), 1);
	uk_close(p[0]);
	uk_close(p[1]);
	done();
}

struct side {
	int in, out;
	unsigned n;
};

/* Each thread writes to itself through a pipe. All use the same group. */
static void *sender(void *arg)
{
	struct side *s = arg;
	static char bytes[4] = "abc";

	for (unsigned i = 0; i < s->n; i++) {
		uk_op o[2] = { WRITE(s->out, &bytes[i % 3], 1),
			       READ(s->in, &bytes[3], 1) };

		for (unsigned k = 0; k < 2;) {
			int r = uk_group_submit(g, o + k, 2 - k);

			CHECK(r > 0 || r == -EAGAIN);
			if (r > 0)
				k += (unsigned)r;
			else
				uk_yield();
		}
	}
	return NULL;
}

static void many_threads_submit_and_one_collects(void)
{
	enum { SENDERS = 8, EACH = 500 };
	struct side s[SENDERS];
	uk_thread *t[SENDERS];
	uk_completion e[32];

	group(64);
	for (int i = 0; i < SENDERS; i++) {
		int p[2];

		make_pipe(p, 0);
		s[i] = (struct side){ p[0], p[1], EACH };
		t[i] = spawn(sender, &s[i]);
	}
	for (unsigned n = 0; n < 2 * SENDERS * EACH;) {
		int r = uk_group_wait_any(g, e, 32, UK_FOREVER);

		CHECK(r >= 0);
		if (!r)
			uk_yield();
		for (int i = 0; i < r; i++)
			CHECK_EQ(e[i].res, 1);
		n += (unsigned)r;
	}
	for (int i = 0; i < SENDERS; i++) {
		join(t[i]);
		uk_close(s[i].in);
		uk_close(s[i].out);
	}
	done();
}

static int the_child(int in, int out)
{
	uk_completion e[8];
	char b = 0;

	if (uk_group_wait_all(g, e, 8, UK_FOREVER) != 8)
		return 1;
	for (int i = 0; i < 8; i++)
		if (e[i].res != -ECANCELED)
			return 2;
	if (one(WRITE(out, "c", 1)) != 1 || one(READ(in, &b, 1)) != 1 || b != 'c')
		return 3;
	uk_group_destroy(g);
	return 0;
}

static void a_forked_child_finds_requests_cancelled_but_its_parent_does_not(void)
{
	char b[8];
	uk_completion e[8];
	int p[2], q[2], st;
	pid_t pid, got;

	group(8);
	make_pipe(p, 0);
	make_pipe(q, 0);
	for (int i = 0; i < 8; i++)
		submit(i == 7
			   ? UK_OP(.kind = UK_OP_TIMEOUT, .deadline = uk_after(UK_MS))
			   : READ(p[0], &b[i], 1));
	if (SANITIZED) /* sanitizers do not support the child (fork.c) */
		goto parent;
	CHECK_EQ(uk_group_wait_any(g, e, 1, UK_FOREVER), 1);
	submit(READ(p[0], &b[7], 1));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		_exit(the_child(q[0], q[1]));
	uk_blocking_begin();
	do
		got = waitpid(pid, &st, 0);
	while (got < 0 && errno == EINTR);
	uk_blocking_end();
	CHECK_EQ(got, pid);
	CHECK_EQ(st, 0);
parent:
	CHECK_EQ(write(p[1], "01234567", 8), 8);
	CHECK_EQ(uk_group_wait_all(g, e, 8, UK_FOREVER), 8);
	for (int i = 0; i < 8; i++)
		CHECK(e[i].res == 1 || (SANITIZED && e[i].res == 0));
	for (int i = 0; i < 2; i++) {
		uk_close(p[i]);
		uk_close(q[i]);
	}
	done();
}

static void splices_move_bytes(void)
{
	int a[2], b[2], f = temp_file();
	char c[4] = "";

	group(8);
	make_pipe(a, 0);
	make_pipe(b, 0);
	CHECK_EQ(pwrite(f, "abcd", 4, 0), 4);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_SPLICE, .fd = a[1], .off = UK_OP_HERE,
			   .fd2 = f, .off2 = 1, .len = 2)),
		 2);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_SPLICE, .fd = b[1], .off = UK_OP_HERE,
			   .fd2 = a[0], .off2 = UK_OP_HERE, .len = 100)),
		 2);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(one(READ(b[0], c + i, 1)), 1);
	CHECK(!memcmp(c, "bc", 2));
	set_nonblock(a[0]);
	submit(UK_OP(.kind = UK_OP_SPLICE, .fd = b[1], .off = UK_OP_HERE, .fd2 = a[0],
		     .off2 = UK_OP_HERE, .len = 100));
	CHECK_EQ(uk_group_wait_any(g, &(uk_completion){ 0 }, 1, 0), -ETIMEDOUT);
	CHECK_EQ(uk_write(a[1], "x", 1), 1);
	CHECK_EQ(end(), 1);
	CHECK_EQ(
	    one(UK_OP(.kind = UK_OP_SPLICE, .fd = b[1], .off = UK_OP_HERE, .fd2 = a[0],
		      .off2 = UK_OP_HERE, .len = 100, .flags = SPLICE_F_NONBLOCK)),
	    -EAGAIN);
	CHECK_EQ(
	    one(UK_OP(.kind = UK_OP_SPLICE, .fd = b[1], .off = UK_OP_HERE, .fd2 = a[0],
		      .off2 = UK_OP_HERE, .len = 100, .deadline = uk_after(UK_MS))),
	    -ETIMEDOUT);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_SPLICE, .fd = f, .fd2 = f, .len = 1)),
		 -EINVAL);
	submit(UK_OP(.kind = UK_OP_SPLICE, .fd = b[1], .off = UK_OP_HERE, .fd2 = a[0],
		     .off2 = UK_OP_HERE, .len = 100));
	CHECK_EQ(uk_close(a[0]), 0);
	CHECK_EQ(end(), -EBADF);
	uk_close(a[1]);
	uk_close(b[0]);
	uk_close(b[1]);
	uk_close(f);
	done();
}

static uint64_t timers(void)
{
	uk_stats s;

	uk_stats_get(&s, sizeof(s));
	return s.timers;
}

/* An end that has hung up stays ready, while the kernel returns EAGAIN because of the
 * other end. A thread that retried at once would use a whole CPU, and would arm no
 * timer. */
static void a_splice_does_not_spin_if_one_end_has_hung_up(void)
{
	int a[2], b[2];
	uint64_t from;

	signal(SIGPIPE, SIG_IGN);
	group(8);
	make_pipe(a, 0);
	make_pipe(b, 0);
	set_nonblock(a[0]);
	set_nonblock(b[1]);
	uk_close(b[0]);
	from = timers();
	submit(UK_OP(.kind = UK_OP_SPLICE, .fd = b[1], .off = UK_OP_HERE, .fd2 = a[0],
		     .off2 = UK_OP_HERE, .len = 100));
	while (timers() == from)
		usleep(1000); /* arms no timer of the library */
	CHECK_EQ(uk_write(a[1], "x", 1), 1);
	CHECK_EQ(end(), -EPIPE);
	uk_close(a[0]);
	uk_close(a[1]);
	uk_close(b[1]);
	done();
}

static void a_request_can_wait_on_a_futex(void)
{
	uint32_t word = 7;
	uint64_t id;

	group(8);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_FUTEX, .addr = &word, .len = 8)), -EAGAIN);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_FUTEX, .addr = &word, .len = 7,
			   .deadline = uk_after(UK_MS))),
		 -ETIMEDOUT);
	submit(UK_OP(.kind = UK_OP_FUTEX, .addr = &word, .len = 7));
	while (!uk_futex_wake(&word, 1))
		uk_yield(); /* until it waits */
	CHECK_EQ(end(), 0);
	id = submit(UK_OP(.kind = UK_OP_FUTEX, .addr = &word, .len = 7));
	CHECK_EQ(uk_group_cancel(g, id), 0);
	CHECK_EQ(end(), -ECANCELED);
	done();
}

/* Requests that have begun, a chain that drains, and later requests complete in this
 * order, whichever could go on first. */
static void a_drain_waits_for_earlier_requests_and_delays_later_ones(void)
{
	char b[8] = "";
	uk_op o[6];
	uk_completion e[6];
	int p[2];

	group(6);
	make_pipe(p, 0);
	for (int turn = 0; turn < 20; turn++) {
		o[0] = READ(p[0], &b[0], 1);
		o[1] = READ(p[0], &b[1], 1);
		o[2] = UK_OP(.kind = UK_OP_NOP, .options = UK_OP_DRAIN | UK_OP_LINK);
		o[3] = READ(p[0], &b[2], 1);
		o[4] = UK_OP(.kind = UK_OP_NOP);
		o[5] = UK_OP(.kind = UK_OP_NOP, .options = turn % 2 ? UK_OP_DRAIN : 0);
		for (unsigned i = 0; i < 6; i++)
			o[i].tag = i;
		CHECK_EQ(uk_group_submit(g, o, 6), 6);
		CHECK_EQ(uk_group_wait_any(g, e, 6, 0), -ETIMEDOUT);
		CHECK_EQ(uk_write(p[1], "x", 1), 1);
		CHECK_EQ(uk_group_wait_any(g, e, 6, UK_FOREVER), 1);
		CHECK(e[0].tag < 2);
		CHECK_EQ(uk_group_wait_any(g, e, 6, uk_after(UK_MS)), -ETIMEDOUT);
		CHECK_EQ(uk_write(p[1], "x", 1), 1);
		CHECK_EQ(uk_group_wait_all(g, e, 2, UK_FOREVER), 2);
		CHECK(e[0].tag < 2 && e[1].tag == 2);
		CHECK_EQ(uk_write(p[1], "x", 1), 1);
		CHECK_EQ(uk_group_wait_all(g, e, 6, UK_FOREVER), 3);
		CHECK(e[0].tag == 3 && e[1].tag + e[2].tag == 9);
		CHECK(turn % 2 == 0 || e[1].tag == 4);
	}
	uk_close(p[0]);
	uk_close(p[1]);
	done();
}

static void requests_behind_a_drain_can_be_cancelled_and_destroyed(void)
{
	char b[2];
	uk_op o[4];
	uk_completion e[4];
	int p[2];

	make_pipe(p, 0);
	for (int turn = 0; turn < 20; turn++) {
		group(4);
		o[0] = READ(p[0], &b[0], 1);
		o[1] = UK_OP(.kind = UK_OP_NOP, .options = UK_OP_DRAIN, .tag = 1);
		o[2] = UK_OP(.kind = UK_OP_NOP, .options = UK_OP_DRAIN | UK_OP_LINK,
			     .tag = 2);
		o[3] = READ(p[0], &b[1], 1);
		CHECK_EQ(uk_group_submit(g, o, 4), 4);
		CHECK_EQ(uk_group_cancel(g, o[1].id), 0);
		CHECK_EQ(uk_group_wait_any(g, e, 4, UK_FOREVER), 1);
		CHECK(e[0].tag == 1 && e[0].res == -ECANCELED);
		CHECK_EQ(uk_group_cancel(g, o[1].id), -ENOENT);
		if (turn % 2) {
			CHECK_EQ(uk_group_cancel(g, o[2].id), 0);
			CHECK_EQ(uk_group_cancel(g, o[0].id), 0);
			CHECK_EQ(uk_group_wait_all(g, e, 4, UK_FOREVER), 3);
			for (int i = 0; i < 3; i++)
				CHECK_EQ(e[i].res, -ECANCELED);
		}
		uk_group_destroy(g);
	}
	uk_close(p[0]);
	uk_close(p[1]);
}

static void completions_go_to_a_channel(void)
{
	enum { N = 100 };
	uk_chan *c, *wrong;
	uk_completion e = { 0 };
	uint64_t sum = 0;
	char b[2];
	int p[2];

	group(8);
	CHECK_EQ(uk_chan_create(&c, sizeof(uk_completion), 1), 0);
	CHECK_EQ(uk_chan_create(&wrong, 1, 1), 0);
	CHECK_EQ(uk_group_to_chan(g, wrong), -EINVAL);
	CHECK_EQ(uk_group_to_chan(g, c), 0);
	CHECK_EQ(uk_group_to_chan(g, c), -EBUSY);
	CHECK_EQ(uk_group_wait_any(g, &e, 1, UK_FOREVER), -EBUSY);
	for (uint64_t i = 0, k = 0; k < N;) {
		uk_op o = UK_OP(.kind = UK_OP_NOP, .tag = i);

		if (i < N && uk_group_submit(g, &o, 1) == 1) {
			i++;
			continue;
		}
		CHECK_EQ(uk_chan_recv(c, &e), 0);
		CHECK_EQ(e.res, 0);
		sum += e.tag;
		k++;
	}
	CHECK_EQ(sum, N * (N - 1) / 2);
	make_pipe(p, 0);
	submit(READ(p[0], b, 1));
	for (int i = 0; i < 3; i++)
		submit(UK_OP(.kind = UK_OP_NOP)); /* more than the channel holds */
	uk_group_destroy(g);
	CHECK_EQ(uk_write(p[1], "x", 1), 1);
	CHECK_EQ(read(p[0], b, 1), 1);
	group(2);
	CHECK_EQ(uk_group_to_chan(g, c), 0);
	CHECK_EQ(uk_chan_close(c), 0);
	for (int i = 0; i < N;) { /* their completions are dropped */
		uk_op o = UK_OP(.kind = UK_OP_NOP);

		if (uk_group_submit(g, &o, 1) == 1)
			i++;
		else
			uk_yield();
	}
	uk_group_destroy(g);
	uk_chan_destroy(c);
	uk_chan_destroy(wrong);
	uk_close(p[0]);
	uk_close(p[1]);
}

static void one_accept_request_takes_many_connections(void)
{
	enum { N = 10 };
	struct sockaddr_in at;
	int l = make_listener(&at, N), c[N], got = 0;
	uint64_t id;
	uk_completion e;

	group(4);
	id = submit(UK_OP(.kind = UK_OP_ACCEPT, .fd = l, .flags = SOCK_CLOEXEC,
			  .tag = 5, .options = UK_OP_MULTI));
	for (int i = 0; i < N; i++) {
		c[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		CHECK_EQ(uk_connect(c[i], (struct sockaddr *)&at, sizeof(at)), 0);
	}
	while (got < N) {
		CHECK_EQ(uk_group_wait_any(g, &e, 1, UK_FOREVER), 1);
		CHECK(e.tag == 5 && e.id == id && e.res > 2);
		uk_close((int)e.res);
		got++;
		if (!(e.flags & UK_COMPLETION_MORE)) /* the group was full */
			id = submit(UK_OP(.kind = UK_OP_ACCEPT, .fd = l, .tag = 5,
					  .flags = SOCK_CLOEXEC,
					  .options = UK_OP_MULTI));
	}
	CHECK_EQ(uk_group_cancel(g, id), 0);
	CHECK_EQ(uk_group_wait_any(g, &e, 1, UK_FOREVER), 1);
	CHECK_EQ(e.res, -ECANCELED);
	CHECK_EQ(e.flags, 0);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_ACCEPT, .fd = l, .options = UK_OP_MULTI,
			   .deadline = uk_after(UK_MS))),
		 -ETIMEDOUT);
	submit(UK_OP(.kind = UK_OP_ACCEPT, .fd = l, .tag = 5, .options = UK_OP_MULTI));
	CHECK_EQ(uk_close(l), 0);
	CHECK_EQ(end(), -EBADF);
	for (int i = 0; i < N; i++)
		uk_close(c[i]);
	done();
}

static void a_pool_provides_buffers_for_received_bytes(void)
{
	enum { N = 4, SIZE = 100, BYTES = 5000 };
	unsigned char *in = malloc(BYTES), *out = malloc(BYTES);
	uk_buf_pool *pool;
	uk_completion e;
	size_t at = 0, sent = 0;
	int s[2];
	uk_op o;

	group(3);
	make_unix(s, SOCK_STREAM);
	CHECK_EQ(uk_buf_pool_create(&pool, 0, SIZE), -EINVAL);
	CHECK_EQ(uk_buf_pool_create(&pool, N, SIZE), 0);
	fill(in, BYTES, 0);
	o = UK_OP(.kind = UK_OP_RECV, .fd = s[0], .addr2 = pool,
		  .options = UK_OP_POOL | UK_OP_MULTI, .tag = 3);
	submit(o);
	for (bool ended = false; !ended;) {
		if (sent < BYTES) {
			ssize_t r = uk_write(s[1], in + sent, 50 + sent % 200);

			CHECK(r > 0);
			sent += (size_t)r;
			if (sent > BYTES - 300) {
				CHECK_EQ(uk_write(s[1], in + sent, BYTES - sent),
					 BYTES - sent);
				sent = BYTES;
				uk_close(s[1]);
			}
		}
		CHECK_EQ(uk_group_wait_any(g, &e, 1, UK_FOREVER), 1);
		CHECK_EQ(e.tag, 3);
		if (e.res > 0) {
			CHECK(e.buf && e.res <= SIZE);
			memcpy(out + at, e.buf, (size_t)e.res);
			at += (size_t)e.res;
			uk_buf_put(pool, e.buf);
		} else {
			CHECK(!e.buf && !(e.flags & UK_COMPLETION_MORE));
			CHECK(e.res == 0 || e.res == -ENOBUFS);
			ended = e.res == 0;
		}
		if (!ended && !(e.flags & UK_COMPLETION_MORE))
			submit(o);
	}
	CHECK_EQ(at, BYTES);
	check_fill(out, BYTES, 0);
	uk_close(s[0]);
	done();
	uk_buf_pool_destroy(pool);
	free(in);
	free(out);
}

static void an_empty_pool_is_an_error_and_loses_nothing(void)
{
	enum { N = 4, SIZE = 100 };
	uk_buf_pool *pool;
	void *b[N];
	uk_completion e;
	int s[2];
	uk_op o;

	group(3);
	make_unix(s, SOCK_STREAM);
	CHECK_EQ(uk_buf_pool_create(&pool, N, SIZE), 0);
	for (int i = 0; i < N; i++)
		CHECK(b[i] = uk_buf_get(pool));
	CHECK(!uk_buf_get(pool));
	uk_buf_put(pool, NULL); /* as free(NULL) */
	CHECK(!uk_buf_get(pool));
	CHECK_EQ(uk_write(s[1], "x", 1), 1);
	o = UK_OP(.kind = UK_OP_RECV, .fd = s[0], .addr2 = pool, .options = UK_OP_POOL);
	CHECK_EQ(one(o), -ENOBUFS);
	uk_buf_put(pool, b[2]);
	submit(o);
	CHECK_EQ(uk_group_wait_any(g, &e, 1, UK_FOREVER), 1);
	CHECK(e.res == 1 && e.buf == b[2] && *(char *)e.buf == 'x' && !e.flags);
	uk_buf_put(pool, e.buf);
	o.flags = MSG_DONTWAIT;
	CHECK_EQ(one(o), -EAGAIN);
	for (int i = 0; i < N; i++)
		if (i != 2)
			uk_buf_put(pool, b[i]);
	o.kind = UK_OP_SEND;
	CHECK_EQ(one(o), -EINVAL);
	CHECK_EQ(one(UK_OP(.kind = UK_OP_READ, .fd = s[0], .options = UK_OP_MULTI)),
		 -EINVAL);
	uk_close(s[0]);
	uk_close(s[1]);
	done();
	uk_buf_pool_destroy(pool);
}

/* Submits n requests and returns the number of kicks that this took; 0 if our vp was handed
 * off meanwhile, because it is then kicked, too. */
static uint64_t kicks_of(uk_op *ops, unsigned n)
{
	uk_stats before, after;

	uk_stats_get(&before, sizeof(before));
	CHECK_EQ(uk_group_submit(g, ops, n), (int)n);
	uk_stats_get(&after, sizeof(after));
	return after.handoffs == before.handoffs ? after.kicks - before.kicks : 0;
}

/* The reactive vp is kicked once for a vector, and sleeps when the next one comes. */
static void *gives_vectors(void *arg)
{
	enum { VECTORS = 50, EACH = 64 };
	uk_op ops[EACH];
	uk_completion ends[EACH];
	uint64_t sum = 0;
	int p[2];
	char c = 0;

	CHECK_EQ(pipe(p), 0);
	for (int i = 0; i < EACH; i++)
		ops[i] = UK_OP(.kind = UK_OP_POLL, .fd = p[0], .flags = POLLIN);
	group(EACH);
	for (int i = 0; i < VECTORS; i++) {
		sum += kicks_of(ops, EACH);
		CHECK_EQ(uk_write(p[1], &c, 1), 1);
		CHECK_EQ(uk_group_wait_all(g, ends, EACH, UK_FOREVER), EACH);
		CHECK_EQ(uk_read(p[0], &c, 1), 1);
	}
	done();
	CHECK(strcmp(uk_reactor_name(), "io_uring") || sum <= VECTORS);
	close(p[0]);
	close(p[1]);
	return arg;
}

static void a_vector_kicks_a_reactive_vp_once(void)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t;

	CHECK_EQ(uk_vpset_create(&a.set, "net", 1, NULL, UK_VPSET_NET), 0);
	CHECK_EQ(uk_thread_create(&t, &a, gives_vectors, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
}

/* The child has no courier, and no thread that begins what the drain holds back. */
static void a_forked_child_collects_completions_instead_of_a_channel(void)
{
	uk_chan *c;
	uk_op o[3];
	uk_completion e[3];
	char b[2];
	int p[2], st;
	pid_t pid, got;

	if (SANITIZED) /* sanitizers do not support the child (fork.c) */
		return;
	group(3);
	make_pipe(p, 0);
	CHECK_EQ(uk_chan_create(&c, sizeof(uk_completion), 3), 0);
	CHECK_EQ(uk_group_to_chan(g, c), 0);
	o[0] = READ(p[0], &b[0], 1);
	o[1] = UK_OP(.kind = UK_OP_NOP, .options = UK_OP_DRAIN);
	o[2] = READ(p[0], &b[1], 1);
	CHECK_EQ(uk_group_submit(g, o, 3), 3);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		bool right = uk_group_wait_all(g, e, 3, UK_FOREVER) == 3;

		for (int i = 0; i < 3 && right; i++)
			right = e[i].res == -ECANCELED;
		right = right && one(o[1]) == 0;
		uk_group_destroy(g);
		_exit(!right);
	}
	uk_blocking_begin();
	do
		got = waitpid(pid, &st, 0);
	while (got < 0 && errno == EINTR);
	uk_blocking_end();
	CHECK_EQ(got, pid);
	CHECK_EQ(st, 0);
	CHECK_EQ(write(p[1], "xy", 2), 2);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(uk_chan_recv(c, e), 0);
		CHECK_EQ(e[0].res, i == 1 ? 0 : 1);
	}
	uk_group_destroy(g);
	uk_chan_destroy(c);
	uk_close(p[0]);
	uk_close(p[1]);
}

int main(void)
{
	io_test_init(HANG_SEC);
	BOTH(streams_are_read_and_written);
	BOTH(files_are_read_and_written);
	BOTH(sockets_connect_and_transfer_bytes);
	BOTH(files_are_opened_examined_and_renamed);
	BOTH(polls_and_timeouts_complete);
	BOTH(errors_are_those_of_the_calls);
	BOTH(a_bad_pointer_completes_with_efault);
	BOTH(a_request_on_a_nonblocking_fd_waits);
	BOTH(a_buffer_may_be_memory_that_was_never_touched);
	BOTH(a_single_read_of_a_cached_file_is_a_plain_call);
	BOTH(a_group_takes_as_many_requests_as_it_has_places);
	BOTH(linked_requests_run_in_order_or_not_at_all);
	BOTH(a_close_ends_waiting_requests);
	BOTH(a_request_does_not_use_a_file_that_reuses_its_fd);
	BOTH(a_destroyed_group_touches_no_memory_any_more);
	BOTH(a_cancel_loses_no_byte);
	BOTH(a_deadline_loses_no_byte);
	BOTH(a_request_that_is_being_cancelled_keeps_its_place);
	BOTH(ten_thousand_requests_can_be_in_flight);
	BOTH(only_one_thread_waits_and_it_can_be_cancelled);
	BOTH(many_threads_submit_and_one_collects);
	BOTH(splices_move_bytes);
	BOTH(a_splice_does_not_spin_if_one_end_has_hung_up);
	BOTH(a_request_can_wait_on_a_futex);
	BOTH(a_drain_waits_for_earlier_requests_and_delays_later_ones);
	BOTH(requests_behind_a_drain_can_be_cancelled_and_destroyed);
	BOTH(completions_go_to_a_channel);
	BOTH(one_accept_request_takes_many_connections);
	BOTH(a_pool_provides_buffers_for_received_bytes);
	BOTH(an_empty_pool_is_an_error_and_loses_nothing);
	BOTH(a_forked_child_finds_requests_cancelled_but_its_parent_does_not);
	BOTH(a_forked_child_collects_completions_instead_of_a_channel);
	USER(a_vector_kicks_a_reactive_vp_once);
	return 0;
}
