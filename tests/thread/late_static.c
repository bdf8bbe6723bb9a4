/* SPDX-License-Identifier: Apache-2.0 */
/* A module that a test opens late. Its TLS must be static. */
#include "late.h"

static __thread int counter __attribute__((tls_model("initial-exec"))) = 42;
static __thread char zeros[100] __attribute__((tls_model("initial-exec")));

int *late_counter(void)
{
	return &counter;
}

char *late_zeros(void)
{
	return zeros;
}

static int seen;

__attribute__((constructor)) static void look(void)
{
	seen = counter;
}

int late_constructor_saw(void)
{
	return seen;
}
