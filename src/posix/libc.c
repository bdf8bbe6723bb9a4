/* SPDX-License-Identifier: Apache-2.0 */
/* libc's own functions, behind our definitions of the same names. */
#include <dlfcn.h>
#include <sched.h>

#include "base/panic.h"
#include "posix/posix.h"

void *posix_libc(const char *name)
{
	void *fn = dlsym(RTLD_NEXT, name);

	if (unlikely(!fn))
		uk_panic("the drop-in finds no %s in libc", name);
	return fn;
}

/* The runtime's table. Two threads may fill it at once, with the same. */
const struct libc *libc(void)
{
	static struct libc table;
	static uint32_t filled;

	if (unlikely(!load_acquire(&filled))) {
		table.clone = NEXT(clone);
		table.clock_gettime = NEXT(clock_gettime);
		table.fclose = NEXT(fclose);
		table.pthread_create = NEXT(pthread_create);
		table.pthread_detach = NEXT(pthread_detach);
		table.pthread_join = NEXT(pthread_join);
		table.pthread_sigmask = NEXT(pthread_sigmask);
		table.sigaction = NEXT(sigaction);
		store_release(&filled, 1);
	}
	return &table;
}
