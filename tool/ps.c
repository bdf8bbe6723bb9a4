/* SPDX-License-Identifier: Apache-2.0 */
/* ps.c - `uk ps PID [PATTERN]`: the user threads of another process, once.
 *
 * The stack in use is what lies above the saved stack pointer, which costs nothing to
 * know and is exact for a thread that does not run. Rejected: resident pages
 * (/proc/PID/pagemap): a read for each thread, and a stack that was deep once stays
 * resident. */
#include "ps.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frames.h"
#include "judge.h"
#include "options.h"
#include "out.h"
#include "symbolize.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)

struct wanted {
	pid_t pid;
	const char *pattern;
	regex_t regex;
	bool json, stacks;
	uint64_t stack_of; /* 0: of all */
};

static void usage(FILE *f)
{
	fprintf(
	    f,
	    "usage: uk ps [OPTION...] PID [PATTERN]\n"
	    "  list the user threads of a running process, without stopping it;\n"
	    "  with PATTERN, a regular expression, those whose name or state matches\n"
	    "  --stack[=ID]  show the frames of the parked threads, or of thread ID\n"
	    "  --json        print one JSON object\n");
}

pid_t ps_pid(const char *s)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(s, &end, 10);
	return *s < '0' || *s > '9' || *end || errno || v <= 0 || v > INT32_MAX
		   ? -1
		   : (pid_t)v;
}

int ps_end(const char *command, struct target *t, int status)
{
	if (status)
		fprintf(stderr, "uk %s: %s\n", command, t->why);
	target_close(t);
	return status;
}

/* ---- text ---- */

const char *ps_age(int64_t ns, char *buf, size_t n)
{
	long long s = ns / SECOND;

	if (ns < SECOND)
		snprintf(buf, n, "%lldms", (long long)(ns / MS));
	else if (s < 60)
		snprintf(buf, n, "%lld.%llds", s, (long long)(ns / (100 * MS) % 10));
	else if (s < 3600)
		snprintf(buf, n, "%lldm%02llds", s / 60, s % 60);
	else if (s < 86400)
		snprintf(buf, n, "%lldh%02lldm", s / 3600, s / 60 % 60);
	else
		snprintf(buf, n, "%lldd", s / 86400);
	return buf;
}

static const char *size_text(uint64_t bytes, char *buf, size_t n)
{
	if (bytes < 10240)
		snprintf(buf, n, "%llu", (unsigned long long)bytes);
	else if (bytes < 10 << 20)
		snprintf(buf, n, "%lluK", (unsigned long long)(bytes >> 10));
	else
		snprintf(buf, n, "%lluM", (unsigned long long)(bytes >> 20));
	return buf;
}

const char *ps_name(const struct seen_thread *s, char buf[TARGET_NAME])
{
	memcpy(buf, s->name, TARGET_NAME);
	out_clean(buf);
	return buf;
}

/* What the fd of an I/O wait is; false: it is not known. Many threads may wait for one
 * fd, so the last answer of this look is kept. */
static bool file_of(const struct target *t, const struct view *v, int fd, char *buf,
		    size_t n)
{
	static char last[256];
	static int last_fd = -1;
	static int64_t when;
	char path[64];
	ssize_t r;

	if (fd != last_fd || when != v->now) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->tid, fd);
		r = readlink(path, last, sizeof(last) - 1);
		last[r < 0 ? 0 : r] = 0;
		last_fd = fd;
		when = v->now;
	}
	snprintf(buf, n, "%s", last);
	return last[0];
}

const char *ps_waits(const struct target *t, const struct view *v,
		     const struct seen_thread *s, char *buf, size_t n)
{
	char file[256], holder[TARGET_NAME];
	size_t at = 0;

#define ADD(...)                                                                       \
	do {                                                                           \
		if (at < n)                                                            \
			at += (size_t)snprintf(buf + at, n - at, __VA_ARGS__);         \
	} while (0)
	*buf = 0;
	ADD("%s", s->waits);
	if (s->fd >= 0) {
		ADD(" fd %d", s->fd);
		if (file_of(t, v, s->fd, file, sizeof(file))) {
			out_clean(file);
			ADD(" %s", file);
		}
	}
	if (s->object)
		ADD(" %#llx", (unsigned long long)s->object);
	if (s->holder >= 0) {
		const struct seen_thread *h = &v->threads[s->holder];

		ADD(strcmp(s->waits, "join") != 0 ? " held by %llu" : " thread %llu",
		    (unsigned long long)h->id);
		if (h->name[0])
			ADD(" \"%s\"", ps_name(h, holder));
	}
	if (s->kernel && s->user)
		ADD("%son kernel thread %ld%s", at ? ", " : "", s->kernel,
		    s->has_vp ? "" : ", whose vp has moved on");
	else if (s->kernel)
		ADD("%skernel thread %ld", at ? ", " : "", s->kernel);
	if (s->bound[0])
		ADD("%sbound (%s)", at ? ", " : "", s->bound);
#undef ADD
	return buf;
}

