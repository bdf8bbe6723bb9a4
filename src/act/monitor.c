/* SPDX-License-Identifier: Apache-2.0 */
/* monitor.c - the kernel thread that finds blocked and hogging carriers and moves their vp
 * to a spare (law 1).
 *
 * It samples every vp. A vp whose switch counter has not moved since the last look has run
 * one thread all that time; what that thread does decides:
 *
 *   inside the runtime (in_rt)            nothing: it will be out in microseconds
 *   inside a bracketed call (mark)        blocked after MARK_NS
 *   no CPU time used, /proc says asleep   blocked after BLOCK_NS
 *   CPU time used                         a hog after a slice (its set's) of it
 *
 * Whose calls all end at once never switches, but each is a sign of life: who has ended one since
 * the last look has not slept since, and /proc is not asked (279 opens in 2 s for a proxy that
 * copies by 4 KiB, now 3). How much it computes is counted on.
 *
 * A slice is CPU time: whose carrier was preempted on a busy machine has not computed, and
 * another carrier would be preempted no less. Where that clock is refused /proc alone decides.
 *
 * A program can have the kernel end a carrier (a system call of its own, _exit of the kernel
 * thread). To the look that is one who sleeps: the vp goes to another carrier. That its thread
 * is lost is said within a second or so of being awake.
 *
 * A hog also loses priority, so that it does not crowd out the carriers that run the others:
 * while some thread is ready or was switched to since the hog lost its vp, and for CALM_NS
 * after the last one. Who computes alone computes as any thread of the process. Not so in the
 * drop-in (monitor_no_nice): a program that knows nothing of this may have its threads spin
 * for each other, main among them, and whom they wait for must not be the one who yields.
 *
 * Who blocks seldom blocks alone: a vp that was just taken from a blocked carrier (within
 * BURST_NS) is judged one look earlier, and whom its dispatcher wakes meanwhile goes before
 * its queue (vp->burst, in switch.h), so that a crowd of threads that block in turn, each
 * for the price of a hand-off, holds up nobody who does not.
 *
 * The period adapts: PERIOD_MIN while it finds something, doubling to PERIOD_MAX while it
 * does not. That somebody computes is no find, else a program that does so between any two of
 * its calls would be looked at 10,000 times a second for nothing (bench/FINDINGS.md, web servers
 * that nobody here wrote): who is first seen outside the runtime is looked at again soon only if
 * /proc says that he sleeps.
 *
 * While all vps are asleep it sleeps, too, and for a period more after the first of them has woken up (alarm.c): a server that does little for each request would otherwise
 * spend more on being watched than on the request (at 100 requests a second 330 us for each,
 * ten looks, where the request itself took 49).
 *
 * Where the kernel tells who has blocked (detect.c) the monitor sees to it at once, on its word
 * alone, and its own looks, once a millisecond, are for hogs and for what was not told.
 *
 * Law 5: facts go down (vp_revoke), nothing is called up. Here is never allocated and no
 * thread is created: the thread being rescued may hold libc's locks.
 *
 * It also calls the keeper, which gives memory back (life/keeper.c), for which it wakes up
 * some times more after the vps have gone to sleep.
 *
 * The same kernel thread is the stall watchdog: a vp that has not switched for UK_STALL
 * milliseconds (default 5000, 0 = off) although work waits for it is reported, with the
 * thread that holds it, once per stall.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "act/alarm.h"
#include "act/bell.h"
#include "act/detect.h"
#include "act/files.h"
#include "act/monitor.h"
#include "base/panic.h"
#include "base/sys.h"
#include "life/keeper.h"
#include "sched/handoff.h"

#define PERIOD_MIN (50 * NS_PER_US)
#define PERIOD_MAX (1 * NS_PER_MS)
#define QUIET_PASSES 20 /* without a find before the period doubles */
#define MARK_NS (20 * NS_PER_US)
#define BLOCK_NS (40 * NS_PER_US)
#define HOG_NICE 19
#define CALM_NS (100 * NS_PER_MS)
#define MONITOR_STACK ((size_t)64 << 10)
#define BURST_NS (5 * NS_PER_MS)
#define ENDED_NS (1 * NS_PER_SEC) /* between two looks for carriers that have ended */

