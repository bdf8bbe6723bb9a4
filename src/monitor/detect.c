/* SPDX-License-Identifier: Apache-2.0 */
/* detect.c - which detector is in force.
 *
 *   OFF    UK_ACTIVATION=off: no vp is taken from a carrier; stalls are still reported
 *   LOOKS  the monitor's samples alone (monitor.c): a block is seen within one to two
 *          periods
 *   BPF    the kernel tells (spot.c), within microseconds; samples go on, once a
 *          millisecond, for hogs and for blocks that no event reported
 *   PERF   the same without privilege, with more work at each switch of a carrier
 *          (bell.c)
 *
 *   OFF    stays
 *   LOOKS  --the first block, or UK_ACTIVATION=bpf; it loads----------------> BPF
 *   LOOKS  --the same; it may not load; a broker is asked and says yes------> BPF
 *   LOOKS  --UK_ACTIVATION=perf; it starts----------------------------------> PERF
 *   LOOKS  --the same; it fails: reported if it was asked for--> LOOKS, for good
 *   BPF, PERF  --a seccomp filter is found when a carrier is made--> LOOKS, for good
 *   BPF    --the broker is gone, which is reported--> LOOKS, for good
 *   any    --a forked child--> as at the start
 *
 * Under a seccomp filter the monitor tries no call that such a program does not make by
 * itself, because many filters kill the process for it. Each seat is requested by such
 * calls, so the monitor looks for a filter before each. A filter that is installed in
 * the microseconds between the look and the call goes unnoticed: a program that
 * confines all its threads while carriers are being made needs UK_ACTIVATION=monitor.
 *
 * A program that never blocks a carrier never pays for the loading (some 10 ms of the
 * monitor's time, in which it samples nothing). Perf costs a server that blocks seldom
 * more than it brings, so it is used only if asked for.
 */
#include "monitor/detect.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "monitor/alarm.h"
#include "monitor/bell.h"
#include "monitor/peer.h"
#include "monitor/spot.h"
#include "base/log.h"
#include "base/sys.h"

#define TELLERS (DETECT_END - DETECT_BPF)
#define ANSWER_NS (2 * NS_PER_SEC) /* that people wait to hear of the broker */

enum { NOT_TRIED, ASKED, TRIED };

static const struct teller {
	const char *name;
	int (*start)(void);
	int (*seat)(struct carrier *c);
	void (*stop)(void);
	const char *(*error)(int r);
} tellers[TELLERS] = {
	/* the better one first */
	{ "bpf", spot_start, spot_seat, spot_stop, spot_error },
	{ "perf", bell_start, bell_seat, bell_stop, bell_error },
};

uint32_t detector;
static unsigned teller; /* the one that may be tried */
static bool asked;      /* UK_ACTIVATION names it */
static uint32_t wanted; /* detect_explain wants to know what would be in force */
static uint32_t tried;  /* futex; the monitor writes it and the next; ASKED: a broker */
static int error;       /* of the try */
static bool own_files;
static bool blind;             /* some carrier has no seat */
static uint32_t starts;        /* of detection, in this process and its ancestors */
static struct carrier *seated; /* for it and all made before, a seat was requested */
static uint32_t reborn;        /* carriers_reborn at that time */

void detect_init(void)
{
	const char *s = env_word("UK_ACTIVATION", "bpf perf monitor off");

	hooks.carrier_born = NULL;
	asked = false;
	teller = 0;
	for (unsigned i = 0; s && i < TELLERS; i++)
		if (!strcmp(s, tellers[i].name)) {
			asked = true;
			teller = i;
		}
	detector = s && !strcmp(s, "off") ? DETECT_OFF : DETECT_LOOKS;
	tried =
	    detector == DETECT_OFF || (s && !strcmp(s, "monitor")) ? TRIED : NOT_TRIED;
	error = 0;
	wanted = 0; /* the parent's */
	seated = NULL;
	reborn = carriers_reborn;
	starts++;
	blind = false;
	peer_init();
}

/* No more events, for good. */
static void give_up(int r)
{
	store_relaxed(&hooks.carrier_born, NULL);
	store_relaxed(&error, r);
	/* release: a thread that sees it sees why (pairs with detect_explain) */
	store_release(&detector, (uint32_t)DETECT_LOOKS);
	tellers[teller].stop();
}

