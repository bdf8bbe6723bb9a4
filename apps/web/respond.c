/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to its reply: methods, files, conditions, ranges, errors.
 *
 * The common case, a whole file from the cache, is a table look-up and two copies:
 * status line, date and length (reply.c), and the rest of the head as prepared when the
 * file was opened. It allocates nothing, and its only system call is the send. Whether
 * the connection stays open is decided before the head is written, because the head
 * says so. The order of conditions is that of RFC 9110 13.2.2. */
#include "web.h"

#include <stdlib.h>
#include <string.h>

/* ---- conditions ---- */

/* Does a list of entity tags contain that of f? strong: a weak tag never matches. */
static bool etag_listed(const struct file *f, const char *p, uint32_t n, bool strong)
{
	uint32_t i = 0;

	if (n == 1 && p[0] == '*')
		return true;
	while (i < n) {
		bool weak = false;
		uint32_t start;

		while (i < n && (p[i] == ' ' || p[i] == '\t' || p[i] == ','))
			i++;
		if (i + 1 < n && p[i] == 'W' && p[i + 1] == '/') {
			weak = true;
			i += 2;
		}
		if (i >= n || p[i] != '"')
			return false;
		for (start = i++; i < n && p[i] != '"'; i++)
			;
		if (i == n)
			return false;
		i++;
		if (!(strong && weak) && i - start == f->etag_len &&
		    memcmp(p + start, f->etag, f->etag_len) == 0)
			return true;
	}
	return false;
}

/* 0 (send the file), 304 or 412. */
static int conditions(const struct conn *c, const struct file *f)
{
	const struct request *r = &c->r;
	const char *b = c->s.ibuf + c->s.ipos;
	time_t t;

	if (r->if_match.off) {
		if (!etag_listed(f, b + r->if_match.off, r->if_match.len, true))
			return 412;
	} else if (r->if_unmodified.off &&
		   date_parse(b + r->if_unmodified.off, r->if_unmodified.len, &t) ==
		       0 &&
		   f->mtime.tv_sec > t) {
		return 412;
	}
	if (r->if_none_match.off)
		return etag_listed(f, b + r->if_none_match.off, r->if_none_match.len,
				   false)
			   ? 304
			   : 0;
	if (r->if_modified.off &&
	    date_parse(b + r->if_modified.off, r->if_modified.len, &t) == 0 &&
	    f->mtime.tv_sec <= t)
		return 304;
	return 0;
}

/* May the ranges be used? Only if the client surely has this representation. */
static bool if_range_holds(const struct conn *c, const struct file *f)
{
	struct span v = c->r.if_range;
	const char *p = c->s.ibuf + c->s.ipos + v.off;
	time_t t;

	if (!v.off)
		return true;
	if (v.len && p[0] == '"')
		return v.len == f->etag_len && memcmp(p, f->etag, v.len) == 0;
	return date_parse(p, v.len, &t) == 0 && t == f->mtime.tv_sec;
}

/* ---- files ---- */

static void send_part(struct conn *c, struct file *f, uint64_t first, uint64_t n)
{
	if (n == 0)
		return;
	if (f->body)
		stream_body(&c->s, f->body + first, n);
	else
		stream_file(&c->s, f->fd, (off_t)first, n);
}

static const char *const codings[N_CODINGS] = { "br", "gzip" };

/* The media type of the decoded content. */
static const char *type_of(const struct conn *c, const struct file *f)
{
	return c->coding == IDENTITY ? f->type : mime_of(f->key, f->keylen - 3);
}

static void put_coding(struct conn *c)
{
	if (c->coding != IDENTITY)
		stream_printf(&c->s, "Content-Encoding: %s\r\n", codings[c->coding]);
}

/* The fields for caches, also of a 304. */
static void put_caching(struct conn *c)
{
	if (cfg.precompressed)
		stream_puts(&c->s, "Vary: Accept-Encoding\r\n");
	if (c->caching)
		stream_printf(&c->s, "Cache-Control: %s\r\n", c->caching);
}

static void put_file_head(struct conn *c, const struct file *f)
{
	if (c->coding == IDENTITY) {
		stream_put(&c->s, f->head, f->head_len);
		return;
	}
	stream_printf(&c->s,
		      "Content-Type: %s\r\nLast-Modified: %s\r\nETag: %s\r\n"
		      "Accept-Ranges: bytes\r\n",
		      type_of(c, f), f->modified, f->etag);
	put_coding(c);
	put_caching(c);
}

static void reply_whole(struct conn *c, struct file *f, bool keep)
{
	bool head = c->r.method == M_HEAD;

	reply_head(c, 200, keep);
	put_file_head(c, f);
	reply_length(&c->s, f->size);
	if (!head)
		send_part(c, f, 0, f->size);
	reply_done(c, 200, head ? 0 : f->size);
}

static void reply_not_modified(struct conn *c, struct file *f, bool keep)
{
	reply_head(c, 304, keep);
	stream_printf(&c->s, "ETag: %s\r\nLast-Modified: %s\r\n", f->etag, f->modified);
	put_caching(c);
	stream_puts(&c->s, "\r\n");
	reply_done(c, 304, 0);
}

