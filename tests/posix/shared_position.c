/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads, and a second process, use one file position. The page cache holds only
 * parts of the file. Each record is read once and whole, and written once and whole. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "posix.h"

#define RECORD                                                                         \
	24576 /* bytes; not a power of two pages, so that the cache holds parts */
#define WORDS (RECORD / 4)
#define RECORDS 300u
#define READERS 12
#define WRITERS 8
#define WRITES 40
#define SMALL 3000

static int fd;
static FILE *stream;
static uint32_t *seen; /* how often each record was read; shared with a child */

static void account(const uint32_t *record)
{
	for (int i = 1; i < WORDS; i++)
		CHECK(record[i] == record[0]);
	CHECK(record[0] < RECORDS);
	__atomic_fetch_add(&seen[record[0]], 1, __ATOMIC_SEQ_CST);
}

static ssize_t by_read(void *p)
{
	return read(fd, p, RECORD);
}

static ssize_t by_readv(void *p)
{
	struct iovec v[3] = { { p, 100 },
			      { (char *)p + 100, 5000 },
			      { (char *)p + 5100, RECORD - 5100 } };

	return readv(fd, v, 3);
}

static ssize_t by_preadv2(void *p)
{
	struct iovec v = { p, RECORD };

	return preadv2(fd, &v, 1, -1, 0);
}

static ssize_t by_dup(void *p)
{
	int other = dup(fd);
	ssize_t r = read(other, p, RECORD);

	CHECK(!close(other));
	return r;
}

static ssize_t by_stdio(void *p)
{
	return (ssize_t)fread(p, 1, RECORD, stream);
}

static ssize_t (*how)(void *p);

static void *reader(void *arg)
{
	uint32_t *record = aligned_alloc(4096, RECORD);
	ssize_t r;

	while ((r = how(record)) > 0) {
		CHECK(r == RECORD);
		account(record);
		CHECK(lseek(fd, 0, SEEK_CUR) % RECORD == 0 || how == by_stdio);
	}
	CHECK(r == 0);
	free(record);
	return arg;
}

static void run(void *(*fn)(void *), intptr_t n)
{
	pthread_t t[READERS];

	for (intptr_t i = 0; i < n; i++)
		t[i] = start(fn, (void *)i);
	for (intptr_t i = 0; i < n; i++)
		finish(t[i]);
}

/* Drops some pages of each record from the cache. */
static void make_cold(void)
{
	for (int i = 0; i < (int)RECORDS; i++) {
		off_t at = (off_t)i * RECORD;

		posix_fadvise(fd, at, RECORD, POSIX_FADV_RANDOM);
		posix_fadvise(fd, at + (i % 5 + 1) * 4096, 4096 * (1 + i % 3),
			      POSIX_FADV_DONTNEED);
	}
}

static void read_once(ssize_t (*by)(void *), bool with_child)
{
	pid_t child = 0;

	memset(seen, 0, RECORDS * sizeof(*seen));
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	make_cold();
	how = by;
	if (with_child && (child = fork()) == 0) {
		run(reader, READERS / 2);
		_exit(0);
	}
	run(reader, READERS);
	if (child)
		CHECK(end_of(child) == 0);
	for (unsigned i = 0; i < RECORDS; i++)
		CHECK(seen[i] == 1);
}

static void make_records(void)
{
	uint32_t *record = malloc(RECORD);

	for (uint32_t i = 0; i < RECORDS; i++) {
		for (int k = 0; k < WORDS; k++)
			record[k] = i;
		CHECK(write(fd, record, RECORD) == RECORD);
	}
	CHECK(!fsync(fd));
	free(record);
}

/* -- writing -- */

static void *writer(void *arg)
{
	char line[SMALL];
	struct iovec v[2] = { { line, 1 }, { line + 1, SMALL - 1 } };

	memset(line, 'a' + (int)(intptr_t)arg, SMALL);
	for (int i = 0; i < WRITES; i++)
		CHECK((i & 1 ? writev(fd, v, 2) : write(fd, line, SMALL)) == SMALL);
	return arg;
}

static void *prints(void *arg)
{
	char line[SMALL];

	memset(line, 'a' + (int)(intptr_t)arg, SMALL);
	for (int i = 0; i < WRITES; i++)
		CHECK(fwrite(line, 1, SMALL, stream) == SMALL);
	return arg;
}

static void count_lines(const char *path)
{
	int in = open(path, O_RDONLY), n[WRITERS] = { 0 };
	char line[SMALL];

	while (read(in, line, SMALL) == SMALL) {
		for (int i = 1; i < SMALL; i++)
			CHECK(line[i] == line[0]);
		n[line[0] - 'a']++;
	}
	for (int i = 0; i < WRITERS; i++)
		CHECK(n[i] == WRITES);
	CHECK(!close(in));
}

static void write_once(const char *path, int flags)
{
	fd = open(path, O_RDWR | O_TRUNC | flags);
	run(writer, WRITERS);
	CHECK(!close(fd));
	count_lines(path);
}

/* -- a directory -- */

#define NAMES 500

static char names[NAMES];

static void *lists(void *arg)
{
	char buf[300];
	ssize_t r;

	while ((r = getdents64(fd, buf, sizeof(buf))) > 0)
		for (char *p = buf; p < buf + r;) {
			struct dirent64 *d = (void *)p;

			if (d->d_name[0] == 'n')
				__atomic_fetch_add(&names[atoi(d->d_name + 1)], 1,
						   __ATOMIC_SEQ_CST);
			p += d->d_reclen;
		}
	CHECK(r == 0);
	return arg;
}

static void list_once(const char *dir)
{
	char name[300];

	CHECK(!mkdir(dir, 0700));
	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "%s/n%d", dir, i);
		CHECK(!close(open(name, O_CREAT | O_WRONLY, 0600)));
	}
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	run(lists, READERS);
	CHECK(!close(fd));
	for (int i = 0; i < NAMES; i++) {
		CHECK(names[i] == 1);
		snprintf(name, sizeof(name), "%s/n%d", dir, i);
		CHECK(!unlink(name));
	}
	CHECK(!rmdir(dir));
}

int main(void)
{
	char path[] = "/var/tmp/shared_position_XXXXXX", dir[64];

	seen = mmap(NULL, RECORDS * sizeof(*seen), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	fd = mkstemp(path);
	CHECK(fd >= 0);
	make_records();
	read_once(by_read, false);
	read_once(by_readv, false);
	read_once(by_preadv2, false);
	read_once(by_dup, false);
	read_once(by_read, true);
	stream = fdopen(dup(fd), "r");
	CHECK(stream);
	read_once(by_stdio, false);
	fclose(stream);
	CHECK(!close(fd));
	puts("read");

	write_once(path, 0);
	write_once(path, O_APPEND);
	stream = fopen(path, "w");
	CHECK(stream);
	run(prints, WRITERS);
	CHECK(!fclose(stream));
	count_lines(path);
	CHECK(!unlink(path));
	puts("written");

	snprintf(dir, sizeof(dir), "%s.d", path);
	list_once(dir);
	puts("listed");
	return 0;
}
