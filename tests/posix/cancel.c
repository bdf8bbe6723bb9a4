/* SPDX-License-Identifier: Apache-2.0 */
/* A thread is cancelled in every call that waits and is a cancellation point, before
 * the call and while it sleeps. The call does not return, and the cleanup handlers run.
 * Also: cancellation where libc itself sleeps in the kernel, and of threads that
 * compute or wait where there is no cancellation point. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "posix.h"

struct way {
	const char *name;
	void (*call)(void);
	bool asynchronous;
};

static int cleaned, begun; /* atomics */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void cleanup(void *arg)
{
	(void)arg;
	__atomic_fetch_add(&cleaned, 1, __ATOMIC_RELEASE);
}

static void *calls(void *way)
{
	const struct way *w = way;

	pthread_cleanup_push(cleanup, NULL);
	if (w->asynchronous)
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	__atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
	w->call();
	pthread_cleanup_pop(0);
	return NULL;
}

static pthread_t start_in(const struct way *way)
{
	return start(calls, (void *)(uintptr_t)way);
}

/* -- where libc sleeps in the kernel, and where there is no cancellation point -- */

static pthread_t main_thread;
static sem_t shared;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;

static void joins_main(void)
{
	pthread_join(main_thread, NULL);
}

static void waits(void)
{
	while (sem_wait(&shared))
		;
}

static void computes(void)
{
	for (volatile unsigned n = 0;; n++)
		;
}

/* Asynchronous cancellation ends it although mutex_lock is no cancellation point. */
static void locks(void)
{
	pthread_mutex_lock(&mutex);
}

static void locks_to_write(void)
{
	pthread_rwlock_wrlock(&rwlock);
}

static void waits_for_others(void)
{
	pthread_barrier_wait(&barrier);
}

/* Deferred cancellation: it continues until a cancellation point. */
static void comes_to_a_point(void)
{
	while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) == 1)
		;
	__atomic_store_n(&begun, 3, __ATOMIC_RELEASE);
	pthread_testcancel();
}

static void one(const struct way *way, int wait)
{
	pthread_t t;

	begun = 0;
	t = start_in(way);
	while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE))
		usleep(100);
	if (wait)
		usleep(5000);
	CHECK(!pthread_cancel(t));
	if (way->call == comes_to_a_point) {
		usleep(2000);
		__atomic_store_n(&begun, 2, __ATOMIC_RELEASE);
	}
	CHECK(finish(t) == PTHREAD_CANCELED);
	CHECK(way->call != comes_to_a_point || begun == 3);
}

static void a_thread_is_cancelled_where_libc_sleeps(void)
{
	static const struct way all[] = {
		{ .call = joins_main },
		{ .call = waits },
		{ .call = computes, .asynchronous = true },
		{ .call = comes_to_a_point },
		{ .call = locks, .asynchronous = true },
		{ .call = locks_to_write, .asynchronous = true },
		{ .call = waits_for_others, .asynchronous = true },
	};

	main_thread = pthread_self();
	CHECK(!sem_init(&shared, 1, 0));
	CHECK(!pthread_mutex_lock(&mutex));
	CHECK(!pthread_rwlock_rdlock(&rwlock));
	CHECK(!pthread_barrier_init(&barrier, NULL, 1000));
	for (int round = 0; round < 10; round++)
		for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
			one(&all[i], round % 2);
	printf("cleaned %d\n", cleaned);
}

/* -- in every call that is a cancellation point -- */

static int ends[2], pair[2], locked;
static char fifo[] = "/tmp/cancel-fifo-XXXXXX", file[] = "/tmp/cancel-lock-XXXXXX";
static sem_t sem;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static void c_read(void)
{
	char c;

	read(ends[0], &c, 1);
}

static void c_readv(void)
{
	char c;
	struct iovec v = { &c, 1 };

	readv(ends[0], &v, 1);
}

static void c_write(void)
{
	static char some[1 << 16];

	for (;;)
		write(pair[1], some, sizeof(some));
}

static void c_recv(void)
{
	char c;

	recv(pair[1], &c, 1, 0);
}

static void c_recvmsg(void)
{
	char c;
	struct iovec v = { &c, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	recvmsg(pair[1], &m, 0);
}

static void c_accept(void)
{
	int s = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(!listen(s, 5));
	accept(s, NULL, NULL);
}

static void c_open(void)
{
	open(fifo, O_RDONLY);
}

static void c_fopen(void)
{
	fopen(fifo, "r");
}

static void c_poll(void)
{
	poll(NULL, 0, -1);
}

static void c_ppoll(void)
{
	ppoll(NULL, 0, NULL, NULL);
}

static void c_select(void)
{
	select(0, NULL, NULL, NULL, NULL);
}

static void c_pselect(void)
{
	pselect(0, NULL, NULL, NULL, NULL, NULL);
}

static void c_epoll(void)
{
	struct epoll_event e;

	epoll_wait(epoll_create1(0), &e, 1, -1);
}

static void c_sem(void)
{
	sem_wait(&sem);
}

static void c_sem_until(void)
{
	struct timespec t = in_ms(CLOCK_REALTIME, 1000000);

	sem_timedwait(&sem, &t);
}

static void unlock(void *m)
{
	pthread_mutex_unlock(m);
}

static void c_cond(void)
{
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, &mutex);
	pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(1);
}

