/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a thread's own code, as glibc's start_thread does it, on its own block:
 *
 *   1. __call_tls_dtors: C++ thread_local objects, last made first.
 *   2. Thread-specific data: up to PTHREAD_DESTRUCTOR_ITERATIONS rounds over all keys,
 * in the order of their numbers. libc's function for it is not reachable; the table of
 *      keys and the thread's slots are. Second-level arrays stay for the next life.
 *   3. dlerror: the pending message is dropped, or the next life would read it.
 *
 * What glibc does next (__libc_thread_freeres) is left out on purpose: it shuts
 * malloc's cache down for good. What it would have freed stays with the block and is
 * used again: malloc's tcache and arena, strerror's and strsignal's buffer, the
 * resolver's state, SunRPC's variables. It costs memory of one thread per pooled block,
 * until that has not been needed for long (tls_cold.c), and no leak. Robust locks still
 * held are the business of whoever made them robust (posix/). */
#include <dlfcn.h>
#include <limits.h>
#include <string.h>

#include "arch/arch.h"
#include "thread/glibc.h"
#include "thread/tls.h"

/* Any value of a living key, its destructor called. */
static void round_of_level2(char *level2, size_t first)
{
	for (size_t i = 0; i < glibc.nlevel2; i++) {
		char *slot = level2 + i * glibc.data_size;
		void **data = (void **)(void *)(slot + glibc.data_ptr), *value = *data;
		const char *key = glibc.keys + (first + i) * glibc.key_size;
		void (*destroy)(void *);

		if (!value)
			continue;
		*data = NULL;
		destroy =
		    *(void (*const *)(void *))(const void *)(key + glibc.key_destr);
		if (*(uintptr_t *)(void *)(slot + glibc.data_seq) ==
			*(const uintptr_t *)(const void *)(key + glibc.key_seq) &&
		    destroy)
			destroy(value);
	}
}

static bool *used_flag(void)
{
	char *tp = arch_get_tp();

	return glibc.specific_used == NOWHERE ? NULL : (bool *)tp + glibc.specific_used;
}

static bool any_value(void)
{
	const char *tp = arch_get_tp();

	for (size_t k = 0; k < glibc.nlevel1; k++) {
		const char *l2 =
		    glibc_word(tp, glibc.specific + (ptrdiff_t)(k * sizeof(void *)));

		for (size_t i = 0; l2 && i < glibc.nlevel2; i++)
			if (*(void *const *)(const void *)(l2 + i * glibc.data_size +
							   glibc.data_ptr))
				return true;
	}
	return false;
}

static void run_key_destructors(void)
{
	for (int round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS; round++) {
		bool *used = used_flag();

		if (used ? !*used : !any_value())
			return;
		if (used)
			*used = false;
		for (size_t k = 0; k < glibc.nlevel1; k++) {
			/* re-read after each destructor: it may park and set others */
			char *l2 = glibc_word(arch_get_tp(),
					      glibc.specific +
						  (ptrdiff_t)(k * sizeof(void *)));

			if (l2)
				round_of_level2(l2, k * glibc.nlevel2);
		}
	}
	/* destructors that never cease to set values: drop them */
	for (size_t k = 0; k < glibc.nlevel1; k++) {
		char *l2 = glibc_word(arch_get_tp(),
				      glibc.specific + (ptrdiff_t)(k * sizeof(void *)));

		if (l2)
			memset(l2, 0, glibc.nlevel2 * glibc.data_size);
	}
	if (used_flag())
		*used_flag() = false;
}

void tls_run_destructors(void)
{
	if (glibc.call_tls_dtors)
		glibc.call_tls_dtors();
	if (glibc.keys && glibc.specific != NOWHERE && glibc.key_size &&
	    glibc.data_size)
		run_key_destructors();
	if (dlerror())
		dlerror();
}
