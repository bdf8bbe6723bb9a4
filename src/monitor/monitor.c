/* SPDX-License-Identifier: Apache-2.0 */
/* monitor.c - the kernel thread that finds blocked and computing carriers and moves
 * their vps to spares (law 1, docs/ARCHITECTURE.md).
 *
 * It samples every vp. A vp whose switch counter has not moved since the last look has
 * run one thread all that time. What that thread does decides:
 *
 *   inside the runtime (in_rt)            nothing: it will be out in microseconds
 *   inside a marked call, asleep          blocked after MARK_NS
 *   no CPU time used, asleep              blocked after BLOCK_NS
 *   CPU time used                         a hog after a slice (its set's) of it
 *
 * Asleep is what /proc says. A carrier that was preempted is not, inside a marked call
 * or outside: another carrier would be preempted as well. (When marked ones were taken
 * unasked, Apache's eleven processes on one CPU served a quarter less: bench/run
 * posix-apache --sizes 10000.)
 *
 * A thread whose calls all complete at once never switches, but each call is a sign of
 * life. If one has completed since the last look, the thread has not slept since, and
 * /proc is not asked (279 opens in 2 s for a proxy that copies by 4 KiB, now 3). Its
 * CPU time still counts.
 *
 * A slice is CPU time. Where the kernel refuses that clock, /proc alone decides.
 *
 * A program can have the kernel end a carrier (by a raw exit call of that kernel
 * thread). To the look it seems to sleep: the vp goes to another carrier. The loss of
 * its thread is reported within a second or so of the monitor being awake.
 *
 * A hog also loses priority, so that it does not crowd out the carriers that run the
 * other threads: while some thread is ready or was switched to since the hog lost its
 * vp, and for CALM_NS after the last one. A hog that computes alone keeps its priority.
 * In the preload library all hogs do (monitor_no_nice): threads of a program that knows
 * nothing of this may spin for each other, main among them, and the thread that they
 * wait for must not be slowed down.
 *
 * The first look at a thread reads its CPU time only if work waits for the vp. Then the
 * second one can judge, else the third.
 *
 * Threads often block in groups. A vp that was just taken from a blocked carrier
 * (within BURST_NS) is judged one look earlier, and threads that its dispatcher wakes
 * meanwhile go before its queue (vp->burst, in switch.h). So a group of threads that
 * block one after the other, each at the price of a hand-off, delays only itself.
 *
 * The period adapts: it is PERIOD_MIN after a find, and doubles up to PERIOD_MAX while
 * there is none. A look costs 20 to 40 us in a guest (/proc/PID/task/TID/schedstat of
 * uk-monitor), so a busy server pays 1 % for being watched. Nothing else shortens the period, but some things the pause:
 *
 *   a thread seems to sleep     PERIOD_MIN. If the last look was long ago, the first
 *                               one already asks /proc, so a thread that blocks is
 *                               found after half a period, and not after one and a half
 *   a thread computes           PERIOD_NEAR, so that its slice ends in time; likewise
 *                               any thread whose slice is short. It is no find: a
 *                               program that computes between any two of its
 *                               calls would be sampled 10,000 times a second for
 *                               nothing (a third of the CPU of Python's web server)
 *   a vp is idle beside a busy  PERIOD_NEAR, for monitor_balance
 *
 * While all vps that are not idle wait for a CPU, the period doubles up to PERIOD_FAR.
 * So the monitor sleeps about as long as the vps have waited, and many processes on few
 * CPUs do not use these up by looking.
 *
 * While all vps sleep, the monitor sleeps, too, and stays asleep for a period after the
 * first of them has woken (alarm.c). Otherwise a server that does little for each
 * request would spend more on being watched than on the request (at 100 requests a
 * second 330 us for each, ten looks, where the request itself took 49).
 *
 * Where the kernel tells which carrier has blocked (detect.c), the monitor acts at
 * once, on that word alone. Its own looks, every PERIOD_MAX, are for hogs and for blocks
 * that were not reported.
 *
 * Law 5: the monitor passes facts down (vp_revoke) and calls nothing above it. It never
 * allocates and creates no thread, because the thread that is being rescued may hold
 * libc's locks.
 *
 * It also calls the keeper, which returns memory to the kernel (lifecycle/keeper.c);
 * for that it wakes a few more times after the vps have gone to sleep.
 *
 * The same kernel thread is the stall watchdog: a vp that has not switched for UK_STALL
 * milliseconds (default 5000, 0 = off) although work waits for it is reported, with the
 * thread that holds it, once for each stall.
 *
 * Rejected: the monitor on the CPU of a network processor (fewer timers on the others,
 * but as many interrupts, and 10.8 us of CPU a request instead of 8.5); longer slices
 * of the kernel's for hogs (sched_setattr: no difference to a ticker beside them).
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/at_load.h"
#include "monitor/alarm.h"
#include "monitor/perf.h"
#include "monitor/detect.h"
#include "monitor/file_table.h"
#include "monitor/monitor.h"
#include "base/log.h"
#include "base/sys.h"
#include "lifecycle/keeper.h"
#include "sched/handoff.h"

#define PERIOD_MIN (50 * NS_PER_US)
#define PERIOD_MAX (4 * NS_PER_MS)
#define PERIOD_FAR (64 * NS_PER_MS) /* if carriers wait that long for a CPU */
#define PERIOD_NEAR (1 * NS_PER_MS) /* where a slice or an idle vp may wait for it */
#define ALARM_MIN (500 * NS_PER_US) /* longer than most requests take */
#define QUIET_PASSES 20             /* without a find before the period doubles */
#define MARK_NS (20 * NS_PER_US)
#define BLOCK_NS (40 * NS_PER_US)
#define HOG_NICE 19
#define CALM_NS (100 * NS_PER_MS)
#define MONITOR_STACK ((size_t)64 << 10)
#define BURST_NS (5 * NS_PER_MS)
#define ENDED_NS (1 * NS_PER_SEC) /* between two looks for carriers that have ended */

