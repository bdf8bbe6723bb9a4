/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize.c - `uk symbolize [FILE]`: adds functions, files and lines to a dump.
 *
 * A frame of a dump names its module (the program or a library) and an offset:
 *
 *   #0 0x7fd8c790b3ae uk_read (libukthreads.so.1+0xb3ae)
 *
 * A list at the end of the dump has the base of each module, which is the difference of
 * an address in memory and in the file, and its file:
 *
 *   module 0x7fd8c7900000 build-id 3fe29c... /usr/lib/libukthreads.so.1
 *
 * A text may contain the dumps of several processes, between other lines. The list of a
 * frame follows it. So this reads the whole text first, then runs addr2line(1) once for
 * each file, and then prints the text. addr2line finds separate debug information by
 * build id and debug link. A frame of which nothing is found stays as it is. */
#include "symbolize.h"

#include <errno.h>
#include <regex.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "judge.h"
#include "options.h"

#define TOOL "addr2line"
#define FRAME "#[0-9]+ 0x([0-9a-f]+) ([^ (]+ )?(\\((.+)\\+0x([0-9a-f]+)\\))$"
#define MODULE " module 0x([0-9a-f]+) build-id ([0-9a-f]+|none) (.+)$"
#define GROUPS 6

/* A file; from all modules that have the same path and build id. */
struct object {
	struct object *next;
	char *path, *build_id;
};

struct module {
	uint64_t base;
	struct object *object;
};

struct line {
	char *text;
	size_t size;
	/* if it is a frame: */
	regoff_t name, paren, end; /* where these parts of the text begin, or end */
	struct object *object;     /* NULL: not known */
	uint64_t offset;
	char *inlined, *function, *place; /* the answer; inlined: whole lines */
};

struct text {
	struct line *lines;
	size_t n, unknown; /* frames without a module */
	struct object *objects;
};

static void usage(FILE *f)
{
	fprintf(f, "usage: uk symbolize [FILE]\n"
		   "  copy a dump from FILE or standard input to standard output, and\n"
		   "  add functions, files and lines, for which it runs " TOOL "\n");
}

static void *must(void *p)
{
	if (p)
		return p;
	fprintf(stderr, "uk symbolize: out of memory\n");
	exit(1);
}

/* ---- the text ---- */

static void read_text(struct text *t, FILE *f)
{
	size_t room = 0, buffer = 0;
	char *line = NULL;
	ssize_t size;

	while ((size = getline(&line, &buffer, f)) >= 0) {
		if (t->n == room) {
			room = 2 * room + 64;
			t->lines = must(realloc(t->lines, room * sizeof(*t->lines)));
		}
		t->lines[t->n++] = (struct line){ .text = line, .size = (size_t)size };
		line = NULL;
		buffer = 0;
	}
	free(line);
}

static struct object *object_of(struct text *t, const char *path, const char *build_id)
{
	struct object *o;

	for (o = t->objects; o; o = o->next)
		if (!strcmp(o->path, path) && !strcmp(o->build_id, build_id))
			return o;
	o = must(calloc(1, sizeof(*o)));
	*o = (struct object){ t->objects, must(strdup(path)), must(strdup(build_id)) };
	t->objects = o;
	return o;
}

static char *group(const struct line *l, const regmatch_t *m)
{
	return must(strndup(l->text + m->rm_so, (size_t)(m->rm_eo - m->rm_so)));
}

static uint64_t number(const struct line *l, const regmatch_t *m)
{
	return strtoull(l->text + m->rm_so, NULL, 16);
}

static void read_frame(struct text *t, struct line *l, const regmatch_t *m,
		       const struct module *modules, size_t n)
{
	uint64_t offset = number(l, &m[5]), base = number(l, &m[1]) - offset;
	char *name = group(l, &m[4]);

	l->name = m[2].rm_so >= 0 ? m[2].rm_so : m[3].rm_so;
	l->paren = m[3].rm_so;
	l->end = m[3].rm_eo;
	l->offset = offset;
	/* the offset is that of the call, the address that of the return */
	while (n-- > 0 && !l->object)
		if ((modules[n].base == base || modules[n].base == base - 1) &&
		    !strcmp(base_name(modules[n].object->path), name))
			l->object = modules[n].object;
	t->unknown += !l->object;
	free(name);
}

