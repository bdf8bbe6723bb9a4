/* SPDX-License-Identifier: Apache-2.0 */
/* A call that moves all its bytes natively does so here, however slow the peer is and
 * while operations of other threads complete all the time. A handler, a time limit, a
 * full disk or the peer's close explains a partial result. A thread cancelled in the
 * middle leaks no file descriptor. */
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "asleep.h"
#include "posix.h"

#define SIZE (3l << 20)
#define RANDOM_SIZE (2 * SIZE)
#define PIECE 50000
#define LIMIT (1l << 20)
#define NOISY 2

static unsigned char *data, *room;
static int file, target; /* data is in file; target starts empty */

/* -- noise: operations complete all the time -- */

static int noise[NOISY][2][2];

static void *echoes(void *arg)
{
	int(*p)[2] = arg;
	char c;

	while (read(p[0][0], &c, 1) == 1)
		if (write(p[1][1], &c, 1) != 1)
			break;
	return arg;
}

static void *asks(void *arg)
{
	int(*p)[2] = arg;
	char c = 'n';

	while (write(p[0][1], &c, 1) == 1 && read(p[1][0], &c, 1) == 1)
		;
	return arg;
}

static void make_noise(void)
{
	for (int i = 0; i < NOISY; i++) {
		CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, noise[i][0]));
		CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, noise[i][1]));
		pthread_detach(start(echoes, noise[i]));
		pthread_detach(start(asks, noise[i]));
	}
}

/* -- the calls, and what they write to -- */

enum { PIPE, UNIX, TCP, KINDS };

