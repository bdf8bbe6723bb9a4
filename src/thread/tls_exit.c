/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a thread's own code, as in glibc's start_thread, on its own block:
 *
 *   1. __call_tls_dtors: C++ thread_local objects, last made first.
 *   2. Thread-specific data: up to PTHREAD_DESTRUCTOR_ITERATIONS rounds over all keys,
 *      in the order of their numbers. libc's function for it is not reachable; the
 *      table of keys and the thread's slots are. Second-level arrays stay for the next
 *      life.
 *   3. dlerror: the pending message is dropped, or the next life would read it.
 *
 * glibc's next step (__libc_thread_freeres) is left out on purpose: it shuts down
 * malloc's cache for good. What it would have freed stays with the block and is used
 * again: malloc's tcache and arena, the buffers of strerror and strsignal, the
 * resolver's state, SunRPC's variables. That costs the memory of one thread per pooled
 * block, until no thread has needed the block for long (tls_cold.c), and leaks nothing.
 * Robust locks that are still held are the business of the code that made them robust
 * (posix/). */
#include <dlfcn.h>
#include <limits.h>
#include <string.h>

#include "arch/arch.h"
#include "thread/glibc.h"
#include "thread/tls.h"

/* Clears all values, and calls the destructors of those whose keys still exist. */
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
	/* destructors keep setting values: drop those */
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
