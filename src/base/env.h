/* SPDX-License-Identifier: Apache-2.0 */
/* env.h - the one door to the environment, shut in a privileged program (set-user-ID,
 * capabilities of a file: AT_SECURE): whoever starts one may set variables, but not what
 * it writes, loads or leaves out. Checked by tests/layers.py: no room calls getenv. */
#ifndef BASE_ENV_H
#define BASE_ENV_H

#include "base/base.h"

/* NULL: not set, or not to be heeded. */
const char *env_get(const char *name);
/* A number from 0 to max; dflt if not set, or not such a number, which is said. */
unsigned env_number(const char *name, unsigned dflt, unsigned max);
/* Bytes, or with K or M, up to max; 0 if not set, or not such a size, which is said. */
size_t env_size(const char *name, size_t max);
/* One of these words, which spaces part; NULL if not set, or none of them, which is said. */
const char *env_word(const char *name, const char *words);
/* Does the program have rights that who started it has not? Then addresses and the like
 * are not shown to him either. */
bool env_privileged(void);

#endif
