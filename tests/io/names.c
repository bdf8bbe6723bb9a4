/* SPDX-License-Identifier: Apache-2.0 */
/* open, stat, fsync and close. */
#include "iotest.h"

#include <linux/openat2.h>

static void files_can_be_opened_and_examined(void)
{
	char dir[] = "/tmp/uk-io-dir-XXXXXX", path[128];
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH };
	struct stat st;
	int d, fd;

	CHECK(mkdtemp(dir));
	d = uk_open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	CHECK(d >= 0);
	fd = uk_openat(d, "one", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	CHECK(fd >= 0);
	CHECK_EQ(uk_openat(d, "one", O_RDWR | O_CREAT | O_EXCL, 0640), -EEXIST);
	CHECK_EQ(uk_openat(d, "two", O_RDONLY, 0), -ENOENT);
	CHECK_EQ(uk_openat(-1, "one", O_RDONLY, 0), -EBADF);
	CHECK_EQ(uk_open("/nowhere/at/all", O_RDONLY, 0), -ENOENT);
	CHECK_EQ(uk_open((void *)8, O_RDONLY, 0), -EFAULT);
	CHECK_EQ(uk_write(fd, "12345", 5), 5);
	CHECK_EQ(uk_fsync(fd), 0);
	CHECK_EQ(uk_fdatasync(fd), 0);
	CHECK_EQ(uk_fsync(-1), -EBADF);
	CHECK_EQ(uk_fstat(fd, &st), 0);
	CHECK_EQ(st.st_size, 5);
	CHECK_EQ(st.st_mode & 0777 & ~0640, 0);
	memset(&st, 0, sizeof(st));
	CHECK_EQ(uk_fstatat(d, "one", &st, 0), 0);
	CHECK_EQ(st.st_size, 5);
	snprintf(path, sizeof(path), "%s/one", dir);
	memset(&st, 0, sizeof(st));
	CHECK_EQ(uk_stat(path, &st), 0);
	CHECK_EQ(st.st_size, 5);
	CHECK_EQ(uk_stat("/nowhere", &st), -ENOENT);
	CHECK_EQ(uk_fstat(-1, &st), -EBADF);
	CHECK_EQ(uk_fstatat(d, "two", &st, 0), -ENOENT);
	CHECK_EQ(uk_close(fd), 0);
	CHECK_EQ(uk_fstat(fd, &st), -EBADF);

	fd = uk_openat2(d, "one", &how, sizeof(how));
	CHECK(fd >= 0);
	CHECK_EQ(uk_close(fd), 0);
	CHECK_EQ(uk_openat2(d, "../etc/passwd", &how, sizeof(how)), -EXDEV);
	CHECK_EQ(uk_openat2(d, "one", &how, 3), -EINVAL);
	unlinkat(d, "one", 0);
	CHECK_EQ(uk_close(d), 0);
	rmdir(dir);
}

static void fsync_of_a_pipe_fails(void)
{
	int p[2];

	make_pipe(p, 0);
	CHECK_EQ(uk_fsync(p[0]), -EINVAL);
	uk_close(p[0]);
	uk_close(p[1]);
}

static void *fifo_writer(void *arg)
{
	int fd = uk_open(arg, O_WRONLY | O_CLOEXEC, 0);

	CHECK(fd >= 0);
	CHECK_EQ(uk_write(fd, "through", 7), 7);
	uk_close(fd);
	return NULL;
}

/* Opening a fifo blocks the kernel thread until the other side opens it, too. With one
 * vp this works only because the vp is handed off. */
static void opening_a_fifo_waits_for_the_other_side(void)
{
	char path[64], b[10];
	uk_thread *t;
	int fd;

	snprintf(path, sizeof(path), "/tmp/uk-io-fifo-%d-%d", getpid(), is_user);
	CHECK_EQ(mkfifo(path, 0600), 0);
	t = spawn(fifo_writer, path);
	fd = uk_open(path, O_RDONLY | O_CLOEXEC, 0);
	CHECK(fd >= 0);
	CHECK_EQ(read_k(fd, b, 10, 7), 7);
	CHECK_EQ(uk_read(fd, b, 10), 0);
	join(t);
	uk_close(fd);
	unlink(path);
}

static void close_works_in_a_cancelled_thread(void)
{
	struct stat st;
	int p[2];

	make_pipe(p, 0);
	uk_thread_cancel(uk_thread_self());
	uk_thread_set_deadline(1);
	CHECK_EQ(uk_read(p[0], &st, 1), -ECANCELED);
	CHECK_EQ(uk_write(p[1], &st, 1), -ECANCELED);
	CHECK_EQ(uk_stat("/", &st), 0);
	CHECK_EQ(uk_close(p[0]), 0);
	CHECK_EQ(uk_close(p[1]), 0);
	CHECK_EQ(uk_close(p[1]), -EBADF);
	CHECK_EQ(uk_thread_cancel_clear(), 1);
	uk_thread_set_deadline(UK_FOREVER);
}

int main(void)
{
	io_test_init(HANG_SEC);
	BOTH(files_can_be_opened_and_examined);
	BOTH(fsync_of_a_pipe_fails);
	BOTH(opening_a_fifo_waits_for_the_other_side);
	USER(close_works_in_a_cancelled_thread);
	return 0;
}