uint64_t monitor_passes, monitor_events; /* read by stat */
static int64_t stall_ns;
static int64_t keep_ns; /* time between the keeper's rounds */
static bool own_files;  /* the monitor's: it may open what it reads */
bool monitor_no_nice;
static bool may_renice;  /* and undo it later, which needs privilege */
static bool hogs;        /* the monitor's: there may be some */
static uint32_t blocks;  /* found since the last round; the monitor's */
static int64_t wanted;   /* the monitor's: when some thread last wanted to run */
static int64_t ended_at; /* the monitor's: next look whether a carrier has ended */

/* Can a carrier that was made nicer get its priority back? */
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

static void forget_stat(struct vp_watch *w)
{
	if (w->stat_of)
		sys1(SYS_close, w->stat);
	w->stat_of = 0;
}

/* /proc's line about tid; w is that of its vp. The file stays open while the vp keeps
 * its carrier: to open it costs three times as much as to read it. But not under a
 * seccomp filter, which may know open, read and close alone. */
static long read_stat(struct vp_watch *w, int tid, char *buf, size_t n)
{
	bool filtered = sys_filtered();
	char path[48];
	long r;

	if (w->stat_of == tid && !filtered)
		return sys4(SYS_pread64, w->stat, buf, n, 0);
	forget_stat(w);
	fmt_to(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	w->stat = sys4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (w->stat < 0)
		return w->stat;
	w->stat_of = tid;
	r = sys3(SYS_read, w->stat, buf, n);
	if (filtered)
		forget_stat(w);
	return r;
}

/* Does the kernel say that c, which has w's vp, sleeps (and is not preempted)? Unknown
 * counts as yes. */
static bool asleep(struct vp_watch *w, const struct carrier *c)
{
	char buf[512];
	long n, i;

	if (!own_files)
		return true;
	n = read_stat(w, load_relaxed(&c->tid), buf, sizeof(buf) - 1);
	for (i = n - 1; i > 0 && buf[i] != ')'; i--) /* the name may contain anything */
		;
	if (i <= 0 || i + 2 >= n)
		return true;
	return buf[i + 2] != 'R';
}

static int64_t cpu_time(const struct carrier *c)
{
	return MAX(sys_cpu_time(load_relaxed(&c->tid)), 0);
}

/* What c has used since its clock showed w->cpu. If the kernel refuses that clock: 0 if
 * c sleeps, else ns. */
static int64_t cpu_used(struct vp_watch *w, const struct carrier *c, int64_t ns)
{
	int64_t cpu = sys_cpu_time(c->tid);

	if (unlikely(cpu < 0))
		return asleep(w, c) ? 0 : ns;
	return cpu - w->cpu;
}

/* Could anything become ready on a vp that has no carrier? */
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

/* The vp has no carrier: it waits for a spare, or for a returning thread. A carrier
 * that had it and lost it between two looks has switched. */
static enum look look_orphan(struct uk_vp *vp, uint64_t switches, int64_t now)
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
	return LOOK_NOTHING;
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

/* c waits in the kernel. True: its vp was moved. */
static bool take(struct uk_vp *vp, struct carrier *c, enum block_why why)
{
	const struct uk_thread *t;

	if (unlikely(detector == DETECT_OFF))
		return false;
	vp->watch.taken = vp->watch.seen;
	store_relaxed(&vp->burst, (uint8_t)VP_BURST);
	t = vp_revoke(vp, c);
	if (!t)
		return false;
	USDT(block, vp->id, c->tid, t->id, thread_name(t), why);
	vp_give(vp);
	bump(&vp->handoffs, 1);
	blocks++;
	perf_worth();
	return true;
}

/* c has used so much CPU time. It is marked first: once it has lost the vp it may come
 * back at any moment, and then unmarks itself (enter_slow). */
static bool take_hog(struct uk_vp *vp, struct carrier *c, int64_t used)
{
	const struct uk_thread *t;

	if (unlikely(detector == DETECT_OFF))
		return false;
	store_relaxed(&c->hog, vp);
	/* from now on its ring's completions need an interrupt (reactor.h) */
	fetch_add_relaxed(&vp->reactor.hogs, 1);
	hogs = true;
	c->hog_since = vp->watch.seen;
	c->niced = false;
	t = vp_revoke(vp, c);
	if (!t) {
		carrier_no_hog(c);
		return false;
	}
	USDT(hog, vp->id, c->tid, t->id, thread_name(t), used);
	vp_give(vp);
	bump(&vp->handoffs, 1);
	bump(&vp->handoffs_hog, 1);
	return true;
}

/* Renices one hog, or undoes that. The carrier may have ceased to be a hog, and been
 * given its priority back, before we lowered it: so we look again. */
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

/* True: a hog has a lowered priority, and is to be looked at again. */
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

/* The kernel has no such thread any more. Called once for each. */
static void say_ended(struct carrier *c)
{
	const struct uk_thread *t = load_relaxed(&c->current);

	store_relaxed(&c->ended, true);
	carrier_no_hog(c);
	fetch_sub_acq_rel(&carriers_count, 1);
	maker_wake(); /* there is space for another one */
	uk_warn(
	    "the program has ended carrier %d by a system call of its own: its thread "
	    "%lu \"%s\" is lost, and a thread that joins it waits for ever",
	    c->tid, (unsigned long)t->id,
	    t->kind == THREAD_DISPATCHER ? "dispatcher" : thread_name(t));
}

/* False for one that was retired, and perhaps made anew, during this call. */
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

/* The first look at the thread that vp runs now. seldom: the last look was long ago, and
 * the next is not soon. */
static enum look look_first(struct uk_vp *vp, struct carrier *c, bool idle, bool seldom)
{
	struct vp_watch *w = &vp->watch;
	bool burst = !idle && w->seen - w->taken < BURST_NS;
	/* acquire: a carrier that left has stored current (pairs with exit_user) */
	bool out = !idle && !load_acquire(&c->in_rt) && vp_has_work(vp) &&
		   load_relaxed(&c->current) != &c->disp;

	w->idle = idle;
	w->carrier = c;
	w->switches = w->ran;
	w->since = w->seen;
	w->cpu = burst || out ? cpu_time(c) : -1;
	w->warned = 0;
	if (burst)
		return LOOK_FOUND;
	if (!out)
		return idle ? LOOK_LATER : LOOK_NOTHING;
	if (seldom && asleep(w, c))
		return LOOK_SOON;
	return load_relaxed(&vp->set->slice) < 2 * PERIOD_MAX ? LOOK_NEAR
							      : LOOK_NOTHING;
}

/* c has run the same thread since w->since, outside the runtime. lives: a call has
 * completed since the last look. */
static enum look look_again(struct uk_vp *vp, struct carrier *c, bool lives,
			    bool seldom)
{
	struct vp_watch *w = &vp->watch;
	int64_t stuck = w->seen - w->since, used;

	if (load_relaxed(&c->mark)) {
		if (stuck < MARK_NS)
			return LOOK_SOON;
		if (asleep(w, c))
			return take(vp, c, BLOCK_SAMPLED) ? LOOK_FOUND : LOOK_NOTHING;
	}
	if (w->cpu < 0) {
		w->cpu = cpu_time(c);
		w->since = w->seen;
		return seldom && !lives && asleep(w, c) ? LOOK_SOON : LOOK_NOTHING;
	}
	used = cpu_used(w, c, stuck);
	if (!lives && stuck >= BLOCK_NS && used < stuck / 4 && asleep(w, c))
		return take(vp, c, BLOCK_SAMPLED) ? LOOK_FOUND : LOOK_NOTHING;
	if (used >= load_relaxed(&vp->set->slice))
		return take_hog(vp, c, used) ? LOOK_FOUND : LOOK_NOTHING;
	if (used >= stuck / 4)
		return LOOK_NEAR;
	return lives ? LOOK_NOTHING : LOOK_LATER;
}

enum look monitor_look(struct uk_vp *vp, int64_t now)
{
	struct vp_watch *w = &vp->watch;
	uintptr_t owner = load_acquire(&vp->owner);
	uint64_t switches = load_relaxed(&vp->count.switches);
	uint64_t inlined = load_relaxed(&vp->count.io_inline);
	struct carrier *c = (struct carrier *)owner;
	bool idle, lives = w->inlined != inlined;
	bool seldom = now - w->seen > 4 * PERIOD_MIN && !detect_all();

	w->seen = now;
	w->inlined = inlined;
	if (w->ran != switches || vp_has_work(vp))
		wanted = now;
	w->ran = switches;
	if (!owner)
		return look_orphan(vp, switches, now);
	if (owner & VP_REVOKING)
		return LOOK_NOTHING;
	idle = load_relaxed(&vp->idle);
	/* a vp that was idle at the last look has not stalled since: we slept, too */
	if (idle || w->idle || w->carrier != c || w->switches != switches)
		return look_first(vp, c, idle, seldom);
	if (unlikely(stall_ns && now - w->since > stall_ns) && !w->warned &&
	    vp_has_work(vp)) {
		w->warned = 1;
		report_stall(vp, c, now - w->since);
	}
	/* acquire: as in look_first */
	if (load_acquire(&c->in_rt) || load_relaxed(&c->current) == &c->disp)
		return LOOK_NOTHING;
	return look_again(vp, c, lives, seldom);
}

/* The kernel saw c block, outside the runtime and with a vp. It may have come back
 * since. */
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
		/* acquire: as in look_first */
		if (!load_acquire(&c->in_rt) && load_relaxed(&c->current) != &c->disp) {
			bump(&monitor_events, 1);
			vp->watch.seen = sys_now();
			keeps = !take(vp, c, BLOCK_TOLD);
		}
		break;
	}
	lock_release(&watch_lock);
	if (!keeps)
		perf_rest(c);
}

