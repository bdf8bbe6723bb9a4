/* SPDX-License-Identifier: Apache-2.0 */
/* fork: the child is a running runtime that has only the forking thread. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uk/uk.h>

#include "test.h"

#define LIGHT_ONLY SANITIZED

static __thread int mine;

/* ThreadSanitizer ignores synchronisation in the child of many threads, and then
 * reports races everywhere. AddressSanitizer (gcc 12) does not take the locks of its
 * allocator for a fork, and its child waits for them without end. In these builds only
 * the parent's side is tested. */
static pid_t forks(void)
{
	pid_t pid = fork();

	if (!pid && SANITIZED)
		_exit(0);
	return pid;
}

/* The exit status of pid, or 1000 + the number of the signal that ended it. */
static int ended(pid_t pid)
{
	int st = 0;
	pid_t got;

	uk_blocking_begin();
	do
		got = waitpid(pid, &st, 0);
	while (got < 0 && errno == EINTR);
	uk_blocking_end();
	CHECK_EQ(got, pid);
	return WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st);
}

#define PASSES(pid) CHECK_EQ(ended(pid), 0)

/* ---- what a child can do ---- */

static uk_mutex m = UK_MUTEX_INIT;
static int under_m;

static void *worker(void *arg)
{
	int p[2], me = (int)(intptr_t)arg;
	char c = 'x';

	mine = me;
	errno = me;
	for (int i = 0; i < 5; i++) {
		CHECK_EQ(uk_mutex_lock(&m), 0);
		under_m++;
		uk_yield();
		CHECK_EQ(uk_mutex_unlock(&m), 0);
	}
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(uk_write(p[1], &c, 1), 1);
	CHECK_EQ(uk_read(p[0], &c, 1), 1);
	CHECK_EQ(close(p[0]), 0); /* TSan does not see uk_close */
	CHECK_EQ(close(p[1]), 0);
	CHECK_EQ(uk_sleep(UK_MS), 0);
	return arg;
}

struct reading {
	int fd;
	char c;
};

static void *reads_one(void *arg)
{
	struct reading *r = arg;

	CHECK_EQ(uk_read(r->fd, &r->c, 1), 1);
	return NULL;
}

/* Creates and joins threads, locks, reads, writes and sleeps. */
static void lives(void)
{
	enum { N = 12 };
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	struct reading r = { 0 };
	uk_thread *t[N], *reader;
	uk_stats s;
	void *ret;
	int p[2];

	under_m = 0;
	CHECK_EQ(pipe(p), 0);
	r.fd = p[0];
	CHECK_EQ(uk_thread_create(&reader, NULL, reads_one, &r), 0);
	for (intptr_t i = 0; i < N; i++) {
		a.flags = i % 2 ? UK_THREAD_LIGHT : 0;
		CHECK_EQ(uk_thread_create(&t[i], &a, worker, (void *)i), 0);
	}
	for (intptr_t i = 0; i < N; i++) {
		CHECK_EQ(uk_thread_join(t[i], &ret), 0);
		CHECK_EQ((intptr_t)ret, i);
	}
	CHECK_EQ(under_m, 5 * N);
	CHECK_EQ(uk_write(p[1], "y", 1), 1);
	CHECK_EQ(uk_thread_join(reader, NULL), 0);
	CHECK_EQ(r.c, 'y');
	CHECK_EQ(close(p[0]), 0); /* TSan does not see uk_close */
	CHECK_EQ(close(p[1]), 0);
	CHECK_EQ(uk_sleep(UK_MS), 0);
	uk_stats_get(&s, sizeof(s));
	CHECK_EQ(s.threads, uk_thread_self() ? 1 : 0);
}

/* Forks a child that forks in turn, `deep` more times. Returns only in the parent. */
static void child_lives(int deep, bool light)
{
	pid_t pid;

	mine = 4711;
	errno = EDOM;
	pid = forks();
	CHECK(pid >= 0);
	if (pid) {
		PASSES(pid);
		return;
	}
	CHECK(light || mine == 4711); /* a light thread has its carrier's */
	lives();
	if (deep)
		child_lives(deep - 1, light);
	lives();
	_exit(0);
}

static void *full_or_light(void *light)
{
	child_lives(1, light || LIGHT_ONLY);
	lives();
	return light;
}

static void run_thread(void *(*fn)(void *), void *arg, unsigned flags)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t;

	a.flags = flags;
	CHECK_EQ(uk_thread_create(&t, &a, fn, arg), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
}

