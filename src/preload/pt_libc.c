/* SPDX-License-Identifier: Apache-2.0 */
/* pt_libc.c - libc's own functions, behind our definitions of the same names. */
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <sys/random.h>
#include <sched.h>

#include "base/log.h"
#include "preload/pt.h"

#define LIBC_SONAME "libc.so.6"

void *posix_libc(const char *name)
{
	void *fn = dlsym(RTLD_NEXT, name);

	if (unlikely(!fn))
		uk_panic("the preload library finds no function %s in libc", name);
	return fn;
}

/* Is the function part of libc? */
static bool in_libc(void *fn)
{
	Dl_info it, libc;

	return dladdr(fn, &it) && dladdr((void *)NEXT(gnu_get_libc_version), &libc) &&
	       it.dli_fbase == libc.dli_fbase;
}

/* From libc itself, past any library between libc and us. The runtime needs the
 * kernel's clock, because its deadlines are the kernel's. A library that fakes the time
 * fakes it only for the program.
 *
 * dlopen calls malloc, and the caller may be an allocator that holds a lock (tcmalloc's
 * first malloc calls pthread_once). So it is called only if there is such a library. */
static void *of_libc_alone(const char *name)
{
	void *next = posix_libc(name), *libc, *fn;

	if (in_libc(next))
		return next;
	libc = dlopen(LIBC_SONAME, RTLD_LAZY | RTLD_NOLOAD);
	fn = libc ? dlsym(libc, name) : NULL;
	return fn ? fn : next;
}

/* The runtime's table. Two threads may fill it at once, with the same values. */
const struct libc *libc(void)
{
	static struct libc table;
	static uint32_t filled;

	if (unlikely(!load_acquire(&filled))) {
		table.clone = NEXT(clone);
		table.clock_gettime =
		    (__typeof__(&clock_gettime))of_libc_alone("clock_gettime");
		table.fclose = NEXT(fclose);
		table.posix_spawnp = NEXT(posix_spawnp);
		table.pthread_create = NEXT(pthread_create);
		table.pthread_detach = NEXT(pthread_detach);
		table.pthread_join = NEXT(pthread_join);
		table.pthread_sigmask = NEXT(pthread_sigmask);
		table.sigaction = NEXT(sigaction);
		table.getrandom = NEXT(getrandom);
		store_release(&filled, 1);
	}
	return &table;
}