uint64_t monitor_passes, monitor_events; /* read by stat */
static int64_t stall_ns;
static int64_t keep_ns; /* between the keeper's rounds */
static bool own_files;  /* the monitor: it may open what it reads */
bool monitor_no_nice;
static bool may_renice; /* and take it back later: that needs privilege */
static bool hogs;       /* the monitor: there may be some */
static bool seldom;     /* the monitor: it looks less often than it can */
static uint32_t
    blocked;           /* somebody has, since the last round; watch lock, racy reads */
static int64_t wanted; /* the monitor: when it last saw that some thread wants to run */
static int64_t ended_at; /* the monitor: when to look whether a carrier has ended */

/* May a carrier that was made nicer become what it was again? */
static bool can_renice(void)
{
	struct {
		uint32_t version;
		int pid;
	} head = { 0x20080522, 0 }; /* _LINUX_CAPABILITY_VERSION_3 */
	struct {
		uint32_t effective, permitted, inheritable;
	} caps[2] = { { 0, 0, 0 } };
	struct rlimit rl;

	if (!sys2(SYS_capget, &head, caps) &&
	    caps[0].effective & 1u << 23 /* CAP_SYS_NICE */)
		return true;
	return !sys4(SYS_prlimit64, 0, RLIMIT_NICE, NULL, &rl) &&
	       (rl.rlim_cur == RLIM_INFINITY || 20 - (int)rl.rlim_cur <= process_nice);
}