static const char *kind_of(const struct seen_thread *s)
{
	return !s->user ? "kernel" : s->light ? "light" : "full";
}

static bool knows_stack(const struct seen_thread *s)
{
	return s->top && !s->kernel;
}

static void print_thread(const struct target *t, const struct view *v,
			 const struct seen_thread *s)
{
	char name[TARGET_NAME], age[24], size[24] = "-", used[24] = "-", vp[24] = "-";
	char waits[512];

	if (s->stack_size)
		size_text(s->stack_size, size, sizeof(size));
	if (knows_stack(s))
		size_text(s->top - s->sp, used, sizeof(used));
	if (s->vp >= 0)
		snprintf(vp, sizeof(vp), "%ld", s->vp);
	ps_name(s, name);
	printf("%8llu %-16s %-6s %-9s %7s %3s %6s %6s  %s\n", (unsigned long long)s->id,
	       name[0] ? name : "-", kind_of(s),
	       s->kernel && s->user ? "running" : s->state,
	       ps_age(s->age, age, sizeof(age)), vp, size, used,
	       ps_waits(t, v, s, waits, sizeof(waits)));
}

static void print_head(const struct target *t, const struct view *v)
{
	printf("process %d (%s), ukthreads %s, %s, %zu vps, %zu user threads\n", t->pid,
	       t->command, t->library, v->nvps ? v->vps[0].engine : "no engine",
	       v->nvps, v->nuser);
}

/* ---- JSON ---- */

void ps_json_head(const struct target *t, const struct view *v)
{
	out_num("pid", t->pid);
	out_str("command", t->command);
	out_str("version", t->library);
	out_str("engine", v->nvps ? v->vps[0].engine : "none");
	out_object("stats");
#define X(name, text) out_num(#name, (long)v->stats.name);
	UK_COUNTERS(X)
#undef X
	out_num("threads", (long)v->stats.threads);
	out_num("ready", (long)v->stats.ready);
	out_num("vps", (long)v->stats.vps);
	out_num("carriers", (long)v->stats.carriers);
	out_num("spares", (long)v->stats.spares);
	out_num("stacks", (long)v->stats.stacks);
	out_close();
}

static void num_or_null(const char *name, bool known, long value)
{
	if (known)
		out_num(name, value);
	else
		out_null(name);
}

void ps_json_thread(const struct target *t, const struct view *v,
		    const struct seen_thread *s)
{
	char file[256];

	out_num("id", (long)s->id);
	out_str("name", s->name);
	out_str("kind", kind_of(s));
	out_str("state", s->kernel && s->user ? "running" : s->state);
	out_num("age_ns", (long)s->age);
	out_str("waits", s->waits);
	out_address("object", s->object);
	num_or_null("holder", s->holder >= 0,
		    s->holder >= 0 ? (long)v->threads[s->holder].id : 0);
	num_or_null("fd", s->fd >= 0, s->fd);
	if (s->fd >= 0 && file_of(t, v, s->fd, file, sizeof(file)))
		out_str("file", file);
	else
		out_null("file");
	num_or_null("vp", s->vp >= 0, s->vp);
	num_or_null("kernel_thread", s->kernel, s->kernel);
	out_num("creator", (long)s->creator);
	num_or_null("stack_size", s->stack_size, (long)s->stack_size);
	num_or_null("stack_used", knows_stack(s), (long)(s->top - s->sp));
	if (s->bound[0])
		out_str("bound", s->bound);
	else
		out_null("bound");
}

/* ---- frames ---- */

/* The stacks that were printed: thousands of threads have few different ones. */
struct shape {
	uint64_t ip[FRAMES_MOST], id;
	int n;
};

struct shapes {
	struct shape *all;
	size_t n;
};

#define SHAPES_MOST 256

static uint64_t first_alike(struct shapes *k, const uint64_t *ip, int n, uint64_t id)
{
	struct shape *more;

	for (size_t i = 0; i < k->n; i++)
		if (k->all[i].n == n && !memcmp(k->all[i].ip, ip, (size_t)n * 8))
			return k->all[i].id;
	if (k->n == SHAPES_MOST)
		return 0;
	more = realloc(k->all, (k->n + 1) * sizeof(*more));
	if (!more)
		return 0;
	k->all = more;
	memcpy(more[k->n].ip, ip, (size_t)n * 8);
	more[k->n].id = id;
	more[k->n++].n = n;
	return 0;
}

