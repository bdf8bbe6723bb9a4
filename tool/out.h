/* SPDX-License-Identifier: Apache-2.0 */
/* out.h - prints indented text or one JSON object (uk net), or JSON objects alone
 * (uk ps, uk top). */
#ifndef TOOL_OUT_H
#define TOOL_OUT_H

#include <stdbool.h>
#include <stdint.h>

extern bool out_json;
extern bool out_compact; /* a JSON object is one line */

void out_begin(void);
/* 0, or 1 if standard output could not be written. */
int out_end(void);

/* Begins a member, which out_close ends. In text, its name is a heading. */
void out_object(const char *name);
void out_list(const char *name);
/* Begins an object that is an element of a list, in JSON alone. */
void out_element(void);
/* Begins an element of a list: an object with the member name: value, its heading. */
void out_item(const char *name, const char *value);
void out_close(void);

void out_str(const char *name, const char *value); /* name NULL: an element of a list */
void out_num(const char *name, long value);
void out_real(const char *name, double value);      /* two decimals */
void out_address(const char *name, uint64_t value); /* "0x..."; 0: null */
void out_null(const char *name);
void out_bool(const char *name, bool value);
/* Replaces what a terminal might obey, and what is not UTF-8, by '?'. */
void out_clean(char *s);
/* A line of the text form; JSON does not have it. */
void out_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
