/* SPDX-License-Identifier: Apache-2.0 */
/* out.c - the same calls print either form. JSON is always one object with all facts,
 * also after an error; text indents members under headings. */
#include "out.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool out_json, out_compact;
static int depth;
static bool first;
static char closes[16];

/* The length of the UTF-8 character at s, or 0 if it is not one. */
static size_t utf8(const unsigned char *s)
{
	size_t n = *s < 0x80   ? 1
		   : *s < 0xc2 ? 0
		   : *s < 0xe0 ? 2
		   : *s < 0xf0 ? 3
		   : *s < 0xf5 ? 4
			       : 0;

	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xf0 && s[1] < 0x90))
		return 0; /* an overlong encoding */
	return (*s == 0xed && s[1] > 0x9f) || (*s == 0xf4 && s[1] > 0x8f) ? 0 : n;
}

/* JSON is UTF-8, but device names are any bytes. A byte that is not UTF-8 is written as
 * Python represents it in names: as a lone surrogate. */
static void quoted(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		size_t n = utf8((const unsigned char *)s);

		if (!n)
			printf("\\udc%02x", (unsigned char)*s);
		else if (n > 1)
			printf("%.*s", (int)n, s), s += n - 1;
		else if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if ((unsigned char)*s < ' ')
			printf("\\u%04x", *s);
		else
			putchar(*s);
	}
	putchar('"');
}

/* Print what precedes a value. */
static void lead(const char *name)
{
	if (!out_json) {
		printf("%*s", 2 * (depth - 1), "");
		printf(name ? "%s: " : "- ", name);
		return;
	}
	if (!first)
		printf(",");
	if (!out_compact)
		printf("\n%*s", 2 * depth, "");
	first = false;
	if (name) {
		quoted(name);
		printf(": ");
	}
}

static void opens(const char *name, char bracket, char end)
{
	if (out_json) {
		lead(name);
		putchar(bracket);
	} else {
		printf("%*s%s:\n", 2 * (depth - 1), "", name);
	}
	first = true;
	closes[depth++] = end;
}

void out_begin(void)
{
	if (out_json)
		putchar('{');
	first = true;
	closes[depth++] = '}';
}

void out_close(void)
{
	depth--;
	if (out_json && first)
		putchar(closes[depth]);
	else if (out_json && out_compact)
		putchar(closes[depth]);
	else if (out_json)
		printf("\n%*s%c", 2 * depth, "", closes[depth]);
	first = false;
}

int out_end(void)
{
	out_close();
	if (out_json)
		putchar('\n');
	return fflush(stdout) || ferror(stdout);
}

void out_object(const char *name)
{
	opens(name, '{', '}');
}

void out_list(const char *name)
{
	opens(name, '[', ']');
}

void out_item(const char *name, const char *value)
{
	opens(out_json ? NULL : value, '{', '}');
	if (out_json)
		out_str(name, value);
}

void out_element(void)
{
	lead(NULL);
	putchar('{');
	first = true;
	closes[depth++] = '}';
}

void out_str(const char *name, const char *value)
{
	lead(name);
	if (out_json)
		quoted(value);
	else
		printf("%s\n", *value ? value : "(none)");
}

void out_real(const char *name, double value)
{
	lead(name);
	printf("%.2f", value);
}

void out_null(const char *name)
{
	lead(name);
	printf("null");
}

void out_address(const char *name, uint64_t value)
{
	if (!value) {
		out_null(name);
		return;
	}
	lead(name);
	printf("\"%#llx\"", (unsigned long long)value);
}

void out_clean(char *s)
{
	for (size_t n; *s; s += n) {
		n = utf8((const unsigned char *)s);
		/* also the control characters beyond ASCII, U+0080 to U+009F */
		if ((n < 2 && ((unsigned char)*s < ' ' || *s == 127)) || !n ||
		    (n == 2 && (unsigned char)*s == 0xc2 &&
		     (unsigned char)s[1] < 0xa0)) {
			memset(s, '?', n ? n : 1);
			n = n ? n : 1;
		}
	}
}

void out_num(const char *name, long value)
{
	lead(name);
	printf(out_json ? "%ld" : "%ld\n", value);
}

void out_bool(const char *name, bool value)
{
	lead(name);
	if (out_json)
		printf(value ? "true" : "false");
	else
		puts(value ? "yes" : "no");
}

void out_line(const char *format, ...)
{
	va_list ap;

	if (out_json)
		return;
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
}
