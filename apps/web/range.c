/* SPDX-License-Identifier: Apache-2.0 */
/* Range: bytes=0-499,-500,9500- . A pure function. A field that is malformed, has
 * another unit, or is abusive (too many ranges, or more bytes in sum than the file has)
 * is ignored, as RFC 9110 14.2 allows: the client gets the whole file. */
#include "web.h"

static uint32_t skip_ws(const char *p, uint32_t n, uint32_t i)
{
	while (i < n && (p[i] == ' ' || p[i] == '\t'))
		i++;
	return i;
}

/* Parse digits at p[i..]. Returns the new i; *any: were there digits? Saturates. */
static uint32_t digits(const char *p, uint32_t n, uint32_t i, uint64_t *v, bool *any)
{
	*any = false;
	*v = 0;
	for (; i < n && p[i] >= '0' && p[i] <= '9'; i++) {
		unsigned d = (unsigned)(p[i] - '0');

		*v = *v > (UINT64_MAX - d) / 10 ? UINT64_MAX : *v * 10 + d;
		*any = true;
	}
	return i;
}

/* One first-last, first- or -suffix. 1 = satisfiable, 0 = not, -1 = malformed. */
static int one(const char *p, uint32_t n, uint32_t *pos, uint64_t size, struct range *r)
{
	uint64_t a, b;
	bool has_a, has_b;
	uint32_t i = digits(p, n, *pos, &a, &has_a);

	if (i >= n || p[i] != '-')
		return -1;
	i = digits(p, n, i + 1, &b, &has_b);
	if ((!has_a && !has_b) || (has_a && has_b && b < a))
		return -1;
	*pos = i;
	if (!has_a) {
		r->len = b < size ? b : size;
		r->first = size - r->len;
		return r->len != 0;
	}
	if (a >= size)
		return 0;
	r->first = a;
	r->len = (!has_b || b >= size ? size - 1 : b) - a + 1;
	return 1;
}

int ranges_parse(const char *p, uint32_t n, uint64_t size, struct range out[MAX_RANGES])
{
	static const char unit[] = "bytes=";
	uint64_t sum = 0;
	uint32_t i;
	int count = 0, seen = 0;

	for (i = 0; i < 6; i++)
		if (i >= n || (p[i] | (i < 5 ? 32 : 0)) != unit[i])
			return -1;
	for (;;) {
		struct range r;
		int rc;

		i = skip_ws(p, n, i);
		if (i == n)
			return seen ? count : -1;
		if (p[i] == ',') {
			i++;
			continue;
		}
		rc = one(p, n, &i, size, &r);
		if (rc < 0 || ++seen > 4 * MAX_RANGES)
			return -1;
		if (rc) {
			if (count == MAX_RANGES || (sum += r.len) > size)
				return -1;
			out[count++] = r;
		}
		i = skip_ws(p, n, i);
		if (i < n && p[i] != ',')
			return -1;
	}
}
