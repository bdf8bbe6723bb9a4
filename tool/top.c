/* SPDX-License-Identifier: Apache-2.0 */
/* top.c - `uk top PID`: what another process does, again and again.
 *
 * A look (target.c) gives counters that only grow, and the difference of two looks gives
 * rates. The runtime does not measure how long a vp is busy, so that is sampled: between
 * two looks the idle word of each vp is read SAMPLES times, in one system call each.
 *
 * The loop waits in poll(2) for keys, signals (a signalfd) and the end of the target (a
 * pidfd). So no signal handler runs, and each way out goes through screen_end. */
#include "top.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "options.h"
#include "out.h"
#include "ps.h"
#include "screen.h"

#define SAMPLES 20
#define LISTED 20 /* entries of a list that is not on a terminal */
#define LEAST_DELAY 0.1
#define MOST_DELAY 3600.0
#define FIRST_MS 250 /* before the first screen of a terminal */
#define NS 1000000000.0

struct wanted {
	pid_t pid;
	double delay;
	long count; /* 0: no limit */
	bool json;
};

/* A kernel thread of the target. */
struct task {
	long tid;
	char name[TARGET_NAME], state;
	uint64_t ticks;
	double cpu; /* percent */
};

struct look {
	struct view v;
	struct task *tasks; /* by tid */
	size_t ntasks;
	uint64_t ticks; /* of the process */
	double uptime;
	unsigned samples, *busy; /* since the look before; busy: of each vp of that */
};

/* What threads wait for. */
struct object {
	const struct seen_thread *first; /* the one that waits longest */
	size_t n;
};

struct sums {
	size_t *states, *waits; /* as in the table */
	int64_t *oldest;        /* of each wait */
	struct object *objects;
	size_t nobjects;
	const struct seen_thread **longest;
	size_t nlongest;
};

static void usage(FILE *f)
{
	fprintf(f, "usage: uk top [OPTION...] PID\n"
		   "  show what a running process does, without stopping it; q quits\n"
		   "  -d SECONDS  time between two looks; default: 1\n"
		   "  -n COUNT    end after COUNT screens; in a pipe the default is 1\n"
		   "  --json      print one JSON object a line\n");
}

/* ---- a look ---- */

static bool read_stat(const char *path, struct task *k, uint64_t *start)
{
	unsigned long long user, system, from;
	char line[1024], *open, *close;
	FILE *f = fopen(path, "re");
	bool ok = f && fgets(line, sizeof(line), f);

	if (f)
		fclose(f);
	if (!ok)
		return false;
	open = strchr(line, '(');
	close = strrchr(line, ')');
	if (!open || !close ||
	    sscanf(close + 1,
		   " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d "
		   "%*d %*d %*d %*d %llu",
		   &k->state, &user, &system, &from) != 4)
		return false;
	*close = 0;
	snprintf(k->name, sizeof(k->name), "%.31s", open + 1);
	k->ticks = user + system;
	*start = from;
	return true;
}

static int by_tid(const void *a, const void *b)
{
	const struct task *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void read_tasks(const struct target *t, struct look *k)
{
	size_t capacity = 0;
	uint64_t start = 0;
	struct timespec now;
	struct task whole;
	struct dirent *e;
	char path[320];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/stat", t->pid);
	clock_gettime(CLOCK_BOOTTIME, &now);
	if (read_stat(path, &whole, &start)) {
		k->ticks = whole.ticks;
		k->uptime =
		    (double)now.tv_sec - (double)start / (double)sysconf(_SC_CLK_TCK);
	}
	snprintf(path, sizeof(path), "/proc/%d/task", t->pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		struct task *task;

		if (k->ntasks == capacity) {
			capacity = 2 * capacity + 64;
			k->tasks =
			    must(realloc(k->tasks, capacity * sizeof(*k->tasks)));
		}
		task = &k->tasks[k->ntasks];
		*task = (struct task){ .tid = strtol(e->d_name, NULL, 10) };
		snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", t->pid,
			 e->d_name);
		if (task->tid > 0 && read_stat(path, task, &start))
			k->ntasks++;
	}
	if (d)
		closedir(d);
	if (k->ntasks)
		qsort(k->tasks, k->ntasks, sizeof(*k->tasks), by_tid);
}

