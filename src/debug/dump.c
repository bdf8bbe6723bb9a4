/* SPDX-License-Identifier: Apache-2.0 */
/* dump.c - uk_dump: every thread, what it waits for, which thread holds that, and its
 * frames.
 *
 * May run in a signal handler. A parked thread is held while its frames are read: it is
 * asked to suspend, so that a wake-up that comes meanwhile parks it on the way to the
 * run queue instead of running it; then it is released. A running thread prints its own
 * frames, from a signal on its carrier. That is SIGURG, which carriers keep open. In
 * the preload library, whose program may use SIGURG, it is the signal that interrupts
 * carriers (hooks.carrier_ask). */
#include <errno.h>
#include <signal.h>

#include "base/at_load.h"
#include "debug/inspect.h"
#include "base/libc.h"
#include "base/log.h"
#include "base/sys.h"
#include "sched/handoff.h"

#define RUNNING_WAIT_MS 200
#define PRINTING_WAIT_MS 15000 /* fd must stay open until it has printed */

static uint32_t busy;            /* one dump at a time */
static int dump_fd;              /* of the running dump */
static uint32_t begun, answered; /* carriers that print; that have printed */

static long age_ms(const uk_thread_info *i)
{
	return (long)(MAX(sys_now() - i->since, 0) / NS_PER_MS);
}

static void print_thread(int fd, const uk_thread_info *i, const struct uk_thread *t)
{
	const struct thread_ext *e = load_acquire(&t->ext);

	fmt_fd(fd, "  thread %lu \"%s\"%s %s", (unsigned long)i->id, i->name,
	       i->light ? " light" : "", i->state);
	if (e && load_relaxed(&e->bound))
		fmt_fd(fd, " bound (%s)", load_relaxed(&e->bound_for));
	if (i->waits[0])
		fmt_fd(fd, " on %s", i->waits);
	if (i->fd >= 0)
		fmt_fd(fd, " fd %d", i->fd);
	if (i->object)
		fmt_fd(fd, " %p", i->object);
	if (i->holder)
		fmt_fd(fd, " held by thread %lu", (unsigned long)i->holder);
	fmt_fd(fd, " since %ld ms, vp %u, created by %lu\n", age_ms(i), i->vp,
	       (unsigned long)i->creator);
}

static void frames_of_parked(int fd, struct uk_thread *t)
{
	uint8_t old = fetch_or_acq_rel(&t->susp, SUSP_LOOK);

	fence_seq_cst();
	if (W_STATE(load_acquire(&t->wait)) == W_PARKED || old & SUSP_HELD)
		backtrace_parked(fd, t);
	suspend_end(t, SUSP_LOOK);
}

static int dump_one(void *obj, void *arg)
{
	struct uk_thread *t = obj;
	int fd = *(int *)arg;
	uk_thread_info i;

	if (!inspect_thread(t, &i))
		return 0;
	if (t->kind == THREAD_FOREIGN) {
		fmt_fd(fd, "  kernel thread %lu", (unsigned long)i.id);
		if (i.waits[0])
			fmt_fd(fd, " parked on %s %p", i.waits, i.object);
		else
			fmt_fd(fd, " running");
		fmt_fd(fd, " since %ld ms\n", age_ms(&i));
		return 0;
	}
	print_thread(fd, &i, t);
	if (load_relaxed(&t->state) == T_PARKED ||
	    load_relaxed(&t->state) == T_SUSPENDED)
		frames_of_parked(fd, t);
	return 0;
}

static void answer(void *uc)
{
	struct uk_thread *t = thread_self_tls;
	int was = errno; /* the interrupted code may be about to read it */

	if (!load_relaxed(&busy) || !t || t->kind != THREAD_USER)
		return;
	fetch_add_acq_rel(&begun, 1);
	fmt_fd(dump_fd, "  running thread %lu \"%s\" on carrier %d:\n",
	       (unsigned long)t->id, thread_name(t), sys_gettid());
	backtrace_here(dump_fd, uc);
	errno = was;
	fetch_add_acq_rel(&answered, 1);
}

static void on_sigurg(int sig UNUSED, siginfo_t *si, void *uc)
{
	if (si->si_code == SI_TKILL && si->si_pid == (int)sys0(SYS_getpid))
		answer(uc);
}

