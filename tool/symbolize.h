/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize.h - `uk symbolize`: adds functions, files and lines to a dump. */
#ifndef TOOL_SYMBOLIZE_H
#define TOOL_SYMBOLIZE_H

#include <stdio.h>

/* argv[0] is "symbolize". Returns the exit status. */
int symbolize(int argc, char **argv);
/* Copies f to standard output like that. Once in a process. */
int symbolize_stream(FILE *f);

#endif