static void reply_one_range(struct conn *c, struct file *f, bool keep, struct range r)
{
	reply_head(c, 206, keep);
	put_file_head(c, f);
	stream_printf(&c->s, "Content-Range: bytes %llu-%llu/%llu\r\n",
		      (unsigned long long)r.first,
		      (unsigned long long)(r.first + r.len - 1),
		      (unsigned long long)f->size);
	reply_length(&c->s, r.len);
	send_part(c, f, r.first, r.len);
	reply_done(c, 206, r.len);
}

static int part_head(char *out, size_t cap, const char *boundary, const struct file *f,
		     const char *type, struct range r)
{
	return snprintf(
	    out, cap,
	    "\r\n--%s\r\nContent-Type: %s\r\nContent-Range: bytes %llu-%llu/%llu"
	    "\r\n\r\n",
	    boundary, type, (unsigned long long)r.first,
	    (unsigned long long)(r.first + r.len - 1), (unsigned long long)f->size);
}

static void reply_multipart(struct conn *c, struct file *f, bool keep,
			    const struct range *r, int n)
{
	char boundary[40], part[320];
	const char *type = type_of(c, f);
	uint64_t total = 0;

	snprintf(boundary, sizeof(boundary), "%016llx%08x",
		 (unsigned long long)uk_now() * 0x9e3779b97f4a7c15ull, (unsigned)c->id);
	for (int i = 0; i < n; i++)
		total +=
		    (uint64_t)part_head(part, sizeof(part), boundary, f, type, r[i]) +
		    r[i].len;
	total += strlen(boundary) + 8;
	reply_head(c, 206, keep);
	stream_printf(&c->s,
		      "Content-Type: multipart/byteranges; boundary=%s\r\n"
		      "Last-Modified: %s\r\nETag: %s\r\nAccept-Ranges: bytes\r\n",
		      boundary, f->modified, f->etag);
	put_coding(c);
	put_caching(c);
	reply_length(&c->s, total);
	for (int i = 0; i < n; i++) {
		int k = part_head(part, sizeof(part), boundary, f, type, r[i]);

		stream_put(&c->s, part, (size_t)k);
		send_part(c, f, r[i].first, r[i].len);
	}
	stream_printf(&c->s, "\r\n--%s--\r\n", boundary);
	reply_done(c, 206, total);
}

static __attribute__((noinline)) void reply_ranges(struct conn *c, struct file *f,
						   bool keep)
{
	struct range r[MAX_RANGES];
	const char *b = c->s.ibuf + c->s.ipos;
	char extra[64];
	int n = ranges_parse(b + c->r.range.off, c->r.range.len, f->size, r);

	if (n < 0) {
		reply_whole(c, f, keep);
	} else if (n == 0) {
		snprintf(extra, sizeof(extra), "Content-Range: bytes */%llu\r\n",
			 (unsigned long long)f->size);
		reply_error(c, 416, keep, extra);
	} else if (n == 1) {
		reply_one_range(c, f, keep, r[0]);
	} else {
		reply_multipart(c, f, keep, r, n);
	}
}

/* Replace f by a variant that the client accepts, if there is one. */
static struct file *choose(struct conn *c, struct file *f, int64_t now)
{
	struct span a = c->r.accept_encoding;
	const char *p = c->s.ibuf + c->s.ipos + a.off;

	c->caching = f->cache_control;
	for (enum coding k = BR; cfg.precompressed && a.len && k < N_CODINGS; k++) {
		struct file *v = encoding_allowed(p, a.len, codings[k])
				     ? file_variant(f, k, now, c)
				     : NULL;

		if (v) {
			file_put(f);
			c->coding = k;
			return v;
		}
	}
	c->coding = IDENTITY;
	return f;
}

static void reply_file(struct conn *c, struct file *f, bool keep)
{
	struct request *r = &c->r;
	int cond = 0;

	if (r->if_match.off | r->if_unmodified.off | r->if_none_match.off |
	    r->if_modified.off)
		cond = conditions(c, f);
	if (cond == 304)
		reply_not_modified(c, f, keep);
	else if (cond)
		reply_error(c, cond, keep, NULL);
	else if (r->range.off && r->method == M_GET && if_range_holds(c, f))
		reply_ranges(c, f, keep);
	else
		reply_whole(c, f, keep);
}

/* Put the query, with bytes above 127 encoded: a field is ASCII. */
static void put_query(struct stream *s, const char *p, uint32_t n)
{
	static const char digits[] = "0123456789ABCDEF";
	uint32_t from = 0, i;

	for (i = 0; i < n; i++) {
		unsigned char u = (unsigned char)p[i];
		char code[3] = { '%', digits[u >> 4], digits[u & 15] };

		if (u < 0x80)
			continue;
		stream_put(s, p + from, i - from);
		stream_put(s, code, 3);
		from = i + 1;
	}
	stream_put(s, p + from, n - from);
}

