/* SPDX-License-Identifier: Apache-2.0 */
/* detect.c - which detector is in force.
 *
 *   OFF    UK_ACTIVATION=off: nobody is rescued; the stall watchdog still speaks
 *   LOOKS  the monitor's samples alone (monitor.c): a block is seen within one to two periods
 *   BPF    the kernel tells (spot.c), within microseconds; samples go on, once a millisecond,
 *          for hogs and for what an event did not reach
 *
 *   OFF    stays
 *   LOOKS  --the first who blocks, or UK_ACTIVATION=bpf; it loads----------> BPF
 *   LOOKS  --the same; it does not load: said if it was asked for--> LOOKS, for good
 *   BPF    --a seccomp filter has come, a carrier is born--> LOOKS, for good
 *   any    --a forked child--> as at the start
 *
 * Under a filter no call is tried that a program like this one does not make by itself: many
 * kill for it.
 *
 * A program that never blocks a carrier never pays for the loading (some 10 ms of the monitor's
 * time, in which it looks at nobody).
 */
#include "act/detect.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/prctl.h>

#include "act/alarm.h"
#include "act/spot.h"
#include "base/panic.h"
#include "base/sys.h"

uint32_t detector;
static bool asked;      /* UK_ACTIVATION=bpf */
static uint32_t wanted; /* somebody wants to know what would be in force */
static uint32_t tried;  /* futex; the monitor, who also writes the next */
static int error;       /* of the try */
static bool own_files;
static struct carrier *seated; /* it and all that were born before it have a seat */

void detect_init(void)
{
	const char *s = env_get("UK_ACTIVATION");

	carrier_born = NULL;
	asked = s && !strcmp(s, "bpf");
	detector = s && !strcmp(s, "off") ? DETECT_OFF : DETECT_LOOKS;
	tried = detector == DETECT_OFF || (s && !strcmp(s, "monitor"));
	error = 0;
	wanted = 0; /* the parent's */
	seated = NULL;
	if (s && *s && !asked && !tried)
		uk_warn("UK_ACTIVATION=%s: it is bpf, monitor or off", s);
}

static bool filtered(void)
{
	return sys5(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) != 0;
}

/* Carriers that have no seat yet get one. */
static void newborn(void)
{
	struct carrier *head = load_acquire(&carriers_all);

	if (likely(head == seated) || detector != DETECT_BPF)
		return;
	if (unlikely(filtered())) {
		store_relaxed(&carrier_born, NULL);
		store_relaxed(&error, -EACCES);
		/* release: who sees it sees why (pairs with detect_explain) */
		store_release(&detector, (uint32_t)DETECT_LOOKS);
		spot_stop();
		return;
	}
	for (struct carrier *c = head; c && c != seated; c = c->next_all)
		spot_seat(c);
	seated = head;
}

bool detect_wanted(void)
{
	return load_seq_cst(&wanted) && !tried;
}

static void try_bpf(void)
{
	int r = filtered() ? -EACCES : own_files ? spot_start() : -EPERM;

	store_relaxed(&error, r);
	if (!r) {
		store_relaxed(&detector, (uint32_t)DETECT_BPF);
		/* release: who is called can ring (pairs with carrier_main) */
		store_release(&carrier_born, alarm_ring);
		fence_seq_cst(); /* who does not see it is in the list already */
		newborn();
	} else if (asked) {
		uk_warn("UK_ACTIVATION=bpf: %s (error %d); the monitor looks instead",
			spot_error(r), -r);
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
		try_bpf();
}

void detect_round(bool blocked)
{
	if (unlikely(!tried) && (blocked || detect_wanted()))
		try_bpf();
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
	case DETECT_BPF:
		fmt_to(buf, n, "bpf, beside it a sampling monitor");
		break;
	default:
		why = load_relaxed(&error);
		fmt_to(buf, n, "sampling monitor%s%s",
		       why ? "; bpf " : " (UK_ACTIVATION)", why ? spot_error(why) : "");
	}
}