static void tcp(int p[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0), small = 65536;

	setsockopt(l, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	CHECK(!bind(l, (void *)&a, n) && !listen(l, 4));
	CHECK(!getsockname(l, (void *)&a, &n));
	p[1] = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(p[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	CHECK(!connect(p[1], (void *)&a, n));
	p[0] = accept(l, NULL, NULL);
	CHECK(p[0] >= 0 && !close(l));
}

/* p[0] reads, p[1] writes. */
static void open_way(int kind, int p[2])
{
	if (kind == PIPE)
		CHECK(!pipe(p));
	else if (kind == UNIX)
		CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, p));
	else
		tcp(p);
}

static ssize_t by_write(int fd)
{
	return write(fd, data, SIZE);
}

static ssize_t by_writev(int fd)
{
	struct iovec v[3] = { { data, 1000 },
			      { data + 1000, 700000 },
			      { data + 701000, SIZE - 701000 } };

	return writev(fd, v, 3);
}

static ssize_t by_send(int fd)
{
	return send(fd, data, SIZE, MSG_NOSIGNAL);
}

static ssize_t by_sendmsg(int fd)
{
	struct iovec v[2] = { { data, 700000 }, { data + 700000, SIZE - 700000 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };

	return sendmsg(fd, &m, MSG_NOSIGNAL);
}

static ssize_t by_sendfile(int fd)
{
	off_t off = 0;
	ssize_t r = sendfile(fd, file, &off, SIZE);

	CHECK(r < 0 || off == r);
	return r;
}

static ssize_t by_sendfile_here(int fd)
{
	ssize_t r;

	CHECK(lseek(file, 0, SEEK_SET) == 0);
	r = sendfile(fd, file, NULL, SIZE);
	CHECK(lseek(file, 0, SEEK_CUR) == (r < 0 ? 0 : r));
	return r;
}

static ssize_t by_splice(int fd)
{
	int p[2];
	ssize_t n, r;

	CHECK(!pipe(p) && fcntl(p[1], F_SETPIPE_SZ, 1 << 20) > 0);
	n = write(p[1], data, 1 << 20);
	r = splice(p[0], NULL, fd, NULL, SIZE, 0);
	CHECK(n == 1 << 20 && !close(p[0]) && !close(p[1]));
	return r == n ? SIZE : r;
}

static struct {
	const char *name;
	ssize_t (*call)(int fd);
	bool pipe; /* also writes to a pipe */
	bool all;  /* moves SIZE bytes */
} how[] = { { "write", by_write, true, true },
	    { "writev", by_writev, true, true },
	    { "send", by_send, false, true },
	    { "sendmsg", by_sendmsg, false, true },
	    { "sendfile", by_sendfile, false, true },
	    { "sendfile here", by_sendfile_here, false, true },
	    { "splice", by_splice, false, false } };
#define HOWS (int)(sizeof(how) / sizeof(*how))

struct way {
	int fd;
	ssize_t (*call)(int fd);
	ssize_t r;
	long stop, got; /* for the reader; stop < 0: end-of-file */
};

static void *writes(void *arg)
{
	struct way *w = arg;

	CHECK(!pthread_setname_np(pthread_self(), "writer"));
	w->r = w->call(w->fd);
	pthread_testcancel();
	return arg;
}

static void *reads(void *arg)
{
	struct way *w = arg;
	unsigned char *b = malloc(PIECE);
	ssize_t n;

	while ((w->stop < 0 || w->got < w->stop) && (n = read(w->fd, b, PIECE)) > 0) {
		CHECK(!memcmp(b, data + w->got, (size_t)n));
		w->got += n;
	}
	free(b);
	return arg;
}

static void *drains(void *arg)
{
	struct way *w = arg;
	unsigned char *b = malloc(PIECE);

	while (read(w->fd, b, PIECE) > 0)
		;
	free(b);
	return arg;
}

static void all_arrives(int kind, int h)
{
	struct way out = { .call = how[h].call }, in = { .stop = -1 };
	pthread_t t, u;
	int p[2];

	open_way(kind, p);
	in.fd = p[0];
	out.fd = p[1];
	t = start(reads, &in);
	u = start(writes, &out);
	finish(u);
	CHECK(!close(p[1]));
	finish(t);
	CHECK(!close(p[0]));
	if (out.r != SIZE)
		printf("%d, %s: %ld of %ld\n", kind, how[h].name, (long)out.r, SIZE);
	CHECK(in.got == (how[h].all ? SIZE : 1 << 20));
}

static int descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	CHECK(d);
	while (readdir(d))
		n++;
	CHECK(!closedir(d));
	return n;
}

static void until_full(int fd)
{
	int before, now;

	do {
		CHECK(!ioctl(fd, FIONREAD, &before));
		usleep(20000);
		CHECK(!ioctl(fd, FIONREAD, &now));
	} while (before != now);
}

/* A user thread that waits for space keeps no kernel thread. */
static void until_it_waits(int fd)
{
	until_full(fd);
	while (user_thread_known("writer") && !user_thread_parked("writer"))
		usleep(1000);
}

/* Each reason ends the call in the middle: its result is the number of bytes that
 * arrived. */
enum reason { HANDLER, CANCELLED, CLOSED, REASONS };

static void ends_with_part(int kind, int h, enum reason why)
{
	struct way out = { .call = how[h].call }, in = { .stop = 400000 };
	int p[2], before = descriptors();
	pthread_t t, u;

	open_way(kind, p);
	in.fd = p[0];
	out.fd = p[1];
	t = start(writes, &out);
	finish(start(reads, &in));
	until_it_waits(p[0]);
	in.stop = -1;
	if (why == HANDLER) {
		pthread_kill(t, SIGUSR1);
		finish(t);
		CHECK(!close(p[1]));
		finish(start(reads, &in));
		CHECK(!close(p[0]));
		CHECK(out.r == in.got);
	} else if (why == CANCELLED) {
		pthread_cancel(t);
		u = start(reads, &in); /* the call may be no cancellation point */
		CHECK(finish(t) == PTHREAD_CANCELED);
		CHECK(!close(p[1]));
		finish(u);
		CHECK(!close(p[0]));
	} else {
		CHECK(!close(p[0]));
		finish(t);
		CHECK(!close(p[1]));
		CHECK(out.r >= in.got && out.r < SIZE);
	}
	CHECK(descriptors() == before);
}

static void ignore(int sig)
{
	(void)sig;
}

static void each_call_moves_all_bytes(void)
{
	struct sigaction sa = { .sa_handler = ignore };

	CHECK(!sigaction(SIGUSR1, &sa, NULL));
	for (int kind = PIPE; kind < KINDS; kind++)
		for (int h = 0; h < HOWS; h++) {
			if (kind == PIPE && !how[h].pipe)
				continue;
			all_arrives(kind, h);
			for (enum reason r = 0; how[h].all && r < REASONS; r++)
				ends_with_part(kind, h, r);
		}
}

/* -- handlers that jump out of the calls -- */

#define ROUNDS 20
#define JUMPS 8

static sigjmp_buf out_of_it;
static pthread_t jumper;
static bool jumps_enough;

static void jumps_out(int sig)
{
	(void)sig;
	siglongjmp(out_of_it, 1);
}

static void *annoys(void *arg)
{
	for (unsigned i = 1; !__atomic_load_n(&jumps_enough, __ATOMIC_ACQUIRE); i++) {
		CHECK(!pthread_kill(jumper, SIGUSR2));
		usleep(i * 7 % 256);
	}
	return arg;
}

static void jump_out(int h)
{
	struct way in = { .stop = -1 };
	volatile int n = 0;
	pthread_t t, u;
	int p[2];

	open_way(UNIX, p);
	in.fd = p[0];
	jumps_enough = false;
	mask(SIG_BLOCK, SIGUSR2);
	t = start(drains, &in);
	u = start(annoys, NULL);
	if (sigsetjmp(out_of_it, 1))
		n = n + 1;
	while (n < JUMPS) {
		mask(SIG_UNBLOCK, SIGUSR2);
		how[h].call(p[1]);
		mask(SIG_BLOCK, SIGUSR2);
	}
	__atomic_store_n(&jumps_enough, true, __ATOMIC_RELEASE);
	finish(u);
	CHECK(how[h].call(p[1]) == SIZE);
	CHECK(!close(p[1]));
	finish(t);
	CHECK(!close(p[0]));
}

/* A call that is left by a jump keeps nothing: the next one is not held up by it,
 * close does not wait for it, and no file descriptor is lost. */
static void *nothing_is_kept(void *arg)
{
	struct sigaction sa = { .sa_handler = jumps_out };
	int before = descriptors();

	CHECK(!sigaction(SIGUSR2, &sa, NULL));
	jumper = pthread_self();
	for (int h = 0; h < HOWS; h++)
		for (int i = 0; how[h].all && i < ROUNDS; i++)
			jump_out(h);
	CHECK(signal(SIGUSR2, SIG_IGN) == jumps_out);
	mask(SIG_UNBLOCK, SIGUSR2);
	CHECK(descriptors() == before);
	return arg;
}

/* -- time limits -- */

static void *limited(void *arg)
{
	struct timeval tv = { 0, 30000 };
	int p[2];

	for (int h = 0; h < HOWS; h++) {
		ssize_t r;

		if (!how[h].all)
			continue;
		open_way(TCP, p);
		CHECK(!setsockopt(p[1], SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)));
		r = how[h].call(p[1]);
		CHECK(r > 0 && r < SIZE);
		while ((r = how[h].call(p[1])) > 0) /* more is sent after a part */
			;
		if (r != -1 || errno != EAGAIN)
			printf("%s: %ld, errno %d\n", how[h].name, (long)r, errno);
		CHECK(!close(p[0]) && !close(p[1]));
	}
	return arg;
}

