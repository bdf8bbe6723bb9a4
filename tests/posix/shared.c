/* SPDX-License-Identifier: Apache-2.0 */
/* Process-shared locks between threads of this process and a process without the
 * preload library, which is this program executed once more. */
#include <dirent.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "posix.h"

#define THREADS 4
#define ROUNDS 300

struct common {
	pthread_mutex_t m;
	pthread_cond_t c;
	pthread_rwlock_t l;
	sem_t s;
	long total;
	int inside, turn, started;
};

static struct common *x;
static int fd;
extern char **environ;

static void make(int type, int robust, int protocol)
{
	pthread_mutexattr_t a;
	pthread_condattr_t ca;
	pthread_rwlockattr_t la;

	memset(x, 0, sizeof(*x));
	pthread_mutexattr_init(&a);
	CHECK(!pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
	CHECK(!pthread_mutexattr_settype(&a, type));
	CHECK(!pthread_mutexattr_setrobust(&a, robust));
	CHECK(!pthread_mutexattr_setprotocol(&a, protocol));
	CHECK(!pthread_mutex_init(&x->m, &a));
	pthread_condattr_init(&ca);
	CHECK(!pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED));
	CHECK(!pthread_cond_init(&x->c, &ca));
	pthread_rwlockattr_init(&la);
	CHECK(!pthread_rwlockattr_setpshared(&la, PTHREAD_PROCESS_SHARED));
	CHECK(!pthread_rwlock_init(&x->l, &la));
	CHECK(!sem_init(&x->s, 1, 0));
}

static void map(void)
{
	x = mmap(NULL, sizeof(*x), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(x != MAP_FAILED);
}

/* ---- work of the threads and of the other process ---- */

static void *adds(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		CHECK(!pthread_mutex_lock(&x->m));
		CHECK(!x->inside++);
		x->total++;
		if (i % 64 == 0)
			usleep(10);
		CHECK(!--x->inside);
		CHECK(!pthread_mutex_unlock(&x->m));
		CHECK(!pthread_rwlock_wrlock(&x->l));
		x->turn++;
		CHECK(!pthread_rwlock_unlock(&x->l));
	}
	return arg;
}

static void takes_turns(int me)
{
	CHECK(!pthread_mutex_lock(&x->m));
	for (int i = 0; i < 200; i++) {
		while (x->turn % 2 != me)
			CHECK(!pthread_cond_wait(&x->c, &x->m));
		x->turn++;
		CHECK(!pthread_cond_broadcast(&x->c));
	}
	CHECK(!pthread_mutex_unlock(&x->m));
}

static void dies(void)
{
	int r = pthread_mutex_lock(&x->m);

	CHECK(!r);
	__atomic_store_n(&x->started, 1, __ATOMIC_RELEASE);
	kill(getpid(), SIGKILL);
}

static pid_t other(const char *what)
{
	char fd_arg[16];
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid)
		return pid;
	snprintf(fd_arg, sizeof(fd_arg), "%d", fd);
	unsetenv("LD_PRELOAD");
	execle("/proc/self/exe", "other", what, fd_arg, NULL, environ);
	_exit(99);
}

static int ends(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

/* ---- each kind of mutex ---- */

static void *from_another(void *arg)
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 20);

	SAY(pthread_mutex_trylock(&x->m));
	SAY(pthread_mutex_timedlock(&x->m, &soon));
	if (arg)
		SAY(pthread_mutex_unlock(&x->m));
	return NULL;
}

static void *results(void *arg)
{
	int type = *(int *)arg;

	SAY(pthread_mutex_lock(&x->m));
	if (type != PTHREAD_MUTEX_NORMAL) {
		SAY(pthread_mutex_lock(&x->m));
		SAY(pthread_mutex_trylock(&x->m));
	}
	finish(start(from_another, type == PTHREAD_MUTEX_NORMAL ? NULL : x));
	SAY(pthread_mutex_unlock(&x->m));
	if (type == PTHREAD_MUTEX_RECURSIVE) {
		SAY(pthread_mutex_unlock(&x->m));
		SAY(pthread_mutex_unlock(&x->m));
		SAY(pthread_mutex_unlock(&x->m));
	}
	return NULL;
}

static void *holds(void *arg)
{
	CHECK(!pthread_mutex_lock(&x->m));
	return arg;
}

static void *inherits(void *arg)
{
	(void)arg;
	SAY(pthread_mutex_lock(&x->m));
	SAY(pthread_mutex_consistent(&x->m));
	SAY(pthread_mutex_unlock(&x->m));
	finish(start(holds, NULL));
	SAY(pthread_mutex_lock(&x->m));
	SAY(pthread_mutex_unlock(&x->m));
	SAY(pthread_mutex_lock(&x->m));
	return NULL;
}

static void kind(int type, int robust, int protocol)
{
	pthread_t t[THREADS];
	pid_t pid;

	printf("type %d robust %d protocol %d\n", type, robust, protocol);
	make(type, robust, protocol);
	finish(start(results, &type));
	pid = other("adds");
	for (int i = 0; i < THREADS; i++)
		t[i] = start(adds, NULL);
	adds(NULL);
	for (int i = 0; i < THREADS; i++)
		finish(t[i]);
	printf("other: %d\n", ends(pid));
	printf("total %ld, %d\n", x->total, x->turn);
	if (!robust)
		return;
	CHECK(WIFSIGNALED(ends(other("dies"))));
	finish(start(inherits, NULL));
}