static void a_child_of_main_works(void)
{
	child_lives(1, LIGHT_ONLY && uk_thread_self());
	lives();
}

static void *kernel_thread(void *arg)
{
	child_lives(1, LIGHT_ONLY && uk_thread_self());
	return arg;
}

static void a_child_of_a_kernel_thread_works(void)
{
	pthread_t t;

	CHECK_EQ(pthread_create(&t, NULL, kernel_thread, NULL), 0);
	CHECK_EQ(pthread_join(t, NULL), 0);
	lives();
}

static void a_child_of_a_full_thread_works(void)
{
	run_thread(full_or_light, NULL, 0);
	lives();
}

static void a_child_of_a_light_thread_works(void)
{
	run_thread(full_or_light, &m, UK_THREAD_LIGHT);
	lives();
}

static void *in_a_bracket(void *light)
{
	uk_blocking_begin();
	child_lives(0, light || LIGHT_ONLY);
	uk_blocking_end();
	lives();
	return light;
}

static void a_child_of_a_bracketed_thread_works(void)
{
	run_thread(in_a_bracket, NULL, 0);
	run_thread(in_a_bracket, &m, UK_THREAD_LIGHT);
}

static void *hogs(void *arg)
{
	uk_time end = uk_after(40 * UK_MS);

	while (uk_now() < end)
		;
	child_lives(0, LIGHT_ONLY && uk_thread_self());
	return arg;
}

static void a_child_of_a_hog_works(void)
{
	run_thread(hogs, NULL, 0);
	lives();
}

static void *on_the_last_vp(void *arg)
{
	uk_vpset *s = uk_vpset_default();
	uk_vp *vp = uk_vpset_vp(s, uk_vpset_size(s) - 1);

	CHECK_EQ(uk_thread_pin(vp), 0);
	child_lives(0, LIGHT_ONLY && uk_thread_self());
	CHECK(uk_vp_self() == vp || !uk_vp_self());
	return arg;
}

static void a_child_of_a_pinned_thread_works(void)
{
	run_thread(on_the_last_vp, NULL, 0);
}

/* ---- what happens to the other threads ---- */

static void *sleeps(void *arg)
{
	uk_sleep(UK_SEC * 1000);
	return arg;
}

static void *ends(void *arg)
{
	return arg;
}

static uint32_t stop_spinning;

static void *spins(void *arg)
{
	while (!LOAD(&stop_spinning))
		uk_yield();
	return arg;
}

static int has_ended(const uk_thread_info *i, void *arg)
{
	return i->id == *(uint64_t *)arg && !strcmp(i->state, "exited");
}

static void *joins_lost(void *arg)
{
	uint64_t id;
	uk_thread *lost, *busy, *over, *gone;
	void *ret;
	pid_t pid;

	STORE(&stop_spinning, 0);
	CHECK_EQ(uk_thread_create(&lost, NULL, sleeps, NULL), 0);
	CHECK_EQ(uk_thread_create(&gone, NULL, sleeps, NULL), 0);
	CHECK_EQ(uk_thread_create(&busy, NULL, spins, NULL), 0);
	CHECK_EQ(uk_thread_create(&over, NULL, ends, &pid), 0);
	id = uk_thread_id(over);
	UNTIL(uk_thread_each(has_ended, &id, sizeof(uk_thread_info)));
	pid = forks();
	CHECK(pid >= 0);
	if (!pid) {
		CHECK_EQ(uk_thread_cancel(lost), -ESRCH);
		CHECK_EQ(uk_thread_join(lost, &ret), -ESRCH);
		CHECK_EQ(uk_thread_detach(gone), 0);
		CHECK_EQ(uk_thread_join(busy, &ret), -ESRCH);
		CHECK_EQ(uk_thread_join(over, &ret), 0);
		CHECK(ret == &pid);
		lives();
		_exit(0);
	}
	PASSES(pid);
	STORE(&stop_spinning, 1);
	uk_thread_cancel(lost);
	uk_thread_cancel(gone);
	CHECK_EQ(uk_thread_join(lost, NULL), 0);
	CHECK_EQ(uk_thread_join(gone, NULL), 0);
	CHECK_EQ(uk_thread_join(busy, NULL), 0);
	CHECK_EQ(uk_thread_join(over, NULL), 0);
	return arg;
}

