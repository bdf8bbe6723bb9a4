/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - `uk run`: runs an unmodified pthread program on user threads. */
#ifndef TOOL_RUN_H
#define TOOL_RUN_H

#include <stdio.h>

/* argv[0] is "run". Returns only if nothing is executed: failure, --check, --help. */
int run(int argc, char **argv);
void run_usage(FILE *f);

#endif