/* Does the kernel say that tid sleeps (and not: is preempted)? Unknown counts as yes. */
static bool asleep(int tid)
{
	char path[48], buf[512];
	long fd, n, i;

	if (!own_files)
		return true;
	fmt_to(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	fd = sys4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return true;
	n = sys3(SYS_read, fd, buf, sizeof(buf) - 1);
	sys1(SYS_close, fd);
	for (i = n - 1; i > 0 && buf[i] != ')'; i--) /* the name may contain anything */
		;
	if (i <= 0 || i + 2 >= n)
		return true;
	return buf[i + 2] != 'R';
}

static int64_t cpu_time(const struct carrier *c)
{
	return MAX(sys_cpu_time(c->tid), 0);
}

/* What c has used since its clock showed that, at most ns. */
static int64_t cpu_used(const struct carrier *c, int64_t since, int64_t ns)
{
	int64_t cpu = sys_cpu_time(c->tid);

	if (unlikely(cpu < 0))
		return asleep(c->tid) ? 0 : ns;
	return cpu - since;
}

/* Could anything become ready on a vp that nobody looks at? */
static bool waited_for(const struct uk_vp *vp)
{
	return vp_has_work(vp) || load_relaxed(&vp->reactor.pending) ||
	       wheel_next(&vp->wheel) < sys_now();
}

static void report_orphan(struct uk_vp *vp, int64_t for_ns)
{
	char who[768];

	bump(&vp->stalls, 1);
	cap_explain(who, sizeof(who));
	uk_warn(
	    "stall: vp %u has had no carrier for %ld ms though work waits; %s (UK_STALL "
	    "sets this limit)",
	    vp->id, (long)(for_ns / NS_PER_MS), who);
}

/* Nobody has the vp: it waits for a spare, or for one who comes back. Who had it and lost it
 * between two looks has switched. */
static bool look_orphan(struct uk_vp *vp, uint64_t switches, int64_t now)
{
	struct vp_watch *w = &vp->watch;

	if (w->carrier || !w->since || w->switches != switches) {
		w->carrier = NULL;
		w->switches = switches;
		w->since = now;
		w->warned = 0;
	}
	if (unlikely(stall_ns && now - w->since > stall_ns) && !w->warned &&
	    waited_for(vp)) {
		w->warned = 1;
		report_orphan(vp, now - w->since);
	}
	return false;
}

static void report_stall(struct uk_vp *vp, struct carrier *c, int64_t for_ns)
{
	const struct uk_thread *t = load_relaxed(&c->current);

	bump(&vp->stalls, 1);
	uk_warn(
	    "stall: vp %u has not switched for %ld ms though work waits; carrier %d runs "
	    "thread %lu \"%s\"%s (UK_STALL sets this limit)",
	    vp->id, (long)(for_ns / NS_PER_MS), load_relaxed(&c->tid),
	    (unsigned long)t->id,
	    t->kind == THREAD_DISPATCHER ? "dispatcher" : thread_name(t),
	    load_relaxed(&c->in_rt) ? ", inside the runtime" : "");
}

/* True if the vp was moved. A hog is marked first: once it has lost the vp it may come back
 * at any moment, and unmarks itself (enter_slow). */
static bool take(struct uk_vp *vp, struct carrier *c, bool hog)
{
	if (unlikely(detector == DETECT_OFF))
		return false;
	if (!hog) {
		vp->watch.taken = vp->watch.seen;
		store_relaxed(&vp->burst, (uint8_t)VP_BURST);
	}
	if (hog) {
		store_relaxed(&c->hog, vp);
		/* its ring's completions need a poke from now on (reactor.h) */
		fetch_add_relaxed(&vp->reactor.hogs, 1);
		hogs = true;
		c->hog_since = vp->watch.seen;
		c->niced = false;
	}
	if (!vp_revoke(vp, c)) {
		if (hog)
			carrier_no_hog(c);
		return false;
	}
	bump(&vp->handoffs, 1);
	bump(&vp->handoffs_hog, hog);
	if (!hog) {
		store_relaxed(&blocked, 1);
		bell_worth();
	}
	return true;
}

/* Renices one hog, or takes it back. It may have ended to be one meanwhile, and then been
 * given its priority back before we took it: so we look again. */
static void hog_nice(struct carrier *c, bool nice)
{
	if (c->niced == nice)
		return;
	c->niced = nice;
	sys3(SYS_setpriority, PRIO_PROCESS, c->tid, nice ? HOG_NICE : process_nice);
	fence_seq_cst(); /* pairs with the exchange in carrier_no_hog */
	if (nice && !load_relaxed(&c->hog))
		sys3(SYS_setpriority, PRIO_PROCESS, c->tid, process_nice);
}

/* True: one of them is to be looked at again, for it has not its priority. */
static bool look_hogs(int64_t now)
{
	bool any = false, niced = false;

	for (struct carrier *c = load_acquire(&carriers_all); c; c = c->next_all) {
		if (!load_relaxed(&c->hog))
			continue;
		any = true;
		hog_nice(c, wanted > c->hog_since && now - wanted < CALM_NS);
		niced |= c->niced;
	}
	hogs = any;
	return niced;
}

/* The kernel has no such thread any more. Once for each. */
static void say_ended(struct carrier *c)
{
	const struct uk_thread *t = load_relaxed(&c->current);

	store_relaxed(&c->ended, true);
	carrier_no_hog(c);
	fetch_sub_acq_rel(&carriers_count, 1);
	maker_wake(); /* there is room for another */
	uk_warn(
	    "the program has ended carrier %d by a system call of its own: its thread "
	    "%lu \"%s\" is lost, and who joins it waits for ever",
	    c->tid, (unsigned long)t->id,
	    t->kind == THREAD_DISPATCHER ? "dispatcher" : thread_name(t));
}

/* Not one that was retired, and perhaps made anew, while we asked. */
static bool has_ended(const struct carrier *c)
{
	int tid = load_relaxed(&c->tid);

	return !load_acquire(&c->ended) && sys_cpu_time(tid) == -EINVAL &&
	       !load_acquire(&c->ended) && tid == load_relaxed(&c->tid);
}

static void look_ended(int64_t now)
{
	if (now < ended_at)
		return;
	ended_at = now + ENDED_NS;
	for (struct carrier *c = load_acquire(&carriers_all); c; c = c->next_all)
		if (has_ended(c))
			say_ended(c);
}

bool monitor_look(struct uk_vp *vp, int64_t now)
{
	struct vp_watch *w = &vp->watch;
	uintptr_t owner = load_acquire(&vp->owner);
	uint64_t switches = load_relaxed(&vp->count.switches);
	uint64_t inlined = load_relaxed(&vp->count.io_inline);
	struct carrier *c = (struct carrier *)owner;
	bool idle, lives = w->inlined != inlined;
	int64_t stuck, used;

	w->seen = now;
	w->inlined = inlined;
	if (w->ran != switches || vp_has_work(vp))
		wanted = now;
	w->ran = switches;
	if (!owner)
		return look_orphan(vp, switches, now);
	if (owner & VP_REVOKING)
		return false;
	idle = load_relaxed(&vp->idle);
	/* who was idle at the last look has not stood still since: we slept, too */
	if (idle || w->idle || w->carrier != c || w->switches != switches) {
		w->idle = idle;
		w->carrier = c;
		w->switches = switches;
		w->since = now;
		w->cpu = !idle && now - w->taken < BURST_NS ? cpu_time(c) : -1;
		w->warned = 0;
		return w->cpu >= 0;
	}
	stuck = now - w->since;
	if (unlikely(stall_ns && stuck > stall_ns) && !w->warned && vp_has_work(vp)) {
		w->warned = 1;
		report_stall(vp, c, stuck);
	}
	/* acquire: who has left the runtime has written who it is (pairs with exit_user) */
	if (load_acquire(&c->in_rt) || load_relaxed(&c->current) == &c->disp)
		return false;
	if (load_relaxed(&c->mark))
		return stuck >= MARK_NS ? take(vp, c, false) : true;
	if (w->cpu < 0) {
		w->cpu = cpu_time(c);
		w->since = now;
		return seldom && !lives && asleep(c->tid);
	}
	used = cpu_used(c, w->cpu, stuck);
	if (!lives && stuck >= BLOCK_NS && used < stuck / 4 && asleep(c->tid))
		return take(vp, c, false);
	if (used >= load_relaxed(&vp->set->slice))
		return take(vp, c, true);
	return false;
}

/* The kernel saw c block, outside the runtime and with a vp. It may have come back since. */
static void spotted(struct carrier *c)
{
	uint32_t n = load_acquire(&vp_count_all);
	bool keeps = false;

	lock_acquire(&watch_lock);
	for (uint32_t i = 0; i < n; i++) {
		struct uk_vp *vp = vp_all[i];

		if (load_acquire(&vp->owner) != (uintptr_t)c)
			continue;
		keeps = true;
		/* acquire: as in monitor_look */
		if (!load_acquire(&c->in_rt) && load_relaxed(&c->current) != &c->disp) {
			bump(&monitor_events, 1);
			vp->watch.seen = sys_now();
			keeps = !take(vp, c, false);
		}
		break;
	}
	lock_release(&watch_lock);
	if (!keeps)
		bell_rest(c);
}

static bool all_idle(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!load_seq_cst(&vp_all[i]->idle))
			return false;
	return true;
}

