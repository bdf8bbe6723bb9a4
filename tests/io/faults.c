/* SPDX-License-Identifier: Apache-2.0 */
/* Page faults inside the library's calls (law 1, docs/ARCHITECTURE.md). The memory that
 * a call reads or writes is missing, and another user thread, perhaps on the same vp,
 * provides it (userfaultfd). Each call gets an untouched page of its own. As with a
 * plain system call, the call ends and the other threads run meanwhile. */
#include "iotest.h"

#include <linux/userfaultfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGES 256
#define PAGE_SIZE 4096ul

static int uffd;
static char *memory;  /* all its pages are missing */
static int next_page; /* atomic */
static int served;    /* atomic */

static void *serve_faults(void *arg)
{
	static char page[PAGE_SIZE] __attribute__((aligned(4096)));
	struct uffd_msg m;

	memset(page, 'u', sizeof(page));
	while (uk_read(uffd, &m, sizeof(m)) == sizeof(m)) {
		struct uffdio_copy c = { .dst =
					     m.arg.pagefault.address & ~(PAGE_SIZE - 1),
					 .src = (unsigned long)page,
					 .len = PAGE_SIZE };

		__atomic_fetch_add(&served, 1, __ATOMIC_RELAXED);
		CHECK(ioctl(uffd, UFFDIO_COPY, &c) == 0 || errno == EEXIST);
	}
	return arg;
}

static bool begin(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register r;

	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0)
		return false;
	CHECK_EQ(ioctl(uffd, UFFDIO_API, &api), 0);
	memory = mmap(NULL, PAGES * PAGE_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	r = (struct uffdio_register){ .range = { (unsigned long)memory,
						 PAGES * PAGE_SIZE },
				      .mode = UFFDIO_REGISTER_MODE_MISSING };
	CHECK_EQ(ioctl(uffd, UFFDIO_REGISTER, &r), 0);
	return true;
}

static char *fresh(void)
{
	int i = __atomic_fetch_add(&next_page, 1, __ATOMIC_RELAXED);

	CHECK(i < PAGES);
	return memory + (size_t)i * PAGE_SIZE;
}

/* -- bytes that are there, and bytes that come after the caller waits -- */

struct later {
	int fd;
	const char *bytes;
};

static void *write_later(void *arg)
{
	const struct later *l = arg;

	uk_sleep(2 * MS);
	CHECK_EQ(write(l->fd, l->bytes, strlen(l->bytes)), (ssize_t)strlen(l->bytes));
	return NULL;
}

typedef ssize_t reader(int fd, char *mem);

static ssize_t by_recv(int fd, char *mem)
{
	return uk_recv(fd, mem, 100, 0);
}

static ssize_t by_read(int fd, char *mem)
{
	return uk_read(fd, mem, 100);
}

static ssize_t by_readv(int fd, char *mem)
{
	struct iovec *v = (void *)mem; /* the stores to the list fault, too */

	v[0] = (struct iovec){ fresh(), 3 };
	v[1] = (struct iovec){ fresh(), 50 };
	return uk_readv(fd, v, 2);
}

static ssize_t by_recvfrom(int fd, char *mem)
{
	return uk_recvfrom(fd, mem, 100, 0, (void *)fresh(), (void *)fresh());
}

static ssize_t by_recvmsg(int fd, char *mem)
{
	struct iovec v = { mem, 100 };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = fresh(),
			    .msg_controllen = 100 };

	return uk_recvmsg(fd, &m, 0);
}

static ssize_t by_peek(int fd, char *mem)
{
	ssize_t n = uk_recv(fd, mem, 100, MSG_PEEK);

	CHECK(n == 5 || (UK_HOSTILE && n > 0));
	return uk_recv(fd, fresh(), 100, 0);
}

/* The hostile build sometimes reads less than there is. */
static void read_five(reader *fn, int in)
{
	ssize_t n = fn(in, fresh()), more;

	for (; UK_HOSTILE && n > 0 && n < 5; n += more) {
		more = fn(in, fresh());
		CHECK(more > 0);
	}
	CHECK_EQ(n, 5);
}

static void read_both(reader *fn, int in, int out)
{
	struct later l = { out, "later" };
	uk_thread *t;

	CHECK_EQ(write(out, "first", 5), 5);
	read_five(fn, in);
	t = spawn(write_later, &l);
	read_five(fn, in);
	join(t);
}

static void a_receive_into_missing_memory_ends(void)
{
	static reader *const all[] = { by_recv,     by_read,    by_readv,
				       by_recvfrom, by_recvmsg, by_peek };
	int s[2], p[2];

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		make_unix(s, SOCK_STREAM);
		read_both(all[i], s[0], s[1]);
		uk_close(s[0]);
		uk_close(s[1]);
	}
	make_pipe(p, 0);
	read_both(by_read, p[0], p[1]);
	read_both(by_readv, p[0], p[1]);
	uk_close(p[0]);
	uk_close(p[1]);
}

static void a_receive_ahead_into_missing_memory_ends(void)
{
	int s[2];

	make_tcp(s, 0);
	CHECK_EQ(uk_recv_ahead(s[0]), 0);
	read_both(by_recv, s[0], s[1]);
	uk_close(s[0]);
	uk_close(s[1]);
}

/* -- the other direction -- */

/* Uses plain calls, because the kernel holds the pipe's lock while the writer's page is
 * provided (a known gap in io/place.c). */
static void *drain_later(void *arg)
{
	char b[65536];
	ssize_t r, all = 0;

	uk_sleep(2 * MS);
	while ((r = read(*(int *)arg, b, sizeof(b))) > 0)
		all += r;
	return (void *)(intptr_t)all;
}

