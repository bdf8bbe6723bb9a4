/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign threads in a system call, and how uk_close gets them out.
 *
 * After a close, the call would sleep for ever on the closed file. So each foreign
 * thread is recorded while it is in a call: in its descriptor's wfd, and in the count
 * of the fd's state, so that a close that affects no such thread costs one load.
 *
 *   wfd   -1 --itself, before the call--> fd --itself, after it--> -1
 *         fd --the closer--> BUSY(fd) --the closer, signal sent--> fd
 *
 * A thread cannot leave while wfd is BUSY, so the signal never hits the program's own
 * calls. The signal is SIGURG, which is ignored by default; during a close it gets a
 * handler that does nothing, if it has none. By then the fd is a dead one (close.c): a
 * thread that is about to make the call gets -EBADF; a thread that is in it is
 * interrupted and makes it again. So one signal is enough, if it arrives. But the
 * program, or a dump, may remove the handler between our look and the signal, which is
 * then discarded. Hence a thread that has not left after a while is signalled again. A
 * thread that blocks SIGURG is left in its call: of threads that are slow to leave, the
 * kernel is asked for their signal masks.
 *
 * Runs on the foreign thread (begin, end), on any thread (interrupt), there outside the
 * runtime.
 * Rejected: before each call a ppoll with an fd of our own beside fd (two system calls
 * more for each call that waits).
 */
#include "io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/libc.h"
#include "base/lock.h"
#include "base/log.h"

#define BUSY(fd) (-2 - (fd))
#define SIGNAL_EVERY 20 /* looks for each signal */

static struct lock interrupting = LOCK_INIT(RANK_INTERRUPT); /* for SIGURG's handler */

static uint32_t *count_of(int fd)
{
	return &fd_at_or_shared(fd)->foreign;
}

void raw_begin(struct uk_thread *t, int fd)
{
	if (t->kind != THREAD_FOREIGN || fd < 0)
		return;
	store_relaxed(&t->wfd, fd);
	/* seq_cst: the closer finds us, or we find the dead fd (pairs with its dup3,
	 * and the load after it) */
	fetch_add_seq_cst(count_of(fd), 1);
}

void raw_end(struct uk_thread *t, int fd)
{
	int32_t was = fd;

	if (t->kind != THREAD_FOREIGN || fd < 0)
		return;
	while (!cas_acq_rel(&t->wfd, &was, -1)) {
		sys_futex_wait(&t->wfd, (uint32_t)was, TIME_NEVER);
		was = fd;
	}
	fetch_sub_acq_rel(count_of(fd), 1);
}

/* The mask of blocked signals in a status file of /proc; all signals, if the file is
 * gone. */
static uint64_t blocked_by(const char *path)
{
	char buf[2048], *p;
	uint64_t mask = 0;
	long fd, n;

	fd = sys4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return ~0ull;
	n = sys3(SYS_read, fd, buf, sizeof(buf) - 1);
	sys1(SYS_close, fd);
	buf[MAX(n, 0)] = 0;
	p = strstr(buf, "SigBlk:");
	for (p = p ? p + 7 : buf + MAX(n, 0); *p == '\t' || *p == ' '; p++)
		;
	for (; *p && *p != '\n'; p++)
		mask =
		    mask << 4 | (uint64_t)(*p <= '9' ? *p - '0' : (*p | 32) - 'a' + 10);
	return mask;
}

struct question {
	char path[48];
	uint64_t blocked;
};

/* Runs in the child: raw system calls only, because it shares its maker's thread
 * block. */
static int look_apart(void *arg)
{
	struct question *q = arg;

	q->blocked = blocked_by(q->path);
	sys1(SYS_exit, 0);
	return 0;
}

/* Asks in a child that has our memory and its own fd table, so that the program's next
 * fd does not change. The child's end sends no signal. */
