/* SPDX-License-Identifier: Apache-2.0 */
/* verify.h - counts the events of each CPU for a while. */
#ifndef NET_VERIFY_H
#define NET_VERIFY_H

#include "see.h"

/* Counts for some seconds or, if loopback is not 0, while that many datagrams go
 * through the loopback device. Prints the counts. 0, or -errno of the datagrams. */
int probe(const struct machine *m, const char *dev, long cpu, long seconds,
	  long loopback);

#endif
