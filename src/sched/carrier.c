/* SPDX-License-Identifier: Apache-2.0 */
/* carrier.c - kernel threads that run user threads: how they are made, and made ahead
 * as spares. handoff.h says how carriers, spares and vps come together.
 *
 * Spares are made ahead by a kernel thread of their own, the maker: pthread_create
 * takes glibc's locks, which the thread that a hand-off rescues may hold. So neither
 * the monitor nor a dispatcher ever creates a kernel thread. The maker also does the
 * wake-ups that a signal handler on a spare defers (enter.c). Carriers do not exit,
 * because io_uring cancels the requests of an exiting task.
 *
 * The number of spares made ahead follows the demand: each vp that finds no spare
 * doubles it, up to SPARES_MOST; once there are carriers_ahead carriers, it is 1. A
 * spare that is made but has not parked yet is counted (newborn), so that the maker
 * never waits for it. When the maker did wait, with sched_yield, it took a CPU from the
 * carriers that were to rescue others (400 threads at a barrier: 1.3 ms for each, now
 * 0.25).
 *
 * One kind of carrier does end: one whose kernel thread was bound to a user thread
 * (guest.c). Its requests are submitted again. Its structure is reused for the next
 * spare, because other threads may look at it as they walk carriers_all.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "arch/arch.h"
#include "base/libc.h"
#include "base/os.h"
#include "base/log.h"
#include "base/valgrind.h"
#include "sched/handoff.h"
#include "sched/switch.h"

#define CARRIER_STACK ((size_t)256 << 10)
#define MAKER_STACK ((size_t)128 << 10)
#define SIGSTACK_SIZE ((size_t)64 << 10)
#ifndef SS_AUTODISARM
#define SS_AUTODISARM (int)(1u << 31)
#endif
#define SPARES_MOST 64u /* made ahead */

static uint32_t maker_word;     /* futex: 1 = look again */
static uint32_t maker_deferred; /* 1 = wake-ups to do; set before maker_word */
static void (*job)(void);       /* a function to call once; likewise */
static struct uk_vp *to_kick;   /* the vp to kick for the monitor; likewise */
static uint32_t spares_target;  /* written under handoff.c's lock */
static int maker_error; /* of its last try; the maker writes, the watchdog reads */
/* A stack through next_spare: anyone pushes, the maker pops. */
static struct carrier *retired;
struct carrier *carriers_all;
uint32_t carriers_reborn, carriers_newborn;
uint64_t carriers_count, spares_count, spares_made, carrier_mask, carrier_shuts;

void carrier_bind(struct carrier *c, struct uk_vp *vp)
{
	uint32_t want = load_acquire(&vp->bound);

	if (likely(c->bound == want))
		return;
	if (want)
		sys3(SYS_sched_setaffinity, 0, sizeof(vp->cpus), &vp->cpus);
	else /* back to what the process may use */
		sys3(SYS_sched_setaffinity, 0, sizeof(process_cpus.bits),
		     process_cpus.bits);
	c->bound = want;
}

/* SS_AUTODISARM: the stack is disarmed while a handler runs on it, because that handler
 * may switch to another stack. A signal that arrives meanwhile is handled there and
 * does not overwrite the first handler's frame. */
void carrier_sigstack(const struct carrier *c)
{
	stack_t ss = { .ss_sp = c->sigstack,
		       .ss_flags = SS_AUTODISARM,
		       .ss_size = SIGSTACK_SIZE };

	if (ss.ss_sp)
		sys2(SYS_sigaltstack, &ss, NULL);
}

bool carrier_on_sigstack(const struct carrier *c, const void *p)
{
	return c->sigstack && (uintptr_t)p - (uintptr_t)c->sigstack < SIGSTACK_SIZE;
}

/* A carrier leaves open the synchronous signals, those that the kernel sends to a
 * writer (SIGPIPE, SIGXFSZ), SIGURG and SIGPROF. All others go to the program's kernel
 * threads, so that a handler runs on a stack that the program knows. */
static void carrier_signals(struct carrier *c)
{
	static const int keep[] = { SIGSEGV, SIGBUS, SIGILL,  SIGFPE,  SIGTRAP, SIGABRT,
				    SIGSYS,  SIGURG, SIGPROF, SIGPIPE, SIGXFSZ };
	uint64_t mask;
	sigset_t set;

	sigfillset(&set); /* all but libc's own two */
	for (unsigned i = 0; i < array_size(keep); i++)
		sigdelset(&set, keep[i]);
	mask = *(const uint64_t *)(const void *)&set | carrier_shuts;
	sys4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
	store_relaxed(&carrier_mask, mask);
	c->masked = true;
	c->sigstack = os_map(SIGSTACK_SIZE);
	carrier_sigstack(c);
}

