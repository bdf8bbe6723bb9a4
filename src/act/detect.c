/* SPDX-License-Identifier: Apache-2.0 */
/* detect.c - which detector is in force.
 *
 *   OFF    UK_ACTIVATION=off: nobody is rescued; the stall watchdog still speaks
 *   LOOKS  the monitor's samples alone (monitor.c): a block is seen within one to two periods
 *   BPF    the kernel tells (spot.c), within microseconds; samples go on, once a millisecond,
 *          for hogs and for what an event did not reach
 *   PERF   the same without privilege, with more to do at each switch of a carrier (bell.c)
 *
 *   OFF    stays
 *   LOOKS  --the first who blocks, or UK_ACTIVATION=bpf; it loads----------> BPF
 *   LOOKS  --UK_ACTIVATION=perf; it starts---------------------------------> PERF
 *   LOOKS  --the same; it does not: said if it was asked for--> LOOKS, for good
 *   BPF, PERF  --a seccomp filter has come, a carrier is born--> LOOKS, for good
 *   any    --a forked child--> as at the start
 *
 * Under a filter no call is tried that a program like this one does not make by itself: many
 * kill for it.
 *
 * A program that never blocks a carrier never pays for the loading (some 10 ms of the monitor's
 * time, in which it looks at nobody). Perf, which costs a server that blocks seldom more than it
 * brings (bench/FINDINGS.md), nobody gets who did not ask.
 */
#include "act/detect.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/prctl.h>

#include "act/alarm.h"
#include "act/bell.h"
#include "act/spot.h"
#include "base/panic.h"
#include "base/sys.h"

#define TELLERS (DETECT_END - DETECT_BPF)

static const struct teller {
	const char *name;
	int (*start)(void);
	bool (*seat)(struct carrier *c);
	void (*stop)(void);
	const char *(*error)(int r);
} tellers[TELLERS] = {
	/* the better first */
	{ "bpf", spot_start, spot_seat, spot_stop, spot_error },
	{ "perf", bell_start, bell_seat, bell_stop, bell_error },
};

uint32_t detector;
static unsigned teller; /* which one may be tried */
static bool asked;      /* UK_ACTIVATION names it */
static uint32_t wanted; /* somebody wants to know what would be in force */
static uint32_t tried;  /* futex; the monitor, who also writes the next */
static int error;       /* of the try */
static bool own_files;
static bool blind;             /* somebody has no seat */
static struct carrier *seated; /* it and all that were born before it have been asked */

void detect_init(void)
{
	const char *s = env_get("UK_ACTIVATION");

	carrier_born = NULL;
	asked = false;
	teller = 0;
	for (unsigned i = 0; s && i < TELLERS; i++)
		if (!strcmp(s, tellers[i].name)) {
			asked = true;
			teller = i;
		}
	detector = s && !strcmp(s, "off") ? DETECT_OFF : DETECT_LOOKS;
	tried = detector == DETECT_OFF || (s && !strcmp(s, "monitor"));
	error = 0;
	wanted = 0; /* the parent's */
	seated = NULL;
	blind = false;
	if (s && *s && !asked && !tried)
		uk_warn("UK_ACTIVATION=%s: it is bpf, perf, monitor or off", s);
}

static bool filtered(void)
{
	return sys5(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) != 0;
}

/* Carriers that have no seat yet get one. */
static void newborn(void)
{
	struct carrier *head = load_acquire(&carriers_all);

	if (likely(head == seated) || !detect_tells())
		return;
	if (unlikely(filtered())) {
		store_relaxed(&carrier_born, NULL);
		store_relaxed(&error, -EACCES);
		/* release: who sees it sees why (pairs with detect_explain) */
		store_release(&detector, (uint32_t)DETECT_LOOKS);
		tellers[teller].stop();
		return;
	}
	for (struct carrier *c = head; c && c != seated; c = c->next_all)
		blind |= !tellers[teller].seat(c);
	seated = head;
}

bool detect_all(void)
{
	return detect_tells() && !blind;
}

struct carrier *detect_wait(int64_t deadline)
{
	for (;;) {
		int fd;
		struct carrier *c = alarm_wait(deadline, &fd);

		if (fd < 0)
			return c;
		if (detector == DETECT_PERF && (c = bell_heard(fd)))
			return c;
		if (deadline != TIME_NEVER && sys_now() >= deadline)
			return NULL;
	}
}

bool detect_wanted(void)
{
	return load_seq_cst(&wanted) && !tried;
}

static void try_it(void)
{
	const struct teller *l = &tellers[teller];
	int r = filtered() ? -EACCES : own_files ? l->start() : -EPERM;

	store_relaxed(&error, r);
	if (!r) {
		store_relaxed(&detector, DETECT_BPF + teller);
		/* release: who is called can ring (pairs with carrier_main) */
		store_release(&carrier_born, alarm_ring);
		fence_seq_cst(); /* who does not see it is in the list already */
		newborn();
	} else if (asked) {
		uk_warn("UK_ACTIVATION=%s: %s (error %d); the monitor looks instead",
			l->name, l->error(r), -r);
	}
	store_release(&tried, 1); /* pairs with detect_explain */
	sys_futex_wake(&tried, INT_MAX);
}

void detect_none(void)
{
	store_relaxed(&detector, (uint32_t)DETECT_OFF);
	store_release(&tried, 1);
}

void detect_begin(bool own)
{
	own_files = own;
	if (asked)
		try_it();
}

void detect_round(bool blocked)
{
	if (unlikely(!tried) && (blocked || detect_wanted()))
		try_it();
	newborn();
}

void detect_explain(char *buf, size_t n)
{
	int why;

	store_seq_cst(&wanted, 1);
	monitor_notice(); /* it sleeps: then it looks after our store, or we wake it */
	while (!load_acquire(&tried))
		sys_futex_wait(&tried, 0, TIME_NEVER);
	switch (load_acquire(&detector)) {
	case DETECT_OFF:
		fmt_to(
		    buf, n,
		    "off (UK_ACTIVATION, or no monitor): who blocks holds up a processor");
		break;
	case DETECT_LOOKS:
		why = load_relaxed(&error);
		if (!why)
			fmt_to(buf, n, "sampling monitor (UK_ACTIVATION)");
		else
			fmt_to(buf, n, "sampling monitor; %s %s%s",
			       tellers[teller].name, tellers[teller].error(why),
			       asked || why == -EACCES
				   ? ""
				   : "; without privilege: UK_ACTIVATION=perf");
		break;
	default:
		fmt_to(buf, n, "%s, beside it a sampling monitor",
		       tellers[teller].name);
	}
}