static void joining_a_lost_thread_returns_esrch(void)
{
	joins_lost(NULL);
	run_thread(joins_lost, NULL, 0);
	run_thread(joins_lost, NULL, UK_THREAD_LIGHT);
}

static int count_one(const uk_thread_info *i, void *arg)
{
	(void)i;
	++*(int *)arg;
	return 0;
}

static void the_child_sees_only_its_own_threads(void)
{
	uk_thread *t[20];
	int n = 0;
	pid_t pid;

	for (int i = 0; i < 20; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, sleeps, NULL), 0);
	pid = forks();
	if (!pid) {
		uk_thread_each(count_one, &n, sizeof(uk_thread_info));
		CHECK_EQ(n, 1); /* main */
		_exit(0);
	}
	PASSES(pid);
	for (int i = 0; i < 20; i++) {
		uk_thread_cancel(t[i]);
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	}
}

static bool names_a_reactor(const char *link)
{
	return strstr(link, "io_uring") || strstr(link, "eventpoll") ||
	       strstr(link, "eventfd");
}

static int reactor_fds(void)
{
	char path[64], link[128];
	int n = 0;

	for (int fd = 0; fd < 4096; fd++) {
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		len = readlink(path, link, sizeof(link) - 1);
		if (len < 0)
			continue;
		link[len] = 0;
		n += names_a_reactor(link);
	}
	return n;
}

static void the_child_has_no_reactor_of_the_parent(void)
{
	int before = reactor_fds();
	pid_t pid;

	CHECK(before > 0);
	pid = forks();
	if (!pid) {
		CHECK_EQ(reactor_fds(), 0);
		uk_sleep(1);
		CHECK_EQ(reactor_fds(), before);
		_exit(0);
	}
	PASSES(pid);
	CHECK_EQ(reactor_fds(), before);
}

/* ---- objects in use at the fork ---- */

static struct {
	uk_mutex m;
	uk_rwlock l;
	uk_cond c;
	uk_sem s;
	uk_barrier b;
	uk_once o, slow;
	uk_chan *ch, *other;
	uint32_t word;
} u;

static void *waits_mutex(void *arg)
{
	int r = uk_mutex_lock(&u.m);

	if (r == 0)
		uk_mutex_unlock(&u.m);
	return arg;
}

static void *waits_read(void *arg)
{
	if (uk_rwlock_rdlock(&u.l) == 0)
		uk_rwlock_unlock(&u.l);
	return arg;
}

static void *waits_write(void *arg)
{
	if (uk_rwlock_wrlock(&u.l) == 0)
		uk_rwlock_unlock(&u.l);
	return arg;
}

static uk_mutex cm = UK_MUTEX_INIT;

static void *waits_cond(void *arg)
{
	if (uk_mutex_lock(&cm) == 0) {
		uk_cond_wait(&u.c, &cm);
		uk_mutex_unlock(&cm);
	}
	return arg;
}

static void *waits_sem(void *arg)
{
	uk_sem_wait(&u.s);
	return arg;
}

static void *waits_barrier(void *arg)
{
	uk_barrier_wait(&u.b);
	return arg;
}

static void *waits_recv(void *arg)
{
	int x;

	uk_chan_recv(u.ch, &x);
	return arg;
}

static void *waits_select(void *arg)
{
	int x, y;
	uk_chan_case k[] = { { .chan = u.ch, .op = UK_CHAN_RECV, .elem = &x },
			     { .chan = u.other, .op = UK_CHAN_RECV, .elem = &y } };

	uk_chan_select(k, 2, UK_FOREVER);
	return arg;
}

static void *waits_futex(void *arg)
{
	uk_futex_wait(&u.word, 0, UK_FOREVER);
	return arg;
}

static uint32_t once_goes_on;

static void long_once(void)
{
	while (!LOAD(&once_goes_on))
		uk_sleep(UK_MS);
}

static void short_once(void)
{
	ADD(&u.word, 100);
}

static void *runs_once(void *arg)
{
	uk_once_run(&u.slow, long_once);
	return arg;
}

static void *(*const waiters[])(void *) = { waits_mutex,  waits_read,  waits_write,
					    waits_cond,   waits_sem,   waits_recv,
					    waits_select, waits_futex, waits_barrier,
					    runs_once,    waits_recv,  waits_mutex };
#define WAITERS (int)(sizeof(waiters) / sizeof(waiters[0]))