/* Returns when c's kernel thread is to end. */
static void carrier_loop(struct carrier *c)
{
	for (;;) {
		if (!c->vp) {
			if (unlikely(c->dedicated)) {
				if (!c->bound_to)
					return;
				guest_wait(c);
				continue;
			}
			handoff_wait(c);
		}
		dispatch(c);
	}
}

/* No kernel thread runs c from now on. */
static void push_retired(struct carrier *c)
{
	struct carrier *head = load_relaxed(&retired);

	do
		c->next_spare = head;
	/* release: carrier_anew, which reuses it, sees everything it did */
	while (!cas_acq_rel(&retired, &head, c));
}

/* Its kernel thread waits until it has no children. setuid() must find it (setxid.c),
 * and so must a ptrace request. */
static void outlive_children(void)
{
	struct timespec second = { 1, 0 };
	uint64_t all = ~0ull;
	sigset_t most;

	sigfillset(&most); /* all but libc's own two */
	sys4(SYS_rt_sigprocmask, SIG_SETMASK, &most, NULL, sizeof(all));
	while (sys5(SYS_waitid, P_ALL, 0, NULL,
		    WEXITED | WNOHANG | WNOWAIT | __WALL | __WNOTHREAD,
		    NULL) != -ECHILD)
		sys2(SYS_nanosleep, &second, NULL);
	sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
}

/* c's kernel thread ends. It touches c for the last time in push_retired. */
static void carrier_retire(struct carrier *c)
{
	static const stack_t none = { .ss_flags = SS_DISABLE };
	uint64_t all = ~0ull;

	sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
	*c->self_slot = NULL;
	store_relaxed(&c->shut, 0);
	sys2(SYS_sigaltstack, &none, NULL);
	os_unmap(c->sigstack, SIGSTACK_SIZE);
	/* otherwise a forked child would unmap this address again, when others may use
	 * it */
	c->sigstack = NULL;
	fetch_sub_acq_rel(&carriers_dedicated, 1);
	fetch_sub_acq_rel(&carriers_count, 1);
	maker_wake();
	store_release(&c->stopped, 1u); /* a fork does not wait for it */
	if (unlikely(c->lingers))
		outlive_children();
	store_relaxed(&c->ended, true);
	push_retired(c);
}

/* Puts c into carriers_all, once. A reused c is there already: it is marked as another
 * kernel thread. */
static void enlist(struct carrier *c)
{
	struct carrier *head = load_relaxed(&carriers_all);

	if (c->listed) {
		if (c->guest)
			c->guest->ktid = c->tid;
		store_relaxed(&c->seat, 0);
		store_relaxed(&c->stopped, 0);
		/* release: a thread that sees it alive sees its new tid (pairs with
		 * has_ended in monitor/monitor.c) */
		store_release(&c->ended, false);
		fetch_add_acq_rel(&carriers_reborn, 1);
		return;
	}
	c->listed = true;
	do
		c->next_all = head;
	while (!cas_acq_rel(&carriers_all, &head, c));
}

static void *carrier_main(void *arg)
{
	struct carrier *c = arg;
	void (*born)(void);

	/* libc's stack, from about here downwards */
	valgrind_stack((uintptr_t)__builtin_frame_address(0) - CARRIER_STACK + 4 * PAGE,
		       CARRIER_STACK - 3 * PAGE);
	store_relaxed(&c->tid, sys_gettid());
	c->tp = c->tp_now = arch_get_tp();
	c->self_slot = thread_self_slot();
	*c->self_slot = &c->disp;
	carrier_signals(c);
	sys2(SYS_prctl, PR_SET_TIMERSLACK, 1UL);
	sys2(SYS_prctl, PR_SET_NAME, "uk-carrier");
#if UK_SAN
	san_adopt(&c->disp.san);
#endif
	enlist(c);
	/* listed before the load of carrier_born (pairs with settle in
	 * monitor/detect.c) */
	fence_seq_cst();
	born = load_acquire(&hooks.carrier_born);
	if (born)
		born();
	carrier_loop(c);
	carrier_retire(c);
	return NULL;
}