/* -- devices and files -- */

static void *from_devices(void *arg)
{
	static const char *const path[] = { "/dev/zero", "/dev/full", "/dev/urandom",
					    "/dev/random" };

	for (int i = 0; i < 4; i++) {
		int fd = open(path[i], O_RDONLY);
		struct iovec v[2] = { { room, SIZE }, { room + SIZE, SIZE } };

		CHECK(read(fd, room, RANDOM_SIZE) == RANDOM_SIZE);
		CHECK(readv(fd, v, 2) == 2 * SIZE);
		CHECK(!close(fd));
	}
	for (int i = 0; i < 2; i++)
		CHECK(getrandom(room, RANDOM_SIZE, 0) == RANDOM_SIZE);
	return arg;
}

static void emptied(void)
{
	CHECK(!ftruncate(target, 0) && lseek(target, 0, SEEK_SET) == 0);
	CHECK(lseek(file, 0, SEEK_SET) == 0);
}

static void is_full(long n)
{
	CHECK(lseek(target, 0, SEEK_CUR) == n);
	CHECK(pread(target, room, SIZE, 0) == n && !memcmp(room, data, (size_t)n));
}

static void *to_files(void *arg)
{
	off_t in, out;

	for (int i = 0; i < 2; i++) {
		emptied();
		CHECK(sendfile(target, file, NULL, SIZE + 5) == SIZE);
		is_full(SIZE);
		CHECK(lseek(file, 0, SEEK_CUR) == SIZE);
		emptied();
		CHECK(copy_file_range(file, NULL, target, NULL, SIZE + 5, 0) == SIZE);
		is_full(SIZE);
		CHECK(lseek(file, 0, SEEK_CUR) == SIZE);
		emptied();
		in = out = 1000;
		CHECK(copy_file_range(file, &in, target, &out, SIZE, 0) == SIZE - 1000);
		CHECK(in == SIZE && out == SIZE);
		CHECK(lseek(target, 0, SEEK_CUR) == 0);
	}
	for (int i = 0; i < 2; i++) {
		emptied();
		CHECK(by_splice(target) == SIZE);
		is_full(1 << 20);
	}
	return arg;
}

