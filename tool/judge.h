/* SPDX-License-Identifier: Apache-2.0 */
/* judge.h - what a program is, and whether libuk-posix.so may be preloaded into it. */
#ifndef TOOL_JUDGE_H
#define TOOL_JUDGE_H

#include <limits.h>
#include <stdbool.h>

struct verdict {
	char program[PATH_MAX]; /* the ELF file: for a script its interpreter */
	char loader[PATH_MAX];  /* its own, or "" */
	char needs[1024];       /* libraries that it names, with blanks between */
	const char *kind;       /* "program", "position-independent program", ... */
	const char *why_not;    /* NULL: it runs as user threads */
};

/* The file that runs, to be opened. There may be no /proc. */
const char *own_file(void);

/* A sanitizer's runtime among these names of libraries: it looks for the stacks of the threads
 * that /proc lists, so what others hold is a leak to it, and it wants to be the first. */
bool names_sanitizer(const char *libraries);
extern const char why_sanitizer[];

/* Reads, and runs nothing. -errno: the file can't be read. */
int judge(const char *path, struct verdict *v);

/* As execvp looks for it: name itself if there is a slash in it, else along PATH. 0, or
 * -errno: of what was found and can't be executed, else -ENOENT. */
int find_program(const char *name, char path[PATH_MAX]);

/* A script of "#!/usr/bin/env NAME" runs NAME: true, and NAME is written. Such a script is
 * not in the way of what is set for one process, if NAME is what that one executes. */
bool script_of_env(const char *path, char name[PATH_MAX]);

#endif