void monitor_balance(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct uk_vp *vp = vp_all[i];

		/* more than it can run, or a hot thread that has waited a whole period */
		bool more = runq_stealable(&vp->rq) > 0 ||
			    (load_relaxed(&vp->rq.lifo) &&
			     vp->watch.switches == load_relaxed(&vp->count.switches));

		if (vp->shared && load_relaxed(&vp->set->nidle) && more) {
			for (unsigned k = 0; k < vp->set->n; k++)
				if (load_relaxed(&vp->set->vps[k]->idle)) {
					/* not we: our descriptors are our own */
					maker_kick(vp->set->vps[k]);
					break;
				}
		}
	}
}

static uint64_t all_switches(uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += load_relaxed(&vp_all[i]->count.switches);
	return sum;
}

/* Is there anything for the keeper to find? Who ran since its last round may have left
 * something, or parked when it had passed him. */
static bool may_keep(uint32_t n, uint64_t called)
{
	return all_switches(n) != called || keeper_left();
}

/* All vps sleep: nobody can block or compute until one wakes up. Whoever leaves idleness, or
 * what the keeper takes, after our store sets the alarm; who did before it is seen by the second
 * look. */
static void sleep_with_the_vps(uint32_t n, uint64_t called, int64_t keep_at)
{
	struct carrier *c = NULL;

	store_seq_cst(&monitor_asleep, 1);
	fence_seq_cst();
	if (all_idle(load_acquire(&vp_count_all)) && !detect_wanted())
		c = detect_wait(may_keep(n, called) ? keep_at : TIME_NEVER);
	store_seq_cst(&monitor_asleep, 0);
	if (c)
		spotted(c);
}

