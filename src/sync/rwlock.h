/* SPDX-License-Identifier: Apache-2.0 */
/* rwlock.h - the core of every reader-writer lock: uk_rwlock, which the preload library
 * keeps in libc's object. The core does not check the owner: the callers do. */
#ifndef SYNC_RWLOCK_H
#define SYNC_RWLOCK_H

#include "sync/futex.h"

#define RW_WRITER 1u /* of l->state: a writer is inside */

enum rw_role { RW_READ, RW_WRITE };

struct rw_how {
	enum rw_role role;
	bool lenient; /* readers always go first; the same for all calls on a lock */
};

/* Without waiting; does not enter the runtime. */
bool rwlock_try(uk_rwlock *l, struct rw_how how);
int rwlock_wait(uk_rwlock *l, struct rw_how how, int64_t deadline);
/* False: the lock is not held. */
bool rwlock_unlock(uk_rwlock *l, bool lenient);

#endif