/* The target is a directory without its slash. The Location starts with exactly one
 * slash, so the client can't be sent to another host. */
static void reply_redirect(struct conn *c, const char *path, uint32_t n, bool keep)
{
	char *url = malloc(3 * (size_t)n + 8);
	const char *b = c->s.ibuf + c->s.ipos;
	int k = url ? path_encode(path, n, url, 3 * n + 8) : -1;
	bool head = c->r.method == M_HEAD;

	if (k < 0) {
		free(url);
		reply_error(c, 500, keep, NULL);
		return;
	}
	reply_head(c, 301, keep);
	stream_puts(&c->s, "Location: /");
	stream_put(&c->s, url, (size_t)k);
	stream_puts(&c->s, "/");
	if (c->r.query.off) {
		stream_puts(&c->s, "?");
		put_query(&c->s, b + c->r.query.off, c->r.query.len);
	}
	stream_puts(&c->s, "\r\nContent-Type: text/plain\r\n");
	reply_length(&c->s, 6);
	if (!head)
		stream_puts(&c->s, "Moved\n");
	reply_done(c, 301, head ? 0 : 6);
	free(url);
}

static void reply_status(struct conn *c, int rc, const char *path, uint32_t n,
			 bool keep)
{
	if (rc == -301)
		reply_redirect(c, path, n, keep);
	else
		reply_error(c, -rc, keep, rc == -503 ? "Retry-After: 1\r\n" : NULL);
}

/* The path needs decoding, or an index. */
static __attribute__((noinline)) void reply_slow(struct conn *c, bool keep, int64_t now)
{
	static const char index[] = "index.html";
	const char *b = c->s.ibuf + c->s.ipos;
	uint32_t h = PATH_HASH_INIT;
	char name[4096];
	struct file *f;
	int rc, n = path_decode(b + c->r.path.off, c->r.path.len, name,
				sizeof(name) - sizeof(index));

	if (n < 0) {
		reply_error(c, -n, keep, NULL);
		return;
	}
	if (path_hidden(name, (uint32_t)n)) {
		reply_error(c, 404, keep, NULL);
		return;
	}
	if (n == 0 || name[n - 1] == '/') {
		memcpy(name + n, index, sizeof(index));
		n += (int)sizeof(index) - 1;
	}
	for (int i = 0; i < n; i++)
		h = path_hash_step(h, (unsigned char)name[i]);
	rc = file_get(name, (uint32_t)n, h, now, c, &f);
	if (rc < 0) {
		reply_status(c, rc, name, (uint32_t)n, keep);
		return;
	}
	f = choose(c, f, now);
	reply_file(c, f, keep);
	file_put(f);
}

static void reply_get(struct conn *c, bool keep)
{
	struct request *r = &c->r;
	const char *path = c->s.ibuf + c->s.ipos + r->path.off + 1, *date;
	uint32_t n = r->path.len - 1;
	int64_t now = date_now(&date);
	struct file *f;
	int rc;

	if (!(r->flags & R_PLAIN) || r->path.len < 2 || path[n - 1] == '/') {
		reply_slow(c, keep, now);
		return;
	}
	rc = file_get(path, n, r->path_hash, now, c, &f);
	if (rc < 0) {
		reply_status(c, rc, path, n, keep);
		return;
	}
	f = choose(c, f, now);
	reply_file(c, f, keep);
	file_put(f);
}

static void reply_options(struct conn *c, bool keep)
{
	reply_head(c, 204, keep);
	stream_puts(&c->s, "Allow: GET, HEAD, OPTIONS\r\n\r\n");
	reply_done(c, 204, 0);
}

/* As the client asks, unless the server is stopping; but all requests of a pipeline
 * that have arrived are answered first. */
static bool may_keep(struct conn *c)
{
	const struct request *r = &c->r;

	if ((r->flags & R_CLOSE) || (r->minor == 0 && !(r->flags & R_KEEP)))
		return false;
	if (!c->linger && !atomic_load_explicit(&stopping, memory_order_relaxed))
		return true;
	if (c->s.ilen - c->s.ipos > r->head_len)
		return true;
	c->linger = true;
	return false;
}

bool respond(struct conn *c)
{
	static const char allow[] = "Allow: GET, HEAD, OPTIONS\r\n";
	struct request *r = &c->r;
	bool keep;
	int rc;

	if (r->method == M_OTHER && (r->flags & R_CONTINUE)) {
		reply_error(c, 405, false,
			    allow); /* before the client sends the body */
		return false;
	}
	if ((r->flags & R_CHUNKED) || r->length) {
		rc = body_drain(c);
		if (rc < 0) {
			if (!c->s.err)
				reply_error(c, -rc, false, NULL);
			return false;
		}
	}
	uk_thread_set_deadline(UK_FOREVER);
	keep = may_keep(c);
	if (r->method == M_OTHER)
		reply_error(c, 405, keep, allow);
	else if (r->method == M_OPTIONS)
		reply_options(c, keep);
	else if (status_wants(c))
		status_respond(c, keep);
	else
		reply_get(c, keep);
	return keep;
}
