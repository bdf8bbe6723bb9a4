/* SPDX-License-Identifier: Apache-2.0 */
/* A real-time policy acts in the kernel, whichever thread sets it: for itself, for a
 * thread that waits, computes or is in any call, or for a thread that is to be created.
 * Without the right to set it, the call gives EPERM and nothing changes. So does the
 * priority that a thread inherits from one that waits for its mutex, and a ceiling.
 * Waiters are woken by priority. */
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "asleep.h"
#include "posix.h"

enum { ROUNDS = 8, PRIORITY = 7 };

static long privileged(void)
{
	struct sched_param p = { .sched_priority = 1 };
	long r = !pthread_setschedparam(pthread_self(), SCHED_FIFO, &p);

	p.sched_priority = 0;
	CHECK(!pthread_setschedparam(pthread_self(), SCHED_OTHER, &p));
	return r;
}

/* The kernel threads of this process with this policy and PRIORITY. */
static int tasks_with(int policy)
{
	DIR *d = opendir("/proc/self/task");
	int n = 0;

	for (struct dirent *e; (e = readdir(d));) {
		pid_t tid = (pid_t)atoi(e->d_name);
		struct sched_param p;

		if (tid && raw_call(SYS_sched_getscheduler, tid, NULL, 0) == policy &&
		    !raw_call(SYS_sched_getparam, tid, &p, 0) &&
		    p.sched_priority == PRIORITY)
			n++;
	}
	closedir(d);
	return n;
}

/* The policy in the kernel of the caller's kernel thread. */
static bool has(int policy)
{
	struct sched_param p;

	return raw_call(SYS_sched_getscheduler, 0, NULL, 0) == policy &&
	       !raw_call(SYS_sched_getparam, 0, &p, 0) &&
	       p.sched_priority == (policy == SCHED_OTHER ? 0 : PRIORITY);
}

static void give(pthread_t t, int policy)
{
	struct sched_param p = { .sched_priority =
				     policy == SCHED_OTHER ? 0 : PRIORITY };

	CHECK(!pthread_setschedparam(t, policy, &p));
}

static void set(pthread_t t, int policy)
{
	struct sched_param p = { .sched_priority =
				     policy == SCHED_OTHER ? 0 : PRIORITY };
	int now;

	give(t, policy);
	CHECK(t == pthread_self() || has(SCHED_OTHER)); /* only t gets it */
	CHECK(!pthread_getschedparam(t, &now, &p) && now == policy);
}

/* ---- the caller ---- */

static void *inherits(void *arg)
{
	CHECK(has(SCHED_RR));
	return arg;
}

static void *sets_its_own(void *arg)
{
	struct sched_param p = { .sched_priority = PRIORITY };

	CHECK(!sched_setscheduler(0, SCHED_FIFO, &p));
	for (int i = 0; i < ROUNDS; i++) {
		usleep(100);
		CHECK(has(SCHED_FIFO));
	}
	set(pthread_self(), SCHED_RR);
	CHECK(has(SCHED_RR));
	CHECK(!pthread_setschedprio(pthread_self(), PRIORITY + 1));
	usleep(100);
	CHECK(!sched_getparam(0, &p) && p.sched_priority == PRIORITY + 1);
	set(pthread_self(), SCHED_RR);
	finish(start(inherits, NULL));
	set(pthread_self(), SCHED_OTHER);
	usleep(100);
	CHECK(has(SCHED_OTHER));
	return arg;
}

/* ---- a thread that is to be created ---- */

static void *is_created(void *arg)
{
	usleep(100);
	CHECK(has((int)(intptr_t)arg));
	return arg;
}

static void *creates(void *arg)
{
	struct sched_param p = { .sched_priority = PRIORITY };
	pthread_attr_t a;
	pthread_t t;

	CHECK(!pthread_attr_init(&a));
	CHECK(!pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED));
	for (int policy = SCHED_FIFO; policy <= SCHED_RR; policy++) {
		CHECK(!pthread_attr_setschedpolicy(&a, policy));
		CHECK(!pthread_attr_setschedparam(&a, &p));
		CHECK(!pthread_create(&t, &a, is_created, (void *)(intptr_t)policy));
		finish(t);
	}
	CHECK(!pthread_attr_setinheritsched(&a, PTHREAD_INHERIT_SCHED));
	CHECK(!pthread_create(&t, &a, is_created, (void *)SCHED_OTHER));
	finish(t);
	CHECK(has(SCHED_OTHER));
	return arg;
}

