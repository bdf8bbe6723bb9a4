/* SPDX-License-Identifier: Apache-2.0 */
#include "base/env.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/log.h"

#define ITEM_MAX 64 /* longer than each valid key and value */

static const struct key {
	const char *name;
	const char *old;    /* the variable that it was; its last release is 0.2 */
	const char *words;  /* the values; NULL: */
	unsigned long most; /* a number from 0 to this */
} keys[ENV_KEYS] = {
	[ENV_CPUS] = { "cpus", "UK_CPUS", NULL, 8192 },
	[ENV_FUZZ] = { "fuzz", "UK_FUZZ", NULL, 1 },
	[ENV_GUARD] = { "guard", "UK_GUARD", "madvise mprotect none", 0 },
	[ENV_HOSTILE_SHORT] = { "hostile-short", "UK_HOSTILE_SHORT", "no", 0 },
	[ENV_HOSTILE_URING] = { "hostile-uring", "UK_HOSTILE_URING", "refuse", 0 },
	[ENV_SEED] = { "seed", "UK_SEED", NULL, ULONG_MAX },
	[ENV_TLS] = { "tls", "UK_TLS", "template harvest none", 0 },
	[ENV_TRIM] = { "trim", "UK_TRIM", NULL, 1ul << 30 },
};

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

/* `words` are separated by spaces. */
static bool one_of(const char *s, const char *words)
{
	size_t n = strlen(s);
	const char *at = words;

	for (; n && !strchr(s, ' ') && (at = strstr(at, s)); at += n)
		if ((at == words || at[-1] == ' ') && (!at[n] || at[n] == ' '))
			return true;
	return false;
}

const char *env_word(const char *name, const char *words)
{
	const char *s = env_get(name);

	if (!s || !*s)
		return NULL;
	if (one_of(s, words))
		return s;
	uk_warn("%s=%s is not one of (%s): ignored", name, s, words);
	return NULL;
}

/* ---- UK_DEBUG ---- */

struct item {
	char key[ITEM_MAX], value[ITEM_MAX];
};

static void copy(char *to, const char *from, size_t n)
{
	n = MIN(n, (size_t)ITEM_MAX - 1);
	memcpy(to, from, n);
	to[n] = 0;
}

/* Takes the next item off the list; false: none is left. */
static bool next_item(const char **list, struct item *i)
{
	const char *s = *list + strspn(*list, ",");
	size_t n = strcspn(s, ","), key = strcspn(s, "=,");

	copy(i->key, s, key);
	if (key < n)
		copy(i->value, s + key + 1, n - key - 1);
	else
		copy(i->value, "1", 1);
	*list = s + n;
	return n;
}

/* Writes the value of k to `value`; an empty one if it is not set. */
static void find(const struct key *k, char *value)
{
	const char *list = env_get("UK_DEBUG"), *old = env_get(k->old);
	struct item i;

	copy(value, old ? old : "", old ? strlen(old) : 0);
	while (list && next_item(&list, &i))
		if (!strcmp(i.key, k->name))
			copy(value, i.value, strlen(i.value));
}

static bool is_number(const struct key *k, const char *s, unsigned long *v)
{
	char *end;

	*v = strtoul(s, &end, 10);
	return *s && !*end && *v <= k->most;
}

uint64_t env_key_number(enum env_key key, uint64_t dflt)
{
	char value[ITEM_MAX];
	unsigned long v;

	find(&keys[key], value);
	return is_number(&keys[key], value, &v) ? v : dflt;
}

bool env_key_is(enum env_key key, const char *word)
{
	char value[ITEM_MAX];

	find(&keys[key], value);
	return !strcmp(value, word);
}

static void review_value(const struct key *k, const char *list, const char *name,
			 const char *s)
{
	unsigned long v;

	if (!*s)
		return;
	if (k->words && !one_of(s, k->words))
		uk_warn("%s%s=%s is not one of (%s): ignored", list, name, s, k->words);
	if (!k->words && !is_number(k, s, &v))
		uk_warn("%s%s=%s is not a number up to %lu: ignored", list, name, s,
			k->most);
}

static void review_item(const struct item *i)
{
	char names[200];
	size_t n = 0;

	for (unsigned k = 0; k < ENV_KEYS; k++) {
		if (!strcmp(i->key, keys[k].name)) {
			review_value(&keys[k], "UK_DEBUG=", i->key, i->value);
			return;
		}
		n += fmt_to(names + n, sizeof(names) - n, "%s%s", n ? " " : "",
			    keys[k].name);
	}
	uk_warn("UK_DEBUG=%s is not one of the keys (%s): ignored", i->key, names);
}

void env_review(void)
{
	const char *list = env_get("UK_DEBUG"), *s;
	static bool done;
	struct item i;

	if (done)
		return;
	done = true;
	while (list && next_item(&list, &i))
		review_item(&i);
	for (const struct key *k = keys; k < keys + ENV_KEYS; k++) {
		s = env_get(k->old);
		if (!s || !*s)
			continue;
		uk_warn("%s is now UK_DEBUG=%s=%s; the old name will be removed in 0.3",
			k->old, k->name, s);
		review_value(k, "", k->old, s);
	}
}
