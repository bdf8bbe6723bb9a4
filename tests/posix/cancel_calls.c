/* SPDX-License-Identifier: Apache-2.0 */
/* A thread is cancelled in every call that waits and is a cancellation point,
 * before the call and while it sleeps. The call does not return, and the cleanup
 * handlers run. */
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

static int ends[2], pair[2], locked;
static char fifo[] = "/tmp/cancel-fifo-XXXXXX", file[] = "/tmp/cancel-lock-XXXXXX";
static sem_t sem;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int cleaned;

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
	sigset_t s;
	int sig;

	sigemptyset(&s);
	sigaddset(&s, SIGUSR2);
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
#name, c_##name                                                        \
	}
static const struct way {
	const char *name;
	void (*call)(void);
} ways[] = {
	WAY(read),       WAY(readv),      WAY(write), WAY(recv),    WAY(recvmsg),
	WAY(accept),     WAY(open),       WAY(fopen), WAY(poll),    WAY(ppoll),
	WAY(select),     WAY(pselect),    WAY(epoll), WAY(sem),     WAY(sem_until),
	WAY(cond),       WAY(cond_until), WAY(pause), WAY(sleep),   WAY(nanosleep),
	WAY(wait),       WAY(waitid),     WAY(join),  WAY(sigwait), WAY(sigsuspend),
	WAY(mq),         WAY(lockf),      WAY(fcntl), WAY(system),  WAY(async),
	WAY(testcancel), WAY(msgrcv),
};

static void cleanup(void *arg)
{
	(void)arg;
	__atomic_fetch_add(&cleaned, 1, __ATOMIC_RELEASE);
}

static void *calls(void *way)
{
	pthread_cleanup_push(cleanup, NULL);
	((const struct way *)way)->call();
	pthread_cleanup_pop(0);
	return NULL;
}

/* Starts a child that holds the file lock. c_wait waits for this child, too. */
static pid_t holds_lock(void)
{
	struct flock l = { .l_type = F_WRLCK };
	char c;
	pid_t pid;
	int p[2];

	CHECK(!pipe(p));
	pid = fork();
	CHECK(pid >= 0);
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

int main(void)
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
			pthread_t t = start(calls, (void *)(uintptr_t)&ways[i]);

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