/* ---- another thread, wherever it is ---- */

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static sem_t go;
static int fds[2];
static volatile int stop;

static void *waits_for_cond(void *arg)
{
	CHECK(!pthread_mutex_lock(&m));
	while (!stop)
		pthread_cond_wait(&changed, &m);
	CHECK(!pthread_mutex_unlock(&m));
	CHECK(has(SCHED_FIFO));
	return arg;
}

static void *waits_for_sem(void *arg)
{
	CHECK(!sem_wait(&go) && has(SCHED_FIFO));
	return arg;
}

static void *waits_for_input(void *arg)
{
	char c;

	CHECK(read(fds[0], &c, 1) == 1 && has(SCHED_FIFO));
	return arg;
}

static void *polls_for_input(void *arg)
{
	struct pollfd p = { .fd = fds[0], .events = POLLIN };
	char c;

	CHECK(poll(&p, 1, -1) == 1 && has(SCHED_FIFO));
	CHECK(read(fds[0], &c, 1) == 1);
	return arg;
}

static void *sleeps_raw(void *arg)
{
	struct pollfd p = { .fd = fds[0], .events = POLLIN };
	char c;

	while (raw_call(SYS_poll, (long)(intptr_t)&p, (void *)1, -1) != 1)
		;
	CHECK(has(SCHED_FIFO) && read(fds[0], &c, 1) == 1);
	return arg;
}

static void *computes(void *arg)
{
	while (!stop)
		;
	CHECK(has(SCHED_FIFO));
	return arg;
}

/* Each waits, is given the policy, and only then goes on. */
static void others_get_it(void)
{
	static const struct {
		void *(*fn)(void *);
		int sleeps;
	} all[] = { { waits_for_cond, 1 },  { waits_for_sem, 1 },
		    { waits_for_input, 1 }, { polls_for_input, 1 },
		    { sleeps_raw, 0 },      { computes, 0 } };

	CHECK(!pipe(fds) && !sem_init(&go, 0, 0));
	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		pthread_t t = start(all[i].fn, NULL);

		CHECK(!pthread_setname_np(t, "other"));
		if (all[i].sleeps)
			until_sleeps("other");
		set(t, SCHED_FIFO);
		while (tasks_with(SCHED_FIFO) != 1)
			usleep(100);
		CHECK(!pthread_mutex_lock(&m));
		stop = 1;
		CHECK(!pthread_cond_broadcast(&changed));
		CHECK(!pthread_mutex_unlock(&m));
		CHECK(!sem_post(&go));
		CHECK(all[i].fn == waits_for_cond || all[i].fn == waits_for_sem ||
		      all[i].fn == computes || write(fds[1], "x", 1) == 1);
		finish(t);
		stop = 0;
		while (!sem_trywait(&go))
			;
	}
	puts("others");
}

/* ---- at any instruction ---- */

static int started;

/* Goes through calls of all kinds, until it has the policy. */
static void *calls(void *arg)
{
	struct timespec ns = { 0, 1000 };
	struct pollfd p = { .events = POLLOUT };
	int io[2];
	char c;
	sem_t s;

	CHECK(!pipe(io) && !sem_init(&s, 0, 0));
	p.fd = io[1];
	__atomic_fetch_add(&started, 1, __ATOMIC_RELAXED);
	do {
		CHECK(!pthread_mutex_lock(&m) && !pthread_mutex_unlock(&m));
		CHECK(write(io[1], "x", 1) == 1 && read(io[0], &c, 1) == 1);
		CHECK(poll(&p, 1, -1) == 1);
		CHECK(!sem_post(&s) && !sem_wait(&s));
		nanosleep(&ns, NULL);
		sched_yield();
	} while (!has(SCHED_FIFO));
	for (int i = 0; i < ROUNDS; i++) {
		CHECK(!sem_post(&s) && !sem_wait(&s) && has(SCHED_FIFO));
		CHECK(write(io[1], "x", 1) == 1 && read(io[0], &c, 1) == 1);
		CHECK(poll(&p, 1, -1) == 1 && has(SCHED_FIFO));
	}
	CHECK(!close(io[0]) && !close(io[1]));
	return arg;
}

static void on_signal(int sig)
{
	struct sched_param p = { .sched_priority = PRIORITY };

	(void)sig;
	CHECK(!sched_setscheduler(0, SCHED_FIFO, &p));
}

