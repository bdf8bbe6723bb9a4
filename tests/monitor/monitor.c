/* SPDX-License-Identifier: Apache-2.0 */
/* What the monitor concludes. Each test calls monitor_look at times of its choice, on a
 * vp whose thread does what is to be judged. The monitor itself waits for its lock,
 * which the test holds. */
#include "monitor/monitor.h"
#include "sched/handoff.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <uk/uk.h>

#include "base/sys.h"
#include "test.h"

/* As in src/monitor/monitor.c. */
#define MARK_NS (20 * NS_PER_US)
#define BLOCK_NS (40 * NS_PER_US)
#define HOG_NS SLICE_NS
#define BURST_NS (5 * NS_PER_MS)
#define HOUR (3600 * NS_PER_SEC)
#define STALL_NS (5000 * NS_PER_MS)

extern uint64_t monitor_passes;

static uk_vpset *set;
static struct uk_vp *vp;
static int64_t now; /* the test's clock, which each test moves as it needs */
static uint32_t begun, stop;
static int gate[2];

static enum look look_after(int64_t ns)
{
	now += ns;
	return monitor_look(vp, now);
}

static bool nothing(enum look found)
{
	return found <= LOOK_NOTHING;
}

static struct carrier *owner(void)
{
	return vp_carrier(vp);
}

static int64_t cpu_time(const struct carrier *c)
{
	struct timespec ts;

	/* the clock of that kernel thread, as in src/monitor/monitor.c */
	CHECK_EQ(clock_gettime((clockid_t)((~(unsigned)c->tid << 3) | 6u), &ts), 0);
	return ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

static uk_thread *start(void *(*fn)(void *))
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t;

	store_release(&begun, 0);
	store_release(&stop, 0);
	a.set = set;
	CHECK_EQ(uk_thread_create(&t, &a, fn, NULL), 0);
	while (!load_acquire(&begun))
		usleep(100);
	return t;
}

static void ends(uk_thread *t)
{
	store_release(&stop, 1);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
}

/* Waits until the kernel says that c sleeps. */
static void sleeps(const struct carrier *c)
{
	char path[64], buf[512] = "", *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", c->tid);
	do {
		usleep(100);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		CHECK(fd >= 0);
		n = read(fd, buf, sizeof(buf) - 1);
		close(fd);
		buf[n > 0 ? n : 0] = 0;
		p = strrchr(buf, ')');
	} while (!p || p[2] != 'S');
}

/* -- what threads do -- */

static void *reads_raw(void *arg)
{
	char c;

	store_release(&begun, 1);
	while (read(gate[0], &c, 1) < 0)
		CHECK_EQ(errno, EINTR);
	return arg;
}

static void *reads_marked(void *arg)
{
	block_begin(rt_enter(), false);
	reads_raw(arg);
	block_end(thread_self());
	rt_exit();
	return arg;
}

static void *computes(void *arg)
{
	store_release(&begun, 1);
	while (!load_acquire(&stop))
		;
	return arg;
}

static void *computes_marked(void *arg)
{
	block_begin(rt_enter(), false);
	computes(arg);
	block_end(thread_self());
	rt_exit();
	return arg;
}

static void *computes_in_the_runtime(void *arg)
{
	rt_enter();
	computes(arg);
	rt_exit();
	return arg;
}

static void *is_there(void *arg)
{
	store_release(&begun, 1);
	return arg;
}

/* -- what a look concludes -- */

static void let_go(uk_thread *t)
{
	CHECK_EQ(write(gate[1], "x", 1), 1);
	ends(t);
}

static void a_thread_asleep_in_the_kernel_loses_the_vp(void)
{
	uint64_t before = vp->handoffs;
	uk_thread *t = start(reads_raw);
	struct carrier *c = owner();

	sleeps(c);
	look_after(NS_PER_SEC); /* the thread has switched since the last look */
	look_after(1);          /* no switch since: the look notes the CPU time used so
				 * far */
	CHECK(nothing(look_after(BLOCK_NS - 1)));
	CHECK(owner() == c);
	CHECK_EQ(look_after(1), LOOK_FOUND);
	CHECK(owner() != c);
	CHECK_EQ(vp->handoffs, before + 1);
	ends(start(is_there)); /* other threads of the vp run on */
	let_go(t);
}

