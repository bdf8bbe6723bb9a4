/* SPDX-License-Identifier: Apache-2.0 */
/* Events from perf, for a user without privileges, on a machine that allows it. */
#define MECHANISM "perf"
#include "told.h"

int main(void)
{
	if (!getuid()) {
		CHECK_EQ(setgid(65534), 0);
		CHECK_EQ(setuid(65534), 0);
	}
	run_event_tests();
	return 0;
}
