/* SPDX-License-Identifier: Apache-2.0 */
/* rwlock.h - the core of every reader-writer lock: uk_rwlock, which the drop-in keeps in
 * libc's object. It does not look at who has it: the callers do. */
#ifndef SYNC_RWLOCK_H
#define SYNC_RWLOCK_H

#include "sync/futex.h"

#define RW_WRITER 1u /* of l->state: a writer is inside */

enum rw_role { RW_READ, RW_WRITE };

struct rw_how {
	enum rw_role role;
	bool lenient; /* readers go first, always; the same for all calls on a lock */
	bool
	    uncancelable; /* neither cancel nor the thread's own deadline ends the wait */
};

/* Without waiting; the runtime is not entered. */
bool rwlock_try(uk_rwlock *l, struct rw_how how);
int rwlock_wait(uk_rwlock *l, struct rw_how how, int64_t deadline);
/* False: nobody has it. */
bool rwlock_unlock(uk_rwlock *l, bool lenient);

#endif
