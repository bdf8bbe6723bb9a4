/* SPDX-License-Identifier: Apache-2.0 */
/* net.c - `uk net discover|plan|apply|verify|undo`: one CPU does the network's work.
 *
 * It needs nothing of the runtime and no other program, only /proc, /sys, netlink and a few
 * system calls. The parts, in the order in which data flows:
 *   tree     files, of the machine or of a recorded one (--root)
 *   ask      what no file says
 *   see      the machine; discover says it
 *   plan     the writes, each with its reason; pure reading
 *   journal  the old values, on the disk first
 *   apply    writes and takes back
 *   verify   reads back and counts
 * It is in C as the rest of `uk`: a script would need an interpreter with netlink, on machines
 * that have none. (Rejected: a daemon that corrects settings for ever. Who changes one after
 * us had a reason; verify shows it.) */
#include "net.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apply.h"
#include "out.h"
#include "verify.h"

enum { DONE, FAILURE, USAGE, IN_THE_WAY, NO_RIGHT, NOT_HERE };

struct options {
	struct wish wish;
	long seconds, loopback;
};

static void usage(FILE *f)
{
	fprintf(f,
		"usage: uk net [discover|plan|apply|verify|undo] [OPTION...]\n"
		"  one CPU for the network's work; without a word: plan\n"
		"  --dev NAME     the network device; that of the default route\n"
		"  --cpu N        the network CPU; an isolated one, or the last\n"
		"  --rung sqpoll|epoll|threaded|rps|advise   the best that there is\n"
		"  --alone        other interrupts leave the network CPU\n"
		"  --seconds N    verify: count for so long; 2\n"
		"  --loopback N   verify: count while N datagrams go through lo\n"
		"  --json         one object\n"
		"  --root DIR     of a recorded /proc and /sys\n");
}

__attribute__((format(printf, 2, 3))) static int fail(int status, const char *format,
						      ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (out_json)
		out_str("error", text);
	fprintf(stderr, "uk net: %s\n", text);
	return status;
}

static const char *words_of(int err)
{
	return strerror(err < 0 ? -err : err);
}

/* ---- plan ---- */

static void say_advice(const struct plan *p)
{
	out_list("advice");
	for (size_t i = 0; i < p->n_advice; i++)
		out_str(NULL, p->advice[i]);
	out_close();
}

static void say_change(const struct change *c)
{
	int err = setting_access(c->key);

	if (!out_json) {
		out_line("  %s: %s -> %s", c->key, c->old, c->new);
		out_line("      %s (%s%s%s)", c->why, c->needs, err ? "; here: " : "",
			 err ? words_of(err) : "");
		return;
	}
	out_item("setting", c->key);
	out_str("old", c->old);
	out_str("new", c->new);
	out_str("why", c->why);
	out_str("needs", c->needs);
	out_bool("writable", !err);
	out_close();
}

static void say_plan(const struct plan *p)
{
	out_str("device", p->dev ? p->dev->name : "");
	out_num("cpu", p->cpu);
	out_str("rung", rung_names[p->rung]);
	out_list("changes");
	for (size_t i = 0; i < p->n; i++)
		say_change(&p->change[i]);
	if (!p->n)
		out_line("  (nothing is to be changed)");
	out_close();
	say_advice(p);
}

static int make(struct plan *p, struct machine *m, const struct options *o)
{
	const char *why;

	see(m);
	why = plan_make(p, m, &o->wish);
	return why ? fail(NOT_HERE, "%s%s%s", p->dev ? p->dev->name : "",
			  p->dev ? ": " : "", why)
		   : DONE;
}

static int do_plan(const struct options *o)
{
	struct machine m;
	struct plan p;
	struct journal j;
	int err = make(&p, &m, o), there = journal_load(&j);

	if (err)
		return err;
	out_bool("applied", there && !(there > 0 && journal_of_last_boot(&j)));
	say_plan(&p);
	return DONE;
}

static int do_discover(const struct options *o)
{
	struct machine m;

	(void)o;
	see(&m);
	discover(&m);
	return DONE;
}

/* ---- apply and undo ---- */

static int begin(const char *what)
{
	int err = journal_lock();

	if (err == -EWOULDBLOCK)
		return fail(IN_THE_WAY, "another `uk net` is at work");
	if (err)
		return fail(err == -EROFS ? NOT_HERE : NO_RIGHT, "%s: %s: %s", what,
			    JOURNAL, words_of(err));
	return DONE;
}

