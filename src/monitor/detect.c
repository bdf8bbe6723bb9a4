/* SPDX-License-Identifier: Apache-2.0 */
/* detect.c - which detector is in force.
 *
 *   OFF      UK_ACTIVATION=off: no vp is taken from a carrier; stalls are still
 *            reported
 *   SAMPLES  the monitor's samples alone (monitor.c): a block is seen within one period,
 *            if other threads wait for the vp, else within two
 *   PERF     the kernel tells (perf.c), within some ten microseconds; samples go on,
 *            every 4 ms, for hogs and for blocks that no event reported
 *
 *   OFF      stays
 *   SAMPLES  --OFTEN blocks in a second; it starts----------------------> PERF
 *   SAMPLES  --UK_ACTIVATION=perf; it starts----------------------------> PERF
 *   SAMPLES  --the same; it fails, which is reported if it was asked for> SAMPLES, for
 *                                                                         good
 *   PERF     --a second with fewer than SELDOM blocks, if not asked for-> SAMPLES
 *   PERF     --a seccomp filter is found when a carrier is made---------> SAMPLES, for
 *                                                                         good
 *   any      --a forked child--> as at the start
 *
 * An event makes each switch of a carrier dearer (two threads by turns at two pipes on
 * one CPU of a guest: 5.4 us a switch instead of 3.3), so a program that blocks seldom
 * has none. It waits for a sample at each block.
 *
 * Under a seccomp filter the monitor tries no call that such a program does not make by
 * itself, because many filters kill the process for it. Each event is requested by such
 * calls, so the monitor looks for a filter before each. A filter that is installed in
 * the microseconds between the look and the call goes unnoticed: a program that
 * confines all its threads while carriers are being made needs UK_ACTIVATION=monitor.
 *
 * Rejected: a BPF program at the switch of kernel threads, loaded by root or by a
 * service for others. With a signal to the monitor it is as fast as perf. With a signal
 * to the spare that will take the vp, sent where a kernel thread enters the scheduler
 * (sched_entry_tp, Linux 6.15), it took 22 to 40 us, with a signal to the monitor 34 to
 * 50 (p50 of `act latency 1000`, bench/act, on one CPU, by turns). That is not worth
 * root and 1,400 lines.
 */
#include "monitor/detect.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "monitor/alarm.h"
#include "monitor/perf.h"
#include "base/log.h"
#include "base/sys.h"

#define OFTEN 32u /* blocks in a second */
#define SELDOM 8u

enum { NOT_TRIED, MAY, MAY_NOT };

uint32_t detector;
static bool asked;      /* UK_ACTIVATION=perf */
static uint32_t wanted; /* detect_explain wants to know what could be in force */
static uint32_t tried;  /* futex; the monitor writes it and the next */
static int error;       /* of the try */
static bool own_files;
static bool blind;             /* some carrier has no event */
static uint32_t starts;        /* of detection, in this process and its ancestors */
static struct carrier *seated; /* for it and all made before, one was requested */
static uint32_t reborn;        /* carriers_reborn at that time */
static uint32_t found;         /* blocks in this second; the monitor's, as the next */
static int64_t second;         /* its end */

void detect_init(void)
{
	const char *s = env_word("UK_ACTIVATION", "perf monitor off");

	hooks.carrier_born = NULL;
	asked = s && !strcmp(s, "perf");
	detector = s && !strcmp(s, "off") ? DETECT_OFF : DETECT_SAMPLES;
	tried = s && !asked ? MAY_NOT : NOT_TRIED;
	error = 0;
	wanted = 0; /* the parent's */
	found = 0;
	second = 0;
}

/* No more events, for good if there is a filter now. */
static void stop(void)
{
	bool filtered = sys_filtered();

	if (filtered) {
		store_relaxed(&error, -EACCES);
		store_relaxed(&tried, MAY_NOT);
	}
	store_relaxed(&hooks.carrier_born, NULL);
	/* release: a thread that sees it sees why (pairs with detect_explain) */
	store_release(&detector, (uint32_t)DETECT_SAMPLES);
	if (filtered)
		perf_silence();
	else
		perf_stop();
}

