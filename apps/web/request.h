/* SPDX-License-Identifier: Apache-2.0 */
/* request.h - a strict, incremental parser of HTTP/1.x request heads. */
#ifndef WEB_REQUEST_H
#define WEB_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum method {
	M_GET,
	M_HEAD,
	M_OPTIONS,
	M_OTHER,   /* registered, but not supported: 405 */
	M_UNKNOWN, /* 501 */
};

/* A part of the head, relative to its first byte. off 0: absent (no field starts
 * there). It has offsets, not pointers, because the buffer moves while the head
 * arrives. */
struct span {
	uint32_t off, len;
};

struct limits {
	uint32_t max_uri;    /* bytes of the target: 414 */
	uint32_t max_header; /* bytes of the whole head: 431 */
	uint32_t max_fields; /* header lines: 431 */
};

#define R_CLOSE 1u      /* Connection: close */
#define R_KEEP 2u       /* Connection: keep-alive */
#define R_CHUNKED 4u    /* Transfer-Encoding: chunked */
#define R_CONTINUE 8u   /* Expect: 100-continue */
#define R_HOST 16u      /* a Host field was there */
#define R_LENGTH 32u    /* a Content-Length field was there */
#define R_PLAIN 64u     /* the path needs neither decoding nor normalising */
#define R_ABSOLUTE 128u /* absolute-form: the authority comes from the target */
#define R_STAR 256u     /* OPTIONS * */

struct request {
	/* Progress: the incomplete line starts at `line`; no LF in it before `scan`. */
	uint32_t line, scan, fields;
	int status; /* why request_feed returned -1 */

	enum method method;
	unsigned flags;     /* R_... */
	unsigned minor;     /* HTTP/1.minor */
	uint32_t path_hash; /* of path, without its first slash; only if R_PLAIN */
	uint64_t length;    /* Content-Length */
	uint32_t head_len;  /* bytes up to and with the empty line */
	struct span first, target, path, query, host;
	struct span range, if_range, if_match, if_none_match, if_modified,
	    if_unmodified;
	struct span user_agent, referer, accept_encoding;
};

void request_init(struct request *r);
/* Parse the len bytes that have arrived since the head began: 1 = complete (head_len),
 * 0 = more bytes are needed, -1 = refuse with r->status and close. Call again with the
 * same bytes and more behind them. */
int request_feed(struct request *r, const char *buf, uint32_t len,
		 const struct limits *l);

bool request_is_token(char c); /* RFC 9110 5.6.2 */
uint32_t path_hash_step(uint32_t h, unsigned char c);
#define PATH_HASH_INIT 2166136261u

/* Decode and normalise a path ("/a/%62/../c") into out without the leading slash, with
 * a trailing one if it names a directory. Length, or -status (400, 404). */
int path_decode(const char *p, uint32_t n, char *out, uint32_t cap);
/* Encode a decoded path for a Location field; length or -1. */
int path_encode(const char *p, uint32_t n, char *out, uint32_t cap);
/* Is there a segment that begins with a dot, other than .well-known at the top? */
bool path_hidden(const char *p, uint32_t n);

/* Chunked transfer coding, decoded only to be dropped. */
struct chunked {
	int state;
	uint32_t extra; /* bytes of extensions and trailers so far */
	uint32_t digits;
	uint64_t left;  /* of the current chunk */
	uint64_t total; /* payload so far */
};
void chunked_init(struct chunked *c);
/* Consume up to n bytes; returns how many. *done: 1 = body complete, -1 = malformed. */
uint32_t chunked_feed(struct chunked *c, const char *p, uint32_t n, int *done);

/* Does an Accept-Encoding field of n bytes allow coding (lower case)? */
bool encoding_allowed(const char *p, uint32_t n, const char *coding);

bool span_is(const char *base, struct span s, const char *lower);

#endif
