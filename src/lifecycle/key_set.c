/* SPDX-License-Identifier: Apache-2.0 */
/* key_set.c - uk_key_set, the one call for keys that may have to adopt a foreign kernel
 * thread first (thread/keys.c has the others). */
#include "sched/sched.h"
#include "thread/keys.h"

int uk_key_set(uk_key k, const void *value)
{
	struct uk_thread *t = thread_self_tls;

	if (!t) {
		int unable = rt_begin();

		if (unable)
			return unable;
		t = rt_enter();
		rt_exit();
	}
	return keys_set(t, k, value);
}
