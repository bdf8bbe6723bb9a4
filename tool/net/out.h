/* SPDX-License-Identifier: Apache-2.0 */
/* out.h - what `uk net` says: the same facts as indented text or as one JSON object. */
#ifndef NET_OUT_H
#define NET_OUT_H

#include <stdbool.h>

extern bool out_json;

void out_begin(void);
/* 0, or 1 if standard output could not be written. */
int out_end(void);

/* name is the member's; text shows it as a heading. Closed by out_close. */
void out_object(const char *name);
void out_list(const char *name);
/* One of a list: an object whose member `name` is `value`, which is its heading. */
void out_item(const char *name, const char *value);
void out_close(void);

void out_str(const char *name, const char *value); /* name NULL: one of a list */
void out_num(const char *name, long value);
void out_bool(const char *name, bool value);
/* A line for people alone. */
void out_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