bool monitor_balance(uint32_t n)
{
	bool idle = false;

	for (uint32_t i = 0; i < n; i++) {
		struct uk_vp *vp = vp_all[i];

		/* more than it can run, or a hot thread that waits for a whole
		 * period */
		bool more = runq_stealable(&vp->rq) > 0 ||
			    (load_relaxed(&vp->rq.lifo) &&
			     vp->watch.switches == load_relaxed(&vp->count.switches));

		if (!vp->shared || !load_relaxed(&vp->set->nidle))
			continue;
		idle |= !load_relaxed(&vp->idle);
		if (!more)
			continue;
		for (unsigned k = 0; k < vp->set->n; k++)
			if (load_relaxed(&vp->set->vps[k]->idle)) {
				/* not the monitor: its fds are its own */
				maker_kick(vp->set->vps[k]);
				break;
			}
	}
	return idle;
}

static uint64_t all_switches(uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += load_relaxed(&vp_all[i]->count.switches);
	return sum;
}

/* Is there anything for the keeper to find? A thread that has run since its last round
 * may have left something, or have parked after the keeper had passed it. */
static bool may_keep(uint32_t n, uint64_t called)
{
	return all_switches(n) != called || keeper_left();
}

/* All vps sleep: nothing can block or compute until one wakes. A vp that leaves
 * idleness, or a thread that gives the keeper something, sets the alarm if it does so
 * after our store; if it did so before, the second look sees it. The next alarm may be
 * stopped again, unless it is to show that the keeper has work. */