static const struct image *image_of(const struct target *t, uint64_t ip)
{
	for (size_t i = 0; i < t->nimages; i++)
		if (ip >= t->images[i].start && ip < t->images[i].end)
			return &t->images[i];
	return NULL;
}

/* As in a dump (src/debug/backtrace.c), so that `uk symbolize` completes it: the offset
 * is that of the call, one less than the address. */
static void print_frames(FILE *f, const struct target *t, const uint64_t *ip, int n,
			 bool more, bool *used)
{
	for (int i = 0; i < n; i++) {
		const struct image *im = image_of(t, ip[i] - 1);

		if (!im) {
			fprintf(f, "      #%d %#llx\n", i, (unsigned long long)ip[i]);
			continue;
		}
		used[im - t->images] = true;
		fprintf(f, "      #%d %#llx (%s+%#llx)\n", i, (unsigned long long)ip[i],
			base_name(im->path),
			(unsigned long long)(ip[i] - 1 - im->bias));
	}
	if (more)
		fprintf(f, "      ... more\n");
}

static void frames_text(FILE *f, struct target *t, const struct seen_thread *s,
			struct shapes *k, bool *used, int *status)
{
	uint64_t ip[FRAMES_MOST], first;
	bool more;
	int n = frames_of(t, s, ip, &more);

	if (n < 0)
		*status = TARGET_LOST;
	else if (s->kernel)
		fprintf(f, "      (it runs on kernel thread %ld: gdb -p shows it)\n",
			s->kernel);
	else if (s->ended)
		fprintf(f, "      (it has ended)\n");
	else if (!n)
		fprintf(f, s->top ? "      (it runs now)\n"
				  : "      (it has not run yet)\n");
	else if ((first = first_alike(k, ip, n, s->id)))
		fprintf(f, "      as thread %llu\n", (unsigned long long)first);
	else
		print_frames(f, t, ip, n, more, used);
}

static void json_frames(struct target *t, const struct seen_thread *s, int *status)
{
	uint64_t ip[FRAMES_MOST];
	bool more;
	int n = frames_of(t, s, ip, &more);

	if (n < 0)
		*status = TARGET_LOST;
	out_list("frames");
	for (int i = 0; i < n; i++) {
		const struct image *im = image_of(t, ip[i] - 1);

		out_element();
		out_address("address", ip[i]);
		if (im) {
			out_str("module", im->path);
			out_address("offset", ip[i] - 1 - im->bias);
			out_str("build_id", im->build_id);
		}
		out_close();
	}
	out_close();
}

/* ---- the command ---- */

static bool is_wanted(const struct wanted *w, const struct seen_thread *s)
{
	char text[128], name[TARGET_NAME], state[80];

	if (w->stacks && w->stack_of && s->id != w->stack_of)
		return false;
	if (!w->pattern)
		return true;
	snprintf(text, sizeof(text), "%s %s", ps_name(s, name),
		 target_state_text(s, state, sizeof(state)));
	return !regexec(&w->regex, text, 0, NULL, 0);
}

static int print_json(const struct wanted *w, struct target *t, const struct view *v)
{
	int status = TARGET_OK;

	out_json = true;
	out_begin();
	ps_json_head(t, v);
	out_list("threads");
	for (size_t i = 0; i < v->nthreads && !status; i++) {
		if (!is_wanted(w, &v->threads[i]))
			continue;
		out_element();
		ps_json_thread(t, v, &v->threads[i]);
		if (w->stacks)
			json_frames(t, &v->threads[i], &status);
		out_close();
	}
	out_close();
	return out_end() ? TARGET_REFUSED : status;
}

