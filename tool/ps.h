/* SPDX-License-Identifier: Apache-2.0 */
/* ps.h - `uk ps`: the user threads of another process. */
#ifndef TOOL_PS_H
#define TOOL_PS_H

#include "target.h"

/* argv[0] is "ps". Returns the exit status. */
int ps(int argc, char **argv);

/* For top.c: */
/* A process id; -1: it is none. */
pid_t ps_pid(const char *s);
/* Ends a look at t: prints why, unless the status is 0. */
int ps_end(const char *command, struct target *t, int status);
/* "12ms", "3.4s", "2m05s", "3h07m", "5d" */
const char *ps_age(int64_t ns, char *buf, size_t n);
/* What s waits for, with its holder, or where it runs. */
const char *ps_waits(const struct target *t, const struct view *v,
		     const struct seen_thread *s, char *buf, size_t n);
/* Members of a JSON object. */
void ps_json_head(const struct target *t, const struct view *v);
void ps_json_thread(const struct target *t, const struct view *v,
		    const struct seen_thread *s);
/* s's name for a terminal. */
const char *ps_name(const struct seen_thread *s, char buf[TARGET_NAME]);

#endif