static void say_steps(const struct journal *j, const struct step *step,
		      const char *list)
{
	out_list(list);
	for (size_t i = 0; i < j->n; i++) {
		const struct change *c = &j->change[i];
		const struct step *s = &step[i];

		if (!out_json) {
			out_line("  %s: %s%s%s (before apply: %s, by apply: %s)",
				 c->key, outcome_names[s->outcome], s->err ? ": " : "",
				 s->err ? words_of(s->err) : "", c->old, c->new);
			continue;
		}
		out_item("setting", c->key);
		out_str("outcome", outcome_names[s->outcome]);
		out_str("old", c->old);
		out_str("new", c->new);
		if (s->err)
			out_str("error", words_of(s->err));
		out_close();
	}
	out_close();
}

static int damaged(int err)
{
	return fail(FAILURE, "%s: %s", JOURNAL,
		    err == -EBADMSG ? "not a journal of this version" : words_of(err));
}

/* 0: none is in the way; 1: this very plan is applied; or the exit status in *status. */
static int in_the_way(const struct plan *p, const struct options *o, int *status)
{
	struct journal j;
	struct step step;
	int there = journal_load(&j);
	bool same;

	if (there < 0) {
		*status = damaged(there);
		return -1;
	}
	if (!there || journal_of_last_boot(&j))
		return 0;
	same = p->dev && !strcmp(j.dev, p->dev->name) && j.cpu == p->cpu &&
	       !strcmp(j.rung, rung_names[p->rung]) && j.alone == o->wish.alone &&
	       !journal_strange(&j);
	for (size_t i = 0; i < j.n && same; i++)
		same = change_holds(&j, &j.change[i], &step);
	if (same)
		return 1;
	*status =
	    fail(IN_THE_WAY,
		 "a plan for %s on CPU %ld is applied, has changed since or was cut "
		 "short: `uk net undo` first",
		 j.dev, j.cpu);
	return -1;
}

/* All that must be written can be; found out before the first write. */
static int may_write(const struct plan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		int err = p->change[i].may ? 0 : setting_access(p->change[i].key);

		if (err)
			return fail(err == -EROFS ? NOT_HERE : NO_RIGHT,
				    "%s: %s; nothing was changed", p->change[i].key,
				    words_of(err));
	}
	return DONE;
}

/* What the kernel refused was not changed: undo need not know. */
static int forget_refused(struct journal *j, const struct step *step)
{
	size_t n = 0;

	for (size_t i = 0; i < j->n; i++)
		if (step[i].outcome != REFUSED)
			j->change[n++] = j->change[i];
	if (n == j->n)
		return 0;
	j->n = n;
	return n ? journal_store(j) : journal_remove();
}

static int take_back(struct journal *j, struct step *step)
{
	if (undo_changes(j, step) || journal_remove()) {
		say_steps(j, step, "taken_back");
		return fail(FAILURE,
			    "not all could be taken back: `uk net undo` again");
	}
	say_steps(j, step, "taken_back");
	return fail(FAILURE, "a setting could not be written; all is as it was");
}

static int write_plan(struct plan *p, bool alone)
{
	struct step *step = calloc(p->n + 1, sizeof(*step));
	struct journal j;
	int err;

	if (!step)
		return fail(FAILURE, "no memory");
	journal_begin(&j, p, alone);
	err = journal_store(&j);
	if (err)
		return fail(err == -EROFS ? NOT_HERE : FAILURE,
			    "%s: %s; nothing was changed", JOURNAL, words_of(err));
	if (apply_changes(&j, step)) {
		say_steps(&j, step, "steps");
		return take_back(&j, step);
	}
	say_steps(&j, step, "steps");
	err = forget_refused(&j, step);
	return err ? fail(FAILURE, "%s: %s", JOURNAL, words_of(err)) : DONE;
}

static int do_apply(const struct options *o)
{
	struct machine m;
	struct plan p;
	int status = begin("apply"), there;

	if (!status)
		status = make(&p, &m, o);
	if (status)
		return status;
	there = in_the_way(&p, o, &status);
	if (there < 0)
		return status;
	say_plan(&p);
	if (there)
		out_line("This plan is applied already.");
	if (there || !p.n)
		return DONE;
	status = may_write(&p);
	return status ? status : write_plan(&p, o->wish.alone);
}

static int do_undo(const struct options *o)
{
	int status = begin("undo"), there;
	struct journal j;
	struct step *step;
	size_t failed = 0;

	(void)o;
	if (status)
		return status;
	there = journal_load(&j);
	if (there < 0)
		return damaged(there);
	if (!there) {
		out_line("Nothing is applied.");
		return DONE;
	}
	step = calloc(j.n + 1, sizeof(*step));
	if (!step)
		return fail(FAILURE, "no memory");
	if (journal_of_last_boot(&j)) {
		out_line("What was applied went with the last boot.");
		j.n = 0;
	} else if (journal_strange(&j)) {
		return fail(IN_THE_WAY, "%s: %s", JOURNAL, journal_strange(&j));
	}
	failed = undo_changes(&j, step);
	say_steps(&j, step, "steps");
	if (!failed)
		there = journal_remove();
	if (failed || there < 0)
		return fail(FAILURE, "not all is as it was; %s stays", JOURNAL);
	return DONE;
}

