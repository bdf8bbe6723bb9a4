/* SPDX-License-Identifier: Apache-2.0 */
/* cap.c - how many kernel threads may be made to run user threads.
 *
 * A thread that blocks outside the runtime keeps its carrier. So a program with more
 * such threads than carriers stops, even if a ready thread could unblock them. Hence
 * the cap is nearly what the machine allows: seven eighths of the smallest number of
 * threads that the system, the user or the control group may have, and at most
 * CAP_MOST. Natively each such thread is a kernel thread, too. A spare that nothing
 * uses takes the place of another process; so beyond a quarter of that number, one
 * spare is kept, and no more are made ahead. UK_CARRIERS overrides all this. When the
 * cap is reached, the watchdog reports it, with the threads that have the carriers
 * (cap_explain).
 *
 * Rejected: a cap of a quarter (with pids.max=64, a program of 20 threads that block
 * stopped).
 *
 * The monitor reads the limits that are in files, shortly after the start.
 */
#include <sys/resource.h>

#include "base/cgroup.h"
#include "base/log.h"
#include "base/sys.h"
#include "sched/handoff.h"

#define CAP_MOST 4096u
#define CAP_FIRST 512u /* until the files have been read */
#define NAMED 8        /* threads that the message names */

static uint32_t cap, ahead;    /* written twice: at the start, and by the monitor */
static bool asked;             /* UK_CARRIERS is set */
static const char *cap_origin; /* where cap comes from, as text; likewise */

struct source {
	unsigned most, ahead;
	const char *origin;
};

static void limited_by(struct source *s, int64_t threads, const char *origin)
{
	int64_t most = threads - threads / 8;

	if (threads < 0)
		return;
	s->ahead = (unsigned)MIN(threads / 4, (int64_t)s->ahead);
	if (most >= s->most)
		return;
	s->most = (unsigned)most;
	s->origin = origin;
}

static void publish(struct source s)
{
	unsigned n = load_acquire(&vp_count_all) + 1;

	store_relaxed(&cap_origin, s.origin);
	store_relaxed(&ahead, s.ahead);
	store_release(&cap, MAX(s.most, n));
}

static struct source by_rlimit(void)
{
	struct source s = { CAP_MOST, CAP_MOST, "the default maximum" };
	struct rlimit rl;

	if (!sys4(SYS_prlimit64, 0, RLIMIT_NPROC, NULL, &rl) &&
	    rl.rlim_cur != RLIM_INFINITY)
		limited_by(&s, (int64_t)MIN(rl.rlim_cur, (rlim_t)INT64_MAX),
			   "seven eighths of RLIMIT_NPROC");
	return s;
}

void cap_init(void)
{
	unsigned n = env_number("UK_CARRIERS", 0, 1u << 20);
	struct source s = by_rlimit();

	asked = n;
	s.most = MIN(s.most, CAP_FIRST);
	publish(asked ? (struct source){ n, n, "UK_CARRIERS" } : s);
}

void cap_learn(void)
{
	struct source s = by_rlimit();

	if (asked)
		return;
	limited_by(&s, file_number("/proc/sys/kernel/threads-max"),
		   "seven eighths of kernel.threads-max");
	limited_by(&s, file_number("/proc/sys/kernel/pid_max"),
		   "seven eighths of kernel.pid_max");
	limited_by(&s, cgroup_least(CGROUP_ROOT, CGROUP_SELF, "pids", "pids.max"),
		   "seven eighths of the control group's pids.max");
	publish(s);
	maker_wake(); /* the maker may have stopped at the first cap */
}

unsigned carriers_cap(void)
{
	/* vps may have been added since: each needs a carrier, and there is one
	 * spare */
	return MAX(load_acquire(&cap), load_relaxed(&vp_count_all) + 1);
}

const char *carriers_cap_origin(void)
{
	return load_relaxed(&cap_origin);
}

unsigned carriers_ahead(void)
{
	return load_relaxed(&ahead);
}

/* Is c without a vp, in a user thread that blocks or computes? (racy) */
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
			     "all %u kernel threads that may be made (limit: %s%s) "
			     "are in calls that block, or compute:",
			     max, load_relaxed(&cap_origin),
			     asked ? "; raise it" : "; UK_CARRIERS raises it");
	else
		len = fmt_to(buf, n,
			     "cannot create another kernel thread (error %d, %lu "
			     "exist); these threads are in calls that block, or "
			     "compute:",
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