/* From the end, so that the latest module is that of the nearest list behind a frame. */
static void find_frames(struct text *t)
{
	regmatch_t m[GROUPS];
	struct module *modules = NULL;
	size_t n = 0;
	regex_t frame, module;

	if (regcomp(&frame, FRAME, REG_EXTENDED | REG_NEWLINE) ||
	    regcomp(&module, MODULE, REG_EXTENDED | REG_NEWLINE))
		must(NULL);
	for (struct line *l = t->lines + t->n; l-- > t->lines;) {
		if (!regexec(&module, l->text, GROUPS, m, 0)) {
			char *id = group(l, &m[2]), *path = group(l, &m[3]);

			modules = must(realloc(modules, (n + 1) * sizeof(*modules)));
			modules[n].base = number(l, &m[1]);
			modules[n++].object = object_of(t, path, id);
			free(id);
			free(path);
		} else if (!regexec(&frame, l->text, GROUPS, m, 0)) {
			read_frame(t, l, m, modules, n);
		}
	}
	regfree(&frame);
	regfree(&module);
	free(modules);
}

static void print_text(const struct text *t)
{
	for (const struct line *l = t->lines; l < t->lines + t->n; l++) {
		/* without a place the name may be that of a neighbour */
		bool named = l->function && strcmp(l->function, "??") != 0 &&
			     (l->place || l->name == l->paren);

		printf("%s%.*s", l->inlined ? l->inlined : "", l->name, l->text);
		if (named)
			printf("%s ", l->function);
		else
			printf("%.*s", l->paren - l->name, l->text + l->name);
		printf("%.*s", l->end - l->paren, l->text + l->paren);
		if (l->place)
			printf(" at %s", l->place);
		fwrite(l->text + l->end, 1, l->size - (size_t)l->end, stdout);
	}
}

/* ---- addr2line ---- */

/* Functions inlined in the library's own functions do not help a reader. */
static bool is_ours(const char *path)
{
	return !strncmp(base_name(path), "libukthreads.so", 15) ||
	       !strncmp(base_name(path), "libuk-posix.so", 14);
}

/* The innermost function comes first; the last is the one that the others are inlined
 * in. */
static void add_answer(struct line *l, char *function, char *place)
{
	char *discriminator = strstr(place, " (discriminator"), *all;
	int r = 0;

	function[strcspn(function, "\n")] = 0;
	place[strcspn(place, "\n")] = 0;
	if (discriminator)
		*discriminator = 0;
	if (l->function && !is_ours(l->object->path)) {
		r = asprintf(&all, "%s%.*s%s (inlined)%s%s\n",
			     l->inlined ? l->inlined : "", l->name, l->text,
			     l->function, l->place ? " at " : "",
			     l->place ? l->place : "");
		must(r < 0 ? NULL : all);
		free(l->inlined);
		l->inlined = all;
	}
	free(l->function);
	free(l->place);
	l->function = must(strdup(function));
	l->place = strncmp(place, "??:", 3) != 0 && !strstr(place, ":?")
		       ? must(strdup(place))
		       : NULL;
}

/* For each question the address, and then for each function two lines: its name, and
 * where it is. */
static void read_answers(struct text *t, const struct object *o, FILE *f)
{
	struct line *l = t->lines - 1, *end = t->lines + t->n;
	char *function = NULL, *place = NULL;
	size_t room[2] = { 0 };

	while (getline(&function, &room[0], f) > 0) {
		if (!strncmp(function, "0x", 2)) {
			while (++l < end && l->object != o)
				;
			if (l == end)
				break;
		} else if (l < t->lines || getline(&place, &room[1], f) <= 0) {
			break;
		} else {
			add_answer(l, function, place);
		}
	}
	free(function);
	free(place);
}

