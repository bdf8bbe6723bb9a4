/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - `uk run`: a pthread program, unchanged, on user threads. */
#ifndef TOOL_RUN_H
#define TOOL_RUN_H

#include <stdio.h>

/* argv[0] is "run". Returns only if nothing could be executed, or nothing was to be. */
int run(int argc, char **argv);
void run_usage(FILE *f);

#endif
