/* SPDX-License-Identifier: Apache-2.0 */
/* verify.h - counters of each CPU while something happens. */
#ifndef NET_VERIFY_H
#define NET_VERIFY_H

#include "see.h"

/* For so many seconds of whatever goes on; or while so many datagrams go through the loopback
 * device, if that is not 0. Says what was counted. 0 or -errno. */
int probe(const struct machine *m, const char *dev, long cpu, long seconds,
	  long loopback);

#endif
