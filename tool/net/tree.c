/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c - all access to /proc, /sys and the journal.
 *
 * Every path goes through this file, so with --root DIR the tool reads, plans and
 * writes on a recorded machine what it would on the real one. The kernel's files take a
 * value in one write(2) or refuse it. Files of a recorded tree, and the journal, are
 * replaced by rename(2), which is atomic, too. */
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *root = "";

void tree_at(const char *dir)
{
	root = dir;
}

bool tree_is_machine(void)
{
	return !*root;
}

const char *tree_path(const char *path, char full[PATH_MAX])
{
	snprintf(full, PATH_MAX, "%s%s", root, path);
	return full;
}

/* ---- reading ---- */

static int open_at(const char *path, int flags)
{
	char full[PATH_MAX];
	int fd = open(tree_path(path, full), flags | O_CLOEXEC, 0644);

	return fd < 0 ? -errno : fd;
}

char *tree_text(const char *path, size_t *len)
{
	int fd = open_at(path, O_RDONLY);
	size_t size = 4096, have = 0;
	char *text = fd < 0 ? NULL : malloc(size);
	ssize_t n = 0;

	while (text && (n = read(fd, text + have, size - 1 - have)) > 0) {
		have += (size_t)n;
		if (have == size - 1)
			text = realloc(text, size *= 2);
	}
	if (fd >= 0)
		close(fd);
	if (n < 0) {
		free(text);
		return NULL;
	}
	if (text)
		text[have] = 0;
	if (len)
		*len = have;
	return text;
}

int tree_read(const char *path, char *buf, size_t size)
{
	int fd = open_at(path, O_RDONLY), err;
	ssize_t n;

	*buf = 0;
	if (fd < 0)
		return fd;
	n = read(fd, buf, size - 1);
	err = -errno;
	close(fd);
	if (n < 0)
		return err;
	while (n && buf[n - 1] == '\n')
		n--;
	buf[n] = 0;
	return (int)n;
}

const char *tree_value(char value[VALUE], const char *format, ...)
{
	char path[PATH_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(path, sizeof(path), format, ap);
	va_end(ap);
	if (tree_read(path, value, VALUE) < 0)
		*value = 0;
	return value;
}

long tree_number(long otherwise, const char *format, ...)
{
	char path[PATH_MAX], value[VALUE], *end;
	va_list ap;
	long n;

	va_start(ap, format);
	vsnprintf(path, sizeof(path), format, ap);
	va_end(ap);
	if (tree_read(path, value, sizeof(value)) <= 0)
		return otherwise;
	n = strtol(value, &end, 10);
	return *end ? otherwise : n;
}

int tree_access(const char *path, int mode)
{
	char full[PATH_MAX];

	return access(tree_path(path, full), mode) ? -errno : 0;
}

char **tree_list(const char *dir, const char *prefix, size_t *n)
{
	char full[PATH_MAX], **names = NULL;
	struct dirent **found;
	int all = scandir(tree_path(dir, full), &found, NULL, versionsort);

	*n = 0;
	for (int i = 0; i < all; i++) {
		const char *name = found[i]->d_name;

		/* a device may be called .x */
		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
		    !strncmp(name, prefix, strlen(prefix))) {
			names = tree_grow(names, *n, sizeof(*names));
			names[(*n)++] = strdup(name);
		}
		free(found[i]);
	}
	if (all >= 0)
		free(found);
	return names;
}