static void *sends(void *arg)
{
	int x = 5;

	CHECK_EQ(uk_chan_send(u.ch, &x), 0);
	CHECK_EQ(uk_chan_send(u.other, &x), 0);
	return arg;
}

static void *contends(void *arg)
{
	for (int i = 0; i < 50; i++) {
		CHECK_EQ(uk_mutex_lock(&u.m), 0);
		uk_yield();
		CHECK_EQ(uk_mutex_unlock(&u.m), 0);
		CHECK_EQ(i % 4 ? uk_rwlock_rdlock(&u.l) : uk_rwlock_wrlock(&u.l), 0);
		uk_yield();
		CHECK_EQ(uk_rwlock_unlock(&u.l), 0);
	}
	return arg;
}

/* Only the forking thread is left. The objects are as if no other thread had waited for
 * them. */
static void objects_are_whole(void)
{
	uk_thread *t, *k[4];
	int x = 0;

	CHECK_EQ(uk_mutex_unlock(&u.m), 0);
	CHECK_EQ(uk_rwlock_unlock(&u.l), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(uk_thread_create(&k[i], NULL, contends, NULL), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(uk_thread_join(k[i], NULL), 0);
	CHECK_EQ(uk_thread_create(&t, NULL, sends, NULL), 0);
	CHECK_EQ(uk_chan_recv(u.ch, &x), 0); /* no lost receiver took it */
	CHECK_EQ(x, 5);
	CHECK_EQ(uk_chan_recv(u.other, &x), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK_EQ(uk_sem_post(&u.s), 0);
	CHECK_EQ(uk_sem_trywait(&u.s), 0);
	CHECK_EQ(uk_cond_signal(&u.c), 0);
	CHECK_EQ(uk_futex_wake(&u.word, 9), 0);
	CHECK_EQ(u.b.arrived, 0);
	CHECK_EQ(uk_once_run(&u.slow, short_once), 0);
	CHECK_EQ(u.word, 100);
}

static int counts_waiter(const uk_thread_info *i, void *arg)
{
	*(int *)arg += i->waits[0] && strcmp(i->waits, "join") != 0 &&
		       strcmp(i->waits, "sleep") != 0;
	return 0;
}

static int waiting(void)
{
	int n = 0;

	uk_thread_each(counts_waiter, &n, sizeof(uk_thread_info));
	return n;
}

static void *forks_among_waiters(void *arg)
{
	uk_thread *t[WAITERS];
	pthread_t p[WAITERS];
	pid_t pid;

	memset(&u, 0, sizeof(u));
	uk_barrier_init(&u.b, 3);
	STORE(&once_goes_on, 0);
	CHECK_EQ(uk_chan_create(&u.ch, sizeof(int), 0), 0);
	CHECK_EQ(uk_chan_create(&u.other, sizeof(int), 0), 0);
	CHECK_EQ(uk_mutex_lock(&u.m), 0);
	CHECK_EQ(uk_rwlock_wrlock(&u.l), 0);
	for (int i = 0; i < WAITERS; i++) {
		CHECK_EQ(uk_thread_create(&t[i], NULL, waiters[i], NULL), 0);
		CHECK_EQ(pthread_create(&p[i], NULL, waiters[i], NULL), 0);
	}
	UNTIL(waiting() == 2 * WAITERS - 1); /* one runs the function of uk_once */
	pid = forks();
	CHECK(pid >= 0);
	if (!pid) {
		objects_are_whole();
		lives();
		_exit(0);
	}
	PASSES(pid);
	/* the objects of the parent are unchanged */
	CHECK_EQ(uk_mutex_unlock(&u.m), 0);
	CHECK_EQ(uk_rwlock_unlock(&u.l), 0);
	CHECK_EQ(uk_chan_close(u.ch), 0);
	CHECK_EQ(uk_chan_close(u.other), 0);
	STORE(&once_goes_on, 1);
	STORE(&u.word, 1);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(uk_sem_post(&u.s), 0);
	CHECK_EQ(uk_futex_wake(&u.word, 9), 2);
	CHECK_EQ(uk_mutex_lock(&cm), 0);
	uk_cond_broadcast(&u.c);
	CHECK_EQ(uk_mutex_unlock(&cm), 0);
	CHECK_EQ(uk_barrier_wait(&u.b), 1);
	for (int i = 0; i < WAITERS; i++) {
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
		CHECK_EQ(pthread_join(p[i], NULL), 0);
	}
	uk_chan_destroy(u.ch);
	uk_chan_destroy(u.other);
	return arg;
}

static void objects_that_others_wait_for_are_consistent_in_the_child(void)
{
	forks_among_waiters(NULL);
	run_thread(forks_among_waiters, NULL, 0);
	run_thread(forks_among_waiters, NULL, UK_THREAD_LIGHT);
}

/* Threads contend for a mutex that fork handlers lock around fork, which is a usual
 * pattern. */
static uk_mutex fought = UK_MUTEX_INIT;
static uint32_t fight_over;
static bool handlers_on;

static void before(void)
{
	if (handlers_on)
		CHECK_EQ(uk_mutex_lock(&fought), 0);
}

static void after(void)
{
	if (handlers_on)
		CHECK_EQ(uk_mutex_unlock(&fought), 0);
}

static void *fights(void *arg)
{
	while (!LOAD(&fight_over)) {
		CHECK_EQ(uk_mutex_lock(&fought), 0);
		uk_yield();
		CHECK_EQ(uk_mutex_unlock(&fought), 0);
	}
	return arg;
}

static void *fights_a_while(void *arg)
{
	for (int i = 0; i < 100; i++) {
		CHECK_EQ(uk_mutex_lock(&fought), 0);
		uk_yield();
		CHECK_EQ(uk_mutex_unlock(&fought), 0);
	}
	return arg;
}

static void *forks_in_the_fight(void *arg)
{
	for (int i = 0; i < 10; i++) {
		pid_t pid = forks();

		CHECK(pid >= 0);
		if (!pid) {
			uk_thread *k[3];

			for (int n = 0; n < 3; n++)
				CHECK_EQ(
				    uk_thread_create(&k[n], NULL, fights_a_while, NULL),
				    0);
			for (int n = 0; n < 3; n++)
				CHECK_EQ(uk_thread_join(k[n], NULL), 0);
			_exit(0);
		}
		PASSES(pid);
	}
	return arg;
}

static void a_mutex_locked_around_fork_works_on_both_sides(void)
{
	uk_thread *t[4];
	pthread_t p[2];

	handlers_on = true;
	STORE(&fight_over, 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, fights, NULL), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&p[i], NULL, fights, NULL), 0);
	forks_in_the_fight(NULL);
	run_thread(forks_in_the_fight, NULL, 0);
	run_thread(forks_in_the_fight, NULL, UK_THREAD_LIGHT);
	STORE(&fight_over, 1);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_join(p[i], NULL), 0);
	handlers_on = false;
}

