/* SPDX-License-Identifier: Apache-2.0 */
/* perf.c - the event detector: perf's records of context switches.
 *
 * Each carrier has one event, which counts nothing (PERF_COUNT_SW_DUMMY) and only
 * records when the carrier leaves its CPU and when it comes back. A process may have
 * such events of its own threads where kernel.perf_event_paranoid is at most 2. A
 * record wakes the monitor by the signal that it waits for anyway (F_SETSIG), with the
 * fd as its value; the fds are in the monitor's own table of files.
 *
 * The kernel signals each sleep, also of carriers that have no vp or sleep in the
 * runtime, unless the carrier mutes it (sched/mute.h). It also signals each preemption,
 * which only the record tells apart. A wake-up in vain costs as much as a useful one,
 * and a carrier that wakes others is preempted by them (in a server on a busy machine,
 * once for each request). So each block that was found pays for some wake-ups in vain
 * (credit). A carrier that is preempted when no credit is left is not listened to for a
 * while, but left to the monitor's samples. (Rejected: no credit, and deafness after
 * each preemption. A carrier that comes back from the kernel preempts the very carrier
 * that will run its thread, which blocks again: one block in ten was heard.)
 *
 * Counting. A record is PERF_RECORD bytes. The kernel wakes the monitor with the record
 * by which more than two have been written since the last wake-up; from then on with
 * each second one. A carrier arms its ring while it runs, so the first record is one of
 * leaving, and so is each that wakes. Records are dropped in pairs. The note about
 * that, which comes before the next record, is as long as two records: it causes one
 * more wake-up, with a record of coming back, and does not change the order. An armed
 * ring has space for an even number of records. It gets no new space once it is half
 * full (the monitor has not run for long), so that it overflows between two pairs, too.
 *
 * A carrier may be about to write to its ring at any moment. So when its event ends,
 * ordinary memory takes the ring's place in one step (mremap), and the next event's
 * ring the place of that. A forked child has neither (carriers_forget). Each ring
 * counts as two pages against what a user may lock (kernel.perf_event_mlock_kb for each
 * CPU, then RLIMIT_MEMLOCK). A carrier that gets no ring is left to the monitor's
 * samples.
 *
 * Rejected: poll or epoll on the fds (a second thing to wait for beside the timer's
 * signal, and calls for which a seccomp filter may kill; kernels older than the signal,
 * 6.10, do without); an event for context switches with a period of 1 (it counts in the
 * kernel, which paranoid 2 forbids, and does not tell preemption); pausing the event by
 * ioctl around each idleness (two calls, on an fd that the carrier does not have), or
 * while threads block seldom (a switch takes 4.4 us with a paused event, 3.3 without
 * one, measured as in detect.c). */
#include "monitor/perf.h"

#include <errno.h>

#include "monitor/alarm.h"
#include "base/os.h"
#include "sched/mute.h"

#define RING (2 * PAGE) /* the control page and the records */
#define PAIR (2 * PERF_RECORD)
#define PREEMPTED PERF_RECORD_MISC_SWITCH_OUT_PREEMPT
#define DEAF_NS (10 * NS_PER_MS)
#define CREDIT_EACH 4u /* preemptions that one found block pays for */
#define CREDIT_MOST 64u
#define SEATS                                                                          \
	4096 /* fds, in the monitor's own table; the kernel's usual limit is less */

typedef struct perf_event_mmap_page ring;

static struct carrier **seats; /* the monitor's; by fd, SEATS of them */
static unsigned credit;        /* the monitor's */

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

/* Makes an event of tid; *to is its ring, which is mute. Returns the fd or -errno. */
static int ring_make(ring **to, int tid)
{
	int fd = event_open(tid), r = 0;
	long p;

	if (fd < 0)
		return fd;
	p = sysn(SYS_mmap, NULL, RING, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (os_failed(p)) {
		sys1(SYS_close, fd);
		return (int)p;
	}
	*to = (ring *)(uintptr_t)p;
	store_relaxed(&(*to)->data_tail, 1);
	r = fd < SEATS ? alarm_by(fd) : -EMFILE;
	if (!r)
		return fd;
	os_unmap(*to, RING);
	sys1(SYS_close, fd);
	return r;
}

/* Does an event of our own reach us? The first record does not wake, see above. */
static bool rings(ring *own, int fd)
{
	struct timespec moment = { 0, 100 * NS_PER_US };
	bool heard = false;

	store_relaxed(&own->data_tail, -(uint64_t)PERF_RECORD); /* armed */
	for (int i = 0; i < 10 && !heard; i++) {
		sys4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &moment, NULL);
		heard = alarm_wait(0) == fd;
	}
	return heard;
}

