/* SPDX-License-Identifier: Apache-2.0 */
/* The chunked coding of a request body. The body is dropped, but its exact end must be
 * found, because the next request begins there. Strict like request.c.
 *
 *  SIZE --hex--> SIZE   --;--> EXT   --blank--> GAP --;--> EXT (RFC 9112 7.1.1)
 *  SIZE, EXT --CR--> SIZE_LF --LF--> DATA (left > 0) | TRAILER
 *  DATA --left=0--> DATA_CR --> DATA_LF --> SIZE
 *  TRAILER (at the start of a line) --CR--> END_LF --LF--> DONE
 *  TRAILER --token--> TNAME --token--> TNAME --:--> TLINE
 *  TLINE --CR--> T_LF --LF--> TRAILER */
#include "request.h"

enum {
	SIZE,
	GAP,
	EXT,
	SIZE_LF,
	DATA,
	DATA_CR,
	DATA_LF,
	TRAILER,
	TNAME,
	TLINE,
	T_LF,
	END_LF,
	DONE,
	BAD
};
#define MAX_EXTRA 4096u /* extensions and trailers of one body */

void chunked_init(struct chunked *c)
{
	*c = (struct chunked){ .state = SIZE };
}

static int size_byte(struct chunked *c, char ch)
{
	int d = ch >= '0' && ch <= '9' ? ch - '0' : -1;

	if ((ch | 32) >= 'a' && (ch | 32) <= 'f')
		d = (ch | 32) - 'a' + 10;
	if (d >= 0) {
		if (++c->digits > 15)
			return BAD;
		c->left = c->left * 16 + (uint64_t)d;
		return SIZE;
	}
	if (c->digits == 0)
		return BAD;
	if (ch == ' ' || ch == '\t')
		return GAP;
	return ch == '\r' ? SIZE_LF : ch == ';' ? EXT : BAD;
}

/* Blanks before an extension; nothing else may follow them. */
static int gap_byte(struct chunked *c, char ch)
{
	if (ch == ';')
		return EXT;
	return (ch == ' ' || ch == '\t') && ++c->extra <= MAX_EXTRA ? GAP : BAD;
}

static int line_byte(struct chunked *c, char ch, int stay, int cr)
{
	if (ch == '\r')
		return cr;
	if (((unsigned char)ch < 32 && ch != '\t') || ch == 127 ||
	    ++c->extra > MAX_EXTRA)
		return BAD;
	return stay;
}

/* A trailer is a field: a name, and nothing between it and its colon (RFC 9112 5.1). */
static int name_byte(struct chunked *c, char ch)
{
	if (ch == ':' && c->state == TNAME)
		return TLINE;
	return request_is_token(ch) && ++c->extra <= MAX_EXTRA ? TNAME : BAD;
}

static int step(struct chunked *c, char ch)
{
	switch (c->state) {
	case SIZE:
		return size_byte(c, ch);
	case GAP:
		return gap_byte(c, ch);
	case EXT:
		return line_byte(c, ch, EXT, SIZE_LF);
	case SIZE_LF:
		if (ch != '\n')
			return BAD;
		c->digits = 0;
		return c->left ? DATA : TRAILER;
	case DATA_CR:
		return ch == '\r' ? DATA_LF : BAD;
	case DATA_LF:
		return ch == '\n' ? SIZE : BAD;
	case TRAILER:
		if (ch == '\r')
			return END_LF;
		/* fall through */
	case TNAME:
		return name_byte(c, ch);
	case TLINE:
		return line_byte(c, ch, TLINE, T_LF);
	case T_LF:
		return ch == '\n' ? TRAILER : BAD;
	case END_LF:
		return ch == '\n' ? DONE : BAD;
	default:
		return BAD;
	}
}

uint32_t chunked_feed(struct chunked *c, const char *p, uint32_t n, int *done)
{
	uint32_t i = 0;

	while (i < n && c->state < DONE) {
		if (c->state == DATA) {
			uint32_t k = c->left < n - i ? (uint32_t)c->left : n - i;

			c->left -= k;
			c->total += k;
			i += k;
			if (c->left == 0)
				c->state = DATA_CR;
			continue;
		}
		c->state = step(c, p[i++]);
	}
	*done = c->state == DONE ? 1 : c->state == BAD ? -1 : 0;
	return i;
}