/* A FILE that writes with our calls is flushed while libc's list of FILEs is locked. */
static int slow_pipe[2];
static uint32_t flushing;

static ssize_t cookie_write(void *cookie, const char *buf, size_t n)
{
	(void)cookie;
	STORE(&flushing, 1);
	return uk_write_all(slow_pipe[1], buf, n);
}

static void *flushes_all(void *arg)
{
	cookie_io_functions_t io = { .write = cookie_write };
	FILE *f = fopencookie(NULL, "w", io);
	static char big[100000];

	setvbuf(f, NULL, _IOFBF, sizeof(big) * 2);
	fwrite(big, 1, sizeof(big), f);
	fflush(NULL);
	STORE(&flushing, 2);
	fclose(f);
	return arg;
}

static void *forks_meanwhile(void *arg)
{
	pid_t pid;

	while (!LOAD(&flushing))
		uk_sleep(UK_MS);
	pid = forks();
	if (!pid)
		_exit(0);
	PASSES(pid);
	return arg;
}

static void fork_waits_for_a_thread_that_flushes_all_files(void)
{
	uk_thread *f, *k;
	char buf[4096];
	size_t all = 0;

	CHECK_EQ(pipe(slow_pipe), 0);
	STORE(&flushing, 0);
	CHECK_EQ(uk_thread_create(&f, NULL, flushes_all, NULL), 0);
	CHECK_EQ(uk_thread_create(&k, NULL, forks_meanwhile, NULL), 0);
	while (!LOAD(&flushing))
		uk_sleep(UK_MS);
	uk_sleep(20 * UK_MS);
	while (all < 100000) {
		ssize_t n = uk_read(slow_pipe[0], buf, sizeof(buf));

		CHECK(n > 0);
		all += (size_t)n;
	}
	CHECK_EQ(uk_thread_join(k, NULL), 0);
	CHECK_EQ(uk_thread_join(f, NULL), 0);
	uk_close(slow_pipe[0]);
	uk_close(slow_pipe[1]);
}

