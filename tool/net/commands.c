/* SPDX-License-Identifier: Apache-2.0 */
/* commands.c - plan, discover, apply, undo, verify: the checks before any action, the
 * messages, and the exit statuses.
 *
 * Obstacles are found before the first write: another `uk net` (the journal's lock),
 * another plan that is applied, a setting that this process may not write. If a write
 * fails all the same, the earlier ones are undone. */
#include "commands.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apply.h"
#include "../out.h"
#include "verify.h"

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

static const char *journal_words(int err)
{
	return err == -EBADMSG ? "not a journal of this version" : words_of(err);
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
		out_line("  (nothing to change)");
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
	if (there < 0)
		out_str("journal", journal_words(there));
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
		return fail(IN_THE_WAY, "another `uk net` is running");
	if (err)
		return fail(err == -EROFS                     ? NOT_HERE
			    : err == -EACCES || err == -EPERM ? NO_RIGHT
							      : FAILURE,
			    "%s: %s: %s", what, JOURNAL, words_of(err));
	return DONE;
}

static void say_step(const struct change *c, const struct step *s)
{
	bool changed = s->outcome == CHANGED;

	out_line("  %s: %s%s%s (before apply: %s, apply wrote: %s%s%s)",
		 *s->at ? s->at : c->key, outcome_names[s->outcome], s->err ? ": " : "",
		 s->err ? words_of(s->err) : "", c->old, c->new,
		 changed ? ", now: " : "", changed ? s->now : "");
}

static void say_steps(const struct journal *j, const struct step *step,
		      const char *list)
{
	out_list(list);
	for (size_t i = 0; i < j->n; i++) {
		const struct change *c = &j->change[i];
		const struct step *s = &step[i];

		if (!out_json) {
			say_step(c, s);
			continue;
		}
		out_item("setting", c->key);
		if (*s->at && strcmp(s->at, c->key) != 0)
			out_str("at", s->at);
		out_str("outcome", outcome_names[s->outcome]);
		out_str("old", c->old);
		out_str("new", c->new);
		if (s->outcome == CHANGED)
			out_str("now", s->now);
		if (s->err)
			out_str("error", words_of(s->err));
		out_close();
	}
	out_close();
}

static int damaged(int err)
{
	return fail(FAILURE, "%s: %s", JOURNAL, journal_words(err));
}

/* 0: no other plan is applied; 1: this same plan is; -1: *status is the exit status. */
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
		 "another plan (%s, CPU %ld) is applied, was changed since, or was not "
		 "applied completely: run `uk net undo` first",
		 j.dev, j.cpu);
	return -1;
}

/* Before the first write: can this process write all settings that must be written? */
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

/* Settings that the kernel refused are unchanged, so undo need not know them. */
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
			    "a write failed, and not all settings could be restored: "
			    "run `uk net undo` again");
	}
	say_steps(j, step, "taken_back");
	return fail(FAILURE,
		    "a setting could not be written; all settings are restored");
}

static int write_plan(struct plan *p, bool alone)
{
	struct step *step = calloc(p->n + 1, sizeof(*step));
	struct journal j;
	int err;

	if (!step)
		return fail(FAILURE, "out of memory");
	journal_begin(&j, p, alone);
	if (tree_is_machine() && !strcmp(j.netns, "?"))
		return fail(NOT_HERE, "/proc is not mounted; nothing was changed");
	fflush(stdout); /* show the plan before the first write */
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
		out_line("This plan is already applied.");
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
		out_line("No plan is applied.");
		return DONE;
	}
	step = calloc(j.n + 1, sizeof(*step));
	if (!step)
		return fail(FAILURE, "out of memory");
	if (journal_of_last_boot(&j)) {
		out_line("The plan was applied before the last reboot, which reset all "
			 "settings.");
		j.n = 0;
	} else if (journal_strange(&j)) {
		return fail(IN_THE_WAY, "%s: %s", JOURNAL, journal_strange(&j));
	}
	failed = undo_changes(&j, step);
	say_steps(&j, step, "steps");
	if (!failed)
		there = journal_remove();
	if (failed || there < 0)
		return fail(FAILURE, "undo is incomplete; %s is kept: run undo again",
			    JOURNAL);
	return DONE;
}

/* ---- verify ---- */

static int verify_settings(const struct journal *j)
{
	struct step *step = calloc(j->n + 1, sizeof(*step));
	size_t off = 0;

	if (!step)
		return fail(FAILURE, "out of memory");
	for (size_t i = 0; i < j->n; i++)
		off += !change_holds(j, &j->change[i], &step[i]);
	say_steps(j, step, "steps");
	free(step);
	return off ? fail(FAILURE, "%zu of %zu settings differ from what apply wrote",
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
		return fail(FAILURE, "sending through the loopback device failed: %s",
			    words_of(err));
	return status;
}

/* ---- all of them ---- */

static const struct {
	const char *name;
	int (*run)(const struct options *o);
	bool writes;
} commands[] = {
	{ "plan", do_plan, false },  { "discover", do_discover, false },
	{ "apply", do_apply, true }, { "verify", do_verify, false },
	{ "undo", do_undo, true },
};

int command_find(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(name, commands[i].name))
			return (int)i;
	return -1;
}

/* Only SIGKILL can interrupt the process between two writes. */
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

int command_run(int which, const struct options *o)
{
	int status;

	if (commands[which].writes && tree_is_machine())
		undisturbed();
	out_begin();
	if (commands[which].writes && tree_is_machine() && geteuid())
		status = fail(NO_RIGHT, "%s needs root; plan shows what apply writes",
			      commands[which].name);
	else
		status = commands[which].run(o);
	return out_end() && !status ? FAILURE : status;
}