static double seconds_between(const struct look *a, const struct look *b)
{
	double s = (double)(b->v.now - a->v.now) / NS;

	return s > 0 ? s : 1e-3;
}

static double percent(const struct look *a, const struct look *b, uint64_t from,
		      uint64_t to)
{
	double ticks = to > from ? (double)(to - from) : 0;

	return 100 * ticks / (double)sysconf(_SC_CLK_TCK) / seconds_between(a, b);
}

static void measure_tasks(const struct look *a, struct look *b)
{
	for (size_t i = 0; i < b->ntasks; i++) {
		struct task *k = &b->tasks[i], *old = NULL;

		if (a->ntasks)
			old = bsearch(k, a->tasks, a->ntasks, sizeof(*k), by_tid);
		k->cpu = old ? percent(a, b, old->ticks, k->ticks) : 0;
	}
}

static int take(struct target *t, struct look *k)
{
	int status;

	*k = (struct look){ 0 };
	status = target_look(t, &k->v);
	k->busy = room(k->v.nvps, sizeof(*k->busy));
	if (!status)
		read_tasks(t, k);
	return status;
}

static void drop(struct look *k)
{
	view_free(&k->v);
	free(k->tasks);
	free(k->busy);
	*k = (struct look){ 0 };
}

static int sample(struct target *t, struct look *k)
{
	bool *busy = room(k->v.nvps, sizeof(*busy));
	int status = target_busy(t, &k->v, busy);

	k->samples++;
	for (size_t i = 0; i < k->v.nvps; i++)
		k->busy[i] += busy[i];
	free(busy);
	return status;
}

/* ---- summing up ---- */

static int by_object(const void *a, const void *b)
{
	const struct seen_thread *x = *(const struct seen_thread *const *)a;
	const struct seen_thread *y = *(const struct seen_thread *const *)b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	if (x->fd != y->fd)
		return x->fd < y->fd ? -1 : 1;
	return x->waits < y->waits ? -1 : x->waits > y->waits;
}

static int by_waiters(const void *a, const void *b)
{
	const struct object *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return x->first->age > y->first->age ? -1 : x->first->age < y->first->age;
}

static int by_age(const void *a, const void *b)
{
	const struct seen_thread *x = *(const struct seen_thread *const *)a;
	const struct seen_thread *y = *(const struct seen_thread *const *)b;

	return x->age > y->age ? -1 : x->age < y->age;
}

static void sum_objects(struct sums *s, const struct seen_thread **waiters, size_t n)
{
	qsort(waiters, n, sizeof(*waiters), by_object);
	s->objects = room(n, sizeof(*s->objects));
	for (size_t i = 0; i < n; i++) {
		struct object *o = &s->objects[s->nobjects];

		if (!waiters[i]->object && waiters[i]->fd < 0)
			continue;
		if (s->nobjects && !by_object(&o[-1].first, &waiters[i])) {
			o[-1].n++;
			if (waiters[i]->age > o[-1].first->age)
				o[-1].first = waiters[i];
		} else {
			*o = (struct object){ waiters[i], 1 };
			s->nobjects++;
		}
	}
	qsort(s->objects, s->nobjects, sizeof(*s->objects), by_waiters);
}