static void c_cond_until(void)
{
	struct timespec t = in_ms(CLOCK_REALTIME, 1000000);

	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, &mutex);
	pthread_cond_timedwait(&cond, &mutex, &t);
	pthread_cleanup_pop(1);
}

static void c_pause(void)
{
	pause();
}

static void c_sleep(void)
{
	sleep(1000);
}

static void c_nanosleep(void)
{
	struct timespec t = { 1000, 0 };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static void c_wait(void)
{
	wait(NULL);
}

static void c_waitid(void)
{
	siginfo_t info;

	waitid(P_ALL, 0, &info, WEXITED);
}

static void *sleeps(void *arg)
{
	sleep(1000);
	return arg;
}

static void c_join(void)
{
	pthread_join(start(sleeps, NULL), NULL);
}

static void c_sigwait(void)
{
	sigset_t s = only(SIGUSR2);
	int sig;

	pthread_sigmask(SIG_BLOCK, &s, NULL);
	sigwait(&s, &sig);
}

static void c_sigsuspend(void)
{
	sigset_t s;

	sigemptyset(&s);
	sigsuspend(&s);
}

static void drop_queue(void *q)
{
	msgctl(*(int *)q, IPC_RMID, NULL);
}

static void c_msgrcv(void)
{
	struct {
		long type;
		char text[8];
	} m;
	int q = msgget(IPC_PRIVATE, 0600);

	CHECK(q >= 0);
	pthread_cleanup_push(drop_queue, &q);
	msgrcv(q, &m, sizeof(m.text), 0, 0);
	pthread_cleanup_pop(1);
}

static void c_mq(void)
{
	struct mq_attr a = { .mq_maxmsg = 2, .mq_msgsize = 8 };
	char name[40], m[8];
	mqd_t q;

	snprintf(name, sizeof(name), "/cancel-%d", (int)getpid());
	q = mq_open(name, O_CREAT | O_RDWR, 0600, &a);
	mq_unlink(name);
	if (q < 0)
		pause(); /* the kernel has no message queues */
	mq_receive(q, m, sizeof(m), NULL);
}

static void c_lockf(void)
{
	lockf(open(file, O_RDWR), F_LOCK, 0);
}

static void c_fcntl(void)
{
	struct flock l = { .l_type = F_WRLCK };

	fcntl(open(file, O_RDWR), F_SETLKW, &l);
}

static void c_system(void)
{
	if (system("exec sleep 1000"))
		pause();
}

static void c_async(void)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (;;)
		__asm__ volatile("");
}

static void c_testcancel(void)
{
	for (;;) {
		sched_yield();
		pthread_testcancel();
	}
}

#define WAY(name)                                                                      \
	{                                                                              \
#name, c_##name, false                                                 \
	}
static const struct way ways[] = {
	WAY(read),       WAY(readv),      WAY(write), WAY(recv),    WAY(recvmsg),
	WAY(accept),     WAY(open),       WAY(fopen), WAY(poll),    WAY(ppoll),
	WAY(select),     WAY(pselect),    WAY(epoll), WAY(sem),     WAY(sem_until),
	WAY(cond),       WAY(cond_until), WAY(pause), WAY(sleep),   WAY(nanosleep),
	WAY(wait),       WAY(waitid),     WAY(join),  WAY(sigwait), WAY(sigsuspend),
	WAY(mq),         WAY(lockf),      WAY(fcntl), WAY(system),  WAY(async),
	WAY(testcancel), WAY(msgrcv),
};

/* Starts a child that holds the file lock. c_wait waits for this child, too. */
static pid_t holds_lock(void)
{
	struct flock l = { .l_type = F_WRLCK };
	char c;
	pid_t pid;
	int p[2];

	CHECK(!pipe(p));
	pid = make_child();
	if (!pid) {
		close(p[0]);
		CHECK(!fcntl(locked, F_SETLK, &l));
		CHECK(write(p[1], "x", 1) == 1);
		for (;;)
			pause();
	}
	CHECK(read(p[0], &c, 1) == 1);
	close(p[0]);
	close(p[1]);
	return pid;
}

static void a_thread_is_cancelled_in_every_cancellation_point(void)
{
	pid_t holder;
	int fd;

	CHECK(!pipe(ends) && !socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	CHECK(!sem_init(&sem, 0, 0));
	fd = mkstemp(fifo);
	CHECK(fd >= 0 && !close(fd) && !unlink(fifo) && !mkfifo(fifo, 0600));
	locked = mkstemp(file);
	CHECK(locked >= 0);
	holder = holds_lock();
	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		int canceled = 0;

		cleaned = 0;
		for (int ms = 0; ms < 3; ms++) {
			pthread_t t = start_in(&ways[i]);

			usleep((useconds_t)(ms * ms * 5000));
			CHECK(!pthread_cancel(t));
			canceled += finish(t) == PTHREAD_CANCELED;
		}
		printf("%s: cancelled %d, cleaned %d\n", ways[i].name, canceled,
		       cleaned < canceled ? cleaned : canceled);
		fflush(stdout);
	}
	kill(holder, SIGKILL);
	unlink(fifo);
	unlink(file);
	_exit(0);
}

int main(void)
{
	RUN_ALONE(a_thread_is_cancelled_where_libc_sleeps);
	RUN_ALONE(a_thread_is_cancelled_in_every_cancellation_point);
	return 0;
}
