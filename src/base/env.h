/* SPDX-License-Identifier: Apache-2.0 */
/* env.h - the only access to the environment. In a privileged program (AT_SECURE:
 * set-user-ID, file capabilities) every variable reads as unset: the user who starts it
 * may set variables, but must not decide what it writes, loads or leaves out.
 * tests/layers.py checks that no layer calls getenv. */
#ifndef BASE_ENV_H
#define BASE_ENV_H

#include "base/base.h"

/* NULL: not set, or the program is privileged. */
const char *env_get(const char *name);
/* A number from 0 to max; dflt if the variable is not set or, with a warning, is no
 * such number. */
unsigned env_number(const char *name, unsigned dflt, unsigned max);
/* A size in bytes, or with K or M, up to max; 0 if the variable is not set or, with a
 * warning, is no such size. */
size_t env_size(const char *name, size_t max);
/* One of `words`, which are separated by spaces; NULL if the variable is not set or,
 * with a warning, is none of them. */
const char *env_word(const char *name, const char *words);

/* The keys of UK_DEBUG, a list key=value,key=value. A key alone is key=1. If a key
 * comes twice, the last one counts. The table is in env.c. */
enum env_key {
	ENV_CPUS,
	ENV_FUZZ,
	ENV_GUARD,
	ENV_HOSTILE_SHORT,
	ENV_HOSTILE_URING,
	ENV_SEED,
	ENV_TLS,
	ENV_TRIM,
	ENV_KEYS
};
/* The number of a key; dflt if the key is not set or has a bad value. Does not warn, so
 * it may be called often: env_review warns. */
uint64_t env_key_number(enum env_key key, uint64_t dflt);
/* Does the key have this value? */
bool env_key_is(enum env_key key, const char *word);
/* Called at each start of the runtime, by one thread at a time. The first call warns of
 * unknown keys, bad values and variables that are keys now. */
void env_review(void);

/* Does the program have rights that the user who started it does not have? Then that
 * user must not see addresses and the like either. */
bool env_privileged(void);

#endif
