/* SPDX-License-Identifier: Apache-2.0 */
/* spin.c - the spin lock: libc's word and libc's try (each architecture has its own idea of
 * what is free, and other processes may share it). Ours is what a spinner does: the owner may
 * be a user thread of the same vp, so after a few tries he lets others run. */
#include "base/sys.h"
#include "posix/posix.h"
#include "uk/thread.h"

#define SPINS 40u /* tries before the vp is given to others */
#define KERNEL_EVERY                                                                   \
	16u /* of these: the processor, for the owner may have another carrier */

static __typeof__(&pthread_spin_trylock) libc_try(void)
{
	return NEXT(pthread_spin_trylock);
}

/* Not first by a malloc that has such a lock: dlsym may free. */
__attribute__((constructor)) static void look_up(void)
{
	libc_try();
}

static NOINLINE int spin(pthread_spinlock_t *l)
{
	for (unsigned n = 1; libc_try()(l); n++) {
		if (n % SPINS)
			cpu_relax();
		else if (posix_user() && n / SPINS % KERNEL_EVERY)
			uk_yield();
		else
			sys0(SYS_sched_yield);
	}
	return 0;
}

LIBC_API int pthread_spin_lock(pthread_spinlock_t *l)
{
	return likely(!libc_try()(l)) ? 0 : spin(l);
}