/* 0, -errno, or the wait status. */
static int ask(struct text *t, const struct object *o, char *tool)
{
	char *exe = NULL, name[] = TOOL, how[] = "-afiC";
	char *argv[] = { name, how, NULL, NULL };
	FILE *in = tmpfile(), *out = tmpfile();
	posix_spawn_file_actions_t fds;
	int err, status = 0;
	pid_t pid;

	if (!in || !out)
		return -errno;
	/* in one word: a path of its own that begins with @ would be a list of options */
	must(asprintf(&exe, "--exe=%s", o->path) < 0 ? NULL : exe);
	argv[2] = exe;
	for (const struct line *l = t->lines; l < t->lines + t->n; l++)
		if (l->object == o)
			fprintf(in, "%#llx\n", (unsigned long long)l->offset);
	if (fflush(in) || lseek(fileno(in), 0, SEEK_SET))
		return -errno;
	posix_spawn_file_actions_init(&fds);
	posix_spawn_file_actions_adddup2(&fds, fileno(in), 0);
	posix_spawn_file_actions_adddup2(&fds, fileno(out), 1);
	err = posix_spawn(&pid, tool, &fds, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&fds);
	if (!err && waitpid(pid, &status, 0) < 0)
		err = errno;
	if (!err && !status) {
		rewind(out);
		read_answers(t, o, out);
	}
	fclose(in);
	fclose(out);
	free(exe);
	return err ? -err : status;
}

static void note(const struct object *o, const char *what)
{
	fprintf(stderr, "uk symbolize: %s: %s; its frames are left as they are\n",
		o->path, what);
}

static void look_up(struct text *t, const struct object *o, char *tool)
{
	char id[65];
	int err = build_id(o->path, id, sizeof(id));

	if (err) {
		note(o, strerror(-err));
	} else if (strcmp(id, o->build_id) != 0) {
		note(o, "the file is not the one of the dump: its build id differs");
	} else {
		err = ask(t, o, tool);
		if (err)
			note(o, err < 0 ? strerror(-err) : TOOL " failed");
	}
}

/* The exit status. */
static int look_up_all(struct text *t)
{
	char tool[PATH_MAX];
	int err;

	if (t->unknown)
		fprintf(
		    stderr,
		    "uk symbolize: %zu frames are left as they are: their module is in "
		    "no list behind them; is the end of the dump missing?\n",
		    t->unknown);
	if (!t->objects)
		return 0;
	err = find_program(TOOL, tool);
	if (err) {
		fprintf(stderr,
			"uk symbolize: " TOOL ": %s; install the package binutils\n",
			strerror(-err));
		return 1;
	}
	for (const struct object *o = t->objects; o; o = o->next)
		look_up(t, o, tool);
	return 0;
}

static struct text all; /* static, so that it is no leak at the end */

static int complete(struct text *t)
{
	int status;

	find_frames(t);
	status = look_up_all(t);
	print_text(t);
	return fflush(stdout) || ferror(stdout) ? 1 : status;
}

int symbolize(int argc, char **argv)
{
	static const struct option longs[] = { WORD("help", 'h'),
					       { NULL, 0, NULL, 0 } };
	FILE *f = stdin;
	int c;

	optind = 0;
	while ((c = getopt_long(argc, argv, "+", longs, NULL)) != -1) {
		usage(c == 'h' ? stdout : stderr);
		return c == 'h' ? 0 : 2;
	}
	if (argc - optind > 1) {
		usage(stderr);
		return 2;
	}
	if (optind < argc)
		f = fopen(argv[optind], "re");
	if (f)
		read_text(&all, f);
	if (!f || ferror(f)) {
		fprintf(stderr, "uk symbolize: %s: %s\n",
			optind < argc ? argv[optind] : "standard input",
			strerror(errno));
		return 1;
	}
	return complete(&all);
}

int symbolize_stream(FILE *f)
{
	read_text(&all, f);
	return complete(&all);
}
