/* SPDX-License-Identifier: Apache-2.0 */
/* Files below the root, and a small shared cache of them.
 *
 * Opening: openat2 with RESOLVE_BENEATH, so that the kernel itself refuses whatever would
 * leave the root, be it "..", an absolute link or a link that points out, also while
 * somebody renames directories under us. Where the kernel lacks openat2 (ENOSYS, or EPERM
 * under an old seccomp filter) each segment is opened with O_NOFOLLOW: no links at all.
 * Only regular files are served; O_NONBLOCK keeps a FIFO from holding the thread.
 *
 * Cache: SETS sets of WAYS entries, each set under a spin lock held for a few instructions
 * (no runtime call inside). An entry counts its users; one that is replaced lives until the
 * last of them is done. A small file is kept as bytes, so that a hit is head and body in
 * one send; a larger one as an open descriptor for sendfile. An entry older than t_cache is
 * checked by the first thread that meets it (it opens the path anew and compares identity,
 * size and times), while others still use it: a change shows within t_cache.
 *
 * Rejected: inotify (does not see other hosts or all filesystems, and a tree needs a watch
 * per directory); mmap (a file cut short would be a SIGBUS in the middle of a reply). */
#include "web.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SETS 256u
#define WAYS 4u
#define SMALL_FILE 32768u
#define MAX_KEY 1024u

static struct set {
	uk_spin lock;
	struct file *way[WAYS];   /* under lock */
	uint32_t used[WAYS];      /* under lock: clock of the last hit */
	uint32_t clock;
} sets[SETS];
static int root_fd = -1;
static bool have_openat2 = true; /* files_init */

int files_init(void)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH };
	int fd;

	root_fd = uk_open(cfg.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (root_fd < 0)
		return root_fd;
	fd = uk_openat2(root_fd, ".", &how, sizeof(how));
	if (fd >= 0)
		uk_close(fd);
	else
		have_openat2 = false;
	return 0;
}

/* Without openat2: one segment after the other, none of them a link. */
static int walk(const char *path, int flags)
{
	int dir = root_fd, fd;
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
		if (dir != root_fd)
			uk_close(dir);
		if (fd < 0 || last)
			return fd;
		dir = fd;
		path = slash + 1;
	}
}

static int open_beneath(const char *path)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	struct open_how how = {
		.flags = (uint64_t)flags,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS |
			   (cfg.follow ? 0u : RESOLVE_NO_SYMLINKS),
	};
	int fd = -EAGAIN;

	if (!have_openat2)
		return walk(path, flags);
	/* EAGAIN: a rename raced with the resolution. */
	for (int i = 0; i < 16 && fd == -EAGAIN; i++)
		fd = uk_openat2(root_fd, *path ? path : ".", &how, sizeof(how));
	return fd;
}

static int status_of(int err)
{
	switch (err) {
	case -ENOENT:
	case -ENOTDIR:
	case -EXDEV: /* would leave the root */
	case -ELOOP:
	case -ENXIO:
		return -404;
	case -ENAMETOOLONG:
		return -414;
	case -EACCES:
	case -EPERM:
		return -403;
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
		return -503;
	default:
		return -500;
	}
}

static void file_free(struct file *f)
{
	if (f->fd >= 0)
		uk_close(f->fd);
	free(f->body);
	free(f->key);
	free(f);
}

void file_put(struct file *f)
{
	if (atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) == 1)
		file_free(f);
}

static bool same_file(const struct file *f, const struct stat *st)
{
	return f->ino == st->st_ino && f->dev == st->st_dev && f->size == (uint64_t)st->st_size &&
	       memcmp(&f->mtime, &st->st_mtim, sizeof(f->mtime)) == 0 &&
	       memcmp(&f->ctime, &st->st_ctim, sizeof(f->ctime)) == 0;
}

/* Keep a small file as bytes if it holds still while it is read. */
static void load_body(struct file *f)
{
	struct stat st;
	size_t n = 0;

	if (f->size > SMALL_FILE || !(f->body = malloc(f->size + 1)))
		return;
	while (n < f->size) {
		ssize_t k = uk_pread(f->fd, f->body + n, f->size - n, (off_t)n);

		if (k <= 0)
			break;
		n += (size_t)k;
	}
	if (n == f->size && uk_fstat(f->fd, &st) == 0 && same_file(f, &st)) {
		uk_close(f->fd);
		f->fd = -1;
		return;
	}
	free(f->body);
	f->body = NULL;
}

static void describe(struct file *f)
{
	f->type = mime_of(f->key, f->keylen);
	f->etag_len = (uint32_t)snprintf(
		f->etag, sizeof(f->etag), "\"%llx-%llx\"",
		(unsigned long long)f->mtime.tv_sec * 1000000000ull +
			(unsigned long long)f->mtime.tv_nsec,
		(unsigned long long)f->size);
	date_format(f->mtime.tv_sec, f->modified);
	f->head_len = (uint32_t)snprintf(
		f->head, sizeof(f->head),
		"Content-Type: %s\r\nLast-Modified: %s\r\nETag: %s\r\n"
		"Accept-Ranges: bytes\r\n",
		f->type, f->modified, f->etag);
}