/* ---- the process ---- */

static void *leaves_a_child_behind(void *arg)
{
	pid_t pid = forks();
	uk_thread *t;

	CHECK(pid >= 0);
	if (!pid) {
		if (arg) { /* two more threads, one of which ends last */
			CHECK_EQ(uk_thread_create(&t, NULL, worker, NULL), 0);
			CHECK_EQ(uk_thread_detach(t), 0);
			CHECK_EQ(uk_thread_create(&t, NULL, worker, NULL), 0);
		}
		return NULL; /* the child ends with its last thread */
	}
	PASSES(pid);
	return NULL;
}

static void a_child_without_main_ends_with_its_last_thread(void)
{
	for (uintptr_t two = 0; two < 2; two++) {
		run_thread(leaves_a_child_behind, (void *)two, 0);
		run_thread(leaves_a_child_behind, (void *)two, UK_THREAD_LIGHT);
	}
}

static void *takes_signals(void *arg)
{
	pid_t pid = forks();

	if (!pid) {
		if (arg)
			execl("/bin/sleep", "sleep", "1000", (char *)NULL);
		for (;;)
			uk_sleep(UK_SEC);
	}
	uk_sleep(20 * UK_MS);
	CHECK_EQ(kill(pid, SIGTERM), 0);
	CHECK_EQ(ended(pid), 1000 + SIGTERM);
	return NULL;
}

static void a_child_of_a_user_thread_takes_signals(void)
{
	int exec;

	run_thread(takes_signals, NULL, 0);
	run_thread(takes_signals, &exec, 0);
	run_thread(takes_signals, &exec, UK_THREAD_LIGHT);
}

static void *daemonizes(void *arg)
{
	pid_t pid = forks();

	CHECK(pid >= 0);
	if (!pid) {
		pid = forks(); /* no thread has entered the runtime in between */
		if (!pid) {
			lives();
			_exit(0);
		}
		PASSES(pid);
		_exit(0);
	}
	PASSES(pid);
	return arg;
}

static void *nothing(void *arg)
{
	uk_yield();
	return arg;
}

/* The vps of all sets find carriers in the child, even the vps for which no spares are
 * kept. */
static void all_sets_work_in_the_child(void)
{
	uk_vpset *set[6];
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t;
	pid_t pid;

	for (int i = 0; i < 6; i++)
		CHECK_EQ(uk_vpset_create(&set[i], "one of many",
					 (unsigned)uk_vp_count(), NULL, 0),
			 0);
	pid = forks();
	CHECK(pid >= 0);
	if (pid) {
		PASSES(pid);
		return;
	}
	for (int i = 0; i < 6; i++) {
		a.set = set[i];
		CHECK_EQ(uk_thread_create(&t, &a, nothing, NULL), 0);
		CHECK_EQ(uk_thread_join(t, NULL), 0);
	}
	_exit(0);
}

static void a_grandchild_works(void)
{
	daemonizes(NULL);
	run_thread(daemonizes, NULL, 0);
	run_thread(daemonizes, NULL, UK_THREAD_LIGHT);
}

static void *in_the_child(void *arg)
{
	lives();
	return arg;
}

static void *hands_over(void *arg)
{
	pid_t pid = forks();
	pthread_t p;

	CHECK(pid >= 0);
	if (!pid) { /* the forking thread is not the first to enter */
		CHECK_EQ(pthread_create(&p, NULL, kernel_thread, NULL), 0);
		CHECK_EQ(pthread_join(p, NULL), 0);
		in_the_child(NULL);
		_exit(0);
	}
	PASSES(pid);
	return arg;
}

static void a_new_kernel_thread_may_rebuild_the_child(void)
{
	hands_over(NULL);
	run_thread(hands_over, NULL, UK_THREAD_LIGHT);
	if (!LIGHT_ONLY)
		run_thread(hands_over, NULL, 0);
}

/* ---- all at once ---- */

static uint32_t storm_over;

static void *storm_creates(void *arg)
{
	while (!LOAD(&storm_over)) {
		uk_thread *t[8];

		for (int i = 0; i < 8; i++)
			CHECK_EQ(uk_thread_create(&t[i], NULL, ends, arg), 0);
		for (int i = 0; i < 8; i++)
			CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	}
	return arg;
}

static int storm_pipe[2];

