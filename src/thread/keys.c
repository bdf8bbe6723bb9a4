/* SPDX-License-Identifier: Apache-2.0 */
/* Thread-local keys: a process-wide table of keys, and two arrays per thread, with the
 * values and with the key's generation for which each was set.
 *
 *   generation: even = free, odd = in use; every create and delete adds 1
 *
 * A value is valid only while its generation is the key's. So deleting a key need not
 * visit the threads, and a key made anew in the same place starts with NULL everywhere.
 * Generation 0 is never in use: fresh arrays are zero.
 *
 * No lock: a key is taken by CAS on its generation. The destructor belongs to the
 * thread that made the generation odd.
 *
 * Rejected: pthread keys (a light thread would share its carrier's). */
#include "thread/keys.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS 4 /* PTHREAD_DESTRUCTOR_ITERATIONS */
#define GROW 16u
#define KEYS_MAX 1024u

static struct {
	uint32_t gen;         /* atomics */
	void (*dtor)(void *); /* atomics; written by the creator */
} keys[KEYS_MAX];
static uint32_t hint; /* where to look for a free key; any value is correct */

static bool in_use(uint32_t gen)
{
	return gen & 1;
}

int uk_key_create(uk_key *k, void (*dtor)(void *))
{
	uint32_t start = load_relaxed(&hint);

	for (uint32_t n = 0; n < KEYS_MAX; n++) {
		uint32_t i = (start + n) % KEYS_MAX, gen = load_relaxed(&keys[i].gen);

		if (in_use(gen) || !cas_acq_rel(&keys[i].gen, &gen, gen + 1))
			continue;
		store_release(&keys[i].dtor, dtor);
		store_relaxed(&hint, i + 1);
		*k = i;
		return 0;
	}
	return -EAGAIN;
}

int uk_key_delete(uk_key k)
{
	uint32_t gen;

	if (k >= KEYS_MAX)
		return -EINVAL;
	gen = load_acquire(&keys[k].gen);
	do {
		if (!in_use(gen))
			return -EINVAL;
	} while (!cas_acq_rel(&keys[k].gen, &gen, gen + 1));
	return 0;
}

void *uk_key_get(uk_key k)
{
	const struct uk_thread *t = thread_self_tls;
	const struct thread_ext *e = t ? t->ext : NULL;

	if (!e || k >= e->nkeys || e->key_gen[k] != load_acquire(&keys[k].gen))
		return NULL;
	return e->keys[k];
}

/* Makes space for key k in e. */
static int grow(struct thread_ext *e, uk_key k)
{
	unsigned n = (k / GROW + 1) * GROW;
	void **values = realloc(e->keys, n * sizeof(*values));
	uint32_t *gens;

	if (!values)
		return -ENOMEM;
	e->keys = values;
	gens = realloc(e->key_gen, n * sizeof(*gens));
	if (!gens)
		return -ENOMEM;
	e->key_gen = gens;
	memset(values + e->nkeys, 0, (n - e->nkeys) * sizeof(*values));
	memset(gens + e->nkeys, 0, (n - e->nkeys) * sizeof(*gens));
	e->nkeys = n;
	return 0;
}

int keys_set(struct uk_thread *t, uk_key k, const void *value)
{
	struct thread_ext *e;
	uint32_t gen;

	if (k >= KEYS_MAX)
		return -EINVAL;
	gen = load_acquire(&keys[k].gen);
	if (!in_use(gen))
		return -EINVAL;
	e = thread_ext(t);
	if (!e || (k >= e->nkeys && grow(e, k)))
		return -ENOMEM;
	e->keys[k] = (void *)(uintptr_t)value;
	e->key_gen[k] = gen;
	return 0;
}

/* One round; true if a destructor ran. */
static bool destroy_round(struct thread_ext *e)
{
	bool ran = false;

	for (unsigned k = 0; k < e->nkeys; k++) { /* a destructor may grow it */
		uint32_t gen = load_acquire(&keys[k].gen);
		void (*dtor)(void *) = load_acquire(&keys[k].dtor);
		void *value = e->keys[k];

		if (!value || e->key_gen[k] != gen || !in_use(gen))
			continue;
		e->keys[k] = NULL;
		if (!dtor)
			continue;
		dtor(value);
		ran = true;
	}
	return ran;
}

void keys_run_destructors(struct uk_thread *t)
{
	for (int i = 0; i < ROUNDS && t->ext && destroy_round(t->ext); i++)
		;
}

void keys_free(struct thread_ext *e)
{
	free(e->keys);
	free(e->key_gen);
	e->keys = NULL;
	e->key_gen = NULL;
	e->nkeys = 0;
}
