/* SPDX-License-Identifier: Apache-2.0 */
/* From the path of a request to a name below the root, and back.
 *
 * A path is decoded once, before any check of dots or slashes, and normalised here. The
 * kernel's RESOLVE_BENEATH (root.c) is a second barrier, so neither has to be perfect
 * alone. An encoded slash or NUL can't be part of a file name: 404 and 400. */
#include "request.h"

#include <string.h>

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 32);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Remove the last segment of out[0..n): "a/b/" -> "a/"; -1 above the root. */
static int up(const char *out, int n)
{
	if (n == 0)
		return -1;
	for (n--; n > 0 && out[n - 1] != '/'; n--)
		;
	return n;
}

/* A segment has just ended at o (it began at seg): drop ".", resolve "..". */
static int close_segment(const char *out, int seg, int o)
{
	if (o - seg == 1 && out[seg] == '.')
		return seg;
	if (o - seg == 2 && out[seg] == '.' && out[seg + 1] == '.')
		return up(out, seg);
	return o;
}

int path_decode(const char *p, uint32_t n, char *out, uint32_t cap)
{
	int o = 0, seg = 0, k;

	for (uint32_t i = 0; i < n; i++) {
		int c = (unsigned char)p[i];

		if (c == '/') {
			k = close_segment(out, seg, o);
			if (k < 0)
				return -400;
			if (k == o && o > seg)
				out[k++] = '/';
			o = seg = k;
			continue;
		}
		if (c == '%') {
			int h = i + 2 < n ? hex(p[i + 1]) : -1,
			    l = i + 2 < n ? hex(p[i + 2]) : -1;

			if (h < 0 || l < 0)
				return -400;
			c = h * 16 + l;
			if (c == '/')
				return -404;
			i += 2;
		}
		if (c == 0)
			return -400;
		if ((uint32_t)o + 2 >= cap)
			return -404; /* longer than the name of any file */
		out[o++] = (char)c;
	}
	k = close_segment(out, seg, o);
	if (k < 0)
		return -400;
	out[k] = 0;
	return k;
}

int path_encode(const char *p, uint32_t n, char *out, uint32_t cap)
{
	static const char digits[] = "0123456789ABCDEF";
	uint32_t o = 0;

	for (uint32_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (o + 3 >= cap)
			return -1;
		if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
		    (c >= 'A' && c <= 'Z') || (c && strchr("-._~/!$&'()*+,=:@", c))) {
			out[o++] = (char)c;
		} else {
			out[o++] = '%';
			out[o++] = digits[c >> 4];
			out[o++] = digits[c & 15];
		}
	}
	out[o] = 0;
	return (int)o;
}

bool path_hidden(const char *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (p[i] != '.' || (i > 0 && p[i - 1] != '/'))
			continue;
		if (i == 0 && n >= 11 && memcmp(p, ".well-known", 11) == 0 &&
		    (n == 11 || p[11] == '/'))
			continue;
		return true;
	}
	return false;
}
