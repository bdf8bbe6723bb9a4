/* SPDX-License-Identifier: Apache-2.0 */
#include "base/env.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/panic.h"

const char *env_get(const char *name)
{
	return secure_getenv(name);
}

bool env_privileged(void)
{
	return getauxval(AT_SECURE);
}

unsigned env_number(const char *name, unsigned dflt, unsigned max)
{
	const char *s = env_get(name);
	char *end;
	unsigned long v;

	if (!s || !*s)
		return dflt;
	v = strtoul(s, &end, 10);
	if (*end || v > max) {
		uk_warn("%s=%s is not a number up to %u: ignored", name, s, max);
		return dflt;
	}
	return (unsigned)v;
}

size_t env_size(const char *name, size_t max)
{
	const char *s = env_get(name);
	char *end;
	unsigned long v;
	unsigned shift = 0;

	if (!s || !*s)
		return 0;
	v = strtoul(s, &end, 0);
	if (*end == 'k' || *end == 'K')
		shift = 10, end++;
	else if (*end == 'm' || *end == 'M')
		shift = 20, end++;
	if (!*end && v && v <= max >> shift)
		return v << shift;
	uk_warn("%s=%s is not a size up to %lu MiB (bytes, or with K or M): ignored",
		name, s, (unsigned long)(max >> 20));
	return 0;
}

const char *env_word(const char *name, const char *words)
{
	const char *s = env_get(name), *at = words;
	size_t n = s ? strlen(s) : 0;

	if (!n)
		return NULL;
	for (; !strchr(s, ' ') && (at = strstr(at, s)); at += n)
		if ((at == words || at[-1] == ' ') && (!at[n] || at[n] == ' '))
			return s;
	uk_warn("%s=%s is not one of (%s): ignored", name, s, words);
	return NULL;
}
