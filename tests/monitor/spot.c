/* SPDX-License-Identifier: Apache-2.0 */
/* Events from a BPF program that the process loads itself. */
#define MECHANISM "bpf"
#include "told.h"

int main(void)
{
	run_event_tests();
	return 0;
}