void tree_list_free(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

/* ---- writing ---- */

static int put(int fd, const char *text, size_t len)
{
	ssize_t n = write(fd, text, len);

	return n < 0 ? -errno : (size_t)n == len ? 0 : -EIO;
}

static int sync_folder_of(const char *path)
{
	char dir[PATH_MAX];
	int fd, err;

	snprintf(dir, sizeof(dir), "%s", path);
	*strrchr(dir, '/') = 0;
	fd = open_at(dir, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd;
	err = fsync(fd) ? -errno : 0;
	close(fd);
	return err;
}

int tree_replace(const char *path, const char *text, size_t len)
{
	char new[PATH_MAX], from[PATH_MAX], to[PATH_MAX];
	int fd, err;

	snprintf(new, sizeof(new), "%s.new", path);
	fd = open_at(new, O_WRONLY | O_CREAT | O_TRUNC);
	if (fd < 0)
		return fd;
	err = put(fd, text, len);
	if (!err && fsync(fd))
		err = -errno;
	close(fd);
	tree_path(new, from);
	if (!err && rename(from, tree_path(path, to)))
		err = -errno;
	if (err) {
		unlink(from);
		return err;
	}
	return sync_folder_of(path);
}

int tree_write(const char *path, const char *value)
{
	char line[VALUE + 1];
	int fd, err, len = snprintf(line, sizeof(line), "%s\n", value);

	if (!tree_is_machine())
		return tree_access(path, W_OK) ? tree_access(path, W_OK)
					       : tree_replace(path, line, (size_t)len);
	fd = open_at(path, O_WRONLY);
	if (fd < 0)
		return fd;
	err = put(fd, line, (size_t)len);
	close(fd);
	return err;
}

int tree_remove(const char *path)
{
	char full[PATH_MAX];

	return unlink(tree_path(path, full)) ? -errno : sync_folder_of(path);
}

void *tree_grow(void *array, size_t n, size_t size)
{
	array = reallocarray(array, n + 1, size);
	if (!array) {
		fprintf(stderr, "uk net: out of memory\n");
		exit(1);
	}
	memset((char *)array + n * size, 0, size);
	return array;
}

/* ---- sets of CPUs ---- */

void cpus_parse(const char *list, cpu_set_t *set)
{
	char *at;

	CPU_ZERO(set);
	while (*list >= '0' && *list <= '9') {
		unsigned long first = strtoul(list, &at, 10), last = first;

		if (*at == '-')
			last = strtoul(at + 1, &at, 10);
		for (unsigned long i = first; i <= last && i < CPU_SETSIZE; i++)
			CPU_SET(i, set);
		list = at + (*at == ',');
	}
}

/* The last digit is for CPUs 0 to 3. */
void cpus_parse_mask(const char *mask, cpu_set_t *set)
{
	size_t bit = 0;

	CPU_ZERO(set);
	for (size_t i = strlen(mask); i--;) {
		char digit[2] = { mask[i], 0 };
		unsigned long v = strtoul(digit, NULL, 16);

		if (mask[i] == ',')
			continue;
		for (size_t b = 0; b < 4; b++)
			if (v >> b & 1 && bit + b < CPU_SETSIZE)
				CPU_SET(bit + b, set);
		bit += 4;
	}
}

void cpus_print(const cpu_set_t *set, char list[VALUE])
{
	size_t used = 0;

	*list = 0;
	for (size_t i = 0, last; i < CPU_SETSIZE && used + 16 < VALUE; i++) {
		if (!CPU_ISSET(i, set))
			continue;
		for (last = i; last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set);)
			last++;
		used += (size_t)snprintf(list + used, VALUE - used, "%s%zu",
					 used ? "," : "", i);
		if (last > i)
			used +=
			    (size_t)snprintf(list + used, VALUE - used, "-%zu", last);
		i = last;
	}
}

void cpus_print_mask(const cpu_set_t *set, const char *like, char mask[VALUE])
{
	size_t bit = 0;

	snprintf(mask, VALUE, "%s", like);
	for (size_t i = strlen(mask); i--;) {
		unsigned v = 0;

		if (mask[i] == ',')
			continue;
		for (size_t b = 0; b < 4; b++)
			if (bit + b < CPU_SETSIZE && CPU_ISSET(bit + b, set))
				v |= 1u << b;
		mask[i] = "0123456789abcdef"[v];
		bit += 4;
	}
}
