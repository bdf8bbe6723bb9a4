/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - tables of long options for getopt_long(3); all have --help. */
#ifndef TOOL_OPTIONS_H
#define TOOL_OPTIONS_H

#include <getopt.h>

#define VALUE_OF(name, letter)                                                         \
	{                                                                              \
		name, required_argument, NULL, letter                                  \
	}
#define WORD(name, letter)                                                             \
	{                                                                              \
		name, no_argument, NULL, letter                                        \
	}
#define OPTIONS(array, ...)                                                            \
	static const struct option array[] = { __VA_ARGS__,                            \
					       WORD("help", 'h'),                      \
					       { NULL, 0, NULL, 0 } }

#endif
