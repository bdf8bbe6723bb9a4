/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a BPF program. */
#define MECHANISM "bpf"
#include "told.h"

int main(void)
{
	the_kernel_tells();
	return 0;
}
