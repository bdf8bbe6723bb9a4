/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - `uk run [OPTION...] -- PROGRAM [ARG...]`: starts a program with the drop-in.
 *
 * It examines the program (judge.c), appends libuk-posix.so to LD_PRELOAD, passes the
 * options on as UK_... variables (src/preload/pt_start.c reads them) and becomes the
 * program. So process id, exit status, signals and terminal are the program's own. If
 * the program cannot run on user threads, it prints one line with the reason and runs
 * the program natively.
 *
 * Exit statuses are those of env(1) and nohup(1): 127 the program was not found, 126 it
 * can't be executed, 125 uk itself failed. */
#include "run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "judge.h"
#include "options.h"

#ifndef UK_LIBDIR
#define UK_LIBDIR "lib"
#endif
#define LIBRARY "libuk-posix.so"
#define MOST_VPS 256
#define LEAST_STACK 16384 /* PTHREAD_STACK_MIN */
#define MOST_STACK (1ul << 30)

enum { OWN_FAILURE = 125, NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

struct options {
	const char *vps, *stack, *reactor, *children, *bind, *stats;
	bool check, help;
};

void run_usage(FILE *f)
{
	fprintf(
	    f,
	    "usage: uk run [OPTION...] -- PROGRAM [ARG...]\n"
	    "  run an unmodified pthread program; its threads are user threads\n"
	    "  --vps N                 virtual processors; default: one for each CPU\n"
	    "  --stack SIZE            default stack size: bytes, or with K or M\n"
	    "  --reactor uring|epoll   the engine; default: uring if possible\n"
	    "  --children yes|no       also for programs that it starts; default: yes\n"
	    "  --bind PATTERN          threads with such a name keep a kernel thread\n"
	    "  --stats FILE            write the counters to FILE as JSON at exit\n"
	    "  --check                 only describe PROGRAM; 1: runs natively\n");
}

/* ---- options ---- */

static bool is_number(const char *s, unsigned long least, unsigned long most,
		      bool with_unit)
{
	char *end;
	unsigned long v = strtoul(s, &end, 10);
	unsigned shift = 0;

	if (with_unit && (*end == 'k' || *end == 'K'))
		shift = 10, end++;
	else if (with_unit && (*end == 'm' || *end == 'M'))
		shift = 20, end++;
	return *s >= '0' && *s <= '9' && !*end && v <= most >> shift &&
	       v << shift >= least;
}

static bool one_of(const char *s, const char *a, const char *b)
{
	return !strcmp(s, a) || !strcmp(s, b);
}

/* What is wrong with the options, or NULL. */
static const char *wrong(const struct options *o)
{
	if (o->vps && !is_number(o->vps, 1, MOST_VPS, false))
		return "--vps needs a number from 1 to 256";
	if (o->stack && !is_number(o->stack, LEAST_STACK, MOST_STACK, true))
		return "--stack needs a size from 16K to 1024M";
	if (o->reactor && !one_of(o->reactor, "uring", "epoll"))
		return "--reactor needs uring or epoll";
	if (o->children && !one_of(o->children, "yes", "no"))
		return "--children needs yes or no";
	return NULL;
}

/* 0, or the exit status. From optind on, argv is the program's. */
static int parse(struct options *o, int argc, char **argv)
{
	OPTIONS(longs, VALUE_OF("vps", 'n'), VALUE_OF("stack", 's'),
		VALUE_OF("reactor", 'r'), VALUE_OF("children", 'c'),
		VALUE_OF("bind", 'b'), VALUE_OF("stats", 'o'), WORD("check", 'k'));
	const char **const values[] = {
		['n'] = &o->vps,      ['s'] = &o->stack, ['r'] = &o->reactor,
		['c'] = &o->children, ['b'] = &o->bind,  ['o'] = &o->stats
	};
	int c;

	optind = 0;
	while ((c = getopt_long(argc, argv, "+", longs, NULL)) != -1) {
		switch (c) {
		case 'k':
			o->check = true;
			break;
		case 'h':
			o->help = true;
			return 0;
		case '?':
			run_usage(stderr);
			return OWN_FAILURE;
		default:
			*values[c] = optarg;
		}
	}
	if (wrong(o) || optind == argc) {
		fprintf(stderr, "uk run: %s\n",
			wrong(o) ? wrong(o) : "no program given");
		return OWN_FAILURE;
	}
	return 0;
}

/* ---- the library ---- */

/* Search beside this file, one directory up (a build directory), and where it is
 * installed: in a directory of its own, because no program links it. */
static bool find_library(char path[PATH_MAX])
{
	static const char *const places[] = { "", "../",
					      "../" UK_LIBDIR "/ukthreads/" };
	char own[PATH_MAX], at[2 * PATH_MAX];

	if (!realpath(own_file(), own))
		return false;
	*(strrchr(own, '/') + 1) = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(at, sizeof(at), "%s%s%s", own, places[i], LIBRARY);
		if (realpath(at, path))
			return true;
	}
	return false;
}

