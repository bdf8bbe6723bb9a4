/* SPDX-License-Identifier: Apache-2.0 */
/* setting.c - one setting: a file, or the CPUs of a NAPI's kernel thread. The thread is
 * named by the id of its NAPI, because each write of `threaded` makes a new thread. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "plan.h"

/* The NAPI's id, or 0 for a file. */
static unsigned thread_key(const char *key)
{
	unsigned napi = 0;

	sscanf(key, "napi-thread %u", &napi);
	return napi;
}

int setting_read(const char *key, char value[VALUE])
{
	if (!thread_key(key)) {
		int n = tree_read(key, value, VALUE);

		return n < 0 ? n : 0;
	}
	ask_thread_cpus(thread_key(key), value);
	return 0;
}

int setting_write(const char *key, const char *value)
{
	if (!thread_key(key))
		return tree_write(key, value);
	return set_thread_cpus(thread_key(key), value);
}

int setting_access(const char *key)
{
	if (!thread_key(key))
		return tree_access(key, W_OK);
	return tree_is_machine() && geteuid() ? -EACCES : 0;
}
