/* SPDX-License-Identifier: Apache-2.0 */
/* out.h - prints what `uk net` says, as indented text or as one JSON object. */
#ifndef NET_OUT_H
#define NET_OUT_H

#include <stdbool.h>

extern bool out_json;

void out_begin(void);
/* 0, or 1 if standard output could not be written. */
int out_end(void);

/* Begins a member, which out_close ends. In text, its name is a heading. */
void out_object(const char *name);
void out_list(const char *name);
/* Begins an element of a list: an object with the member name: value, its heading. */
void out_item(const char *name, const char *value);
void out_close(void);

void out_str(const char *name, const char *value); /* name NULL: an element of a list */
void out_num(const char *name, long value);
void out_bool(const char *name, bool value);
/* A line of the text form; JSON does not have it. */
void out_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