static int print_stacks(const struct wanted *w, struct target *t, const struct view *v)
{
	bool *used = calloc(t->nimages + 1, sizeof(*used));
	struct shapes shapes = { 0 };
	int status = TARGET_OK;
	FILE *f = tmpfile();

	if (!f || !used) {
		fprintf(stderr, "uk ps: %s\n", strerror(errno));
		free(used);
		return TARGET_REFUSED;
	}
	for (size_t i = 0; i < v->nthreads && !status; i++) {
		const struct seen_thread *s = &v->threads[i];
		char name[TARGET_NAME], state[80], waits[512];

		if (!s->user || !is_wanted(w, s))
			continue;
		ps_waits(t, v, s, waits, sizeof(waits));
		fprintf(f, "  thread %llu \"%s\"%s %s%s%s\n", (unsigned long long)s->id,
			ps_name(s, name), s->light ? " light" : "",
			s->waits[0] ? s->state
				    : target_state_text(s, state, sizeof(state)),
			waits[0] ? s->waits[0] ? " on " : " " : "", waits);
		frames_text(f, t, s, &shapes, used, &status);
	}
	for (size_t i = 0; i < t->nimages; i++)
		if (used[i])
			fprintf(f, "  module %#llx build-id %s %s\n",
				(unsigned long long)t->images[i].bias,
				t->images[i].build_id, t->images[i].path);
	free(used);
	free(shapes.all);
	rewind(f);
	/* if there is no addr2line, it says so, and the addresses are there */
	(void)symbolize_stream(f);
	fclose(f);
	return status;
}

static int print_text(const struct wanted *w, struct target *t, const struct view *v)
{
	size_t shown = 0;
	int status = TARGET_OK;

	print_head(t, v);
	if (w->stacks) {
		fflush(stdout);
		status = print_stacks(w, t, v);
	} else {
		printf("%8s %-16s %-6s %-9s %7s %3s %6s %6s  %s\n", "ID", "NAME",
		       "KIND", "STATE", "FOR", "VP", "STACK", "USED", "WAITS FOR");
		for (size_t i = 0; i < v->nthreads; i++)
			if (is_wanted(w, &v->threads[i])) {
				print_thread(t, v, &v->threads[i]);
				shown++;
			}
		if (w->pattern)
			printf("%zu of %zu threads\n", shown, v->nthreads);
	}
	return fflush(stdout) || ferror(stdout) ? TARGET_REFUSED : status;
}

/* 0: any. */
static bool has_thread(const struct view *v, uint64_t id)
{
	size_t i = 0;

	while (id && i < v->nthreads && v->threads[i].id != id)
		i++;
	return !id || i < v->nthreads;
}

static int show(const struct wanted *w)
{
	static struct target t;
	struct view v = { 0 };
	int status = target_open(&t, w->pid);

	if (!status)
		status = target_look(&t, &v);
	if (!status && !has_thread(&v, w->stack_of)) {
		snprintf(t.why, sizeof(t.why), "process %d has no thread %llu", t.pid,
			 (unsigned long long)w->stack_of);
		status = TARGET_REFUSED;
	} else if (!status) {
		status = w->json ? print_json(w, &t, &v) : print_text(w, &t, &v);
		if (status == TARGET_REFUSED)
			snprintf(t.why, sizeof(t.why), "standard output: %s",
				 strerror(errno));
	}
	view_free(&v);
	return ps_end("ps", &t, status);
}

/* 0, or the exit status. */
static int parse(struct wanted *w, int argc, char **argv)
{
	OPTIONS(longs, WORD("json", 'j'), { "stack", optional_argument, NULL, 's' });
	char *end = NULL;
	int c;

	optind = 0;
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'h' || c == '?') {
			usage(c == 'h' ? stdout : stderr);
			exit(c == 'h' ? TARGET_OK : TARGET_USAGE);
		}
		if (c == 'j')
			w->json = true;
		if (c == 's')
			w->stacks = true;
		if (c == 's' && optarg) {
			w->stack_of = strtoull(optarg, &end, 10);
			if (*end || !w->stack_of) {
				fprintf(stderr, "uk ps: --stack needs a thread's id\n");
				return TARGET_USAGE;
			}
		}
	}
	if (argc - optind < 1 || argc - optind > 2) {
		usage(stderr);
		return TARGET_USAGE;
	}
	w->pid = ps_pid(argv[optind]);
	w->pattern = argv[optind + 1];
	if (w->pid < 0) {
		fprintf(stderr, "uk ps: '%s' is not a process id\n", argv[optind]);
		return TARGET_USAGE;
	}
	if (w->pattern && regcomp(&w->regex, w->pattern, REG_EXTENDED | REG_NOSUB)) {
		fprintf(stderr, "uk ps: '%s' is not a regular expression\n",
			w->pattern);
		return TARGET_USAGE;
	}
	return TARGET_OK;
}

int ps(int argc, char **argv)
{
	struct wanted w = { 0 };
	int status = parse(&w, argc, argv);

	if (!status && w.stacks && frames_missing()) {
		fprintf(stderr, "uk ps: --stack is not possible: %s\n",
			frames_missing());
		status = TARGET_REFUSED;
	}
	if (!status)
		status = show(&w);
	if (w.pattern && status != TARGET_USAGE)
		regfree(&w.regex);
	return status;
}