/* All get the policy as soon as the last one runs, from this thread or in a handler. */
static void at_any_instruction(void)
{
	struct sigaction a = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	CHECK(!sigaction(SIGUSR1, &a, NULL));
	for (int round = 0; round < 2 * ROUNDS; round++) {
		pthread_t t[ROUNDS];

		started = 0;
		for (int i = 0; i < ROUNDS; i++)
			t[i] = start(calls, NULL);
		while (__atomic_load_n(&started, __ATOMIC_RELAXED) < ROUNDS)
			sched_yield();
		for (int i = 0; i < ROUNDS; i++)
			if (round % 2)
				CHECK(!pthread_kill(t[i], SIGUSR1));
			else
				give(t[i], SCHED_FIFO);
		for (int i = 0; i < ROUNDS; i++)
			finish(t[i]);
	}
	puts("at any instruction");
}

/* ---- protocols of mutexes ---- */

static pthread_mutex_t inherits_m[2];
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static void make(pthread_mutex_t *mutex, int protocol, int type)
{
	pthread_mutexattr_t a;

	CHECK(!pthread_mutexattr_init(&a));
	CHECK(!pthread_mutexattr_setprotocol(&a, protocol));
	CHECK(!pthread_mutexattr_settype(&a, type));
	if (protocol == PTHREAD_PRIO_PROTECT)
		CHECK(!pthread_mutexattr_setprioceiling(&a, PRIORITY));
	CHECK(!pthread_mutex_init(mutex, &a));
}

/* Has the caller's kernel thread this priority, of its own or inherited? */
static bool is_raised(void)
{
	char path[64], line[512] = "";
	long priority = 0;
	FILE *f;

	sprintf(path, "/proc/self/task/%ld/stat", raw_call(SYS_gettid, 0, NULL, 0));
	f = fopen(path, "r");
	CHECK(f && fgets(line, sizeof(line), f) && !fclose(f));
	/* the 18th field; the second one ends with the last ')' */
	CHECK(sscanf(strrchr(line, ')') + 1,
		     " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld",
		     &priority) == 1);
	return priority == -1 - PRIORITY;
}

static void until(bool raised)
{
	while (is_raised() != raised)
		usleep(100);
}

static void *locks(void *arg)
{
	set(pthread_self(), SCHED_FIFO);
	CHECK(!pthread_mutex_lock(arg) && is_raised());
	CHECK(!pthread_mutex_unlock(arg) && is_raised());
	return arg;
}

static void *locks_in_time(void *arg)
{
	struct timespec at;

	set(pthread_self(), SCHED_RR);
	while (!stop) {
		clock_gettime(CLOCK_REALTIME, &at);
		at.tv_nsec += 20000000;
		at.tv_sec += at.tv_nsec / 1000000000;
		at.tv_nsec %= 1000000000;
		CHECK(pthread_mutex_timedlock(arg, &at) == ETIMEDOUT);
	}
	return arg;
}

static void *locks_after_cond(void *arg)
{
	set(pthread_self(), SCHED_FIFO);
	CHECK(!pthread_mutex_lock(arg));
	started = 1;
	CHECK(!pthread_cond_wait(&cond, arg) && !pthread_mutex_unlock(arg));
	return arg;
}

/* Holds the second mutex and waits for the first. */
static void *is_between(void *arg)
{
	CHECK(!pthread_mutex_lock(&inherits_m[1]));
	started = 1;
	CHECK(!pthread_mutex_lock(arg) && is_raised());
	CHECK(!pthread_mutex_unlock(arg) && is_raised());
	CHECK(!pthread_mutex_unlock(&inherits_m[1]) && !is_raised());
	return arg;
}

static void *locks_for_long(void *arg)
{
	struct sched_param p = { .sched_priority = 1 };

	if (stop)
		CHECK(!pthread_setschedparam(pthread_self(), SCHED_FIFO, &p));
	CHECK(!pthread_setname_np(pthread_self(), "locks"));
	CHECK(!pthread_mutex_lock(arg));
	CHECK(!pthread_mutex_unlock(arg));
	return arg;
}

/* A thread gets and loses its priority while it waits; bound and not. */
static void changes_in_wait(pthread_mutex_t *one)
{
	pthread_t t;

	for (stop = 0; stop < 2; stop++) {
		CHECK(!pthread_mutex_lock(one));
		t = start(locks_for_long, one);
		until_sleeps("locks");
		CHECK(!is_raised());
		give(t, SCHED_FIFO);
		until(true);
		give(t, SCHED_OTHER);
		until(false);
		CHECK(!pthread_mutex_unlock(one));
		finish(t);
	}
	stop = 0;
}

