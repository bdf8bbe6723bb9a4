/* SPDX-License-Identifier: Apache-2.0 */
/* A bad pointer in a call that libc passes to the kernel gives EFAULT, not SIGSEGV. */
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "posix.h"

#define SAY_ERRNO(call)                                                                \
	do {                                                                           \
		long r_ = (long)((errno = 0), (call));                                 \
                                                                                       \
		printf("%s: %ld, errno %d\n", #call, r_, r_ < 0 ? errno : 0);          \
	} while (0)

static void *volatile bad_; /* keeps the compiler from seeing the value */
static int ends[2], instance;

static void futexes(void *bad)
{
	unsigned word = 0;

	SAY_ERRNO(syscall(SYS_futex, bad, FUTEX_WAIT_PRIVATE, 0, NULL));
	SAY_ERRNO(syscall(SYS_futex, NULL, FUTEX_WAIT_PRIVATE, 0, NULL));
	SAY_ERRNO(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, bad));
	SAY_ERRNO(syscall(SYS_futex, bad, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, 1));
	SAY_ERRNO(syscall(SYS_futex, bad, FUTEX_WAKE_PRIVATE, 1));
	SAY_ERRNO(syscall(SYS_futex, &word, FUTEX_WAKE_OP_PRIVATE, 1, 1, bad,
			  FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ, 0)));
	SAY_ERRNO(syscall(SYS_futex, bad, FUTEX_CMP_REQUEUE_PRIVATE, 1, 1, &word, 0));
	SAY_ERRNO(syscall(SYS_futex, bad, FUTEX_LOCK_PI_PRIVATE, 0, NULL));
	SAY_ERRNO(syscall(SYS_futex, bad, FUTEX_UNLOCK_PI_PRIVATE, 0));
}

static void *all(void *arg)
{
	struct mmsghdr m = { .msg_len = 0 };
	struct timespec ms = { 0, 1000000 };
	struct pollfd p = { .fd = ends[0], .events = POLLIN };
	struct epoll_event ev;
	sigset_t set, usr;
	void *bad = bad_;

	sigemptyset(&set);
	usr = only(SIGUSR1);
	raise(SIGUSR1);
	SAY_ERRNO(nanosleep(bad, NULL));
	SAY_ERRNO(clock_nanosleep(CLOCK_MONOTONIC, 0, bad, NULL));
	SAY_ERRNO(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, bad, NULL));
	SAY_ERRNO(ppoll(&p, 1, &ms, bad));
	SAY_ERRNO(ppoll(bad, 1, &ms, NULL));
	SAY_ERRNO(poll(bad, 1, 1));
	SAY_ERRNO(select(1, bad, NULL, NULL, NULL));
	SAY_ERRNO(pselect(1, bad, NULL, NULL, &ms, NULL));
	SAY_ERRNO(pselect(0, NULL, NULL, NULL, &ms, bad));
	SAY_ERRNO(epoll_wait(instance, bad, 1, 1));
	SAY_ERRNO(epoll_pwait(instance, &ev, 1, 1, bad));
	SAY_ERRNO(epoll_pwait2(instance, &ev, 1, bad, NULL));
	SAY_ERRNO(epoll_pwait2(instance, &ev, 1, &ms, bad));
	SAY_ERRNO(sigsuspend(bad));
	SAY_ERRNO(sigtimedwait(bad, NULL, &ms));
	SAY_ERRNO(sigtimedwait(&set, NULL, bad));
	SAY_ERRNO(sigwaitinfo(bad, NULL));
	SAY_ERRNO(sigtimedwait(&usr, bad, &ms));
	SAY_ERRNO(sigprocmask(SIG_BLOCK, NULL, bad));
	SAY_ERRNO(sigpending(bad));
	SAY_ERRNO(sigaltstack(NULL, bad));
	SAY_ERRNO(sigaltstack(bad, NULL));
	SAY_ERRNO(wait4(-1, NULL, WNOHANG, bad));
	SAY_ERRNO(recvmsg(ends[0], bad, 0));
	SAY_ERRNO(sendmsg(ends[1], bad, 0));
	SAY_ERRNO(recvmmsg(ends[0], &m, 1, 0, bad));
	SAY_ERRNO(readv(ends[0], bad, 1));
	SAY_ERRNO(connect(ends[0], bad, 16));
	futexes(bad);
	return arg;
}

int main(void)
{
	struct epoll_event ev = { .events = EPOLLIN };
	sigset_t usr = only(SIGUSR1);

	bad_ = (void *)8;
	CHECK(!sigprocmask(SIG_BLOCK, &usr, NULL));
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	CHECK(write(ends[1], "x", 1) == 1);
	instance = epoll_create1(0);
	CHECK(!epoll_ctl(instance, EPOLL_CTL_ADD, ends[0], &ev));
	run_in_thread(all);
	printf("ok\n");
	return 0;
}
