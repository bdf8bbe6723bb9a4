/* SPDX-License-Identifier: Apache-2.0 */
/* top.h - `uk top`: what another process does, live. */
#ifndef TOOL_TOP_H
#define TOOL_TOP_H

/* argv[0] is "top". Returns the exit status. */
int top(int argc, char **argv);

#endif