static void *owns(void *arg)
{
	pthread_mutex_t *one = arg;
	struct sched_param p;
	pthread_t t, u;
	int policy;

	CHECK(!pthread_mutex_lock(one));
	t = start(locks, one);
	until(true);
	CHECK(!pthread_getschedparam(pthread_self(), &policy, &p));
	CHECK(policy == SCHED_OTHER && !p.sched_priority);
	CHECK(!pthread_mutex_unlock(one) && !is_raised());
	finish(t);

	CHECK(!pthread_mutex_lock(one));
	t = start(locks_in_time, one);
	until(true);
	stop = 1;
	until(false);
	finish(t);
	stop = 0;
	CHECK(!pthread_mutex_unlock(one));

	started = 0;
	t = start(locks_after_cond, one);
	while (!__atomic_load_n(&started, __ATOMIC_RELAXED))
		usleep(100);
	CHECK(!pthread_mutex_lock(one) && !pthread_cond_signal(&cond));
	until(true);
	CHECK(!pthread_mutex_unlock(one) && !is_raised());
	finish(t);

	started = 0;
	CHECK(!pthread_mutex_lock(one));
	t = start(is_between, one);
	while (!__atomic_load_n(&started, __ATOMIC_RELAXED))
		usleep(100);
	u = start(locks, &inherits_m[1]);
	until(true);
	set(pthread_self(), SCHED_OTHER); /* does not lower it */
	until(true); /* not while t is in a handler, or becomes bound */
	CHECK(!pthread_mutex_unlock(one) && !is_raised());
	finish(t);
	finish(u);
	changes_in_wait(one);
	return arg;
}

static void *has_a_ceiling(void *arg)
{
	struct sched_param p = { .sched_priority = 1 };

	CHECK(!pthread_setschedparam(pthread_self(), SCHED_FIFO, &p));
	CHECK(!is_raised() && !pthread_mutex_lock(arg) && is_raised());
	CHECK(!pthread_setschedparam(pthread_self(), SCHED_FIFO, &p));
	CHECK(is_raised() && !pthread_mutex_unlock(arg) && !is_raised());
	CHECK(!pthread_mutex_trylock(arg) && is_raised());
	CHECK(!pthread_mutex_unlock(arg) && !is_raised());
	p.sched_priority = PRIORITY + 1;
	CHECK(!pthread_setschedparam(pthread_self(), SCHED_FIFO, &p));
	CHECK(pthread_mutex_lock(arg) == EINVAL);
	CHECK(pthread_mutex_trylock(arg) == EINVAL);
	return arg;
}

static void protocols(void)
{
	for (int type = PTHREAD_MUTEX_NORMAL; type <= PTHREAD_MUTEX_ERRORCHECK;
	     type++) {
		make(&inherits_m[0], PTHREAD_PRIO_INHERIT, type);
		make(&inherits_m[1], PTHREAD_PRIO_INHERIT, type);
		finish(start(owns, inherits_m));
		owns(inherits_m); /* main */
		make(&inherits_m[0], PTHREAD_PRIO_PROTECT, type);
		finish(start(has_a_ceiling, inherits_m));
	}
	puts("protocols");
}

/* ---- the order in which waiters are woken ---- */

enum { WAITERS = 6 };
static const int priorities[WAITERS] = { 0, 3, 9, 0, 9, 5 };
static int order[WAITERS], woken; /* under m, or one thread at a time */
static int word;

static void in_mutex(void)
{
	CHECK(!pthread_mutex_lock(&m));
}

static void unlocks(void)
{
	CHECK(!pthread_mutex_unlock(&m));
}

static void in_cond(void)
{
	CHECK(!pthread_mutex_lock(&m));
	CHECK(!pthread_cond_wait(&changed, &m));
}

static void signals(void)
{
	CHECK(!pthread_cond_signal(&changed));
}

static void in_sem(void)
{
	CHECK(!sem_wait(&go));
}

static void posts(void)
{
	CHECK(!sem_post(&go));
}

static void in_futex(void)
{
	CHECK(!syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0));
}

static void wakes(void)
{
	CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 1);
}