/* The vp's count of calls that completed at once has changed: the thread was not asleep
 * all the time since the last look. */
static void a_completed_call_is_a_sign_of_life(void)
{
	uk_thread *t = start(reads_raw);
	struct carrier *c = owner();

	sleeps(c);
	look_after(NS_PER_SEC);
	look_after(1);
	bump(&vp->count.io_inline, 1);
	CHECK(nothing(look_after(100 * BLOCK_NS)));
	CHECK(owner() == c);
	CHECK_EQ(look_after(1), LOOK_FOUND);
	CHECK(owner() != c);
	let_go(t);
}

static void after_a_hand_off_the_next_is_judged_a_look_earlier(void)
{
	uint64_t before = vp->handoffs;
	uk_thread *t;
	struct carrier *c;

	vp->watch.taken = now;
	t = start(reads_raw);
	c = owner();
	sleeps(c);
	CHECK_EQ(look_after(BURST_NS - 1), LOOK_FOUND);
	CHECK_EQ(look_after(BLOCK_NS), LOOK_FOUND);
	CHECK(owner() != c);
	CHECK_EQ(vp->handoffs, before + 1);
	let_go(t);
}

static void a_marked_thread_loses_the_vp_sooner(void)
{
	uint64_t before = vp->handoffs;
	uk_thread *t = start(reads_marked);
	struct carrier *c = owner();

	CHECK(c->mark);
	look_after(NS_PER_SEC);
	CHECK_EQ(look_after(MARK_NS - 1), LOOK_SOON);
	CHECK(owner() == c);
	CHECK_EQ(look_after(1), LOOK_FOUND);
	CHECK(owner() != c);
	CHECK_EQ(vp->handoffs, before + 1);
	let_go(t);
}

/* In a call that seldom waits, such as open(2), it was preempted. Another carrier would
 * be, too. */
static void a_marked_thread_that_does_not_sleep_keeps_the_vp(void)
{
	uk_thread *t;
	struct carrier *c;

	CHECK_EQ(uk_vpset_set_slice(set, HOUR), 0);
	t = start(computes_marked);
	c = owner();
	CHECK(c->mark);
	look_after(NS_PER_SEC);
	look_after(BLOCK_NS);
	CHECK(nothing(look_after(HOUR)));
	CHECK(owner() == c);
	CHECK_EQ(uk_vpset_set_slice(set, SLICE_NS), 0);
	ends(t);
}

/* After a long time without a look, the first one already asks whether the thread
 * sleeps, if others wait for the vp. */
static void a_thread_asleep_at_a_first_look_is_looked_at_soon(void)
{
	uk_thread *t = start(reads_raw), *waits;
	struct carrier *c = owner();
	uk_thread_attr a = UK_THREAD_ATTR_INIT;

	sleeps(c);
	a.set = set;
	CHECK_EQ(uk_thread_create(&waits, &a, is_there, NULL), 0);
	UNTIL(vp_has_work(vp));
	CHECK_EQ(look_after(NS_PER_SEC), LOOK_SOON);
	CHECK(owner() == c);
	CHECK_EQ(look_after(BLOCK_NS), LOOK_FOUND);
	CHECK(owner() != c);
	ends(waits);
	let_go(t);
}

static void a_thread_that_computes_becomes_a_hog(void)
{
	uint64_t before = vp->handoffs, hogs = vp->handoffs_hog;
	uk_thread *t = start(computes);
	struct carrier *c = owner();
	int64_t had = cpu_time(c);

	look_after(NS_PER_SEC);
	CHECK(nothing(look_after(1)));
	while (look_after(1) < LOOK_SOON) { /* computing is not a find */
		CHECK(owner() == c);
		CHECK(!load_relaxed(&c->hog));
	}
	CHECK(cpu_time(c) - had >= HOG_NS);
	CHECK(owner() != c);
	CHECK_EQ(vp->handoffs, before + 1);
	CHECK_EQ(vp->handoffs_hog, hogs + 1);
	CHECK(load_relaxed(&c->hog));
	CHECK_EQ(vp->reactor.hogs, 1);
	ends(start(is_there));
	ends(t); /* the thread comes back and is no hog any more */
	CHECK(!load_relaxed(&c->hog));
	CHECK_EQ(vp->reactor.hogs, 0);
}