/* ---- verify ---- */

static int verify_settings(const struct journal *j)
{
	struct step *step = calloc(j->n + 1, sizeof(*step));
	size_t off = 0;

	if (!step)
		return fail(FAILURE, "no memory");
	for (size_t i = 0; i < j->n; i++)
		off += !change_holds(j, &j->change[i], &step[i]);
	say_steps(j, step, "steps");
	free(step);
	return off ? fail(FAILURE, "%zu of %zu settings are not as they were applied",
			  off, j->n)
		   : DONE;
}

static int do_verify(const struct options *o)
{
	struct machine m;
	struct journal j;
	int there = journal_load(&j), status = DONE, err = 0;
	const char *dev = o->wish.dev;

	if (there < 0)
		return damaged(there);
	there = there && !journal_of_last_boot(&j);
	if (there && journal_strange(&j))
		return fail(IN_THE_WAY, "%s: %s", JOURNAL, journal_strange(&j));
	see(&m);
	out_bool("applied", there);
	if (there)
		status = verify_settings(&j);
	if (!dev && there)
		dev = j.dev;
	if (!dev && see_default_device(&m))
		dev = see_default_device(&m)->name;
	if (o->loopback)
		dev = "lo";
	if (dev && tree_is_machine())
		err = probe(&m, dev, there ? j.cpu : -1, o->seconds, o->loopback);
	if (err)
		return fail(FAILURE, "the loopback device: %s", words_of(err));
	return status;
}

/* ---- the words on the line ---- */

static bool number(const char *s, long least, long most, long *to)
{
	char *end;

	*to = strtol(s, &end, 10);
	return *s && !*end && *to >= least && *to <= most;
}

static bool rung(const char *s, int *to)
{
	for (*to = 0; *to < RUNGS; ++*to)
		if (!strcmp(s, rung_names[*to]))
			return true;
	return false;
}

static bool take_option(int c, struct options *o)
{
	switch (c) {
	case 'd':
		o->wish.dev = optarg;
		return *optarg && !strchr(optarg, '/') && strlen(optarg) < IFNAMSIZ;
	case 'c':
		return number(optarg, 0, CPU_SETSIZE - 1, &o->wish.cpu);
	case 'r':
		return rung(optarg, &o->wish.rung);
	case 'a':
		return o->wish.alone = true;
	case 's':
		return number(optarg, 0, 3600, &o->seconds);
	case 'l':
		return number(optarg, 1, 100000000, &o->loopback);
	case 'j':
		return out_json = true;
	case 'R':
		tree_at(optarg);
		return *optarg;
	default:
		return false;
	}
}

static const struct {
	const char *name;
	int (*run)(const struct options *o);
	bool writes;
} commands[] = {
	{ "plan", do_plan, false },  { "discover", do_discover, false },
	{ "apply", do_apply, true }, { "verify", do_verify, false },
	{ "undo", do_undo, true },
};

/* Nothing but kill -9 comes between two writes. */
static void undisturbed(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGTSTP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int run_command(size_t which, const struct options *o)
{
	int status;

	if (commands[which].writes && tree_is_machine())
		undisturbed();
	out_begin();
	if (commands[which].writes && tree_is_machine() && geteuid())
		status = fail(NO_RIGHT, "%s needs root; plan shows what it would write",
			      commands[which].name);
	else
		status = commands[which].run(o);
	return out_end() && !status ? FAILURE : status;
}

int net(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "dev", required_argument, NULL, 'd' },
		{ "cpu", required_argument, NULL, 'c' },
		{ "rung", required_argument, NULL, 'r' },
		{ "alone", no_argument, NULL, 'a' },
		{ "seconds", required_argument, NULL, 's' },
		{ "loopback", required_argument, NULL, 'l' },
		{ "json", no_argument, NULL, 'j' },
		{ "root", required_argument, NULL, 'R' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct options o = { .wish = { .cpu = -1, .rung = -1 }, .seconds = 2 };
	size_t which = 0, n = sizeof(commands) / sizeof(*commands);
	int c;

	optind = 0;
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'h') {
			usage(stdout);
			return fflush(stdout) || ferror(stdout) ? FAILURE : DONE;
		}
		if (!take_option(c, &o)) {
			if (c != '?')
				fprintf(stderr, "uk net: what is '%s'?\n", optarg);
			usage(stderr);
			return USAGE;
		}
	}
	if (optind < argc)
		for (which = 0; which < n; which++)
			if (!strcmp(argv[optind], commands[which].name))
				break;
	if (which == n || argc - optind > 1) {
		usage(stderr);
		return USAGE;
	}
	return run_command(which, &o);
}
