/* SPDX-License-Identifier: Apache-2.0 */
/* bell.c - the event detector without privilege: perf's records of context switches.
 *
 * One event for each carrier, that counts nothing (PERF_COUNT_SW_DUMMY) and only writes down
 * when the carrier leaves its processor and when it comes back. Any process may have them of
 * its own threads where kernel.perf_event_paranoid is at most 2. A record wakes the monitor
 * by the signal that it waits for anyway (F_SETSIG), with the descriptor as its value; the
 * descriptors lie in its own table of files.
 *
 * The kernel does not look at our words, as spot.bpf.c does: it rings for each sleep, also of
 * those that have no vp or sleep in the runtime, unless the carrier mutes it (sched/bell.h);
 * and for preemption, which only the record tells apart. A wake-up in vain costs as much as
 * one for good reason, and who wakes others is preempted by them (a server on a busy
 * machine: once for each request). So each block that was found buys some of them, and who is
 * preempted when there is no credit left is not heard for a while, but left to the monitor's
 * looks. (Without credit, deaf after each preemption: who comes back from the kernel preempts
 * the very one that will run the thread, which blocks again. One block in ten was heard.)
 *
 * Counting. A record is BELL_RECORD bytes, and a wake-up comes with the record by which more
 * than two of them lie behind the last wake-up; from then on with each second one. A carrier
 * arms its bell while it runs, so the first record is one that left, and so is each that
 * wakes. What is dropped is dropped in pairs, and the note about it, which comes before
 * the next record, is as long as two: it brings one wake-up more, by the record of who comes
 * back, and changes nothing in the order. An armed ring has room for an even number, and
 * is not refilled once it is half full (the monitor has not run for long), so that it
 * overflows between two pairs, too.
 *
 * Rings stay mapped for good: carriers never exit, and one may be about to write. A forked
 * child has none of them (carriers_forget); the kernel maps them for the parent alone. They
 * count against what a user may lock (kernel.perf_event_mlock_kb for each processor,
 * then RLIMIT_MEMLOCK): two pages each. Who gets none is seen by the monitor's looks.
 *
 * Rejected: poll or epoll on the descriptors (a second thing to wait for beside the timer's
 * signal, and calls that a filter may kill for; kernels older than the signal, 6.10, go
 * without); an event for context switches with a period of 1 (it counts in the kernel, which
 * paranoid 2 forbids, and does not tell preemption); to pause the event by ioctl around
 * each idleness (two calls, on a descriptor that the carrier does not have). */
#include "act/bell.h"

#include <errno.h>

#include "act/alarm.h"
#include "base/os.h"
#include "sched/bell.h"

#define PAIR (2 * BELL_RECORD)
#define PREEMPTED PERF_RECORD_MISC_SWITCH_OUT_PREEMPT
#define DEAF_NS (10 * NS_PER_MS)
#define CREDIT_EACH 4u /* preempted ones that one who blocked is worth */
#define CREDIT_MOST 64u
#define SEATS                                                                          \
	4096 /* descriptors, the monitor's own; the kernel's usual limit is less */

typedef struct perf_event_mmap_page ring;

static struct carrier **seats; /* the monitor; by descriptor, SEATS of them */
static unsigned credit;        /* the monitor */

