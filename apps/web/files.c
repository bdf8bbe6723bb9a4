/* SPDX-License-Identifier: Apache-2.0 */
/* Files below the root (root.c opens them), and a small shared cache of them.
 *
 * Only regular files are served. The cache has SETS sets of WAYS entries, each set
 * under a spin lock that is held for a few instructions (no runtime call inside). An
 * entry counts its users; a replaced one lives until its last user releases it. A small
 * file is kept as bytes, so that a hit is head and body in one send, a larger one as an
 * open fd for sendfile. An entry older than t_cache is checked by the first thread that
 * finds it (it opens the path again and compares identity, size and times), while
 * others still use it. So a change shows within t_cache. Look-ups ignore entries of an
 * older root.
 *
 * The janitor drops entries that were not used for AGE times t_cache, files whose last
 * name was removed, and entries of an old root. It sleeps while the cache is empty.
 *
 * Rejected: inotify (it does not see changes by other hosts or on all filesystems, and
 * needs a watch for each directory of a tree); mmap (a file that is cut short would
 * cause SIGBUS in the middle of a reply). */
#include "web.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SETS 256u
#define WAYS 4u
#define SMALL_FILE 32768u
#define MAX_KEY 1024u
#define AGE 30
#define SWEEP_MIN (250 * UK_MS)

static struct set {
	uk_spin lock;
	struct file *way[WAYS]; /* under lock */
	uint32_t used[WAYS];    /* under lock: clock of the last hit */
	uint32_t clock;
} sets[SETS];
static uk_mutex lock = UK_MUTEX_INIT;
static uk_cond work = UK_COND_INIT;
static bool sweep;              /* under lock: sweep at once */
static _Atomic(unsigned) count; /* entries: added minus removed */

static int status_of(int err)
{
	switch (err) {
	case -ENOENT:
	case -ENOTDIR:
	case -EXDEV: /* the path would leave the root */
	case -ELOOP:
	case -ENXIO:
	case -ENAMETOOLONG: /* no file can have this name */
		return -404;
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
	return f->ino == st->st_ino && f->dev == st->st_dev &&
	       f->size == (uint64_t)st->st_size &&
	       memcmp(&f->mtime, &st->st_mtim, sizeof(f->mtime)) == 0 &&
	       memcmp(&f->ctime, &st->st_ctim, sizeof(f->ctime)) == 0;
}

/* Keep a small file as bytes if it does not change while it is read. */
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

/* The value of the first rule "[PATTERN:]VALUE" that matches "/key"; a pattern begins
 * with '/' or '*'. */
static const char *rule_of(const char *key, uint32_t n)
{
	char path[MAX_KEY + 2], pattern[128];

	if (n > MAX_KEY)
		return NULL;
	snprintf(path, sizeof(path), "/%.*s", (int)n, key);
	for (unsigned i = 0; i < cfg.rules; i++) {
		const char *r = cfg.cache_control[i], *colon = strchr(r, ':');

		if ((r[0] != '/' && r[0] != '*') || !colon)
			return r;
		snprintf(pattern, sizeof(pattern), "%.*s", (int)(colon - r), r);
		if (fnmatch(pattern, path, 0) == 0)
			return colon + 1 + strspn(colon + 1, " ");
	}
	return NULL;
}

static void describe(struct file *f)
{
	f->type = mime_of(f->key, f->keylen);
	f->cache_control = rule_of(f->key, f->keylen);
	f->etag_len =
	    (uint32_t)snprintf(f->etag, sizeof(f->etag), "\"%llx-%llx\"",
			       (unsigned long long)f->mtime.tv_sec * 1000000000ull +
				   (unsigned long long)f->mtime.tv_nsec,
			       (unsigned long long)f->size);
	date_format(f->mtime.tv_sec, f->modified);
	f->head_len = (uint32_t)snprintf(
	    f->head, sizeof(f->head),
	    "Content-Type: %s\r\nLast-Modified: %s\r\nETag: %s\r\n"
	    "Accept-Ranges: bytes\r\n%s%s%s%s",
	    f->type, f->modified, f->etag,
	    cfg.precompressed ? "Vary: Accept-Encoding\r\n" : "",
	    f->cache_control ? "Cache-Control: " : "",
	    f->cache_control ? f->cache_control : "", f->cache_control ? "\r\n" : "");
}

/* Open path (NUL-terminated, normalised); 0 and *out with one reference, or -status. */
static int file_open(const char *path, uint32_t n, uint32_t hash, int64_t now,
		     struct file **out)
{
	struct stat st;
	struct file *f;
	unsigned gen;
	int fd = root_open(path, now, &gen);

	if (fd < 0)
		return status_of(fd);
	if (uk_fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		uk_close(fd);
		return S_ISDIR(st.st_mode)
			   ? (n == 0 || path[n - 1] == '/' ? -403 : -301)
			   : -403;
	}
	f = calloc(1, sizeof(*f));
	if (!f || !(f->key = strndup(path, n))) {
		free(f);
		uk_close(fd);
		return -503;
	}
	f->fd = fd;
	f->root = gen;
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
	unsigned root = root_generation();
	struct file *f = NULL;

	uk_spin_lock(&s->lock);
	for (unsigned i = 0; i < WAYS; i++) {
		struct file *w = s->way[i];

		if (w && w->hash == hash && w->keylen == n && w->root == root &&
		    memcmp(w->key, path, n) == 0) {
			atomic_fetch_add_explicit(&w->refs, 1, memory_order_relaxed);
			s->used[i] = ++s->clock;
			f = w;
			break;
		}
	}
	uk_spin_unlock(&s->lock);
	return f;
}

static void wake_janitor(bool now)
{
	uk_thread_set_deadline(UK_FOREVER);
	uk_mutex_lock(&lock);
	sweep |= now;
	uk_cond_signal(&work);
	uk_mutex_unlock(&lock);
}

/* Put f in the place of path's present entry or of the oldest one. f NULL: only remove
 * path's entry. */
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

		if (w && w->hash == hash && w->keylen == n &&
		    memcmp(w->key, path, n) == 0) {
			at = i;
			found = true;
		} else if (!w || (s->way[at] &&
				  s->clock - s->used[i] > s->clock - s->used[at])) {
			at = i;
		}
	}
	old = found || f ? s->way[at] : NULL;
	if (found || f) {
		s->way[at] = f;
		s->used[at] = ++s->clock;
	}
	uk_spin_unlock(&s->lock);
	if (f && atomic_fetch_add(&count, 1) == 0)
		wake_janitor(false);
	if (old) {
		atomic_fetch_sub(&count, 1);
		file_put(old);
	}
}

