/* SPDX-License-Identifier: Apache-2.0 */
#include "base/membarrier.h"

#include <linux/membarrier.h>

#include "base/log.h"
#include "base/sys.h"

int barrier_init(void)
{
	return (int)sys3(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0,
			 0);
}

void barrier_everywhere(void)
{
	long r = sys3(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);

	/* going on could lose a wake-up */
	if (unlikely(r))
		uk_panic(
		    "membarrier(2) failed with errno %ld: a seccomp filter that was "
		    "installed after the start refuses it; let the filter allow it",
		    -r);
}
