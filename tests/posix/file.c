/* SPDX-License-Identifier: Apache-2.0 */
/* read, write and their variants on pipes and files: whole and partial transfers, and
 * errors. Also file locks. */
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "posix.h"

#define BIG (1 << 20)

static void *volatile bad_place = (void *)8; /* hidden from the compiler */
#define BAD bad_place

static int p[2];
static char big[BIG], back[BIG];
static char hello[] = "hello", vector[] = "vector";

static void *write_later(void *arg)
{
	usleep(20000);
	CHECK(write(p[1], arg, strlen(arg)) == (ssize_t)strlen(arg));
	return NULL;
}

static void *reads(void *arg)
{
	struct iovec v[2] = { { back, 2 }, { back + 10, 10 } };
	pthread_t t = start(write_later, hello);
	char buf[16];

	errno = 77;
	CHECK(read(p[0], buf, sizeof(buf)) == 5 && !memcmp(buf, "hello", 5));
	CHECK(errno == 77);
	finish(t);
	t = start(write_later, vector);
	CHECK(readv(p[0], v, 2) == 6 && back[10] == 'c');
	finish(t);
	return arg;
}

static void *write_big(void *arg)
{
	for (int i = 0; i < BIG; i++)
		big[i] = (char)(i * 7);
	CHECK(write(p[1], big, BIG) == BIG); /* many times the size of a pipe */
	return arg;
}

static void *parts(void *arg)
{
	pthread_t t = start(write_big, NULL);
	size_t done = 0;

	while (done < BIG) {
		ssize_t r = read(p[0], back + done, BIG - done);

		CHECK(r > 0);
		done += (size_t)r;
	}
	finish(t);
	CHECK(!memcmp(big, back, BIG));
	return arg;
}

static void *refused(void *arg)
{
	struct iovec bad = { BAD, 4 }, one = { back, 4 }, none = { back, 0 };
	volatile int minus_one = -1;
	int q[2];

	FAILS(read(-1, back, 1), EBADF);
	FAILS(read(p[1], back, 1), EBADF);
	FAILS(write(p[0], back, 1), EBADF);
	FAILS(write(p[1], BAD, 1), EFAULT);
	FAILS(writev(p[1], &bad, 1), EFAULT);
	FAILS(writev(p[1], BAD, 1), EFAULT);
	FAILS(readv(p[0], BAD, 1), EFAULT);
	FAILS(readv(p[0], &one, minus_one), EINVAL);
	FAILS(readv(-1, &one, 1), EBADF);
	FAILS(pread(p[0], back, 1, 0), ESPIPE);
	FAILS(pwrite(p[1], back, 1, 0), ESPIPE);
	CHECK(readv(p[0], &none, 1) == 0 && readv(p[0], BAD, 0) == 0);
	CHECK(read(p[0], back, 0) == 0 && write(p[1], back, 0) == 0);
	CHECK(write(p[1], "x", 1) == 1);
	FAILS(read(p[0], BAD, 1), EFAULT);
	CHECK(read(p[0], back, 1) == 1);
	CHECK(!pipe2(q, O_NONBLOCK));
	FAILS(read(q[0], back, 1), EAGAIN);
	while (write(q[1], back, 4096) == 4096)
		;
	CHECK(errno == EAGAIN);
	close(q[1]);
	while (read(q[0], back, BIG) > 0)
		;
	CHECK(read(q[0], back, 1) == 0);
	close(q[0]);
	FAILS(close(q[0]), EBADF);
	FAILS(open("/nowhere/at/all", O_RDONLY), ENOENT);
	FAILS(open(BAD, O_RDONLY), EFAULT);
	FAILS(fsync(p[0]), EINVAL);
	FAILS(flock(-1, LOCK_EX), EBADF);
	FAILS(fcntl(-1, F_GETFL), EBADF);
	return arg;
}