static void sum_up(const struct target *t, const struct view *v, struct sums *s)
{
	const struct seen_thread **waiters = room(v->nthreads, sizeof(*waiters));
	size_t n = 0;

	*s = (struct sums){ .states = room(t->table.nstates, sizeof(size_t)),
			    .waits = room(t->table.nwaits, sizeof(size_t)),
			    .oldest = room(t->table.nwaits, sizeof(int64_t)) };
	for (size_t i = 0; i < v->nthreads; i++) {
		const struct seen_thread *k = &v->threads[i];
		uint32_t w = 0, state = t->table.state_running;

		for (uint32_t x = 0; !k->kernel && x < t->table.nstates; x++)
			if (k->state == t->states[x])
				state = x;
		if (k->user && state < t->table.nstates)
			s->states[state]++;
		if (!k->waits[0])
			continue;
		while (w < t->table.nwaits && k->waits != t->waits[w])
			w++;
		if (w < t->table.nwaits) {
			s->waits[w]++;
			s->oldest[w] = k->age > s->oldest[w] ? k->age : s->oldest[w];
		}
		waiters[n++] = k;
	}
	sum_objects(s, waiters, n);
	qsort(waiters, n, sizeof(*waiters), by_age);
	s->longest = waiters;
	s->nlongest = n;
}

static void sums_free(struct sums *s)
{
	free(s->states);
	free(s->waits);
	free(s->oldest);
	free(s->objects);
	free(s->longest);
}

/* ---- text ---- */

static double rate(const struct look *a, const struct look *b, uint64_t from,
		   uint64_t to)
{
	return to > from ? (double)(to - from) / seconds_between(a, b) : 0;
}

/* The same vp in the look before; vps are never removed. */
static const uk_stats *before(const struct look *a, const struct look *b, size_t i)
{
	return i < a->v.nvps && a->v.vps[i].address == b->v.vps[i].address
		   ? &a->v.vps[i].stats
		   : &b->v.vps[i].stats;
}

static double busy_of(const struct look *a, size_t i)
{
	return i < a->v.nvps && a->samples ? 100.0 * a->busy[i] / a->samples : 0;
}

static const char *vp_state(const struct target *t, const struct seen_vp *p)
{
	if (p->idle == t->table.vp_rests)
		return "at rest";
	if (!p->carrier)
		return "orphan";
	return p->idle ? "idle" : "busy";
}

static void print_head(FILE *f, const struct target *t, const struct look *a,
		       const struct look *b, const struct sums *s)
{
	char up[24];
	const char *sep = "";

	fprintf(f, "%s%s%s (process %d) up %s, ukthreads %s, %s, CPU %.0f%%\n",
		screen_bold(), t->command, screen_plain(), t->pid,
		ps_age((int64_t)(b->uptime * NS), up, sizeof(up)), t->library,
		b->v.nvps ? b->v.vps[0].engine : "no engine",
		percent(a, b, a->ticks, b->ticks));
	fprintf(f, "threads %zu: ", b->v.nuser);
	for (uint32_t i = 0; i < t->table.nstates; i++)
		if (s->states[i]) {
			fprintf(f, "%s%zu %s", sep, s->states[i], t->states[i]);
			sep = ", ";
		}
	fprintf(f, "; carriers %llu, %llu spare; ready %llu\n",
		(unsigned long long)b->v.stats.carriers,
		(unsigned long long)b->v.stats.spares,
		(unsigned long long)b->v.stats.ready);
#define RATE(field) rate(a, b, a->v.stats.field, b->v.stats.field)
	fprintf(
	    f,
	    "a second: %.0f switches, %.0f hand-offs, %.0f steals, %.0f threads made, "
	    "%.0f I/O inline, %.0f I/O parked\n\n",
	    RATE(switches), RATE(handoffs), RATE(steals), RATE(creates),
	    RATE(io_inline), RATE(io_parked));
#undef RATE
}

