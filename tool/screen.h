/* SPDX-License-Identifier: Apache-2.0 */
/* screen.h - a terminal that shows one screen after another. */
#ifndef TOOL_SCREEN_H
#define TOOL_SCREEN_H

#include <stdbool.h>

extern struct screen {
	bool on, colour;
	bool keys; /* standard input gives single keys */
	int rows, columns;
} screen;

void screen_begin(bool colour);
/* Gives the terminal back as it was. */
void screen_end(void);
void screen_measure(void); /* its size has changed */
void screen_put(const char *text);
/* Text between one of these and screen_plain; without colour, "". */
const char *screen_bold(void);
const char *screen_heading(void);
const char *screen_warn(void);
const char *screen_plain(void);

#endif