static int event_open(int tid)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(a),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.watermark = 1,
		.wakeup_watermark = PAIR,
		.sample_id_all = 1,
		.context_switch = 1,
	};

	return (int)sys5(SYS_perf_event_open, &a, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int ring_open(ring **to, int fd)
{
	long p =
	    sysn(SYS_mmap, NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int r;

	if (os_failed(p))
		return (int)p;
	*to = (ring *)(uintptr_t)p;
	store_relaxed(&(*to)->data_tail, 1); /* mute */
	r = alarm_by(fd);
	if (r)
		os_unmap(*to, 2 * PAGE);
	return r;
}

/* A new event of tid; *to is its ring. Its descriptor, or -errno. */
static int bell_make(ring **to, int tid)
{
	int fd = event_open(tid), r;

	if (fd < 0)
		return fd;
	r = fd < SEATS ? ring_open(to, fd) : -EMFILE;
	if (!r)
		return fd;
	sys1(SYS_close, fd);
	return r;
}

/* Does an event of our own reach us? Not the first one, see above. */
static bool rings(ring *own, int fd)
{
	struct timespec moment = { 0, 100 * NS_PER_US };
	int heard = -1;

	store_relaxed(&own->data_tail, -(uint64_t)BELL_RECORD); /* armed */
	for (int i = 0; i < 10 && heard != fd; i++) {
		sys4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &moment, NULL);
		alarm_wait(0, &heard);
	}
	return heard == fd;
}

int bell_start(void)
{
	ring *own;
	int fd = bell_make(&own, 0);
	bool ok;

	if (fd < 0)
		return fd == -EACCES ? -EPERM : fd;
	ok = rings(own, fd);
	os_unmap(own, 2 * PAGE);
	sys1(SYS_close, fd);
	os_unmap(seats, SEATS * sizeof(*seats)); /* the parent's */
	seats = os_map(SEATS * sizeof(*seats));
	return !ok ? -ETIME : seats ? 0 : -ENOMEM;
}

/* That of its last kernel thread is closed. */
static void forget_old(struct carrier *c)
{
	ring *old = xchg_seq_cst(&c->old_bell, (ring *)NULL);

	if (likely(!old))
		return;
	os_unmap(old, 2 * PAGE);
	for (int fd = 0; fd < SEATS; fd++)
		if (seats[fd] == c) {
			seats[fd] = NULL;
			sys1(SYS_close, fd);
		}
}

int bell_seat(struct carrier *c)
{
	ring *own;
	int fd;

	forget_old(c);
	fd = bell_make(&own, c->tid);

	if (fd < 0)
		return fd == -EAGAIN ? -ENOMEM : fd; /* later is no better */
	seats[fd] = c;
	/* release: who sees it sees it mute (pairs with bell_arm) */
	store_release(&c->bell, own);
	return 0;
}

void bell_stop(void)
{
	for (int fd = 0; fd < SEATS; fd++) {
		struct carrier *c = seats[fd];

		if (!c)
			continue;
		bell_mute(c); /* or it arms it at this moment: a signal for nobody */
		store_relaxed(&c->bell, (ring *)NULL);
		seats[fd] = NULL;
	}
}

/* When it left for the last time: as a pair begins. */
static unsigned how_it_left(const ring *b, uint64_t head)
{
	const char *data = (const char *)b + PAGE;
	const struct perf_event_header *h =
	    (const void *)(data + (head - BELL_RECORD) / PAIR * PAIR % PAGE);

	return h->misc;
}

/* And has not come back. */
static bool is_away(uint64_t head)
{
	return head % PAIR;
}

/* False: it is mute. The tail first: a mute ring has not moved since. */
static bool armed(const ring *b, __u64 *tail, __u64 *head)
{
	*tail = load_acquire(&b->data_tail);
	*head = load_acquire(&b->data_head);
	return (int64_t)(*tail - *head) <= 0;
}

/* By the CAS, here and below: unless the carrier has written there since. */
void bell_rest(const struct carrier *c)
{
	ring *b = c->bell;
	__u64 tail, head;

	/* the half of a pair that is still to come has room */
	if (b && armed(b, &tail, &head))
		cas_relaxed(&b->data_tail, &tail,
			    head + 1 + (is_away(head) ? BELL_RECORD : 0));
}

void bell_worth(void)
{
	credit = MIN(credit + CREDIT_EACH, CREDIT_MOST);
}

/* c was preempted. */
static void in_vain(struct carrier *c)
{
	if (credit) {
		credit--;
		return;
	}
	store_relaxed(&c->deaf_until, sys_now() + DEAF_NS);
	bell_rest(c);
}

struct carrier *bell_heard(int fd)
{
	struct carrier *c = fd < SEATS ? seats[fd] : NULL;
	ring *b = c ? load_relaxed(&c->bell) : NULL; /* NULL: it has ended */
	__u64 tail, head;
	bool open;

	if (!b)
		return NULL;
	open = armed(b, &tail, &head);
	if (open && head - tail <= PAGE / 2)
		cas_relaxed(&b->data_tail, &tail, head / PAIR * PAIR - BELL_RECORD);
	if (!head || how_it_left(b, head) & PREEMPTED) {
		in_vain(c);
		return NULL;
	}
	return open && is_away(head) ? c : NULL;
}

const char *bell_error(int r)
{
	switch (-r) {
	case EACCES:
		return "not tried under a seccomp filter, which may kill for it";
	case EPERM:
		return "needs sysctl kernel.perf_event_paranoid=2 or less, or CAP_PERFMON";
	case EMFILE:
	case ENOMEM:
		return "no memory or descriptors for it";
	default:
		return "needs Linux 6.10 with perf events (a signal at a watermark)";
	}
}