/* By the test's clock the thread holds the vp for two hours, by its CPU time it does
 * not. */
static void a_preempted_thread_is_no_hog(void)
{
	uint64_t hogs = vp->handoffs_hog;
	uk_thread *t;
	struct carrier *c;

	CHECK_EQ(uk_vpset_set_slice(set, 0), -EINVAL);
	CHECK_EQ(uk_vpset_set_slice(set, -1), -EINVAL);
	CHECK_EQ(uk_vpset_set_slice(set, HOUR), 0);
	t = start(computes);
	c = owner();
	look_after(NS_PER_SEC);
	look_after(1);
	CHECK_EQ(look_after(2 * HOUR), LOOK_LATER);
	CHECK(owner() == c);
	CHECK_EQ(uk_vpset_set_slice(set, 1),
		 0); /* it has used up a slice that is so short */
	while (look_after(1) < LOOK_SOON)
		;
	CHECK(owner() != c);
	CHECK_EQ(vp->handoffs_hog, hogs + 1);
	CHECK_EQ(uk_vpset_set_slice(set, SLICE_NS), 0);
	ends(start(is_there));
	ends(t);
}

static void a_thread_inside_the_runtime_is_left_alone(void)
{
	uint64_t before = vp->handoffs;
	uk_thread *t = start(computes_in_the_runtime);
	struct carrier *c = owner();

	for (int i = 0; i < 10; i++)
		CHECK(nothing(look_after(HOG_NS)));
	CHECK(owner() == c);
	CHECK_EQ(vp->handoffs, before);
	ends(t);
}

static void a_vp_that_switches_is_left_alone(void)
{
	uint64_t before = vp->handoffs;
	uk_thread *t = start(reads_raw);
	struct carrier *c = owner();

	sleeps(c);
	for (int i = 0; i < 10; i++) {
		bump(&vp->count.switches, 1); /* simulates a switch */
		CHECK(nothing(look_after(NS_PER_SEC)));
	}
	CHECK(owner() == c);
	CHECK_EQ(vp->handoffs, before);
	let_go(t);
}

static void an_idle_vp_is_left_alone(void)
{
	uint64_t before = vp->handoffs;

	UNTIL(load_relaxed(&vp->idle));
	for (int i = 0; i < 10; i++)
		CHECK(nothing(look_after(NS_PER_SEC)));
	CHECK_EQ(vp->handoffs, before);
}

/* The monitor may have slept as long as the vp did. That time does not count as time
 * without a switch. */
static void idle_time_is_no_time_without_a_switch(void)
{
	UNTIL(load_relaxed(&vp->idle));
	look_after(NS_PER_SEC);
	CHECK(load_relaxed(&vp->idle));
	store_relaxed(&vp->idle, 0); /* as if the vp had just been given work */
	look_after(NS_PER_SEC);
	CHECK_EQ(vp->watch.since, now);
	look_after(1);
	CHECK_EQ(vp->watch.since, now - 1);
	vp->reactor.ops->kick(&vp->reactor);
	UNTIL(load_relaxed(&vp->idle));
}

/* -- without the clock -- */

/* From here on a filter refuses the clocks of kernel threads, whose ids are
 * negative. */
static bool clocks_refused(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 1u << 31, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
			&filter);
}

static void without_a_cpu_clock_proc_alone_decides(void)
{
	uint64_t before = vp->handoffs, hogs = vp->handoffs_hog;
	struct carrier *c;
	uk_thread *t;

	if (!clocks_refused()) {
		printf("not checked: seccomp filters are not available\n");
		return;
	}
	t = start(reads_raw);
	c = owner();
	sleeps(c);
	look_after(NS_PER_SEC);
	look_after(1);
	CHECK_EQ(look_after(BLOCK_NS), LOOK_FOUND);
	CHECK(owner() != c);
	CHECK_EQ(vp->handoffs, before + 1);
	let_go(t);
	t = start(computes);
	c = owner();
	look_after(NS_PER_SEC);
	look_after(1);
	CHECK(look_after(HOG_NS - 1) < LOOK_SOON);
	CHECK(owner() == c);
	CHECK_EQ(look_after(1), LOOK_FOUND);
	CHECK(owner() != c);
	CHECK_EQ(vp->handoffs_hog, hogs + 1);
	ends(start(is_there));
	ends(t);
}

