/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize.h - `uk symbolize`: adds functions, files and lines to a dump. */
#ifndef TOOL_SYMBOLIZE_H
#define TOOL_SYMBOLIZE_H

/* argv[0] is "symbolize". Returns the exit status. */
int symbolize(int argc, char **argv);

#endif
