/* SPDX-License-Identifier: Apache-2.0 */
#include "base/libc.h"

#include <sys/random.h>

#include <sched.h>

/* The library's table; weak, because the preload library has its own. */
__attribute__((weak)) const struct libc *libc(void)
{
	static const struct libc table = {
		.clone = clone,
		.clock_gettime = clock_gettime,
		.fclose = fclose,
		.pthread_create = pthread_create,
		.pthread_detach = pthread_detach,
		.pthread_join = pthread_join,
		.pthread_sigmask = pthread_sigmask,
		.sigaction = sigaction,
		.getrandom = getrandom,
		.posix_spawnp = posix_spawnp,
	};

	return &table;
}