int kernel_thread(void *(*fn)(void *), void *arg, size_t stack, pthread_t *joinable)
{
	pthread_attr_t a;
	pthread_t th;
	sigset_t all, old;
	int r;

	pthread_attr_init(&a);
	if (!joinable)
		pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&a, stack);
	sigfillset(&all);
	LIBC(pthread_sigmask)(SIG_SETMASK, &all, &old);
	r = LIBC(pthread_create)(joinable ? joinable : &th, &a, fn, arg);
	LIBC(pthread_sigmask)(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&a);
	return -r;
}

/* in_rt is 1, because otherwise the monitor would take the vp before the carrier has
 * begun. */
static void carrier_init(struct carrier *c, struct uk_vp *vp)
{
	c->in_rt = 1;
	c->current = &c->disp;
	c->disp.kind = THREAD_DISPATCHER;
	c->disp.depth = 1;
	c->disp.carrier = c;
	c->disp.wfd = -1;
	c->vp = vp;
	if (vp)
		store_release(&vp->owner, (uintptr_t)c);
}

static struct carrier *carrier_make(struct uk_vp *vp)
{
	struct carrier *c = os_map(sizeof(*c));

	if (c)
		carrier_init(c, vp);
	return c;
}

/* Reuses a retired carrier; NULL: there is none. Only the maker pops, so next_spare
 * cannot change meanwhile. */
static struct carrier *carrier_anew(void)
{
	struct carrier *c = load_acquire(&retired);

	while (c && !cas_acq_rel(&retired, &c, c->next_spare))
		;
	if (!c)
		return NULL;
	c->mark = c->deferred = c->bound = 0;
	c->deaf_until = 0;
	store_relaxed(&c->dedicated, false);
	c->lingers = false;
	c->comes = NULL;
	carrier_init(c, NULL);
	return c;
}

/* No kernel thread runs c. */
static void carrier_unmake(struct carrier *c)
{
	if (c->listed)
		push_retired(c);
	else
		os_unmap(c, sizeof(*c));
}

int carrier_call(struct uk_vp *vp, struct crew *w)
{
	struct carrier *c = carrier_make(vp);

	return c ? crew_add(w, carrier_main, c, CARRIER_STACK) : -ENOMEM;
}

void carrier_drop(struct uk_vp *vp)
{
	os_unmap((struct carrier *)vp->owner, sizeof(struct carrier));
}

static int spare_make(void)
{
	struct carrier *c = carrier_anew();
	int r;

	if (!c)
		c = carrier_make(NULL);
	if (!c)
		return -ENOMEM;
	c->newborn = true;
	fetch_add_relaxed(&carriers_newborn, 1);
	r = kernel_thread(carrier_main, c, CARRIER_STACK, NULL);
	if (r) {
		fetch_add_relaxed(&carriers_newborn, -1u);
		carrier_unmake(c);
		return r;
	}
	fetch_add_relaxed(&carriers_count, 1);
	return 0;
}

/* ---- the maker ---- */

bool want_spare(void)
{
	uint64_t n = load_relaxed(&carriers_count) - load_relaxed(&carriers_dedicated);
	uint32_t target = n < carriers_ahead() ? load_relaxed(&spares_target) : 1;

	return load_relaxed(&spares_count) + load_relaxed(&carriers_newborn) < target &&
	       n < carriers_cap();
}

void spares_ran_out(void)
{
	store_relaxed(&spares_target, MIN(2 * spares_target, SPARES_MOST));
}

void carrier_grown(struct carrier *c)
{
	if (!c->newborn)
		return;
	c->newborn = false;
	fetch_add_relaxed(&carriers_newborn, -1u);
}

static void *maker_main(void *arg UNUSED)
{
	bool warned = false;

	sys2(SYS_prctl, PR_SET_NAME, "uk-maker");
	tls_use_main_arena(); /* pthread_create allocates */
	for (;;) {
		int r;

		store_seq_cst(&maker_word, 0);
		if (load_relaxed(&maker_deferred) && xchg_seq_cst(&maker_deferred, 0))
			hooks.deferred_wake();
		if (load_relaxed(&to_kick))
			vp_kick(xchg_seq_cst(&to_kick, (struct uk_vp *)NULL));
		if (load_relaxed(&job))
			xchg_seq_cst(&job, (void (*)(void))NULL)();
		if (!want_spare()) {
			sys_futex_wait(&maker_word, 0, TIME_NEVER);
			continue;
		}
		r = spare_make();
		store_relaxed(&maker_error, r);
		if (r) {
			if (!warned)
				uk_warn(
				    "cannot create a spare kernel thread (error %d): "
				    "blocking calls may delay other threads; check "
				    "RLIMIT_NPROC, RLIMIT_AS, pids.max of the control "
				    "groups, and free memory",
				    -r);
			warned = true;
			sys_futex_wait(&maker_word, 0, sys_now() + 100 * NS_PER_MS);
			continue;
		}
		bump(&spares_made, 1);
	}
	return NULL;
}