static bool ask(const struct carrier *c)
{
	return hooks.thread_signals
		   ? hooks.carrier_ask(c, QUESTION_FRAMES)
		   : !sys3(SYS_tgkill, sys0(SYS_getpid), c->tid, SIGURG);
}

static void frames_of_running(int fd)
{
	struct sigaction sa = { .sa_flags = SA_SIGINFO | SA_RESTART }, old;
	int me = sys_gettid();
	uint32_t asked = 0, silent;

	sa.sa_sigaction = on_sigurg;
	if (!hooks.thread_signals && LIBC(sigaction)(SIGURG, &sa, &old))
		return;
	dump_fd = fd;
	store_seq_cst(&begun, 0);
	store_seq_cst(&answered, 0);
	for (struct carrier *c = load_acquire(&carriers_all); c; c = c->next_all) {
		const struct uk_thread *t = load_relaxed(&c->current);

		if (t && t->kind == THREAD_USER && c->tid != me && ask(c))
			asked++;
	}
	for (int ms = 0; load_acquire(&answered) < asked; ms++) {
		struct timespec ts = { 0, NS_PER_MS };
		bool printing = load_acquire(&begun) > load_acquire(&answered);

		if (ms >= (printing ? PRINTING_WAIT_MS : RUNNING_WAIT_MS))
			break;
		sys2(SYS_nanosleep, &ts, NULL);
	}
	if (!hooks.thread_signals)
		LIBC(sigaction)(SIGURG, &old, NULL);
	silent = asked - MIN(load_acquire(&answered), asked);
	if (silent)
		fmt_fd(fd,
		       "  %u more running threads have not answered: they have parked "
		       "since, or get no CPU\n",
		       silent);
}

static void parent_dumps_no_more(void)
{
	store_relaxed(&busy, 0);
}

AT_LOAD(dump_register)
{
	sched_on_child(parent_dumps_no_more);
	hooks.carrier_answer[QUESTION_FRAMES] = answer;
}

/* s has a network processor, or should have one. */
static void print_net_cpu(int fd, const struct uk_vpset *s)
{
	const struct net_cpu *n = &s->net_cpu;
	int has = uk_vpset_sqpoll(s);

	if (has > 0)
		fmt_fd(fd, "  set %s: network processor on CPU %d (-1: any)", s->name,
		       n->cpu);
	else
		fmt_fd(fd, "  set %s: no network processor, error %d", s->name, has);
	if (has > 0 && n->napi_err)
		fmt_fd(fd, ", which polls no network queue, error %d", n->napi_err);
	fmt_fd(fd, "\n");
}

static void print_vps(int fd)
{
	uint32_t n = load_acquire(&vp_count_all);

	for (uint32_t i = 0; i < n; i++) {
		const struct uk_vp *vp = vp_all[i];
		const struct carrier *c = vp_carrier(vp);

		if (vp->index == 0 && uk_vpset_sqpoll(vp->set))
			print_net_cpu(fd, vp->set);
		fmt_fd(fd,
		       "  vp %u of set %s: %s, carrier %d, ready %u, pending I/O %u, "
		       "timers %u, switches %lu\n",
		       vp->id, vp->set->name,
		       !load_relaxed(&vp->idle) ? c ? "busy" : "no carrier"
		       : c                      ? "idle"
						: "at rest",
		       c ? c->tid : 0, runq_len(&vp->rq), vp->reactor.pending,
		       wheel_count(&vp->wheel), (unsigned long)vp->count.switches);
	}
}

UK_API void uk_dump(int fd)
{
	uk_stats s;

	if (xchg_seq_cst(&busy, 1)) {
		fmt_fd(fd, "ukthreads: another dump is under way\n");
		return;
	}
	if (sched_unsettled()) {
		fmt_fd(fd, "ukthreads %s: a forked child that has not called us yet\n",
		       UK_VERSION);
		store_release(&busy, 0);
		return;
	}
	uk_stats_get(&s, sizeof(s));
	fmt_fd(fd, "ukthreads %s: %lu threads, %u vps, %lu carriers (%lu spare)\n",
	       UK_VERSION, (unsigned long)s.threads, load_acquire(&vp_count_all),
	       (unsigned long)s.carriers, (unsigned long)s.spares);
	print_vps(fd);
	backtrace_begin();
	if (thread_slab.size)
		slab_walk(&thread_slab, dump_one, &fd);
	frames_of_running(fd);
	backtrace_end(fd);
	store_release(&busy, 0);
}