/* -- the kick -- */

static uint64_t kicks(const uk_vpset *s)
{
	return load_relaxed(&s->vps[0]->count.kicks) +
	       load_relaxed(&s->vps[1]->count.kicks);
}

static void an_idle_vp_is_kicked_when_another_has_too_much(void)
{
	uint32_t n = load_acquire(&vp_count_all);
	struct uk_vp *rich;
	uint64_t before;
	uk_vpset *two;

	CHECK_EQ(uk_vpset_create(&two, "kick", 2, NULL, 0), 0);
	CHECK_EQ(load_acquire(&vp_count_all), n + 2);
	UNTIL(load_relaxed(&two->nidle) == 2);
	before = kicks(two);
	monitor_balance(n + 2);
	uk_sleep(UK_MS);
	CHECK_EQ(kicks(two), before);
	/* the queue is empty, but its counter says one, as if another vp had just
	 * stolen the thread */
	rich = two->vps[1];
	store_relaxed(&rich->rq.over.n, 1);
	monitor_balance(n + 2);
	UNTIL(kicks(two) > before);
	store_relaxed(&rich->rq.over.n, 0);
	UNTIL(load_relaxed(&two->nidle) == 2);
}

/* As in a set at the limit of kernel threads: a carrier takes the vp, blocks, and has
 * lost it again by the next look. */
static void an_orphan_that_ran_between_looks_is_not_stalled(void)
{
	static struct uk_vp orphan;
	static struct uk_thread ready;

	orphan.inbox = &ready;
	monitor_look(&orphan, now);
	orphan.count.switches++;
	monitor_look(&orphan, now + STALL_NS - NS_PER_MS);
	monitor_look(&orphan, now + STALL_NS + NS_PER_MS);
	CHECK_EQ(orphan.stalls, 0);
	monitor_look(&orphan, now + 2 * STALL_NS + NS_PER_MS);
	CHECK_EQ(orphan.stalls, 1);
	monitor_look(&orphan, now + 4 * STALL_NS);
	CHECK_EQ(orphan.stalls, 1); /* one stall is reported once */
	orphan.count.switches++;
	monitor_look(&orphan, now + 5 * STALL_NS);
	monitor_look(&orphan, now + 6 * STALL_NS + NS_PER_MS);
	CHECK_EQ(orphan.stalls, 2);
}

int main(void)
{
	if (UK_HOSTILE || env_key_number(ENV_FUZZ, 0))
		SKIP("the fuzzer takes vps at random");
	CHECK_EQ(pipe(gate), 0);
	CHECK_EQ(uk_init(), 0);
	CHECK_EQ(uk_vpset_create(&set, "looked at", 1, NULL, 0), 0);
	vp = set->vps[0];
	UNTIL(load_relaxed(&monitor_passes)); /* the monitor has started */
	lock_acquire(&watch_lock);
	now = sys_now();
	RUN(an_idle_vp_is_left_alone);
	RUN(a_thread_asleep_in_the_kernel_loses_the_vp);
	RUN(a_completed_call_is_a_sign_of_life);
	RUN(after_a_hand_off_the_next_is_judged_a_look_earlier);
	RUN(a_marked_thread_loses_the_vp_sooner);
	RUN(a_marked_thread_that_does_not_sleep_keeps_the_vp);
	RUN(a_thread_asleep_at_a_first_look_is_looked_at_soon);
	RUN(a_thread_that_computes_becomes_a_hog);
	RUN(a_preempted_thread_is_no_hog);
	RUN(a_thread_inside_the_runtime_is_left_alone);
	RUN(a_vp_that_switches_is_left_alone);
	RUN(idle_time_is_no_time_without_a_switch);
	RUN(an_orphan_that_ran_between_looks_is_not_stalled);
	RUN(without_a_cpu_clock_proc_alone_decides);
	lock_release(&watch_lock);
	RUN(an_idle_vp_is_kicked_when_another_has_too_much);
	return 0;
}
