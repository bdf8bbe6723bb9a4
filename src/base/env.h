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
/* Does the program have rights that the user who started it does not have? Then that
 * user must not see addresses and the like either. */
bool env_privileged(void);

#endif
