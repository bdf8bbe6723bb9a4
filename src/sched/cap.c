/* SPDX-License-Identifier: Apache-2.0 */
/* cap.c - how many kernel threads may be made to run user threads.
 *
 * Whoever blocks outside the runtime keeps his carrier, so a program with more such threads
 * than carriers stands still, though one that is ready may be the one to free them. Hence
 * the cap is as high as the machine allows without starving others: a quarter of the
 * smallest number of threads that the system, the user or the control group may have, and
 * CAP_MOST at most; UK_CARRIERS overrides it. When it is reached the watchdog says so, with
 * the threads that have the carriers (cap_explain).
 *
 * What stands in files is read by the monitor, a moment after the start.
 */
#include <sys/resource.h>

#include "base/cgroup.h"
#include "base/panic.h"
#include "base/sys.h"
#include "sched/handoff.h"

#define CAP_MOST 4096u
#define CAP_FIRST 512u /* until the files have been read */
#define NAMED 8        /* threads that the message names */

static uint32_t cap;           /* written twice: at the start, and by the monitor */
static bool asked;             /* UK_CARRIERS is set */
static const char *cap_origin; /* text; likewise */

struct source {
	unsigned least;
	const char *origin;
};

static void limited_by(struct source *s, int64_t threads, const char *origin)
{
	if (threads < 0 || threads / 4 >= s->least)
		return;
	s->least = (unsigned)(threads / 4);
	s->origin = origin;
}

static void publish(struct source s)
{
	unsigned n = load_acquire(&vp_count_all) + 1;

	store_relaxed(&cap_origin, s.origin);
	store_release(&cap, MAX(s.least, n));
}

static struct source by_rlimit(void)
{
	struct source s = { CAP_MOST, "the most that is made unasked" };
	struct rlimit rl;

	if (!sys4(SYS_prlimit64, 0, RLIMIT_NPROC, NULL, &rl) &&
	    rl.rlim_cur != RLIM_INFINITY)
		limited_by(&s, (int64_t)MIN(rl.rlim_cur, (rlim_t)INT64_MAX),
			   "a quarter of RLIMIT_NPROC");
	return s;
}

void cap_init(void)
{
	unsigned n = env_number("UK_CARRIERS", 0, 1u << 20);
	struct source s = by_rlimit();

	asked = n;
	s.least = MIN(s.least, CAP_FIRST);
	publish(asked ? (struct source){ n, "UK_CARRIERS" } : s);
}

void cap_learn(void)
{
	struct source s = by_rlimit();

	if (asked)
		return;
	limited_by(&s, file_number("/proc/sys/kernel/threads-max"),
		   "a quarter of kernel.threads-max");
	limited_by(&s, file_number("/proc/sys/kernel/pid_max"),
		   "a quarter of kernel.pid_max");
	limited_by(&s, cgroup_least(CGROUP_ROOT, CGROUP_SELF, "pids", "pids.max"),
		   "a quarter of the control group's pids.max");
	publish(s);
	maker_wake(); /* it may have come to the first cap already */
}

unsigned carriers_cap(void)
{
	/* vps may have come since: each has one, and one spare */
	return MAX(load_acquire(&cap), load_relaxed(&vp_count_all) + 1);
}

/* Has c run into a block, or does it compute, without a vp? (racy) */
static bool is_away(const struct carrier *c)
{
	const struct uk_thread *t = load_relaxed(&c->current);
	const struct uk_vp *vp = load_relaxed(&c->vp);

	return !load_relaxed(&c->stopped) && !load_relaxed(&c->ended) &&
	       !load_relaxed(&c->dedicated) && t &&
	       load_relaxed(&t->kind) == THREAD_USER && (!vp || vp_carrier(vp) != c);
}

void cap_explain(char *buf, size_t n)
{
	unsigned max = carriers_cap(), away = 0;
	size_t len;

	if (load_relaxed(&carriers_count) >= max)
		len = fmt_to(buf, n,
			     "all %u kernel threads that may be made (%s%s) are in "
			     "calls that block, or compute:",
			     max, load_relaxed(&cap_origin),
			     asked ? " says so, and raises it"
				   : "; UK_CARRIERS raises it");
	else
		len = fmt_to(buf, n,
			     "another kernel thread cannot be made (error %d, %lu are "
			     "there), these are in calls that block, or compute:",
			     -maker_failed(),
			     (unsigned long)load_relaxed(&carriers_count));
	for (struct carrier *c = load_acquire(&carriers_all); c; c = c->next_all) {
		const struct uk_thread *t = load_relaxed(&c->current);

		if (is_away(c) && away++ < NAMED)
			len += fmt_to(buf + len, n - len, "%s thread %lu \"%s\"",
				      away > 1 ? "," : "", (unsigned long)t->id,
				      thread_name(t));
	}
	if (away > NAMED)
		fmt_to(buf + len, n - len, " and %u more", away - NAMED);
}