static void *files(void *arg)
{
	char name[] = "/tmp/uk-posix-file-XXXXXX";
	struct iovec v[2] = { { back, 3 }, { back + 3, BIG - 3 } };
	int fd = mkstemp(name);
	off_t off = 5;

	CHECK(fd >= 0 && write(fd, big, BIG) == BIG);
	CHECK(pread(fd, back, 100, 1000) == 100 && !memcmp(back, big + 1000, 100));
	CHECK(lseek(fd, 0, SEEK_CUR) == BIG && read(fd, back, 1) == 0);
	CHECK(lseek(fd, 0, SEEK_SET) == 0 && readv(fd, v, 2) == BIG);
	CHECK(!memcmp(big, back, BIG));
	CHECK(pwrite(fd, "abc", 3, 10) == 3 && preadv(fd, v, 1, 10) == 3);
	CHECK(!memcmp(back, "abc", 3));
	CHECK(pwritev(fd, v, 1, 20) == 3 && preadv2(fd, v, 1, 20, 0) == 3);
	FAILS(pread(fd, back, 1, -1), EINVAL);
	FAILS(pread(fd, BAD, 1, 0), EFAULT);
	FAILS(preadv2(fd, v, 1, 0, 1 << 29), EOPNOTSUPP);
	CHECK(!fsync(fd) && !fdatasync(fd));
	CHECK(sendfile(p[1], fd, &off, 10) == 10 && off == 15);
	CHECK(read(p[0], back, 100) == 10);
	CHECK(!lockf(fd, F_LOCK, 0) && !lockf(fd, F_ULOCK, 0));
	close(fd);
	fd = open(name, O_RDONLY);
	FAILS(write(fd, back, 1), EBADF);
	close(fd);
	fd = open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
	CHECK(fd == -1 && errno == EEXIST);
	unlink(name);
	fd = open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
	CHECK(fd >= 0);
	close(fd);
	fd = creat(name, 0600);
	CHECK(fd >= 0 && write(fd, "x", 1) == 1);
	close(fd);
	unlink(name);
	return arg;
}

/* To a socket that waits, and to one with O_NONBLOCK, which is then filled. */
static void sendfile_to_socket(int fd, int type)
{
	off_t off = 0, sent = 0, *fixed;
	int s[2];
	ssize_t r;

	fixed =
	    mmap(NULL, sizeof(*fixed), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(fixed != MAP_FAILED && !socketpair(AF_UNIX, type, 0, s));
	FAILS(sendfile(s[0], fd, BAD, 10), EFAULT);
	FAILS(sendfile(s[0], -1, &off, 10), EBADF);
	FAILS(sendfile(s[0], p[0], &off, 10), ESPIPE);
	off = -1;
	FAILS(sendfile(s[0], fd, &off, 10), EINVAL);
	off = 0;
	CHECK(sendfile(s[0], fd, &off, 0) == 0 && off == 0);
	CHECK(sendfile(s[0], fd, &off, 10) == 10 && off == 10);
	CHECK(read(s[1], back, 100) == 10 && !memcmp(back, big, 10));
	off = BIG - 3;
	CHECK(sendfile(s[0], fd, &off, 10) == 3 && off == BIG);
	CHECK(sendfile(s[0], fd, &off, 10) == 0);
	CHECK(read(s[1], back, 100) == 3 && !memcmp(back, big + BIG - 3, 3));
	CHECK(sendfile(s[0], fd, fixed, 10) == -1 && errno == EFAULT);
	if (type & SOCK_NONBLOCK) {
		CHECK(read(s[1], back, 100) == 10); /* the offset is checked last */
		for (off = 0; (r = sendfile(s[0], fd, &off, BIG)) > 0; sent += r)
			CHECK(off == sent + r);
		CHECK(r == -1 && errno == EAGAIN && sent > 0 && sent < BIG);
		for (off = 0; (r = read(s[1], back, BIG)) > 0; off += r)
			CHECK(!memcmp(back, big + off, (size_t)r));
		CHECK(off == sent);
	}
	CHECK(!close(s[0]) && !close(s[1]) && !munmap(fixed, sizeof(*fixed)));
}

static void *sendfiles(void *arg)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	CHECK(fd >= 0 && write(fd, big, BIG) == BIG);
	sendfile_to_socket(fd, SOCK_STREAM);
	sendfile_to_socket(fd, SOCK_STREAM | SOCK_NONBLOCK);
	CHECK(!close(fd));
	return arg;
}

/* A thread that locks a locked file waits for the holder. */
static void *lock_waits(void *arg)
{
	int fd = open(arg, O_RDWR);
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	CHECK(!flock(fd, LOCK_EX) && !flock(fd, LOCK_UN));
	CHECK(!fcntl(fd, F_OFD_SETLKW, &l));
	close(fd);
	return NULL;
}

static void *locks(void *arg)
{
	char name[] = "/tmp/uk-posix-lock-XXXXXX";
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = mkstemp(name);
	pthread_t t;

	CHECK(!flock(fd, LOCK_EX) && !fcntl(fd, F_OFD_SETLK, &l));
	t = start(lock_waits, name);
	usleep(20000);
	CHECK(!flock(fd, LOCK_UN));
	usleep(20000);
	l.l_type = F_UNLCK;
	CHECK(!fcntl(fd, F_OFD_SETLK, &l));
	finish(t);
	close(fd);
	unlink(name);
	return arg;
}

int main(void)
{
	CHECK(!pipe(p));
	run_in_thread(reads);
	run_in_thread(parts);
	run_in_thread(refused);
	run_in_thread(files);
	run_in_thread(sendfiles);
	run_in_thread(locks);
	printf("ok\n");
	return 0;
}
