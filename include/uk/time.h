/* SPDX-License-Identifier: Apache-2.0 */
/* time.h - the clock of all deadlines. */
#ifndef UK_TIME_H
#define UK_TIME_H

#include <uk/types.h>

UK_BEGIN

UK_API uk_time uk_now(void);           /* CLOCK_MONOTONIC, ns */
UK_API uk_time uk_after(uk_time span); /* uk_now() + span ns, saturating */

UK_END
#endif
