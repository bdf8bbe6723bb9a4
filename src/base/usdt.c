/* SPDX-License-Identifier: Apache-2.0 */
/* usdt.c - the semaphore of the probes. */
#include "base/usdt.h"

#if UK_HAVE_SDT
unsigned short usdt_readers __attribute__((section(".probes")));
#endif
