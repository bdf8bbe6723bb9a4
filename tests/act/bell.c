/* SPDX-License-Identifier: Apache-2.0 */
/* The events of perf, for a user without any privilege, if the machine lets him. */
#define MECHANISM "perf"
#include "told.h"

int main(void)
{
	if (!getuid()) {
		CHECK_EQ(setgid(65534), 0);
		CHECK_EQ(setuid(65534), 0);
	}
	the_kernel_tells();
	return 0;
}