/* ---- condition variables ---- */

static void *turns(void *arg)
{
	takes_turns(0);
	return arg;
}

static int had_it;

static void unlocks(void *arg)
{
	(void)arg;
	had_it = !pthread_mutex_unlock(&x->m);
}

static void *waits(void *arg)
{
	CHECK(!pthread_mutex_lock(&x->m));
	pthread_cleanup_push(unlocks, NULL);
	sem_post(&x->s);
	for (;;)
		pthread_cond_wait(&x->c, &x->m);
	pthread_cleanup_pop(0);
	return arg;
}

static void condition(int type, int robust)
{
	pid_t pid;
	pthread_t t;

	make(type, robust, PTHREAD_PRIO_NONE);
	pid = other("turns");
	finish(start(turns, NULL));
	printf("other: %d\n", ends(pid));
	printf("turns %d\n", x->turn);
	if (!robust)
		return;
	t = start(waits, NULL);
	CHECK(!sem_wait(&x->s));
	CHECK(!pthread_cancel(t));
	CHECK(finish(t) == PTHREAD_CANCELED);
	printf("held the mutex: %d\n", had_it);
}

/* ---- many waiters take little address space ---- */

enum { MANY = 32 };

static void *waits_here(void *arg)
{
	CHECK(!pthread_mutex_lock(&x->m));
	CHECK(!pthread_mutex_unlock(&x->m));
	return arg;
}

static int tasks(void)
{
	DIR *d = opendir("/proc/self/task");
	int n = -2; /* . and .. */

	CHECK(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static size_t address_space(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	CHECK(f && fscanf(f, "%zu", &pages) == 1);
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void many_waiters(void)
{
	pthread_t t[MANY];
	pthread_attr_t a;
	size_t before;

	make(PTHREAD_MUTEX_ERRORCHECK, 0, PTHREAD_PRIO_NONE);
	pthread_attr_init(&a);
	CHECK(!pthread_attr_setstacksize(&a, 64 << 10));
	CHECK(!pthread_mutex_lock(&x->m));
	before = address_space();
	for (int i = 0; i < MANY; i++)
		CHECK(!pthread_create(&t[i], &a, waits_here, NULL));
	while (tasks() <= MANY) /* each waits as a kernel thread, or by means of one */
		usleep(100);
	CHECK(address_space() < before + (128 << 20));
	CHECK(!pthread_mutex_unlock(&x->m));
	for (int i = 0; i < MANY; i++)
		finish(t[i]);
	puts("many waiters");
}

/* ---- a signal and a cancellation at once ---- */

static void *waits_for_turn(void *arg)
{
	CHECK(!pthread_mutex_lock(&x->m));
	pthread_cleanup_push(unlocks, NULL);
	sem_post(&x->s);
	do
		pthread_cond_wait(&x->c, &x->m);
	while (!x->turn);
	CHECK(!pthread_cond_broadcast(&x->c));
	pthread_cleanup_pop(1);
	return arg;
}

/* One thread is woken, and may be cancelled at the same time. It wakes the other one, or
 * does not take the signal. */
static void a_cancelled_thread_takes_no_signal(void)
{
	pthread_t t[2];

	for (int i = 0; i < ROUNDS; i++) {
		make(PTHREAD_MUTEX_RECURSIVE, 0, PTHREAD_PRIO_NONE);
		for (int k = 0; k < 2; k++)
			t[k] = start(waits_for_turn, NULL);
		for (int k = 0; k < 2; k++)
			CHECK(!sem_wait(&x->s));
		CHECK(!pthread_mutex_lock(&x->m)); /* so both wait for the condition */
		CHECK(!pthread_mutex_unlock(&x->m));
		x->turn = 1;
		CHECK(!pthread_cond_signal(&x->c));
		for (volatile int spins = i % 60 * 1000; spins; spins--)
			;
		CHECK(!pthread_cancel(t[0]));
		for (int k = 0; k < 2; k++)
			finish(t[k]);
	}
}

int main(int argc, char **argv)
{
	static const int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
				     PTHREAD_MUTEX_ERRORCHECK };

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 3) {
		fd = atoi(argv[2]);
		map();
		if (!strcmp(argv[1], "adds"))
			adds(NULL);
		else if (!strcmp(argv[1], "turns"))
			takes_turns(1);
		else
			dies();
		return 0;
	}
	fd = memfd_create("shared", 0);
	CHECK(fd >= 0 && !ftruncate(fd, sizeof(*x)));
	map();
	for (int i = 0; i < 3; i++)
		for (int robust = 0; robust < 2; robust++) {
			kind(types[i], robust, PTHREAD_PRIO_NONE);
			kind(types[i], robust, PTHREAD_PRIO_INHERIT);
		}
	condition(PTHREAD_MUTEX_NORMAL, 0);
	condition(PTHREAD_MUTEX_NORMAL, 1);
	condition(PTHREAD_MUTEX_RECURSIVE, 0);
	many_waiters();
	RUN(a_cancelled_thread_takes_no_signal);
	return 0;
}
