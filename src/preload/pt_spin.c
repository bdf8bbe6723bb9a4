/* SPDX-License-Identifier: Apache-2.0 */
/* pt_spin.c - the spin lock. Its word and its trylock are libc's: each architecture has
 * its own value for a free lock, and other processes may share it. Ours is how a thread
 * spins: the owner may be a user thread of the same vp, so after a few tries the
 * spinner yields. */
#include "base/at_load.h"
#include "base/sys.h"
#include "preload/pt.h"
#include "uk/thread.h"

#define SPINS 40u /* tries before it yields the vp */
#define KERNEL_EVERY                                                                   \
	16u /* one yield in 16 is the kernel's: the owner may be on another carrier */

static __typeof__(&pthread_spin_trylock) libc_try(void)
{
	return NEXT(pthread_spin_trylock);
}

/* Before a malloc that has such a lock can need it: dlsym may free. */
AT_LOAD(look_up)
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
