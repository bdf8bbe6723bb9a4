/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h - the files that `uk net` reads and writes, and the sets of CPUs that they name. */
#ifndef NET_TREE_H
#define NET_TREE_H

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#define VALUE 512 /* what a setting holds, at most: a mask of 1024 CPUs takes 288 */

/* All paths lead into root from now on: a recorded tree. "" is the machine. */
void tree_at(const char *root);
bool tree_is_machine(void);
const char *tree_path(const char *path, char full[PATH_MAX]);

/* Without the line's end. The length, or -errno. */
int tree_read(const char *path, char *buf, size_t size);
/* The same, of a path made by format; "" if there is nothing to read. */
const char *tree_value(char value[VALUE], const char *format, ...)
    __attribute__((format(printf, 2, 3)));
long tree_number(long otherwise, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* All of a file that may be long, to be freed; NULL. */
char *tree_text(const char *path, size_t *len);

int tree_write(const char *path, const char *value);
/* As access(2): 0 or -errno. */
int tree_access(const char *path, int mode);
/* Whole, or not at all; on the disk when it returns. */
int tree_replace(const char *path, const char *text, size_t len);
int tree_remove(const char *path);

/* The names in dir that begin with prefix, 2 before 10; n is 0 if there are none. */
char **tree_list(const char *dir, const char *prefix, size_t *n);
void tree_list_free(char **names, size_t n);

/* Room for one more, zeroed; there is no way on without memory. */
void *tree_grow(void *array, size_t n, size_t size);

/* "0-3,8", and "ff,00000001" as wide as `like` is. */
void cpus_parse(const char *list, cpu_set_t *set);
void cpus_parse_mask(const char *mask, cpu_set_t *set);
void cpus_print(const cpu_set_t *set, char list[VALUE]);
void cpus_print_mask(const cpu_set_t *set, const char *like, char mask[VALUE]);

#endif