/* Between two rounds while somebody is awake. Whom the kernel sees block meanwhile is seen to
 * at once. */
static void pause_for(int64_t period)
{
	struct timespec ts = sys_timespec(period);
	int64_t until = sys_now() + period;
	struct carrier *c;

	if (!detect_hears()) {
		sys4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
		return;
	}
	while ((c = detect_wait(until))) {
		spotted(c);
		if (sys_now() >= until)
			break;
	}
}

/* One look at all. True: at one of them something was found; *niced: a hog has lost its
 * priority, and shall have it back in time. */
static bool look_round(uint32_t n, bool *niced)
{
	bool found = false;
	int64_t now;

	bump(&monitor_passes, 1);
	lock_acquire(&watch_lock); /* a fork marks the owners as we do */
	now = sys_now();
	for (uint32_t i = 0; i < n; i++)
		found |= monitor_look(vp_all[i], now);
	if (unlikely(hogs && may_renice))
		*niced = look_hogs(now);
	look_ended(now);
	lock_release(&watch_lock);
	return found;
}

static int64_t next_period(int64_t period, unsigned *quiet, bool found)
{
	if (detect_all())
		return PERIOD_MAX;
	if (!found && ++*quiet < QUIET_PASSES)
		return period;
	*quiet = 0;
	return found ? PERIOD_MIN : MIN(period * 2, PERIOD_MAX);
}

static void *monitor_main(void *arg UNUSED)
{
	int64_t period = PERIOD_MIN,
		keep_at = keep_ns ? sys_now() + keep_ns : TIME_NEVER;
	bool niced = false;
	uint64_t called = 0; /* the keeper, after so many switches */
	unsigned quiet = 0;

	sys2(SYS_prctl, PR_SET_NAME, "uk-monitor");
	sys2(SYS_prctl, PR_SET_TIMERSLACK, 1UL);
	alarm_init();
	own_files = files_own();
	cap_learn();
	detect_begin(own_files && alarm_hears());
	for (;;) {
		uint32_t n = load_acquire(&vp_count_all);
		bool found = look_round(n, &niced);

		detect_round(load_relaxed(&blocked));
		store_relaxed(&blocked, 0);
		if (unlikely(sys_now() >= keep_at)) {
			uint64_t sum = all_switches(n);

			if (may_keep(n, called) && keeper_call(keep_ns))
				called = sum;
			keep_at = sys_now() + keep_ns;
		}
		if (!found)
			monitor_balance(n);
		period = next_period(period, &quiet, found);
		seldom = period > PERIOD_MIN && !detect_all();
		alarm_after(period);
		if (all_idle(n) && !(hogs && niced)) {
			sleep_with_the_vps(n, called, keep_at);
		} else {
			pause_for(period);
		}
	}
	return NULL;
}

static void monitor_start(void)
{
	stall_ns = env_number("UK_STALL", 5000, 1u << 30) * NS_PER_MS;
	keep_ns = env_number("UK_TRIM", 10000, 1u << 30) * NS_PER_MS;
	may_renice = !monitor_no_nice && can_renice();
	hogs = false;
	detect_init();
	monitor_call = alarm_set;
}

static void monitor_again(void)
{
	int r;

	monitor_start();
	r = kernel_thread(monitor_main, NULL, MONITOR_STACK, NULL);
	if (!r)
		return;
	files_none();
	detect_none();
	uk_warn(
	    "no monitor in this forked child (error %d): a thread that blocks outside "
	    "the runtime holds up its processor",
	    -r);
}

__attribute__((constructor)) static void act_register(void)
{
	sched_needs_thread(monitor_main, MONITOR_STACK);
	sched_on_start(monitor_start);
	sched_on_child(monitor_again);
}
