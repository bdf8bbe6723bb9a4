/* SPDX-License-Identifier: Apache-2.0 */
#include "made_early.h"

#include <sys/syscall.h>

#include "posix.h"

pthread_t early_reader, early_spinner;
int early_pipe[2], early_stop;

static void *reads(void *arg)
{
	CHECK(raw_call(SYS_read, early_pipe[0], arg, 1) == 1);
	return arg;
}

static void *spins(void *arg)
{
	while (!__atomic_load_n(&early_stop, __ATOMIC_ACQUIRE))
		;
	return arg;
}

__attribute__((constructor)) static void early(void)
{
	static char byte;

	CHECK(!pipe(early_pipe));
	early_reader = start(reads, &byte);
	early_spinner = start(spins, NULL);
}