static void *storm_io(void *arg)
{
	char c = 'z';

	while (!LOAD(&storm_over)) {
		CHECK_EQ(uk_write(storm_pipe[1], &c, 1), 1);
		CHECK_EQ(uk_read(storm_pipe[0], &c, 1), 1);
		free(malloc(100));
	}
	return arg;
}

static uk_chan *storm_chan;

static void *storm_chans(void *arg)
{
	int x = 1;

	while (!LOAD(&storm_over)) {
		uk_chan_send_until(storm_chan, &x, uk_after(UK_MS / 4));
		uk_chan_recv_until(storm_chan, &x, uk_after(UK_MS / 4));
	}
	return arg;
}

static void *storm_blocks(void *arg)
{
	while (!LOAD(&storm_over)) {
		usleep(300); /* in the kernel: the vp is handed off */
		uk_yield();
	}
	return arg;
}

static void *storm_forks(void *arg)
{
	int rounds = LIGHT_ONLY ? 4 : 12;

	for (int i = 0; i < rounds; i++) {
		pid_t pid = forks();

		CHECK(pid >= 0);
		if (!pid) {
			STORE(&storm_over, 1);
			lives();
			_exit(0);
		}
		PASSES(pid);
	}
	return arg;
}

static void forks_work_in_a_storm(void)
{
	static void *(*const kinds[])(
	    void *) = { storm_creates, storm_io, storm_chans,
			storm_blocks,  storm_io, storm_chans };
	uk_thread *t[12], *f[3];
	pthread_t p[3], fp;
	uk_thread_attr a = UK_THREAD_ATTR_INIT;

	STORE(&storm_over, 0);
	CHECK_EQ(pipe(storm_pipe), 0);
	CHECK_EQ(uk_chan_create(&storm_chan, sizeof(int), 2), 0);
	for (int i = 0; i < 12; i++) {
		a.flags = i % 3 == 2 ? UK_THREAD_LIGHT : 0;
		CHECK_EQ(uk_thread_create(&t[i], &a, kinds[i % 6], NULL), 0);
	}
	for (int i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&p[i], NULL, kinds[i], NULL), 0);
	for (int i = 0; i < 3; i++) {
		a.flags = i == 2 ? UK_THREAD_LIGHT : 0;
		CHECK_EQ(uk_thread_create(&f[i], &a, storm_forks, NULL), 0);
	}
	CHECK_EQ(pthread_create(&fp, NULL, storm_forks, NULL), 0);
	storm_forks(NULL);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(uk_thread_join(f[i], NULL), 0);
	CHECK_EQ(pthread_join(fp, NULL), 0);
	STORE(&storm_over, 1);
	for (int i = 0; i < 12; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(pthread_join(p[i], NULL), 0);
	uk_chan_destroy(storm_chan);
	close(storm_pipe[0]);
	close(storm_pipe[1]);
	lives();
}

static void a_child_of_a_process_without_a_runtime_works(void)
{
	pid_t pid = forks();

	if (!pid) {
		lives();
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &under_m, 0), pid);
	CHECK_EQ(under_m, 0);
}

int main(void)
{
	CHECK_EQ(pthread_atfork(before, after, after), 0);
	RUN(a_child_of_a_process_without_a_runtime_works);
	CHECK_EQ(uk_init(), 0);
	RUN(a_child_of_main_works);
	RUN(a_child_of_a_kernel_thread_works);
	RUN(a_child_of_a_full_thread_works);
	RUN(a_child_of_a_light_thread_works);
	RUN(a_child_of_a_bracketed_thread_works);
	RUN(a_child_of_a_hog_works);
	RUN(a_child_of_a_pinned_thread_works);
	RUN(joining_a_lost_thread_returns_esrch);
	RUN(the_child_sees_only_its_own_threads);
	RUN(the_child_has_no_reactor_of_the_parent);
	RUN(objects_that_others_wait_for_are_consistent_in_the_child);
	RUN(a_mutex_locked_around_fork_works_on_both_sides);
	RUN(fork_waits_for_a_thread_that_flushes_all_files);
	RUN(a_child_without_main_ends_with_its_last_thread);
	if (!SANITIZED)
		RUN(a_child_of_a_user_thread_takes_signals);
	RUN(a_grandchild_works);
	RUN(all_sets_work_in_the_child);
	RUN(a_new_kernel_thread_may_rebuild_the_child);
	RUN(forks_work_in_a_storm);
	return 0;
}
