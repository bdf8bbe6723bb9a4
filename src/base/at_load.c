/* SPDX-License-Identifier: Apache-2.0 */
#include "base/at_load.h"

#include "base/atomic.h"
#include "base/base.h"

typedef void (*at_load_fn)(void);

/* The linker defines them, unless the list is empty (in a unit test). */
#define LINKERS __attribute__((weak, visibility("hidden")))
extern at_load_fn const __start_uk_at_load[] LINKERS, __stop_uk_at_load[] LINKERS;

void at_load(void)
{
	static uint32_t done; /* nobody waits for it: there is no second thread yet */

	if (xchg_acq_rel(&done, 1))
		return;
	for (const at_load_fn *fn = __start_uk_at_load; fn < __stop_uk_at_load; fn++)
		(*fn)();
}

__attribute__((constructor)) static void loaded(void)
{
	at_load();
}