static void sleep_with_the_vps(uint32_t n, uint64_t called, int64_t keep_at)
{
	int64_t until = may_keep(n, called) ? keep_at : TIME_NEVER;
	bool deep = keep_ns && until == TIME_NEVER;
	struct carrier *c = NULL;

	store_seq_cst(&monitor_state, deep ? MONITOR_DEEP : MONITOR_ASLEEP);
	fence_seq_cst();
	if (vps_idle() && !detect_wanted())
		c = detect_wait(MIN(until, detect_until()));
	store_seq_cst(&monitor_state, MONITOR_AWAKE);
	if (c)
		spotted(c);
}

/* Between two rounds while a vp is awake. A carrier that the kernel sees block
 * meanwhile loses its vp at once. */
static void pause_for(int64_t period)
{
	struct timespec ts = sys_timespec(period);
	int64_t until = sys_now() + period;
	struct carrier *c;

	if (!detect_tells()) {
		sys4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
		return;
	}
	while ((c = detect_wait(until))) {
		spotted(c);
		if (sys_now() >= until)
			break;
	}
}

/* One look at all vps: the most urgent of what it finds. *niced: a hog has lost its
 * priority, and is to have it back in time. */
static enum look look_round(uint32_t n, bool *niced)
{
	enum look most = LOOK_LATER;
	int64_t now;

