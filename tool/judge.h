/* SPDX-License-Identifier: Apache-2.0 */
/* judge.h - what a program is, and whether libuk-posix.so can be preloaded into it. */
#ifndef TOOL_JUDGE_H
#define TOOL_JUDGE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct verdict {
	char program[PATH_MAX]; /* the ELF file; for a script, of its interpreter */
	char loader[PATH_MAX];  /* the program's dynamic loader, or "" */
	char needs[1024];       /* the libraries that it names, with blanks between */
	const char *kind;       /* "ELF", "ELF, position-independent", "unknown" */
	const char *why_not;    /* NULL: it runs as user threads */
};

/* A path to open this program's own file. It works without /proc, too. */
const char *own_file(void);

/* Is a sanitizer's runtime among these library names? A sanitizer searches only the
 * stacks of the threads that /proc lists, so it reports memory that other threads hold
 * as leaks, and it wants to be the first library. */
bool names_sanitizer(const char *libraries);
extern const char why_sanitizer[];

/* Only reads the file, runs nothing. -errno: the file can't be read. */
int judge(const char *path, struct verdict *v);

const char *base_name(const char *path);

/* The build id of an ELF file in hex, or "none"; n > 4. -errno: the file can't be
 * read. */
int build_id(const char *path, char *hex, size_t n);

/* Searches as execvp does: name itself if it has a slash, else along PATH. 0, or
 * -errno: why a found file can't be executed, or -ENOENT. */
int find_program(const char *name, char path[PATH_MAX]);

/* Is path a script with "#!/usr/bin/env NAME"? If so, NAME is stored. `uk run` executes
 * NAME itself for such a script, so that --children no holds for NAME, not for env. */
bool script_of_env(const char *path, char name[PATH_MAX]);

#endif