static void print_vps(FILE *f, const struct target *t, const struct look *a,
		      const struct look *b, size_t most)
{
	fprintf(f, "%s%4s %-10s %-8s %8s %5s %5s %9s %9s %8s %9s %9s %6s %6s%s\n",
		screen_heading(), "VP", "SET", "STATE", "CARRIER", "BUSY%", "READY",
		"SWITCH/s", "HANDOFF/s", "STEAL/s", "INLINE/s", "PARKED/s", "I/O",
		"TIMERS", screen_plain());
	for (size_t i = 0; i < b->v.nvps && i < most; i++) {
		const struct seen_vp *p = &b->v.vps[i];
		const uk_stats *o = before(a, b, i), *n = &p->stats;
		bool stuck = !p->carrier && p->idle != t->table.vp_rests;

		fprintf(f,
			"%4ld %-10.10s %s%-8s%s %8ld %5.0f %5u %9.0f %9.0f %8.0f %9.0f "
			"%9.0f %6u %6u\n",
			p->id, p->set, stuck ? screen_warn() : "", vp_state(t, p),
			stuck ? screen_plain() : "", p->carrier, busy_of(a, i),
			p->ready, rate(a, b, o->switches, n->switches),
			rate(a, b, o->handoffs, n->handoffs),
			rate(a, b, o->steals, n->steals),
			rate(a, b, o->io_inline, n->io_inline),
			rate(a, b, o->io_parked, n->io_parked), p->pending, p->timers);
	}
	if (b->v.nvps > most)
		fprintf(f, "     and %zu more\n", b->v.nvps - most);
}

/* What a kernel thread does for the runtime, or "". */
static const char *role_of(const struct view *v, const struct task *k, char *buf,
			   size_t n)
{
	char name[TARGET_NAME];

	*buf = 0;
	for (size_t i = 0; i < v->ncarriers; i++) {
		const struct seen_carrier *c = &v->carriers[i];
		const struct seen_thread *s =
		    c->thread < 0 ? NULL : &v->threads[c->thread];

		if (c->tid != k->tid)
			continue;
		if (s)
			snprintf(buf, n, "%s thread %llu \"%s\"%s",
				 c->dedicated ? "is bound to" : "runs",
				 (unsigned long long)s->id, ps_name(s, name),
				 c->vp < 0 && !c->dedicated ? ", without a vp" : "");
		else
			snprintf(buf, n, "%s", c->vp >= 0 ? "looks for work" : "spare");
		if (c->vp >= 0)
			snprintf(buf + strlen(buf), n - strlen(buf), ", vp %ld", c->vp);
	}
	return buf;
}