/* Why it can't be preloaded, or NULL. Other preloaded libraries stay before it, as
 * natively before libc: a library that sends connections through a proxy, or shows
 * another time, gets the program's calls first, and reaches libuk-posix.so where it
 * calls libc. */
static const char *preload(void)
{
	const char *others = getenv("LD_PRELOAD");
	char path[PATH_MAX], *all;

	if (!find_library(path))
		return LIBRARY " was not found near uk";
	if (strpbrk(path, " :"))
		return "the path of " LIBRARY
		       " has a blank or colon, which LD_PRELOAD does not allow";
	if (!others)
		others = "";
	if (names_sanitizer(others))
		return why_sanitizer;
	if (asprintf(&all, "%s%s%s", others, *others ? ":" : "", path) < 0)
		return "out of memory";
	setenv("LD_PRELOAD", all, 1);
	free(all);
	return NULL;
}

/* ---- the program ---- */

static void set(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
}

static void hand_on(const struct options *o)
{
	char here[PATH_MAX], stats[2 * PATH_MAX], self[16];

	snprintf(self, sizeof(self), "%d", getpid());
	set("UK_RUN", self);
	set("UK_VPS", o->vps);
	set("UK_STACK", o->stack);
	set("UK_REACTOR", o->reactor);
	set("UK_CHILDREN", o->children);
	set("UK_BIND", o->bind);
	/* the program may change its directory before it ends */
	if (o->stats && o->stats[0] != '/' && getcwd(here, sizeof(here))) {
		snprintf(stats, sizeof(stats), "%s/%s", here, o->stats);
		set("UK_STATS", stats);
	} else {
		set("UK_STATS", o->stats);
	}
}

static int failed(const char *name, int err)
{
	fprintf(stderr, "uk run: %s: %s\n", name, strerror(-err));
	return err == -ENOENT || err == -ENOTDIR ? NOT_FOUND : NOT_EXECUTABLE;
}

static int report(const char *name, const struct verdict *v)
{
	printf("program  %s\n", name);
	if (strcmp(name, v->program) != 0)
		printf("runs in  %s\n", v->program);
	printf("kind     %s\n", v->kind);
	if (v->loader[0])
		printf("loader   %s\n", v->loader);
	if (v->needs[0])
		printf("needs    %s\n", v->needs);
	if (v->why_not)
		printf("verdict  runs natively: %s\n", v->why_not);
	else
		printf("verdict  runs as user threads\n");
	return fflush(stdout) || ferror(stdout) ? OWN_FAILURE : v->why_not != NULL;
}

/* Execute directly what env(1) would execute for a script: otherwise env would be the
 * program, and with --children no what it becomes by exec would run natively. */
static int become(char *path, char **argv, int argc)
{
	char name[PATH_MAX], interpreter[PATH_MAX];
	char **args;

	if (!script_of_env(path, name) || find_program(name, interpreter)) {
		execvp(path,
		       argv); /* path has a slash; execvp runs scripts without "#!" */
		return failed(argv[0], -errno);
	}
	args = calloc((size_t)argc + 2, sizeof(*args));
	if (!args)
		return failed(argv[0], -ENOMEM);
	args[0] = name;
	args[1] = path;
	memcpy(args + 2, argv + 1, (size_t)argc * sizeof(*args)); /* and its NULL */
	execv(interpreter, args);
	return failed(name, -errno);
}

int run(int argc, char **argv)
{
	struct options o = { 0 };
	struct verdict v;
	char path[PATH_MAX];
	int err = parse(&o, argc, argv);

	if (err)
		return err;
	if (o.help) {
		run_usage(stdout);
		return 0;
	}
	argc -= optind;
	argv += optind;
	err = find_program(argv[0], path);
	if (err)
		return failed(argv[0], err);
	err = judge(path, &v);
	if (err && o.check)
		return failed(argv[0], err);
	if (err) /* executable but unreadable: it runs natively, or not at all */
		v.why_not = "its file can't be read";
	if (o.check)
		return report(path, &v);
	if (!v.why_not)
		v.why_not = preload();
	if (v.why_not)
		fprintf(stderr, "uk run: %s runs natively: %s\n", argv[0], v.why_not);
	else
		hand_on(&o);
	return become(path, argv, argc);
}
