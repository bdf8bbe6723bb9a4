/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h - the files that `uk net` reads and writes, and sets of CPUs in them. */
#ifndef NET_TREE_H
#define NET_TREE_H

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#define VALUE 512 /* most bytes of a setting; a mask of 1024 CPUs takes 288 */

/* From now on all paths are below root, a recorded tree. "" is this machine. */
void tree_at(const char *root);
bool tree_is_machine(void);
const char *tree_path(const char *path, char full[PATH_MAX]);

/* Without the newline. Returns the length, or -errno. */
int tree_read(const char *path, char *buf, size_t size);
/* The same for a formatted path; "" if it can't be read. */
const char *tree_value(char value[VALUE], const char *format, ...)
    __attribute__((format(printf, 2, 3)));
long tree_number(long otherwise, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The whole file, which the caller frees; NULL if it can't be read. */
char *tree_text(const char *path, size_t *len);

int tree_write(const char *path, const char *value);
/* access(2), but 0 or -errno. */
int tree_access(const char *path, int mode);
/* Replaces the file atomically and syncs it to disk. */
int tree_replace(const char *path, const char *text, size_t len);
int tree_remove(const char *path);

/* The names in dir that begin with prefix, in version order (2 before 10). */
char **tree_list(const char *dir, const char *prefix, size_t *n);
void tree_list_free(char **names, size_t n);

/* Adds space for one more element, zeroed. Without memory it ends the process. */
void *tree_grow(void *array, size_t n, size_t size);

/* A list is "0-3,8". A mask is "ff,00000001", printed as wide as `like` is. */
void cpus_parse(const char *list, cpu_set_t *set);
void cpus_parse_mask(const char *mask, cpu_set_t *set);
void cpus_print(const cpu_set_t *set, char list[VALUE]);
void cpus_print_mask(const cpu_set_t *set, const char *like, char mask[VALUE]);

#endif
