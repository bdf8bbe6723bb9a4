/* SPDX-License-Identifier: Apache-2.0 */
/* The request head. A pure function of the bytes: no I/O, no allocation, no clock, so a
 * fuzzer can test it (tests/web/fuzz_request.c).
 *
 * It parses line by line as lines arrive, and looks at a byte a fixed number of times
 * however the network splits the head. It refuses anything that two parties could read
 * differently, and the connection closes, because a proxy in front might disagree about
 * where the next request begins: bare LF or CR, folded lines, space before a colon,
 * more than one Content-Length or Host, Content-Length with Transfer-Encoding, codings
 * other than one "chunked", Transfer-Encoding in HTTP/1.0.
 *
 * Rejected: a library. Debian 12 has http-parser 2.9 (archived by its authors in 2020,
 * and lenient where this must be strict). Its successor llhttp is packaged only inside
 * Node.js, and picohttpparser is not packaged (it also leaves all the rules above to
 * its caller). */
#include "request.h"

#include <string.h>

/* Character classes: T token (RFC 9110 5.6.2), V field content, U request target. */
#define T 1
#define V 2
#define U 4
#define H 8 /* RFC 3986 reg-name: unreserved, sub-delims, % */
static const unsigned char cls[256] = {
	['\t'] = V,
	[' '] = V,
	['!'] = T | V | U | H,
	['"'] = V | U,
	['#'] = T | V,
	['$'] = T | V | U | H,
	['%'] = T | V | U | H,
	['&'] = T | V | U | H,
	['\''] = T | V | U | H,
	['('] = V | U | H,
	[')'] = V | U | H,
	['*'] = T | V | U | H,
	['+'] = T | V | U | H,
	[','] = V | U | H,
	['-'] = T | V | U | H,
	['.'] = T | V | U | H,
	['/'] = V | U,
	['0' ... '9'] = T | V | U | H,
	[':'] = V | U,
	[';'] = V | U | H,
	['<'] = V | U,
	['='] = V | U | H,
	['>'] = V | U,
	['?'] = V | U,
	['@'] = V | U,
	['A' ... 'Z'] = T | V | U | H,
	['['] = V | U,
	['\\'] = V | U,
	[']'] = V | U,
	['^'] = T | V | U,
	['_'] = T | V | U | H,
	['`'] = T | V | U,
	['a' ... 'z'] = T | V | U | H,
	['{'] = V | U,
	['|'] = T | V | U,
	['}'] = V | U,
	['~'] = T | V | U | H,
	[128 ... 255] = V,
};

bool request_is_token(char c)
{
	return cls[(unsigned char)c] & T;
}