/* Request an event for each carrier that has none yet. */
static void newborn(void)
{
	struct carrier *head = load_acquire(&carriers_all);
	uint32_t again = load_acquire(&carriers_reborn);

	if (likely(head == seated && again == reborn) || !detect_tells())
		return;
	if (again != reborn)
		seated = NULL;
	for (struct carrier *c = head; c && c != seated; c = c->next_all) {
		if (unlikely(sys_filtered())) {
			stop();
			return;
		}
		if (c->seat == starts)
			continue;
		blind |= perf_seat(c) < 0;
		store_relaxed(&c->seat, starts);
	}
	seated = head;
	reborn = again;
}

bool detect_all(void)
{
	return detect_tells() && !blind && seated == load_relaxed(&carriers_all) &&
	       reborn == load_relaxed(&carriers_reborn);
}

/* Is perf possible here? Asked once. */
static bool may(void)
{
	if (likely(tried != NOT_TRIED))
		return tried == MAY;
	error = sys_filtered() ? -EACCES : own_files ? perf_try() : -ENOSYS;
	if (error && asked)
		uk_warn(
		    "UK_ACTIVATION=perf: %s (error %d); the monitor samples instead",
		    perf_error(error), -error);
	/* release: pairs with detect_explain */
	store_release(&tried, (uint32_t)(error ? MAY_NOT : MAY));
	sys_futex_wake(&tried, INT_MAX);
	return !error;
}

static void start(void)
{
	if (!may())
		return;
	starts++;
	seated = NULL;
	blind = false;
	store_relaxed(&detector, (uint32_t)DETECT_PERF);
	/* release: a carrier that sees it can ring (pairs with carrier_main) */
	store_release(&hooks.carrier_born, alarm_ring);
	fence_seq_cst(); /* a carrier that does not see it is listed already */
	newborn();
}

struct carrier *detect_wait(int64_t deadline)
{
	for (;;) {
		int fd = alarm_wait(deadline);
		struct carrier *c = fd < 0 ? NULL : perf_heard(fd);

		if (fd < 0 || c || (deadline != TIME_NEVER && sys_now() >= deadline))
			return c;
	}
}

bool detect_wanted(void)
{
	return load_seq_cst(&wanted) && load_relaxed(&tried) == NOT_TRIED;
}

int64_t detect_until(void)
{
	return detect_tells() && !asked ? second : TIME_NEVER;
}

void detect_none(void)
{
	store_relaxed(&detector, (uint32_t)DETECT_OFF);
	store_release(&tried, MAY_NOT);
}

void detect_begin(bool own)
{
	own_files = own;
	if (asked)
		start();
}

/* A second is over. */
static void judge(void)
{
	if (detect_tells() && found < SELDOM && !asked)
		stop();
	found = 0;
}

void detect_round(uint32_t blocks, int64_t now)
{
	if (unlikely(detect_wanted()))
		may();
	if (unlikely(detector == DETECT_OFF))
		return;
	if (now >= second) {
		judge();
		second = now + NS_PER_SEC;
	}
	found += blocks;
	if (!detect_tells() && found >= OFTEN && tried != MAY_NOT)
		start();
	newborn();
}

void detect_explain(char *buf, size_t n)
{
	int why;

	store_seq_cst(&wanted, 1);
	monitor_notice(); /* a sleeping monitor looks after our store, or we wake it */
	while (load_acquire(&tried) == NOT_TRIED)
		sys_futex_wait(&tried, NOT_TRIED, TIME_NEVER);
	why = load_relaxed(&error);
	if (load_acquire(&detector) == DETECT_OFF)
		fmt_to(buf, n,
		       "off (UK_ACTIVATION, or no monitor): a thread that blocks holds "
		       "up its vp");
	else if (why)
		fmt_to(buf, n, "sampling monitor; perf %s", perf_error(why));
	else if (load_relaxed(&tried) == MAY_NOT)
		fmt_to(buf, n, "sampling monitor (UK_ACTIVATION)");
	else
		fmt_to(buf, n, "perf%s, with a sampling monitor",
		       asked ? "" : " while threads block often");
}