void maker_wake(void)
{
	if (!xchg_seq_cst(&maker_word, 1))
		sys_futex_wake(&maker_word, 1);
}

void maker_defer(void)
{
	store_relaxed(&maker_deferred, 1);
	/* seq_cst: if the maker takes this word away, it sees maker_deferred */
	maker_wake();
}

void maker_kick(struct uk_vp *vp)
{
	store_relaxed(&to_kick, vp);
	maker_wake(); /* as above */
}

void maker_job(void (*fn)(void))
{
	store_relaxed(&job, fn);
	maker_wake(); /* as above */
}

int maker_failed(void)
{
	return load_relaxed(&maker_error);
}

int maker_call(struct crew *w)
{
	return crew_add(w, maker_main, NULL, MAKER_STACK);
}

void carriers_init(void)
{
	unsigned n = load_relaxed(&vp_count_all);

	spares_target = MAX(2u, 2 * MIN(n, 8u));
	cap_init();
}

/* ---- fork ---- */

static struct carrier *dead; /* in a child: the parent's carriers, linked by next_all */

/* Called under handoff.c's lock. */
void carriers_forget(struct carrier *only)
{
	struct carrier **p;

	/* dead is not empty if a child that never rebuilt forks again */
	for (p = &dead; *p; p = &(*p)->next_all)
		;
	*p = carriers_all;
	for (p = &dead; only && *p; p = &(*p)->next_all)
		if (*p == only) {
			*p = only->next_all;
			break;
		}
	if (only) {
		only->next_all = NULL;
		only->perf = NULL; /* not mapped in the child */
	}
	carriers_all = only;
	carriers_count = only != NULL;
	spares_count = 0;
	maker_word = maker_deferred = 0;
	job = NULL;
	to_kick = NULL;
	carriers_newborn = 0;
	retired = NULL;
	carriers_dedicated = only && only->dedicated;
	handoff_forget();
}

/* The dead carriers' stacks belong to libc, which has them back already. */
int carriers_rebuild(void)
{
	for (struct carrier *c = dead, *next; c; c = next) {
		next = c->next_all;
		os_unmap(c->sigstack, SIGSTACK_SIZE);
		os_unmap(c, sizeof(*c));
	}
	dead = NULL;
	return kernel_thread(maker_main, NULL, MAKER_STACK,
			     NULL); /* its first spares take the orphans */
}

static void carrier_again(void *arg)
{
	struct carrier *c = arg;

	finish_switch(c);
	carrier_loop(c);
	carrier_retire(c);
	for (;;)
		sys1(SYS_exit, 0);
}

/* A full user thread forked. In the child, libc put the stack of its kernel thread,
 * with the thread block in it, into its cache of free stacks. So a dispatcher here
 * needs new ones. False: no memory. */
COLD bool carrier_renew(struct carrier *c)
{
	unsigned order = stack_order(CARRIER_STACK);
	char *stack = stack_get(NULL, order);
	void *tp = stack ? tls_get(NULL, stack, CARRIER_STACK) : NULL;

	if (!tp)
		return false;
	tls_adopt(tp);
	c->tp = tp;
	c->self_slot = tls_address_in(tp, thread_self_slot());
	*c->self_slot = &c->disp;
	c->disp.sp =
	    arch_context_init(stack + CARRIER_STACK, carrier_again, c, arch_fp_env());
	c->renew = false;
	return true;
}

/* c is no longer a hog. Only the first caller does the work. */
void carrier_no_hog(struct carrier *c)
{
	struct uk_vp *vp = xchg_seq_cst(&c->hog, (struct uk_vp *)NULL);

	if (!vp)
		return;
	fetch_add_relaxed(&vp->reactor.hogs, -1u);
	if (sys2(SYS_getpriority, PRIO_PROCESS, c->tid) != 20 - process_nice)
		sys3(SYS_setpriority, PRIO_PROCESS, c->tid, process_nice);
}