/* f must be checked on disk, and the caller is the thread that checks. */
static int renew(struct file *f, const char *path, int64_t now, struct file **out)
{
	struct file *fresh;
	struct stat st;
	unsigned gen;
	int fd = root_open(path, now, &gen), rc;

	if (fd >= 0 && gen == f->root && uk_fstat(fd, &st) == 0 && same_file(f, &st)) {
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

/* path points into the request and may not end with NUL: copy it for the kernel. */
static int slow(const char *path, uint32_t n, uint32_t hash, int64_t now,
		struct file *f, struct file **out)
{
	char name[4096];
	int rc;

	if (n >= sizeof(name)) {
		if (f)
			file_put(f);
		return -404;
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

/* f remembers for t_cache that there is no variant. */
struct file *file_variant(struct file *f, enum coding k, int64_t now, struct conn *c)
{
	static const char *const ends[N_CODINGS] = { ".br", ".gz" };
	int64_t seen = atomic_load_explicit(&f->lacks[k], memory_order_relaxed);
	uint32_t n = f->keylen + 3, h = f->hash;
	struct file *v = NULL;
	char name[MAX_KEY];

	if (n >= sizeof(name) || (seen && now - seen < cfg.t_cache && now >= seen))
		return NULL;
	memcpy(name, f->key, f->keylen);
	memcpy(name + f->keylen, ends[k], 4);
	for (int i = 0; i < 3; i++)
		h = path_hash_step(h, (unsigned char)ends[k][i]);
	if (file_get(name, n, h, now, c, &v) == 0) {
		if (v->mtime.tv_sec >= f->mtime.tv_sec)
			return v;
		file_put(v); /* a variant of an older version */
	}
	atomic_store_explicit(&f->lacks[k], now, memory_order_relaxed);
	return NULL;
}

/* ---- the janitor ---- */

static bool is_done(const struct file *f, int64_t now)
{
	struct stat st;
	int64_t age = now - atomic_load_explicit(&f->checked, memory_order_relaxed);

	if (f->root != root_generation() || age > AGE * cfg.t_cache)
		return true;
	return f->fd >= 0 && uk_fstat(f->fd, &st) == 0 && st.st_nlink == 0;
}

static void take_out(struct set *s, unsigned i, const struct file *f)
{
	struct file *old = NULL;

	uk_spin_lock(&s->lock);
	if (s->way[i] == f) {
		old = s->way[i];
		s->way[i] = NULL;
	}
	uk_spin_unlock(&s->lock);
	if (old) {
		atomic_fetch_sub(&count, 1);
		file_put(old);
	}
}

static void sweep_set(struct set *s, int64_t now)
{
	for (unsigned i = 0; i < WAYS; i++) {
		struct file *f;

		uk_spin_lock(&s->lock);
		f = s->way[i];
		if (f)
			atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
		uk_spin_unlock(&s->lock);
		if (!f)
			continue;
		if (is_done(f, now))
			take_out(s, i, f);
		file_put(f);
	}
}

static void *janitor(void *arg)
{
	uk_time pause = cfg.t_cache > SWEEP_MIN ? cfg.t_cache : SWEEP_MIN;
	const char *date;

	(void)arg;
	for (;;) {
		uk_mutex_lock(&lock);
		while (!sweep && atomic_load(&count) == 0)
			uk_cond_wait(&work, &lock);
		if (!sweep)
			uk_cond_wait_until(&work, &lock, uk_after(pause));
		sweep = false;
		uk_mutex_unlock(&lock);
		for (unsigned i = 0; i < SETS; i++)
			sweep_set(&sets[i], date_now(&date));
	}
	return NULL;
}

int files_start(void)
{
	return cfg.cache_files ? spawn_helper("janitor", janitor) : 0;
}

void files_reload(void)
{
	int rc = root_reopen();

	if (rc < 0)
		say("%s: %s (keeping the old one)", cfg.root, strerror(-rc));
	else if (cfg.cache_files)
		wake_janitor(true);
}