static bool is(char c, int mask)
{
	return (cls[(unsigned char)c] & mask) != 0;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool same(const char *p, uint32_t n, const char *low)
{
	for (uint32_t i = 0; i < n; i++)
		if (low[i] == 0 || lower(p[i]) != low[i])
			return false;
	return low[n] == 0;
}

bool span_is(const char *base, struct span s, const char *low)
{
	return same(base + s.off, s.len, low);
}

uint32_t path_hash_step(uint32_t h, unsigned char c)
{
	return (h ^ c) * 16777619u;
}

void request_init(struct request *r)
{
	memset(r, 0, sizeof(*r));
}

static int refuse(struct request *r, int status)
{
	r->status = status;
	return -1;
}

static enum method method_of(const char *p, uint32_t n)
{
	static const char *const known[] = { "POST",  "PUT",   "DELETE",
					     "PATCH", "TRACE", "CONNECT" };

	if (n == 3 && memcmp(p, "GET", 3) == 0)
		return M_GET;
	if (n == 4 && memcmp(p, "HEAD", 4) == 0)
		return M_HEAD;
	if (n == 7 && memcmp(p, "OPTIONS", 7) == 0)
		return M_OPTIONS;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (n == strlen(known[i]) && memcmp(p, known[i], n) == 0)
			return M_OTHER;
	return M_UNKNOWN;
}

/* uri-host [ ":" port ]; no userinfo. Empty is allowed (RFC 9112 3.2). */
static bool host_ok(const char *p, uint32_t n)
{
	uint32_t i = 0;

	if (n && p[0] == '[') {
		for (i = 1; i < n && p[i] != ']'; i++)
			if (!(is(p[i], T) || p[i] == ':'))
				return false;
		if (i == n)
			return false;
		i++;
	} else {
		for (; i < n && p[i] != ':'; i++)
			if (!is(p[i], H))
				return false;
	}
	if (i == n)
		return true;
	if (p[i++] != ':' || n - i > 5)
		return false;
	for (; i < n; i++)
		if (p[i] < '0' || p[i] > '9')
			return false;
	return true;
}

/* Split origin-form at '?'. The same pass finds out whether the path can be used as it
 * is, and computes its hash. */
static int split_path(struct request *r, const char *b, uint32_t off, uint32_t end)
{
	uint32_t h = PATH_HASH_INIT, i;
	bool plain = true;

	for (i = off + 1; i < end && b[i] != '?'; i++) {
		if (b[i] == '%' || ((b[i] == '/' || b[i] == '.') && b[i - 1] == '/'))
			plain = false;
		h = path_hash_step(h, (unsigned char)b[i]);
	}
	r->path = (struct span){ off, i - off };
	if (i < end)
		r->query = (struct span){ i + 1, end - i - 1 };
	r->path_hash = h;
	if (plain)
		r->flags |= R_PLAIN;
	return 0;
}

static int absolute_form(struct request *r, const char *b, uint32_t off, uint32_t end)
{
	uint32_t i;

	if (end - off > 7 && same(b + off, 7, "http://"))
		off += 7;
	else if (end - off > 8 && same(b + off, 8, "https://"))
		off += 8;
	else
		return refuse(r, 400);
	for (i = off; i < end && b[i] != '/' && b[i] != '?'; i++)
		;
	if (i == off || !host_ok(b + off, i - off))
		return refuse(r, 400);
	r->flags |= R_ABSOLUTE;
	r->host = (struct span){ off, i - off };
	if (i < end && b[i] == '/')
		return split_path(r, b, i, end);
	if (i < end) { /* http://host?query */
		r->query = (struct span){ i + 1, end - i - 1 };
	} else if (r->method == M_OPTIONS) {
		r->flags |= R_STAR;
	}
	return 0; /* path.off == 0: the root */
}

/* The length of the UTF-8 sequence at p (of n bytes). 0 if it is not one: an overlong
 * form, a surrogate, above U+10FFFF. */
static uint32_t utf8_len(const char *p, uint32_t n)
{
	const unsigned char *u = (const unsigned char *)p;
	uint32_t k = u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;
	unsigned char low = u[0] == 0xe0 ? 0xa0 : u[0] == 0xf0 ? 0x90 : 0x80;
	unsigned char high = u[0] == 0xed ? 0x9f : u[0] == 0xf4 ? 0x8f : 0xbf;

	if (u[0] < 0xc2 || u[0] > 0xf4 || k > n || u[1] < low || u[1] > high)
		return 0;
	for (uint32_t i = 2; i < k; i++)
		if (u[i] < 0x80 || u[i] > 0xbf)
			return 0;
	return k;
}

/* The end of the target that begins at i. The RFC does not allow raw UTF-8, but clients
 * send it and it has one meaning; other bytes above 127 have not. */
static uint32_t target_end(const char *b, uint32_t i, uint32_t end)
{
	while (i < end) {
		uint32_t k = 1;

		if ((unsigned char)b[i] >= 0x80)
			k = utf8_len(b + i, end - i);
		else if (!is(b[i], U))
			break;
		if (k == 0)
			break;
		i += k;
	}
	return i;
}

/* method SP target SP HTTP/1.x */
static int request_line(struct request *r, const char *b, uint32_t off, uint32_t end,
			const struct limits *l)
{
	uint32_t i = off, t, v;

	r->first = (struct span){ off, end - off };
	while (i < end && is(b[i], T))
		i++;
	if (i == off || i - off > 32 || i == end || b[i] != ' ')
		return refuse(r, 400);
	r->method = method_of(b + off, i - off);
	t = ++i;
	i = target_end(b, i, end);
	if (i - t > l->max_uri)
		return refuse(r, 414);
	if (i == t || i == end || b[i] != ' ')
		return refuse(r, 400);
	r->target = (struct span){ t, i - t };
	v = i + 1;
	if (end - v != 8 || memcmp(b + v, "HTTP/", 5) != 0 || b[v + 6] != '.' ||
	    b[v + 5] < '0' || b[v + 5] > '9' || b[v + 7] < '0' || b[v + 7] > '9')
		return refuse(r, 400);
	if (b[v + 5] != '1')
		return refuse(r, b[v + 5] == '0' ? 400 : 505);
	r->minor = b[v + 7] == '0' ? 0 : 1;
	if (b[t] == '/')
		return split_path(r, b, t, i);
	if (b[t] == '*' && i - t == 1 && r->method == M_OPTIONS) {
		r->flags |= R_STAR;
		return 0;
	}
	if (r->method == M_OTHER && same(b + off, t - 1 - off, "connect"))
		return host_ok(b + t, i - t) ? 0 : refuse(r, 400);
	return absolute_form(r, b, t, i);
}

static int content_length(struct request *r, const char *p, uint32_t n)
{
	uint64_t v = 0;

	if ((r->flags & R_LENGTH) || n == 0 || n > 18)
		return refuse(r, 400);
	for (uint32_t i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return refuse(r, 400);
		v = v * 10 + (uint64_t)(p[i] - '0');
	}
	r->flags |= R_LENGTH;
	r->length = v;
	return 0;
}

static int connection(struct request *r, const char *p, uint32_t n)
{
	for (uint32_t i = 0; i < n;) {
		uint32_t e, k;

		while (i < n && (p[i] == ' ' || p[i] == '\t' || p[i] == ','))
			i++;
		for (e = i; e < n && p[e] != ','; e++)
			;
		for (k = e; k > i && (p[k - 1] == ' ' || p[k - 1] == '\t'); k--)
			;
		if (same(p + i, k - i, "close"))
			r->flags |= R_CLOSE;
		else if (same(p + i, k - i, "keep-alive"))
			r->flags |= R_KEEP;
		i = e;
	}
	return 0;
}

/* A field that may come once. A second one makes it present but empty, which each
 * condition takes as "does not hold": the answer is complete, never wrong. */
static int once(struct span *s, struct span v)
{
	*s = s->off ? (struct span){ 1, 0 } : v;
	return 0;
}

static int field(struct request *r, const char *b, struct span name, struct span v)
{
	const char *p = b + v.off;

	switch (name.len) {
	case 4:
		if (!span_is(b, name, "host"))
			return 0;
		if ((r->flags & R_HOST) || !host_ok(p, v.len))
			return refuse(r, 400);
		r->flags |= R_HOST;
		if (!(r->flags & R_ABSOLUTE))
			r->host = v;
		return 0;
	case 5:
		return span_is(b, name, "range") ? once(&r->range, v) : 0;
	case 6:
		if (!span_is(b, name, "expect"))
			return 0;
		if (!same(p, v.len, "100-continue"))
			return r->minor ? refuse(r, 417) : 0;
		if (r->minor)
			r->flags |= R_CONTINUE;
		return 0;
	case 7:
		if (span_is(b, name, "referer"))
			r->referer = v;
		return 0;
	case 8:
		if (span_is(b, name, "if-match"))
			return once(&r->if_match, v);
		return span_is(b, name, "if-range") ? once(&r->if_range, v) : 0;
	case 10:
		if (span_is(b, name, "connection"))
			return connection(r, p, v.len);
		if (span_is(b, name, "user-agent"))
			r->user_agent = v;
		return 0;
	case 13:
		return span_is(b, name, "if-none-match") ? once(&r->if_none_match, v)
							 : 0;
	case 14:
		return span_is(b, name, "content-length") ? content_length(r, p, v.len)
							  : 0;
	case 15:
		return span_is(b, name, "accept-encoding")
			   ? once(&r->accept_encoding, v)
			   : 0;
	case 17:
		if (span_is(b, name, "if-modified-since"))
			return once(&r->if_modified, v);
		if (!span_is(b, name, "transfer-encoding"))
			return 0;
		if (r->minor == 0 || (r->flags & R_CHUNKED))
			return refuse(r, 400);
		if (!same(p, v.len, "chunked"))
			return refuse(r, 501);
		r->flags |= R_CHUNKED;
		return 0;
	case 19:
		return span_is(b, name, "if-unmodified-since")
			   ? once(&r->if_unmodified, v)
			   : 0;
	default:
		return 0;
	}
}

/* "gzip;q=0.5": is there a weight, with only zeros? */
static bool weight_is_zero(const char *p, uint32_t n)
{
	uint32_t i = 0;

	while (i < n && (p[i] == ' ' || p[i] == '\t'))
		i++;
	if (n - i < 3 || lower(p[i]) != 'q' || p[i + 1] != '=' || p[i + 2] != '0')
		return false;
	for (i += 3; i < n; i++)
		if (p[i] >= '1' && p[i] <= '9')
			return false;
	return true;
}

bool encoding_allowed(const char *p, uint32_t n, const char *coding)
{
	bool any = false;

	for (uint32_t i = 0; i < n;) {
		uint32_t e, k, w;

		while (i < n && (p[i] == ' ' || p[i] == '\t' || p[i] == ','))
			i++;
		for (e = i; e < n && p[e] != ','; e++)
			;
		for (w = i; w < e && p[w] != ';'; w++)
			;
		for (k = w; k > i && (p[k - 1] == ' ' || p[k - 1] == '\t'); k--)
			;
		if (same(p + i, k - i, coding))
			return w == e || !weight_is_zero(p + w + 1, e - w - 1);
		if (k - i == 1 && p[i] == '*')
			any = w == e || !weight_is_zero(p + w + 1, e - w - 1);
		i = e;
	}
	return any;
}

static int header_line(struct request *r, const char *b, uint32_t off, uint32_t end,
		       const struct limits *l)
{
	uint32_t i = off, k;

	if (++r->fields > l->max_fields)
		return refuse(r, 431);
	while (i < end && is(b[i], T))
		i++;
	if (i == off || i == end ||
	    b[i] != ':') /* folding, space before colon, no colon */
		return refuse(r, 400);
	for (k = i + 1; k < end && (b[k] == ' ' || b[k] == '\t'); k++)
		;
	for (uint32_t j = k; j < end; j++)
		if (!is(b[j], V))
			return refuse(r, 400);
	while (end > k && (b[end - 1] == ' ' || b[end - 1] == '\t'))
		end--;
	return field(r, b, (struct span){ off, i - off }, (struct span){ k, end - k });
}

static int finish(struct request *r)
{
	if ((r->flags & R_CHUNKED) && (r->flags & R_LENGTH))
		return refuse(r, 400);
	if (r->minor && !(r->flags & R_HOST))
		return refuse(r, 400);
	if (r->method == M_UNKNOWN)
		return refuse(r, 501);
	return 1;
}

/* Check a line that is not complete yet. */
static int partial(struct request *r, const char *b, uint32_t len,
		   const struct limits *l)
{
	uint32_t have = len - r->line;

	if (r->first.len == 0 && have) {
		/* Refuse at once what is no request line (a TLS hello, noise). */
		for (uint32_t i = r->line; i < len && i - r->line < 33 && b[i] != ' ';
		     i++)
			if (!(is(b[i], T) || (b[i] == '\r' && i == r->line)) ||
			    i - r->line == 32)
				return refuse(r, 400);
		if (have > l->max_uri + 64)
			return refuse(r, 414);
	}
	if (len >= l->max_header)
		return refuse(r, r->first.len ? 431 : 414);
	return 0;
}

int request_feed(struct request *r, const char *b, uint32_t len, const struct limits *l)
{
	for (;;) {
		const char *lf =
		    len > r->scan ? memchr(b + r->scan, '\n', len - r->scan) : NULL;
		uint32_t end;
		int rc;

		if (!lf) {
			r->scan = len;
			return partial(r, b, len, l);
		}
		end = (uint32_t)(lf - b);
		if (end >= l->max_header)
			return refuse(r, r->first.len ? 431 : 414);
		if (end == r->line || b[end - 1] != '\r')
			return refuse(r, 400);
		end--;
		if (r->first.len == 0) {
			/* Allow a few empty lines before a request (RFC 9112 2.2). */
			if (end == r->line)
				rc = end > 8 ? refuse(r, 400) : 0;
			else
				rc = request_line(r, b, r->line, end, l);
		} else if (end == r->line) {
			r->head_len = end + 2;
			return finish(r);
		} else {
			rc = header_line(r, b, r->line, end, l);
		}
		if (rc < 0)
			return rc;
		r->line = r->scan = end + 2;
	}
}
