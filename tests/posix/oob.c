/* SPDX-License-Identifier: Apache-2.0 */
/* main blocks SIGURG, which a socket sends for urgent data. It reaches the thread that
 * waits for it or unblocks it, while others compute and sleep. A socket's signals reach
 * the very thread that owns it (F_OWNER_TID). */
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "posix.h"

#define TIMES 10

static int ran, stop; /* atomics */

static int get(const int *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void on_urgent(int sig)
{
	(void)sig;
	__atomic_add_fetch(&ran, 1, __ATOMIC_RELEASE);
}

static void *computes(void *arg)
{
	while (!get(&stop))
		__asm__ volatile("");
	return arg;
}

static void *takes(void *arg)
{
	sigset_t s = only(SIGURG);
	int sig;

	for (int i = 0; i < TIMES; i++) {
		CHECK(!sigwait(&s, &sig) && sig == SIGURG);
		__atomic_add_fetch(&ran, 1, __ATOMIC_RELEASE);
	}
	return arg;
}

static void *lets_through(void *arg)
{
	mask(SIG_UNBLOCK, SIGURG);
	while (!get(&stop))
		poll(NULL, 0, 1000);
	return arg;
}

static void connect_pair(int fd[2])
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	int l = socket(AF_INET, SOCK_STREAM, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(!listen(l, 1) && !getsockname(l, (struct sockaddr *)&at, &len));
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(!connect(fd[0], (struct sockaddr *)&at, len));
	fd[1] = accept(l, NULL, NULL);
	CHECK(fd[1] >= 0 && !close(l));
}

static void urgent_data(int to, int from)
{
	char c;

	for (int i = 1; i <= TIMES; i++) {
		CHECK(send(to, "!", 1, MSG_OOB) == 1);
		while (get(&ran) < i)
			usleep(100);
		CHECK(recv(from, &c, 1, MSG_OOB) == 1);
	}
	ran = 0;
}

/* ---- owners ---- */

enum { OWNERS = 6 };

static __thread volatile sig_atomic_t mine, of_fd;
static int pair[OWNERS][2];
static sem_t owned;

static void on_ready(int sig, siginfo_t *info, void *context)
{
	(void)context;
	of_fd = sig == SIGIO ? -1 : info->si_fd;
	mine++;
}

static void is_owner(int fd, int sig)
{
	struct f_owner_ex has = { 0 };

	CHECK(!fcntl(fd, F_GETOWN_EX, &has));
	CHECK(has.type == F_OWNER_TID && has.pid == gettid());
	CHECK(fcntl(fd, F_GETOWN) == gettid() && fcntl(fd, F_GETSIG) == sig);
}

/* sig 0: SIGIO. The thread owns its socket twice, and by syscall(2), too. */
static void owns(int fd, int sig)
{
	struct f_owner_ex me = { F_OWNER_TID, gettid() };

	CHECK(!fcntl(fd, F_SETSIG, SIGUSR2) && !fcntl(fd, F_SETOWN_EX, &me));
	is_owner(fd, SIGUSR2);
	CHECK(!syscall(SYS_fcntl, fd, F_SETOWN_EX, &me));
	CHECK(!syscall(SYS_fcntl, fd, F_SETSIG, sig));
	is_owner(fd, sig);
	CHECK(!fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK));
}

static void *is_told(void *arg)
{
	int i = (int)(intptr_t)arg, fd = pair[i][0], sig = i % 2 ? SIGRTMIN + 3 : 0;
	sigset_t none;

	sigemptyset(&none);
	mask(SIG_BLOCK, SIGIO);
	mask(SIG_BLOCK, SIGRTMIN + 3);
	owns(fd, sig);
	sem_post(&owned);
	while (!mine)
		sigsuspend(&none);
	CHECK(mine == 1 && of_fd == (sig ? fd : -1));
	return arg;
}

static void *takes_it(void *arg)
{
	int fd = pair[0][0];
	siginfo_t info;
	sigset_t s = only(SIGRTMIN + 4);

	mask(SIG_BLOCK, SIGRTMIN + 4);
	owns(fd, SIGRTMIN + 4);
	sem_post(&owned);
	CHECK(sigwaitinfo(&s, &info) == SIGRTMIN + 4);
	CHECK(info.si_fd == fd && info.si_band & POLLIN && info.si_code == POLL_IN);
	return arg;
}

/* The owner has ended; another owner; another file. */
static void owners_change(int fd)
{
	struct f_owner_ex has = { 0 };

	CHECK(!fcntl(fd, F_GETOWN_EX, &has));
	CHECK(has.type == F_OWNER_TID && !has.pid);
	CHECK(fcntl(fd, F_GETSIG) == SIGRTMIN + 4);
	CHECK(!fcntl(fd, F_SETOWN, getpid()) && fcntl(fd, F_GETOWN) == getpid());
	CHECK(fcntl(fd, F_GETSIG) == SIGRTMIN + 4);
	CHECK(!fcntl(fd, F_GETOWN_EX, &has) && has.type == F_OWNER_PID);
	CHECK(dup2(0, pair[1][0]) == pair[1][0]);
	CHECK(!fcntl(pair[1][0], F_GETOWN) && !fcntl(pair[1][0], F_GETSIG));
}

/* A thread's id stands for its process. */
static void *owns_for_all(void *arg)
{
	int id = gettid(), fd = pair[2][0];
	char c;

	CHECK(!fcntl(fd, F_SETSIG, 0) && read(fd, &c, 1) == 1);
	for (int way = 0; way < 2; way++) {
		CHECK(way ? !ioctl(fd, FIOSETOWN, &id) : !fcntl(fd, F_SETOWN, id));
		mine = 0;
		mask(SIG_UNBLOCK, SIGIO);
		CHECK(write(pair[2][1], "", 1) == 1);
		while (!mine)
			poll(NULL, 0, 1);
		CHECK(read(fd, &c, 1) == 1);
	}
	return arg;
}

static void the_owner_is_told(void)
{
	struct sigaction sa = { .sa_flags = SA_SIGINFO };
	pthread_t t[OWNERS];

	sa.sa_sigaction = on_ready;
	CHECK(!sigaction(SIGIO, &sa, NULL) && !sigaction(SIGRTMIN + 3, &sa, NULL));
	CHECK(!sem_init(&owned, 0, 0));
	for (int i = 0; i < OWNERS; i++) {
		CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair[i]));
		t[i] = start(i ? is_told : takes_it, (void *)(intptr_t)i);
	}
	for (int i = 0; i < OWNERS; i++)
		while (sem_wait(&owned))
			;
	for (int i = 0; i < OWNERS; i++)
		CHECK(write(pair[i][1], "", 1) == 1);
	for (int i = 0; i < OWNERS; i++)
		finish(t[i]);
	CHECK(!mine);
	owners_change(pair[0][0]);
	mask(SIG_BLOCK, SIGIO);
	run_in_thread(owns_for_all);
}

int main(void)
{
	pthread_t t, hog;
	int fd[2];

	connect_pair(fd);
	CHECK(!fcntl(fd[1], F_SETOWN, getpid()));
	signal(SIGURG, on_urgent);
	mask(SIG_BLOCK, SIGURG);
	hog = start(computes, NULL);
	t = start(takes, NULL);
	urgent_data(fd[0], fd[1]);
	finish(t);
	puts("taken by sigwait");
	t = start(lets_through, NULL);
	urgent_data(fd[0], fd[1]);
	puts("taken by a handler");
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	finish(t);
	finish(hog);
	RUN(the_owner_is_told);
	return 0;
}
