/* SPDX-License-Identifier: Apache-2.0 */
/* The root directory, and opening below it.
 *
 * It uses openat2 with RESOLVE_BENEATH, so the kernel refuses any path that would leave
 * the root, by "..", an absolute link or a link that points out, also while directories
 * are renamed. If the kernel does not have openat2 (ENOSYS, or EPERM under an old
 * seccomp filter), each segment is opened with O_NOFOLLOW, so no links are followed.
 * With O_NONBLOCK a FIFO does not block the thread.
 *
 * The root's name may refer to another directory while the server runs (mv www www.old;
 * a link "current" that is changed to the next release). A thread that opens a file
 * checks that first, one thread in each t_cache. A change makes a new generation, and
 * files.c ignores entries of the old one. No thread checks while everything comes from
 * the cache, but no entry stays there for longer than t_cache without a look at the
 * disk.
 *
 *   root  present --name refers to another--> old --last user releases it--> closed */
#include "web.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct root {
	_Atomic(unsigned) refs; /* one while it is the present, one for each user */
	unsigned generation;
	int fd;
	dev_t dev;
	ino_t ino;
};

static uk_spin lock;
static struct root *present;         /* under lock */
static _Atomic(unsigned) generation; /* of the present root */
static _Atomic(int64_t) looked;      /* ns; the thread that renews it looks */
static bool have_openat2 = true;     /* written by root_init */

unsigned root_generation(void)
{
	return atomic_load_explicit(&generation, memory_order_relaxed);
}

static void put(struct root *r)
{
	if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) == 1) {
		uk_close(r->fd);
		free(r);
	}
}

static struct root *get(void)
{
	struct root *r;

	uk_spin_lock(&lock);
	r = present;
	atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
	uk_spin_unlock(&lock);
	return r;
}

static int install(int fd)
{
	struct root *r = fd < 0 ? NULL : calloc(1, sizeof(*r)), *old;
	struct stat st;

	if (!r || fstat(fd, &st) < 0) {
		if (fd >= 0)
			close(fd);
		free(r);
		return fd < 0 ? fd : -ENOMEM;
	}
	atomic_init(&r->refs, 1);
	r->fd = fd;
	r->dev = st.st_dev;
	r->ino = st.st_ino;
	uk_spin_lock(&lock);
	old = present;
	present = r;
	r->generation = root_generation() + 1;
	atomic_store(&generation, r->generation);
	uk_spin_unlock(&lock);
	if (old)
		put(old);
	return 0;
}

int root_reopen(void)
{
	return install(uk_open(cfg.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
}

/* It makes plain calls, because the runtime has not started. */
int root_init(void)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH };
	int fd = open(cfg.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

	rc = install(fd < 0 ? -errno : fd);
	if (rc < 0)
		return rc;
	fd = (int)syscall(SYS_openat2, present->fd, ".", &how, sizeof(how));
	if (fd >= 0)
		close(fd);
	else
		have_openat2 = false;
	return 0;
}

/* Does the name still refer to the present root? If it is gone, the root stays. */
static void look(int64_t now)
{
	int64_t seen = atomic_load_explicit(&looked, memory_order_relaxed);
	struct root *r;
	struct stat st;

	if ((now - seen < cfg.t_cache && now >= seen) ||
	    !atomic_compare_exchange_strong(&looked, &seen, now))
		return;
	r = get();
	if (uk_stat(cfg.root, &st) == 0 && S_ISDIR(st.st_mode) &&
	    (st.st_dev != r->dev || st.st_ino != r->ino))
		root_reopen();
	put(r);
}

/* Without openat2: open one segment after the other, without following links. */
static int walk(int root, const char *path, int flags)
{
	int dir = root, fd;
	char seg[256];

	for (;;) {
		const char *slash = strchr(path, '/');
		size_t n = slash ? (size_t)(slash - path) : strlen(path);
		bool last = !slash || slash[1] == 0;

		if (n >= sizeof(seg))
			fd = -ENAMETOOLONG;
		else {
			memcpy(seg, path, n);
			seg[n] = 0;
			fd = uk_openat(dir, n ? seg : ".",
				       O_NOFOLLOW | O_CLOEXEC |
					   (last ? flags | (slash ? O_DIRECTORY : 0)
						 : O_PATH | O_DIRECTORY),
				       0);
		}
		if (dir != root)
			uk_close(dir);
		if (fd < 0 || last)
			return fd;
		dir = fd;
		path = slash + 1;
	}
}

static int open_below(int root, const char *path)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	struct open_how how = {
		.flags = (uint64_t)flags,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS |
			   (cfg.follow ? 0u : RESOLVE_NO_SYMLINKS),
	};
	int fd = -EAGAIN;

	if (!have_openat2)
		return walk(root, path, flags);
	/* EAGAIN: a rename raced with the resolution. */
	for (int i = 0; i < 16 && fd == -EAGAIN; i++)
		fd = uk_openat2(root, *path ? path : ".", &how, sizeof(how));
	return fd;
}

int root_open(const char *path, int64_t now, unsigned *gen)
{
	struct root *r;
	int fd;

	look(now);
	r = get();
	*gen = r->generation;
	fd = open_below(r->fd, path);
	put(r);
	return fd;
}