/* A target that accepts LIMIT bytes ends the call there; the next call
 * fails with err. */
static int room_for_limit(int err)
{
	int n = 0;

	for (int h = 0; h < HOWS; h++) {
		if (how[h].call == by_send || how[h].call == by_sendmsg || !how[h].all)
			continue;
		emptied();
		CHECK(how[h].call(target) == LIMIT);
		is_full(LIMIT);
		CHECK(how[h].call(target) == -1 && errno == err);
		n++;
	}
	emptied();
	CHECK(copy_file_range(file, NULL, target, NULL, SIZE, 0) == LIMIT);
	CHECK(copy_file_range(file, NULL, target, NULL, SIZE, 0) == -1 && errno == err);
	return n;
}

/* A write that crosses RLIMIT_FSIZE is partial, without a signal; the next write gets
 * SIGXFSZ. */
static void *too_large(void *arg)
{
	struct rlimit old, limit;

	CHECK(!getrlimit(RLIMIT_FSIZE, &old));
	limit = old;
	limit.rlim_cur = LIMIT;
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
	printf("%d calls at the size limit\n", room_for_limit(EFBIG));
	CHECK(!setrlimit(RLIMIT_FSIZE, &old));
	return arg;
}

/* A file system with only LIMIT bytes left. */
static void *full_disk(void *arg)
{
	char dir[] = "/var/tmp/whole_XXXXXX";
	int at, source = file, old = target;

	CHECK(mkdtemp(dir));
	if (mount("none", dir, "tmpfs", 0, "size=4m")) {
		puts("not permitted to mount a small file system");
		CHECK(!rmdir(dir));
		return arg;
	}
	at = open(dir, O_RDONLY | O_DIRECTORY);
	file = openat(at, "full", O_RDWR | O_CREAT, 0600);
	target = openat(at, "empty", O_RDWR | O_CREAT, 0600);
	CHECK(!umount2(dir, MNT_DETACH) && !rmdir(dir));
	CHECK(file >= 0 && target >= 0 && write(file, data, SIZE) == SIZE);
	printf("%d calls on a full disk\n", room_for_limit(ENOSPC));
	CHECK(!close(file) && !close(target) && !close(at));
	file = source;
	target = old;
	return arg;
}

static volatile sig_atomic_t told;

static void on_size(int sig)
{
	(void)sig;
	told++;
}

int main(void)
{
	char path[] = "/var/tmp/whole_XXXXXX", other[] = "/var/tmp/whole_XXXXXX";
	uint32_t x = 1;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, on_size);
	data = malloc(SIZE);
	room = malloc(RANDOM_SIZE);
	for (long i = 0; i < SIZE; i++)
		data[i] = (unsigned char)((x = x * 1103515245 + 12345) >> 16);
	file = mkstemp(path);
	target = mkstemp(other);
	CHECK(file >= 0 && target >= 0 && !unlink(path) && !unlink(other));
	CHECK(write(file, data, SIZE) == SIZE);
	make_noise();
	RUN(each_call_moves_all_bytes);
	puts("all bytes arrive");
	finish(start(nothing_is_kept, NULL));
	puts("jumped out");
	finish(start(limited, NULL));
	puts("limited in time");
	finish(start(from_devices, NULL));
	puts("devices");
	finish(start(to_files, NULL));
	puts("files");
	finish(start(full_disk, NULL));
	finish(start(too_large, NULL));
	printf("SIGXFSZ %d times\n", (int)told);
	return 0;
}