int perf_try(void)
{
	ring *own;
	int fd = ring_make(&own, 0);
	bool ok;

	if (fd < 0)
		return fd == -EACCES ? -EPERM : fd;
	ok = rings(own, fd);
	os_unmap(own, RING);
	sys1(SYS_close, fd);
	os_unmap(seats, SEATS * sizeof(*seats)); /* the parent's */
	seats = os_map(SEATS * sizeof(*seats));
	return !ok ? -ETIME : seats ? 0 : -ENOMEM;
}

/* Puts the pages at p in the place of c's ring, where c may write at any moment. False:
 * no memory. */
static bool ring_replace(struct carrier *c, void *p)
{
	if (!c->perf) {
		/* release: a carrier that sees it sees it mute (pairs with perf_arm) */
		store_release(&c->perf, (ring *)p);
		return true;
	}
	if (!os_failed(sys5(SYS_mremap, p, RING, RING, MREMAP_MAYMOVE | MREMAP_FIXED,
			    c->perf)))
		return true;
	os_unmap(p, RING);
	return false;
}

static void event_close(struct carrier *c)
{
	if (!c->perf || seats[c->perf_fd] != c)
		return;
	seats[c->perf_fd] = NULL;
	sys1(SYS_close, c->perf_fd);
}

int perf_seat(struct carrier *c)
{
	ring *own;
	int fd;

	event_close(c); /* of its previous kernel thread */
	fd = ring_make(&own, c->tid);
	if (fd < 0)
		return fd;
	if (!ring_replace(c, own)) {
		sys1(SYS_close, fd);
		return -ENOMEM;
	}
	seats[fd] = c;
	c->perf_fd = fd;
	return 0;
}

void perf_silence(void)
{
	for (int fd = 0; fd < SEATS; fd++)
		if (seats[fd]) {
			store_relaxed(&seats[fd]->deaf_until, INT64_MAX);
			perf_rest(seats[fd]);
		}
}

void perf_stop(void)
{
	for (int fd = 0; fd < SEATS; fd++) {
		struct carrier *c = seats[fd];
		void *p = c ? os_map(RING) : NULL;

		if (!p)
			continue; /* no memory: the event goes on */
		sys3(SYS_madvise, p, RING, MADV_DONTFORK); /* as it is with a ring */
		if (ring_replace(c, p))
			event_close(c);
	}
}

/* The bits of the record with which the carrier left last, the first of a pair. */
static unsigned how_it_left(const ring *b, uint64_t head)
{
	const char *data = (const char *)b + PAGE;
	const struct perf_event_header *h =
	    (const void *)(data + (head - PERF_RECORD) / PAIR * PAIR % PAGE);

	return h->misc;
}

/* And the carrier has not come back. */
static bool is_away(uint64_t head)
{
	return head % PAIR;
}

/* False: the ring is mute. The tail is read first: the head of a mute ring has not
 * moved since. */
static bool armed(const ring *b, __u64 *tail, __u64 *head)
{
	*tail = load_acquire(&b->data_tail);
	*head = load_acquire(&b->data_head);
	return (int64_t)(*tail - *head) <= 0;
}

/* The CAS, here and in perf_heard, fails if the carrier has written the tail
 * meanwhile. */
void perf_rest(const struct carrier *c)
{
	ring *b = c->perf;
	__u64 tail, head;

	/* there is space for the second half of a pair */
	if (b && armed(b, &tail, &head))
		cas_relaxed(&b->data_tail, &tail,
			    head + 1 + (is_away(head) ? PERF_RECORD : 0));
}

void perf_worth(void)
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
	perf_rest(c);
}

struct carrier *perf_heard(int fd)
{
	struct carrier *c = fd < SEATS ? seats[fd] : NULL;
	ring *b;
	__u64 tail, head;
	bool open;

	if (!c)
		return NULL;
	b = c->perf;
	open = armed(b, &tail, &head);
	if (open && head - tail <= PAGE / 2)
		cas_relaxed(&b->data_tail, &tail, head / PAIR * PAIR - PERF_RECORD);
	if (!head || how_it_left(b, head) & PREEMPTED) {
		in_vain(c);
		return NULL;
	}
	return open && is_away(head) ? c : NULL;
}

const char *perf_error(int r)
{
	switch (-r) {
	case EACCES:
		return "not tried: a seccomp filter may kill the process for it "
		       "(a container's filter: --security-opt seccomp=unconfined)";
	case EPERM:
		return "needs `sudo sysctl kernel.perf_event_paranoid=2` (Debian's "
		       "default is 3, Ubuntu's 4), or CAP_PERFMON";
	case ENOSYS:
		return "needs pidfd_getfd and a timer for the monitor";
	case EMFILE:
	case ENOMEM:
		return "failed: no memory or no fd is free";
	default:
		return "needs Linux 6.10 with perf events (a signal at a watermark)";
	}
}
