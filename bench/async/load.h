/* SPDX-License-Identifier: Apache-2.0 */
/* load.h - what the programs of async-io share: a file of 64 MiB whose blocks are read,
 * in an order that is the same for all programs, and names to stat. Page cache and name
 * cache are warm, so the cost of a request is measured and not a disk. */
#ifndef LOAD_H
#define LOAD_H

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

#define BLOCK 4096
#define BLOCKS 16384u

/* Makes a file of blocks, each of which contains its number. */
static inline int load_file(void)
{
	char name[] = "/tmp/bench-async-XXXXXX";
	static uint64_t b[BLOCK / 8];
	int fd = mkstemp(name);

	if (fd < 0 || unlink(name))
		die("mkstemp", errno);
	for (unsigned i = 0; i < BLOCKS; i++) {
		b[0] = i;
		if (pwrite(fd, b, BLOCK, (off_t)i * BLOCK) != BLOCK)
			die("pwrite", errno);
	}
	return fd;
}

/* Changes to the folder and returns the names of its n files. */
static inline char (*load_names(const char *folder, long n))[8]
{
	char(*names)[8] = calloc((size_t)n, sizeof(*names));

	if (chdir(folder))
		die(folder, errno);
	for (long i = 0; i < n; i++)
		snprintf(names[i], sizeof(names[i]), "%ld", i % 10000000);
	return names;
}

static inline char *load_buffers(unsigned n)
{
	char *p = mmap(NULL, (size_t)n * BLOCK, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		die("mmap", errno);
	return p;
}

static inline unsigned load_next(uint64_t *seed)
{
	return (unsigned)(rng_next(seed) % BLOCKS);
}

static inline void load_right(const char *buf, unsigned block, long long res)
{
	uint64_t first;

	memcpy(&first, buf, sizeof(first));
	if (res != BLOCK || first != block)
		die("a block is wrong", (int)-res);
}

static inline void load_done(int64_t since, long n)
{
	result("op", (double)(now_ns() - since) / (double)n);
	check(n);
}
#endif