	bump(&monitor_passes, 1);
	lock_acquire(&watch_lock); /* a fork marks the owners as we do */
	now = sys_now();
	for (uint32_t i = 0; i < n; i++)
		most = MAX(most, monitor_look(vp_all[i], now));
	if (unlikely(hogs && may_renice))
		*niced = look_hogs(now);
	look_ended(now);
	lock_release(&watch_lock);
	return most;
}

static int64_t next_period(int64_t period, unsigned *quiet, enum look found)
{
	if (detect_all())
		return PERIOD_MAX;
	if (found == LOOK_FOUND) {
		*quiet = 0;
		return PERIOD_MIN;
	}
	if (found == LOOK_LATER && period >= PERIOD_MAX)
		return MIN(period * 2, PERIOD_FAR);
	if (found == LOOK_SOON || ++*quiet < QUIET_PASSES)
		return MIN(period, PERIOD_MAX);
	*quiet = 0;
	return MIN(period * 2, PERIOD_MAX);
}

static int64_t next_pause(int64_t period, enum look found)
{
	return found == LOOK_SOON   ? PERIOD_MIN
	       : found == LOOK_NEAR ? MIN(period, PERIOD_NEAR)
				    : period;
}

static void *monitor_main(void *arg UNUSED)
{
	int64_t period = PERIOD_MIN,
		keep_at = keep_ns ? sys_now() + keep_ns : TIME_NEVER;
	bool niced = false;
	uint64_t called = 0; /* the count of switches at the keeper's last call */
	unsigned quiet = 0;

	sys2(SYS_prctl, PR_SET_NAME, "uk-monitor");
	sys2(SYS_prctl, PR_SET_TIMERSLACK, 1UL);
	alarm_init();
	own_files = files_own();
	cap_learn();
	detect_begin(own_files && alarm_hears());
	for (;;) {
		uint32_t n = load_acquire(&vp_count_all);
		enum look found = look_round(n, &niced);

		detect_round(blocks, sys_now());
		blocks = 0;
		if (unlikely(sys_now() >= keep_at)) {
			uint64_t sum = all_switches(n);

			if (may_keep(n, called) && keeper_call(keep_ns))
				called = sum;
			keep_at = sys_now() + keep_ns;
		}
		if (found < LOOK_SOON && monitor_balance(n))
			found = LOOK_NEAR;
		period = next_period(period, &quiet, found);
		alarm_after(MIN(MAX(period, ALARM_MIN), PERIOD_NEAR));
		if (vps_idle() && !(hogs && niced)) {
			sleep_with_the_vps(n, called, keep_at);
		} else {
			pause_for(next_pause(period, found));
		}
	}
	return NULL;
}

static void call(bool set)
{
	if (set || !detect_wanted())
		alarm_call(set);
}

static void monitor_start(void)
{
	stall_ns = env_number("UK_STALL", 5000, 1u << 30) * NS_PER_MS;
	keep_ns = (int64_t)env_key_number(ENV_TRIM, 10000) * NS_PER_MS;
	may_renice = !monitor_no_nice && can_renice();
	hogs = false;
	detect_init();
	hooks.monitor_call = call;
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
	    "the runtime holds up its vp",
	    -r);
}

AT_LOAD(act_register)
{
	sched_needs_thread(monitor_main, MONITOR_STACK);
	sched_on_start(monitor_start);
	sched_on_child(monitor_again);
}