static int by_cpu(const void *a, const void *b)
{
	const struct task *x = *(const struct task *const *)a;
	const struct task *y = *(const struct task *const *)b;

	if (x->cpu < y->cpu || x->cpu > y->cpu)
		return x->cpu > y->cpu ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static const struct task **sorted_tasks(const struct look *b)
{
	const struct task **sorted = room(b->ntasks, sizeof(*sorted));

	for (size_t i = 0; i < b->ntasks; i++)
		sorted[i] = &b->tasks[i];
	qsort(sorted, b->ntasks, sizeof(*sorted), by_cpu);
	return sorted;
}

static void print_tasks(FILE *f, const struct look *b, size_t most)
{
	const struct task **sorted = sorted_tasks(b);
	char role[128], name[TARGET_NAME];

	fprintf(f, "\n%s%8s %-16s %2s %6s  %-40s%s\n", screen_heading(), "KERNEL",
		"NAME", "S", "CPU%", "DOES", screen_plain());
	for (size_t i = 0; i < b->ntasks && i < most; i++) {
		memcpy(name, sorted[i]->name, sizeof(name));
		out_clean(name);
		fprintf(f, "%8ld %-16s %2c %6.1f  %s\n", sorted[i]->tid, name,
			sorted[i]->state, sorted[i]->cpu,
			role_of(&b->v, sorted[i], role, sizeof(role)));
	}
	if (b->ntasks > most)
		fprintf(f, "         and %zu more\n", b->ntasks - most);
	free(sorted);
}

static void print_waits(FILE *f, const struct target *t, const struct sums *s,
			size_t most)
{
	char age[24];
	size_t shown = 0;

	fprintf(f, "\n%s%8s %8s  %-40s%s\n", screen_heading(), "THREADS", "LONGEST",
		"WAIT FOR", screen_plain());
	for (uint32_t i = 0; i < t->table.nwaits && shown < most; i++)
		if (s->waits[i]) {
			fprintf(f, "%8zu %8s  %s\n", s->waits[i],
				ps_age(s->oldest[i], age, sizeof(age)), t->waits[i]);
			shown++;
		}
}

static void print_objects(FILE *f, const struct target *t, const struct view *v,
			  const struct sums *s, size_t most)
{
	char age[24], waits[512];

	fprintf(f, "\n%s%8s %8s  %-40s%s\n", screen_heading(), "WAITERS", "LONGEST",
		"OBJECT", screen_plain());
	for (size_t i = 0; i < s->nobjects && i < most; i++)
		fprintf(f, "%8zu %8s  %s\n", s->objects[i].n,
			ps_age(s->objects[i].first->age, age, sizeof(age)),
			ps_waits(t, v, s->objects[i].first, waits, sizeof(waits)));
}

static void print_longest(FILE *f, const struct target *t, const struct view *v,
			  const struct sums *s, size_t most)
{
	char age[24], waits[512], name[TARGET_NAME];

	fprintf(f, "\n%s%8s %-16s %8s  %-40s%s\n", screen_heading(), "THREAD", "NAME",
		"FOR", "WAITS FOR", screen_plain());
	for (size_t i = 0; i < s->nlongest && i < most; i++)
		fprintf(f, "%8llu %-16s %8s  %s\n",
			(unsigned long long)s->longest[i]->id,
			ps_name(s->longest[i], name),
			ps_age(s->longest[i]->age, age, sizeof(age)),
			ps_waits(t, v, s->longest[i], waits, sizeof(waits)));
}

static void print_text(FILE *f, const struct target *t, const struct look *a,
		       const struct look *b)
{
	/* five lists, with a heading and an empty line each, below the first lines */
	size_t most = screen.on
			  ? (size_t)(screen.rows > 29 ? (screen.rows - 14) / 5 : 3)
			  : LISTED;
	struct sums s;

	sum_up(t, &b->v, &s);
	print_head(f, t, a, b, &s);
	print_vps(f, t, a, b, most);
	print_tasks(f, b, most);
	print_waits(f, t, &s, most);
	print_objects(f, t, &b->v, &s, most);
	print_longest(f, t, &b->v, &s, screen.on ? (size_t)screen.rows : LISTED);
	sums_free(&s);
}

/* ---- JSON ---- */

static void json_vps(const struct target *t, const struct look *a, const struct look *b)
{
	out_list("vps");
	for (size_t i = 0; i < b->v.nvps; i++) {
		const struct seen_vp *p = &b->v.vps[i];
		const uk_stats *o = before(a, b, i), *n = &p->stats;

		out_element();
		out_num("id", p->id);
		out_str("set", p->set);
		out_str("state", vp_state(t, p));
		out_num("carrier", p->carrier);
		out_real("busy_percent", busy_of(a, i));
		out_num("ready", p->ready);
		out_num("pending", p->pending);
		out_num("timers", p->timers);
		out_num("switches", (long)n->switches);
		out_real("switches_per_s", rate(a, b, o->switches, n->switches));
		out_real("handoffs_per_s", rate(a, b, o->handoffs, n->handoffs));
		out_real("steals_per_s", rate(a, b, o->steals, n->steals));
		out_real("io_inline_per_s", rate(a, b, o->io_inline, n->io_inline));
		out_real("io_parked_per_s", rate(a, b, o->io_parked, n->io_parked));
		out_close();
	}
	out_close();
}

static void json_tasks(const struct look *b)
{
	const struct task **sorted = sorted_tasks(b);
	char role[128], state[2] = "";

	out_list("kernel_threads");
	for (size_t i = 0; i < b->ntasks; i++) {
		state[0] = sorted[i]->state;
		out_element();
		out_num("tid", sorted[i]->tid);
		out_str("name", sorted[i]->name);
		out_str("state", state);
		out_real("cpu_percent", sorted[i]->cpu);
		out_str("does", role_of(&b->v, sorted[i], role, sizeof(role)));
		out_close();
	}
	out_close();
	free(sorted);
}

static void json_sums(const struct target *t, const struct view *v,
		      const struct sums *s)
{
	out_object("states");
	for (uint32_t i = 0; i < t->table.nstates; i++)
		out_num(t->states[i], (long)s->states[i]);
	out_close();
	out_list("waits");
	for (uint32_t i = 0; i < t->table.nwaits; i++) {
		if (!s->waits[i])
			continue;
		out_element();
		out_str("waits", t->waits[i]);
		out_num("threads", (long)s->waits[i]);
		out_num("longest_ns", (long)s->oldest[i]);
		out_close();
	}
	out_close();
	out_list("objects");
	for (size_t i = 0; i < s->nobjects && i < LISTED; i++) {
		out_element();
		out_num("waiters", (long)s->objects[i].n);
		out_object("longest");
		ps_json_thread(t, v, s->objects[i].first);
		out_close();
		out_close();
	}
	out_close();
	out_list("longest");
	for (size_t i = 0; i < s->nlongest && i < LISTED; i++) {
		out_element();
		ps_json_thread(t, v, s->longest[i]);
		out_close();
	}
	out_close();
}

static int print_json(const struct target *t, const struct look *a,
		      const struct look *b)
{
	struct sums s;

	out_json = out_compact = true;
	sum_up(t, &b->v, &s);
	out_begin();
	ps_json_head(t, &b->v);
	out_real("uptime_s", b->uptime);
	out_real("interval_s", seconds_between(a, b));
	out_real("cpu_percent", percent(a, b, a->ticks, b->ticks));
	out_num("user_threads", (long)b->v.nuser);
	json_vps(t, a, b);
	json_tasks(b);
	json_sums(t, &b->v, &s);
	sums_free(&s);
	return out_end();
}

/* ---- the loop ---- */

static int print(const struct wanted *w, const struct target *t, const struct look *a,
		 const struct look *b)
{
	char *text = NULL;
	size_t size;
	FILE *f;

	if (w->json)
		return print_json(t, a, b);
	f = must(open_memstream(&text, &size));
	print_text(f, t, a, b);
	fclose(f);
	if (screen.on)
		screen_put(text);
	else
		fputs(text, stdout);
	free(text);
	return fflush(stdout) || ferror(stdout);
}

static const int handled[] = { SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
			       SIGTSTP, SIGCONT, SIGWINCH };

static int signals_begin(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
		sigaddset(&set, handled[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* The signal acts as if it had not been blocked. */
static void let_act(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void on_signal(int fd, bool *redraw)
{
	struct signalfd_siginfo si;

	if (read(fd, &si, sizeof(si)) != sizeof(si))
		return;
	*redraw = true;
	if (si.ssi_signo == SIGWINCH)
		screen_measure();
	if (si.ssi_signo == SIGWINCH || si.ssi_signo == SIGCONT)
		return;
	screen_end();
	let_act((int)si.ssi_signo);
	screen_begin(screen.colour); /* it was stopped and goes on */
}

enum event { EVENT_TIME, EVENT_REDRAW, EVENT_QUIT, EVENT_END };

static enum event await(const struct target *t, int signals, int ms)
{
	struct pollfd p[] = { { t->fd, POLLIN, 0 },
			      { signals, POLLIN, 0 },
			      { screen.keys ? STDIN_FILENO : -1, POLLIN, 0 } };
	bool redraw = false;
	char key = 0;

	if (poll(p, 3, ms) <= 0)
		return EVENT_TIME;
	if (p[1].revents)
		on_signal(signals, &redraw);
	/* 0 bytes: the terminal is gone */
	if (p[2].revents && (read(STDIN_FILENO, &key, 1) <= 0 || tolower(key) == 'q'))
		return EVENT_QUIT;
	if (p[0].revents)
		return EVENT_END;
	return redraw ? EVENT_REDRAW : EVENT_TIME;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000) + ts.tv_nsec / 1000000;
}

/* Waits, samples the vps of *k meanwhile, and draws again if the screen has changed.
 * True: the user wants to quit. */
static bool wait_and_sample(const struct wanted *w, struct target *t, int signals,
			    struct look *old, struct look *k, int64_t ms, int *status)
{
	int64_t begin = now_ms(), end = begin + ms, next = begin;

	for (int64_t now = begin; now < end && !*status; now = now_ms()) {
		enum event e;

		if (now >= next) {
			*status = sample(t, k);
			next = now + (ms / SAMPLES > 1 ? ms / SAMPLES : 1);
			if (*status)
				break;
		}
		next = next < end ? next : end;
		e = await(t, signals, (int)(next > now ? next - now : 0));
		if (e == EVENT_QUIT)
			return true;
		if (e == EVENT_END) /* says that it has ended */
			*status = target_lost(t);
		if (e == EVENT_REDRAW && screen.on && old->v.nvps)
			print(w, t, old, k);
	}
	return false;
}

static int watch(const struct wanted *w, struct target *t)
{
	int signals = screen.on ? signals_begin() : -1, status;
	struct look a = { 0 }, b = { 0 }, c = { 0 }, *old = &a, *k = &b, *n = &c;
	int64_t ms = (int64_t)(w->delay * 1000), first = ms;

	if (screen.on && first > FIRST_MS)
		first = FIRST_MS;
	status = take(t, k);
	for (long i = 0; !status && (!w->count || i < w->count); i++) {
		struct look *free_one = old;

		if (wait_and_sample(w, t, signals, old, k, i ? ms : first, &status))
			break;
		if (!status)
			status = take(t, n);
		if (!status) {
			measure_tasks(k, n);
			if (print(w, t, k, n)) {
				snprintf(t->why, sizeof(t->why), "standard output: %s",
					 strerror(errno));
				status = TARGET_REFUSED;
			}
		}
		drop(old);
		old = k;
		k = n;
		n = free_one;
	}
	drop(&a);
	drop(&b);
	drop(&c);
	return status;
}

static bool number(const char *s, double least, double most, double *v)
{
	char *end;

	*v = strtod(s, &end);
	return *s && !*end && *v >= least && *v <= most;
}

/* 0, or the exit status. */
static int parse(struct wanted *w, int argc, char **argv)
{
	OPTIONS(longs, WORD("json", 'j'));
	double v;
	int c;

	optind = 0;
	while ((c = getopt_long(argc, argv, "d:n:", longs, NULL)) != -1) {
		if (c == 'h' || c == '?') {
			usage(c == 'h' ? stdout : stderr);
			exit(c == 'h' ? TARGET_OK : TARGET_USAGE);
		}
		if (c == 'j')
			w->json = true;
		if (c == 'd' && !number(optarg, LEAST_DELAY, MOST_DELAY, &w->delay)) {
			fprintf(stderr, "uk top: -d needs seconds from 0.1 to 3600\n");
			return TARGET_USAGE;
		}
		if (c == 'n' && !number(optarg, 1, 1e9, &v)) {
			fprintf(stderr, "uk top: -n needs a number from 1 on\n");
			return TARGET_USAGE;
		}
		if (c == 'n')
			w->count = (long)v;
	}
	if (argc - optind != 1) {
		usage(stderr);
		return TARGET_USAGE;
	}
	w->pid = ps_pid(argv[optind]);
	if (w->pid < 0) {
		fprintf(stderr, "uk top: '%s' is not a process id\n", argv[optind]);
		return TARGET_USAGE;
	}
	return TARGET_OK;
}

int top(int argc, char **argv)
{
	struct wanted w = { .delay = 1 };
	const char *no_colour = getenv("NO_COLOR");
	static struct target t;
	int status = parse(&w, argc, argv);

	if (status)
		return status;
	status = target_open(&t, w.pid);
	if (!status && !w.json && isatty(STDOUT_FILENO)) {
		atexit(screen_end);
		screen_begin(!no_colour || !*no_colour);
	} else if (!w.json && !w.count) {
		w.count = 1;
	}
	if (!status)
		status = watch(&w, &t);
	screen_end();
	return ps_end("top", &t, status);
}