static const struct wait_kind {
	void (*wait)(void), (*wake)(void);
	bool has_m; /* after the wait */
} wait_kinds[] = {
	{ in_mutex, unlocks, true },
	{ in_cond, signals, true },
	{ in_sem, posts, false },
	{ in_futex, wakes, false },
};

struct waiter {
	const struct wait_kind *kind;
	int i;
};

static void name_of(char name[16], int i)
{
	snprintf(name, 16, "waiter %d", i);
}

static void *waits_in_order(void *arg)
{
	const struct waiter *w = arg;
	struct sched_param p = { .sched_priority = priorities[w->i] };
	char name[16];

	if (p.sched_priority)
		CHECK(!pthread_setschedparam(pthread_self(), SCHED_FIFO, &p));
	name_of(name, w->i);
	CHECK(!pthread_setname_np(pthread_self(), name));
	w->kind->wait();
	order[woken] = w->i;
	__atomic_fetch_add(&woken, 1, __ATOMIC_RELEASE);
	if (w->kind->has_m)
		CHECK(!pthread_mutex_unlock(&m));
	return arg;
}

static void wake_in_order(const struct wait_kind *k)
{
	static const int wanted[WAITERS] = { 2, 4, 5, 1, 0, 3 };
	struct waiter all[WAITERS];
	pthread_t threads[WAITERS];
	char name[16];

	woken = 0;
	if (k->wake == unlocks)
		CHECK(!pthread_mutex_lock(&m));
	for (int i = 0; i < WAITERS; i++) {
		all[i] = (struct waiter){ k, i };
		threads[i] = start(waits_in_order, &all[i]);
		name_of(name, i);
		until_sleeps(name);
	}
	for (int n = 0; n < WAITERS; n++) {
		if (!n || k->wake != unlocks)
			k->wake();
		while (__atomic_load_n(&woken, __ATOMIC_ACQUIRE) <= n)
			usleep(100);
	}
	for (int i = 0; i < WAITERS; i++) {
		finish(threads[i]);
		CHECK(order[i] == wanted[i]);
	}
}

static void woken_by_priority(void)
{
	CHECK(!sem_init(&go, 0, 0));
	for (unsigned i = 0; i < sizeof(wait_kinds) / sizeof(*wait_kinds); i++)
		wake_in_order(&wait_kinds[i]);
	puts("order");
}

/* ---- without the right ---- */

static void *may_not(void *arg)
{
	struct sched_param p = { .sched_priority = PRIORITY };
	pthread_attr_t a;
	pthread_t t;
	int policy;

	SAY(pthread_setschedparam(pthread_self(), SCHED_FIFO, &p));
	CHECK(!pthread_getschedparam(pthread_self(), &policy, &p));
	CHECK(policy == SCHED_OTHER && !p.sched_priority && has(SCHED_OTHER));
	p.sched_priority = PRIORITY;
	CHECK(!pthread_attr_init(&a));
	CHECK(!pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED));
	CHECK(!pthread_attr_setschedpolicy(&a, SCHED_RR));
	CHECK(!pthread_attr_setschedparam(&a, &p));
	SAY(pthread_create(&t, &a, is_created, NULL));
	return arg;
}

static void without_the_right(void)
{
	struct rlimit none = { 0, 0 };

	CHECK(!setrlimit(RLIMIT_RTPRIO, &none));
	CHECK(getuid() || !setuid(65534));
	run_in_thread(may_not);
}

/* ---- a process that was started with one ---- */

static void *was_started_so(void *arg)
{
	struct sched_param p;

	CHECK(has(SCHED_RR) && sched_getscheduler(0) == SCHED_RR);
	CHECK(!sched_getparam(0, &p) && p.sched_priority == PRIORITY);
	set(pthread_self(), SCHED_OTHER);
	usleep(100);
	CHECK(has(SCHED_OTHER));
	return arg;
}

static void started_so(void)
{
	set(pthread_self(), SCHED_RR);
	run_in_thread(was_started_so);
}

int main(void)
{
	RUN_ALONE(without_the_right);
	printf("privileged: %ld\n", privileged());
	if (!privileged())
		return 0;
	RUN_ALONE(started_so);
	run_in_thread(sets_its_own);
	run_in_thread(creates);
	RUN(others_get_it);
	RUN(at_any_instruction);
	RUN(protocols);
	RUN(woken_by_priority);
	set(pthread_self(), SCHED_RR); /* main, too */
	run_in_thread(inherits);
	return 0;
}