typedef ssize_t writer(int fd, const char *mem, size_t n);

static ssize_t to_send(int fd, const char *mem, size_t n)
{
	return uk_send(fd, mem, n, 0);
}

static ssize_t to_write(int fd, const char *mem, size_t n)
{
	return uk_write(fd, mem, n);
}

static ssize_t to_sendmsg(int fd, const char *mem, size_t n)
{
	struct iovec v[2] = { { (void *)(uintptr_t)mem, 1 },
			      { (void *)(uintptr_t)(mem + 1), n - 1 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };

	return uk_sendmsg(fd, &m, 0);
}

/* A full socket: a part is sent at once, and the rest waits. */
static void send_full(writer *fn, int in, int out, size_t pages)
{
	char *mem = fresh();
	uk_thread *t;

	for (size_t i = 1; i < pages; i++)
		fresh();
	t = spawn(drain_later, &in);
	CHECK_EQ(fn(out, mem, pages * PAGE_SIZE), (ssize_t)(pages * PAGE_SIZE));
	uk_close(out);
	CHECK_EQ((intptr_t)join(t), (intptr_t)(pages * PAGE_SIZE));
	uk_close(in);
}

static void a_send_from_missing_memory_ends(void)
{
	static writer *const all[] = { to_send, to_write, to_sendmsg };
	int s[2], small = 4096;

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		make_unix(s, SOCK_STREAM);
		setsockopt(s[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
		send_full(all[i], s[0], s[1], 16);
	}
	make_pipe(s, 4096);
	send_full(to_write, s[0], s[1], 16);
}

static void file_calls_with_missing_memory_end(void)
{
	char *mem = fresh();
	int fd = temp_file();

	CHECK_EQ(uk_pwrite(fd, mem, 100, 0), 100);
	CHECK_EQ(uk_pread(fd, fresh(), 100, 0), 100);
	CHECK_EQ(uk_fstat(fd, (void *)fresh()), 0);
	uk_close(fd);
}

static void *connect_later(void *arg)
{
	struct sockaddr_in *there = (void *)fresh();
	int s = uk_socket(AF_INET, SOCK_STREAM, 0);

	uk_sleep(2 * MS);
	CHECK_EQ(uk_connect(s, (void *)there, sizeof(*there)), -EAFNOSUPPORT);
	memcpy(there, arg, sizeof(*there));
	CHECK_EQ(uk_connect(s, (void *)there, sizeof(*there)), 0);
	uk_close(s);
	return NULL;
}

static void calls_with_missing_addresses_end(void)
{
	struct sockaddr_in a;
	int l = make_listener(&a, 8), fd;
	socklen_t *len = (void *)fresh();
	uk_thread *t = spawn(connect_later, &a);

	fd = uk_accept(l, (void *)fresh(), len);
	CHECK(fd >= 0 || fd == -EINVAL); /* the page provides the length */
	if (fd == -EINVAL) {
		*len = sizeof(a);
		fd = uk_accept(l, (void *)fresh(), len);
		CHECK(fd >= 0);
	}
	join(t);
	uk_close(fd);
	uk_close(l);
}

static void *send_value(void *arg)
{
	CHECK_EQ(uk_chan_send(arg, fresh()), 0);
	return NULL;
}

static void channel_calls_with_missing_values_end(void)
{
	uk_chan *c;
	uk_thread *t;

	for (unsigned cap = 0; cap < 2; cap++) {
		CHECK_EQ(uk_chan_create(&c, 64, cap), 0);
		t = spawn(send_value, c);
		CHECK_EQ(uk_chan_recv(c, fresh()), 0);
		join(t);
		uk_chan_destroy(c);
	}
}

static void futex_calls_on_missing_words_end(void)
{
	uint32_t *word = (void *)fresh();

	CHECK_EQ(uk_futex_wait(word, 0, UK_FOREVER), -EAGAIN); /* the word is "uuuu" */
	CHECK_EQ(uk_futex_wake((void *)fresh(), 1), 0);
}

/* One page has the requests of a group, another one gets their completions. */
static void asynchronous_calls_with_missing_memory_end(void)
{
	enum { MOST = PAGE_SIZE / sizeof(uk_op) };
	uk_op *ops = (void *)fresh();
	uk_completion *ends = (void *)fresh();
	uk_group *g;

	CHECK_EQ(uk_group_create(&g, MOST), 0);
	/* the page provides opcodes that do not exist */
	CHECK(uk_group_submit(g, ops, MOST) > 0);
	CHECK(uk_group_wait_all(g, ends, MOST, UK_FOREVER) > 0);
	CHECK_EQ(ends[0].res, -EINVAL);
	uk_group_destroy(g);
}

int main(void)
{
	uk_thread *t;
	uk_thread_attr a;

	io_test_init(HANG_SEC);
	CHECK_EQ(uk_init(), 0);
	if (!begin()) {
		puts("userfaultfd is not permitted here");
		return 77;
	}
	uk_thread_attr_init(&a);
	a.flags = UK_THREAD_DETACHED;
	CHECK_EQ(uk_thread_create(&t, &a, serve_faults, NULL), 0);
	USER(a_receive_into_missing_memory_ends);
	USER(a_receive_ahead_into_missing_memory_ends);
	USER(a_send_from_missing_memory_ends);
	USER(file_calls_with_missing_memory_end);
	USER(calls_with_missing_addresses_end);
	USER(channel_calls_with_missing_values_end);
	USER(futex_calls_on_missing_words_end);
	USER(asynchronous_calls_with_missing_memory_end);
	CHECK(__atomic_load_n(&served, __ATOMIC_RELAXED) > 20);
	return 0;
}