uint64_t kernel_blocks(int tid)
{
	char stack[8192] __attribute__((aligned(16)));
	struct question q = { .blocked = ~0ull };
	uint64_t all = ~0ull, old;
	int pid = -1, was = errno;

	fmt_to(q.path, sizeof(q.path), "/proc/%d/task/%d/status", (int)sys0(SYS_getpid),
	       tid);
	sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, sizeof(all));
	if (!UK_TSAN) /* TSan would take it for a fork */
		pid = LIBC(clone)(look_apart, stack + sizeof(stack),
				  CLONE_VM | CLONE_VFORK, &q);
	if (pid > 0)
		sys4(SYS_wait4, pid, NULL, __WALL, NULL);
	sys4(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof(old));
	errno = was;
	return pid > 0 ? q.blocked : blocked_by(q.path);
}

static bool deaf(int tid)
{
	return kernel_blocks(tid) >> (SIGURG - 1) & 1;
}

static int interrupt_one(void *obj, void *arg)
{
	struct uk_thread *t = obj;
	int fd = *(const int *)arg;
	int32_t was = fd;

	if (load_acquire(&t->kind) != THREAD_FOREIGN || load_relaxed(&t->wfd) != fd ||
	    !cas_acq_rel(&t->wfd, &was, BUSY(fd)))
		return 0;
	sys3(SYS_tgkill, sys0(SYS_getpid), t->ktid, SIGURG);
	store_release(&t->wfd, fd);
	sys_futex_wake(&t->wfd, 1);
	return 0;
}

struct look {
	int fd;
	/* ask the kernel which threads block SIGURG; seldom, because it is expensive */
	bool asks;
};

static int still_in(void *obj, void *arg)
{
	const struct uk_thread *t = obj;
	const struct look *l = arg;

	return load_acquire(&t->kind) == THREAD_FOREIGN &&
	       load_relaxed(&t->wfd) == l->fd && !(l->asks && deaf((int)t->ktid));
}

/* After n looks: have all left, except those that block SIGURG? */
static bool all_left(int fd, unsigned n)
{
	struct look l = { fd, n && n % SIGNAL_EVERY == 0 };

	return n && !thread_walk(still_in, &l);
}

/* If the forking thread was in a handler that interrupted its call, it is still in the
 * call; and the closer that was about to signal it does not exist here. */
static int count_again(void *obj, void *arg UNUSED)
{
	struct uk_thread *t = obj;
	int32_t fd = load_relaxed(&t->wfd);

	if (load_acquire(&t->kind) != THREAD_FOREIGN || fd == -1)
		return 0;
	fd = fd < 0 ? BUSY(fd) : fd; /* BUSY is its own inverse */
	store_relaxed(&t->wfd, fd);
	store_relaxed(count_of(fd), load_relaxed(count_of(fd)) + 1);
	return 0;
}

void raw_fork_child(void)
{
	lock_init(&interrupting, RANK_INTERRUPT);
	thread_walk(count_again, NULL);
}

static void nothing(int sig UNUSED) {}

/* Make sure that SIGURG has a handler. *ours: we have set one, and *old was there
 * before. */
static void handler_set(struct sigaction *old, bool *ours)
{
	struct sigaction sa = { .sa_handler = nothing, .sa_flags = SA_RESTART }, now;

	if (LIBC(sigaction)(SIGURG, NULL, &now) ||
	    (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN))
		return;
	*old = now;
	*ours = true;
	LIBC(sigaction)(SIGURG, &sa, NULL);
}

void raw_interrupt(int fd)
{
	struct timespec ts = { 0, 50 * NS_PER_US };
	struct sigaction old, now;
	bool ours = false;

	if (likely(!load_seq_cst(count_of(fd))))
		return;
	lock_acquire(&interrupting);
	for (unsigned n = 0; !all_left(fd, n); n++) {
		if (n % SIGNAL_EVERY == 0) {
			handler_set(&old, &ours);
			thread_walk(interrupt_one, &fd);
		} else {
			sys2(SYS_nanosleep, &ts, NULL);
		}
	}
	/* unless the program has set another one meanwhile */
	if (ours && !LIBC(sigaction)(SIGURG, NULL, &now) && now.sa_handler == nothing)
		LIBC(sigaction)(SIGURG, &old, NULL);
	lock_release(&interrupting);
}