/* Open path (NUL-terminated, normalised); 0 and *out with one reference, or -status. */
static int file_open(const char *path, uint32_t n, uint32_t hash, int64_t now,
		     struct file **out)
{
	struct stat st;
	struct file *f;
	int fd = open_beneath(path);

	if (fd < 0)
		return status_of(fd);
	if (uk_fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		uk_close(fd);
		return S_ISDIR(st.st_mode) ? (n == 0 || path[n - 1] == '/' ? -403 : -301) : -403;
	}
	f = calloc(1, sizeof(*f));
	if (!f || !(f->key = strndup(path, n))) {
		free(f);
		uk_close(fd);
		return -503;
	}
	f->fd = fd;
	f->hash = hash;
	f->keylen = n;
	f->size = (uint64_t)st.st_size;
	f->ino = st.st_ino;
	f->dev = st.st_dev;
	f->mtime = st.st_mtim;
	f->ctime = st.st_ctim;
	atomic_init(&f->refs, 1);
	atomic_init(&f->checked, now);
	describe(f);
	load_body(f);
	*out = f;
	return 0;
}

static struct file *lookup(const char *path, uint32_t n, uint32_t hash)
{
	struct set *s = &sets[hash % SETS];
	struct file *f = NULL;

	uk_spin_lock(&s->lock);
	for (unsigned i = 0; i < WAYS; i++) {
		struct file *w = s->way[i];

		if (w && w->hash == hash && w->keylen == n && memcmp(w->key, path, n) == 0) {
			atomic_fetch_add_explicit(&w->refs, 1, memory_order_relaxed);
			s->used[i] = ++s->clock;
			f = w;
			break;
		}
	}
	uk_spin_unlock(&s->lock);
	return f;
}

/* Put f (or nothing, if NULL) in the place of what path has now, or of the oldest. */
static void replace(const char *path, uint32_t n, uint32_t hash, struct file *f)
{
	struct set *s = &sets[hash % SETS];
	struct file *old;
	unsigned at = 0;
	bool found = false;

	if (cfg.cache_files == 0 || n > MAX_KEY)
		return;
	if (f)
		atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
	uk_spin_lock(&s->lock);
	for (unsigned i = 0; i < WAYS && !found; i++) {
		struct file *w = s->way[i];

		if (w && w->hash == hash && w->keylen == n && memcmp(w->key, path, n) == 0) {
			at = i;
			found = true;
		} else if (!w || (s->way[at] && s->clock - s->used[i] > s->clock - s->used[at])) {
			at = i;
		}
	}
	old = found || f ? s->way[at] : NULL;
	if (found || f) {
		s->way[at] = f;
		s->used[at] = ++s->clock;
	}
	uk_spin_unlock(&s->lock);
	if (old)
		file_put(old);
}

/* f is due for a look at the disk and the caller is the one who looks. */
static int renew(struct file *f, const char *path, int64_t now, struct file **out)
{
	struct file *fresh;
	struct stat st;
	int fd = open_beneath(path), rc;

	if (fd >= 0 && uk_fstat(fd, &st) == 0 && same_file(f, &st)) {
		uk_close(fd);
		*out = f;
		return 0;
	}
	if (fd >= 0)
		uk_close(fd);
	rc = file_open(path, f->keylen, f->hash, now, &fresh);
	replace(path, f->keylen, f->hash, rc == 0 ? fresh : NULL);
	file_put(f);
	if (rc == 0)
		*out = fresh;
	return rc;
}

/* path need not end in NUL (it points into the request); make it so for the kernel. */
static int slow(const char *path, uint32_t n, uint32_t hash, int64_t now, struct file *f,
		struct file **out)
{
	char name[4096];
	int rc;

	if (n >= sizeof(name)) {
		if (f)
			file_put(f);
		return -414;
	}
	memcpy(name, path, n);
	name[n] = 0;
	if (f)
		return renew(f, name, now, out);
	rc = file_open(name, n, hash, now, out);
	if (rc == 0)
		replace(name, n, hash, *out);
	return rc;
}

int file_get(const char *path, uint32_t n, uint32_t hash, int64_t now, struct conn *c,
	     struct file **out)
{
	struct file *f = cfg.cache_files ? lookup(path, n, hash) : NULL;
	int64_t seen;

	if (!f) {
		COUNT(c->id, cache_misses, 1);
		return slow(path, n, hash, now, NULL, out);
	}
	TALLY(&c->s.tally, cache_hits, 1);
	seen = atomic_load_explicit(&f->checked, memory_order_relaxed);
	if ((now - seen < cfg.t_cache && now >= seen) ||
	    !atomic_compare_exchange_strong(&f->checked, &seen, now)) {
		*out = f;
		return 0;
	}
	return slow(path, n, hash, now, f, out);
}