/* False: the question cannot be sent now (no space). */
static bool seat(struct carrier *c)
{
	int r = c->seat == starts ? 0 : tellers[teller].seat(c);

	if (r == -EAGAIN)
		return false;
	store_relaxed(&c->seat, starts);
	blind |= r < 0;
	return true;
}

/* Request a seat for each carrier that has none yet. */
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
			give_up(-EACCES);
			return;
		}
		if (!seat(c))
			return;
	}
	seated = head;
	reborn = again;
}

bool detect_all(void)
{
	return detect_tells() && !blind && seated == load_relaxed(&carriers_all) &&
	       reborn == load_relaxed(&carriers_reborn);
}

/* The try has given r. */
static void settle(int r)
{
	const struct teller *l = &tellers[teller];

	store_relaxed(&error, r);
	if (!r) {
		store_relaxed(&detector, DETECT_BPF + teller);
		/* release: a carrier that sees it can ring (pairs with carrier_main) */
		store_release(&hooks.carrier_born, alarm_ring);
		fence_seq_cst(); /* a carrier that does not see it is listed already */
		newborn();
	} else if (asked) {
		uk_warn("UK_ACTIVATION=%s: %s (error %d); the monitor samples instead",
			l->name, l->error(r), -r);
	}
	store_release(&tried, TRIED); /* pairs with detect_explain */
	sys_futex_wake(&tried, INT_MAX);
}

static void try_it(void)
{
	int r = sys_filtered() ? -EACCES : own_files ? tellers[teller].start() : -EPERM;

	if (r != -EINPROGRESS) {
		settle(r);
		return;
	}
	store_relaxed(&error, r);
	store_release(&tried, ASKED); /* pairs with detect_explain, as in settle */
	sys_futex_wake(&tried, INT_MAX);
}

/* Read what the broker has said; it may be nothing yet. */
static void hear_broker(void)
{
	int r = peer_answers();

	if (tried == ASKED) {
		if (r == -EINPROGRESS)
			return;
		if (r)
			peer_stop();
		settle(r);
	} else if (r == -ENOTCONN) {
		uk_warn("activations: bpf %s; the monitor samples instead",
			spot_error(r));
		give_up(r);
	} else if (r != -EINPROGRESS) {
		blind |= r < 0;
	}
}

static bool by_broker(void)
{
	return tried == ASKED || (detector == DETECT_BPF && spot_brokered());
}

bool detect_hears(void)
{
	return detect_tells() || tried == ASKED;
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
		if (by_broker() && peer_is(fd))
			hear_broker();
		if (deadline != TIME_NEVER && sys_now() >= deadline)
			return NULL;
	}
}

bool detect_wanted(void)
{
	return load_seq_cst(&wanted) && tried == NOT_TRIED;
}

void detect_none(void)
{
	store_relaxed(&detector, (uint32_t)DETECT_OFF);
	store_release(&tried, TRIED);
}

void detect_begin(bool own)
{
	own_files = own;
	if (asked)
		try_it();
}

void detect_round(bool blocked)
{
	if (unlikely(tried == NOT_TRIED) && (blocked || detect_wanted()))
		try_it();
	if (unlikely(by_broker()))
		hear_broker(); /* in case its signal found no space in the queue */
	newborn();
}

/* Waits until the monitor has tried. For the broker's answer it waits ANSWER_NS at
 * most. */
static void wait_for_the_try(void)
{
	int64_t patience = sys_now() + ANSWER_NS;
	uint32_t was;

	store_seq_cst(&wanted, 1);
	monitor_notice(); /* a sleeping monitor looks after our store, or we wake it */
	while ((was = load_acquire(&tried)) != TRIED)
		if (sys_futex_wait(&tried, was, was == ASKED ? patience : TIME_NEVER) ==
		    -ETIMEDOUT)
			return;
}

void detect_explain(char *buf, size_t n)
{
	int why;

	wait_for_the_try();
	switch (load_acquire(&detector)) {
	case DETECT_OFF:
		fmt_to(buf, n,
		       "off (UK_ACTIVATION, or no monitor): a thread that blocks holds "
		       "up its vp");
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
		fmt_to(buf, n, "%s%s, with a sampling monitor", tellers[teller].name,
		       detector == DETECT_BPF && spot_brokered() ? " by a broker" : "");
	}
}
