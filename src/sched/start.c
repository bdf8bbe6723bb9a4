/* SPDX-License-Identifier: Apache-2.0 */
/* start.c - the start of the runtime: all of it, or nothing.
 *
 *   1. what needs no undoing: it is found out once, and a second start finds it done
 *   2. the default set, its carriers, the maker and what else is needed; none of them
 *      has begun (crew.c). If one of them cannot be made, all of it is freed
 *   3. the set is published, the registered functions run, the kernel threads begin.
 *      Nothing here can fail
 *
 * So a start that finds no memory, no kernel thread or no fd is an error for its
 * caller, and another start may succeed. If UK_VPS does not ask for a number of vps,
 * the start itself tries again with half of them, down to one: a container may allow
 * fewer kernel threads or fds than the machine has CPUs.
 *
 * Rejected: pthread_once (its verdict is for ever).
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/at_load.h"
#include "base/os.h"
#include "base/log.h"
#include "fd/fd.h"
#include "sched/body.h"
#include "sched/fuzz.h"
#include "sched/vp.h"
#include "uk/vp.h"

static void (*on_start[8])(void), (*on_child[8])(void);
static unsigned n_on_start, n_on_child;
static struct {
	void *(*fn)(void *);
	size_t stack;
} needed[2];
static unsigned n_needed;
static uint32_t running; /* written under the set lock; acquire to read without it */
static bool told; /* under the set lock: the reason for a failed start was printed */
int process_nice;

void sched_on_start(void (*fn)(void))
{
	uk_assert(n_on_start < array_size(on_start));
	on_start[n_on_start++] = fn;
}

void sched_on_child(void (*fn)(void))
{
	uk_assert(n_on_child < array_size(on_child));
	on_child[n_on_child++] = fn;
}

void sched_needs_thread(void *(*fn)(void *), size_t stack)
{
	uk_assert(n_needed < array_size(needed));
	needed[n_needed].fn = fn;
	needed[n_needed++].stack = stack;
}

void sched_run_on_child(void)
{
	for (unsigned i = 0; i < n_on_child; i++)
		on_child[i]();
}

/* ---- 1: what needs no undoing ---- */

static int tsan_agrees(void)
{
	if (UK_TSAN || !dlsym(RTLD_DEFAULT, "__tsan_init"))
		return 0;
	if (!told)
		uk_warn(
		    "cannot start: this program is built with ThreadSanitizer and the "
		    "library is not, so context switches would go unseen; set "
		    "LD_LIBRARY_PATH=LIBDIR/ukthreads-tsan for a library that is "
		    "(built by make SANITIZED=true)");
	told = true;
	return -ENOTSUP;
}

static int barrier_start(void)
{
	int r = barrier_init();

	if (r && !told)
		uk_warn("cannot start without membarrier(2), which %s (error %d)",
			r == -ENOSYS ? "this kernel does not have, or a seccomp filter "
				       "refuses: allow it"
				     : "a seccomp filter refuses: allow it",
			-r);
	told |= r != 0;
	return r;
}

static int learn(void)
{
	size_t stack;
	int r;

	env_review();
	r = tsan_agrees();
	if (!r)
		r = barrier_start();
	if (r)
		return r;
	fuzz_init();
	cpus_learn();
	slack_learn();
	process_nice = 20 - (int)sys2(SYS_getpriority, PRIO_PROCESS, 0);
	stack = env_size("UK_STACK", (size_t)1 << STACK_MAX_ORDER);
	if (stack)
		sched_stack_size = stack;
	r = thread_init();
#if !UK_SAN
	if (!r)
		r = tls_init();
	if (!r)
		setxid_init();
#endif
	return r;
}

/* ---- 2 and 3: making and starting everything ---- */

static unsigned vps_wanted(void)
{
	return env_number("UK_VPS", 0, SET_MOST);
}

static int call_all(struct uk_vpset **s, const struct set_plan *plan, struct crew *w)
{
	int r = set_make(s, plan, w);

	if (!r)
		r = maker_call(w);
	for (unsigned i = 0; i < n_needed && !r; i++)
		r = crew_add(w, needed[i].fn, NULL, needed[i].stack);
	return r;
}

static int bring_up(unsigned n)
{
	uk_vpset_attr a = UK_VPSET_ATTR_INIT;
	struct uk_vpset *s = NULL;
	struct set_plan plan;
	struct crew *w;
	int r;

	a.name = "default";
	a.n = n;
	r = set_plan(&plan, &a);
	if (r)
		return r;
	store_relaxed(&reactor_dropped, 0);
	w = crew_call(set_carriers(&plan) + 1 + n_needed);
	if (!w)
		return -ENOMEM;
	r = call_all(&s, &plan, w);
	if (r) {
		crew_dismiss(w);
		set_drop(s);
		return r;
	}
	set_publish(s);
	store_release(&vpset_default, s);
	carriers_init();
	stacks_init();
	for (unsigned i = 0; i < n_on_start; i++)
		on_start[i]();
	crew_begin(w);
	return 0;
}

static bool is_shortage(int r)
{
	return r == -EAGAIN || r == -ENOMEM || r == -EMFILE || r == -ENFILE;
}

static int bring_up_some(void)
{
	unsigned n = vps_wanted();
	int r = bring_up(n);

	if (n || !is_shortage(r))
		return r;
	for (n = cpus_vps(process_cpus.n); is_shortage(r) && n > 1;)
		r = bring_up(n /= 2);
	return r;
}

static void say_why(int r)
{
	const char *want = env_get("UK_REACTOR"),
		   *why = "the kernel or a seccomp filter refuses a call";

	if (told)
		return;
	told = true;
	if (r == -EAGAIN)
		why = "no kernel thread can be created: check RLIMIT_NPROC, RLIMIT_AS, "
		      "pids.max of the control groups, and free memory";
	else if (r == -ENOMEM)
		why = want ? "no memory, or RLIMIT_MEMLOCK is too small for io_uring"
			   : "no memory";
	else if (r == -EMFILE || r == -ENFILE)
		why = "no file descriptor is free: raise ulimit -n";
	else if (r == -EINVAL && want)
		why = "UK_REACTOR must be uring or epoll";
	else if (want)
		why = "the kernel or a seccomp filter refuses this engine";
	uk_warn("cannot start: %s (error %d%s%s)", why, -r, want ? ", UK_REACTOR=" : "",
		want ? want : "");
}

static int start_locked(void)
{
	struct rlimit files;
	bool raised = fd_limit_raise(&files);
	int r = learn();

	if (!r)
		r = bring_up_some();
	if (raised)
		fd_limit_restore(&files);
	if (r) {
		say_why(r);
		return r;
	}
	if (!env_get("UK_VPS") && process_cpus.n > SET_MOST)
		uk_warn("%u CPUs are allowed, a set has %u virtual processors at most",
			process_cpus.n, SET_MOST);
	store_release(&running, 1);
	return 0;
}

int sched_start(void)
{
	int r = 0;

	if (likely(load_acquire(&running)))
		return 0;
	at_load();
	set_lock_acquire();
	if (!running)
		r = start_locked();
	set_lock_release();
	return r;
}

/* ---- public ---- */

UK_API int uk_init(void)
{
	return sched_start();
}

UK_API int uk_vp_count(void)
{
	const struct uk_vpset *s = load_acquire(&vpset_default);
	struct cpus room;
	unsigned n;

	if (s)
		return (int)s->n;
	n = vps_wanted();
	return (int)(n ? n : cpus_vps(cpus_allowed(&room)->n));
}
