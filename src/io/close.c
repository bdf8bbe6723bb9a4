/* SPDX-License-Identifier: Apache-2.0 */
/* close, while other threads wait on the fd or are about to.
 *
 * A pending operation holds the open file: the peer sees no end of the stream, and a
 * stale read takes bytes. So it must be cancelled. But a thread on another vp may begin
 * the next operation between the cancelling and the close. It would wait for ever on a
 * file that no fd refers to (for example an acceptor that comes back for the next
 * client while its listener is closed). Therefore uk_close does this:
 *
 *   dup3(dead, fd)       in one step the fd becomes a dead one, opened with O_PATH: the
 *                        kernel answers all later calls on it with EBADF, and the fd
 *                        cannot be given to another file yet
 *   sched_io_cancel_fd   operations on the old file end with -EBADF
 *   raw_interrupt        likewise for foreign threads in a system call
 *   fd_wait_unused       threads that were told "ready" have made their calls, and
 *                        asynchronous requests have completed
 *   close(fd)
 *
 * There is no gap. An operation is in its reactor's table, or counted as on its way
 * there, before the kernel looks its fd up. So either that lookup finds the dead fd, or
 * our look at the table finds the operation.
 *
 * dup3 hides the error of closing the old file, which on some file systems reports lost
 * data of a regular file; and a wait for a disk ends by itself. So files are closed
 * plainly, when the asynchronous requests on them have completed.
 *
 * The preload library's close (io_leave, io_leave_end) differs. Natively a thread in a
 * call on a file remains in it when the fd is closed or becomes another file, and its
 * call holds the file. So the calls that wait are not ended: each is moved to a
 * duplicate of its file, which its thread closes when the call is over. The fd never
 * becomes a dead one, because during a dup2 there is no moment at which other threads
 * may find nothing there:
 *
 *   io_leave      the life of the fd ends; if a thread waits by the fd or is counted:
 *                   a duplicate is kept, the fd's heir, which a thread that comes to
 *                     wait finds
 *                   each waiting call goes on with a duplicate of that
 *                   again, until no thread is counted
 *   (the kernel)  close, dup2, close_range: one step
 *   io_leave_end  an epoll instance forgets a file that is closed. So a call that came
 *                 in between and waits by the fd begins again by the fd, and gets what
 *                 a call gets that began a moment later
 *
 * A thread that was in its call before io_leave is counted or waits, so it is found.
 * With io_uring, io_leave_end has nothing to do, because a pending operation holds its
 * file.
 *
 * Rejected there: a dead fd as above (writes of other threads fail while a dup2
 * replaces their pipe, fstat and a child of fork see a directory, two closes of one fd
 * both succeed).
 *
 * Rejected: a mark "is being closed" that submitters check (the fd may be another
 * file's before the mark is removed); shutdown(2) (other processes hold the socket).
 */
#include "io/io.h"

#include <fcntl.h>
#include <string.h>

#include "base/at_load.h"
#include "fd/known.h"
#include "sched/vp.h"

static int dead_fd = -1; /* made by the first thread that needs it */

static int dead_open(struct uk_thread *t)
{
	long low = io_marked(t, SYS_openat, AT_FDCWD, SYS_ARG("/"), O_PATH | O_CLOEXEC,
			     0, 0, 0);
	int fd = low < 0 ? (int)low : fd_dup((int)low), none = -1;

	if (low >= 0)
		sys1(SYS_close, low);
	if (fd >= 0 && !cas_acq_rel(&dead_fd, &none, fd)) {
		fd_drop(fd);
		fd = none;
	}
	return fd;
}

/* Make fd a dead one. False: there is no dead fd, or fd is not open. */
static bool kill_number(struct uk_thread *t, int fd)
{
	int dead = load_acquire(&dead_fd);

	if (unlikely(dead < 0))
		dead = dead_open(t);
	COUNT(t, syscalls);
	if (dead < 0 || dead == fd || sys2(SYS_fcntl, fd, F_GETFL) < 0)
		return false;
	/* marked: it closes the old file, which may linger */
	return io_marked(t, SYS_dup3, dead, fd, O_CLOEXEC, 0, 0, 0) == fd;
}

/* The fd is free whatever close returns, so close is never repeated. Neither
 * cancellation nor a deadline keeps it from being closed. */
int uk_close(int fd)
{
	/* no runtime, hence no waiters; or no memory */
	if (unlikely(rt_begin()))
		return (int)sys1(SYS_close, fd);
	struct uk_thread *t = rt_enter();
	/* a hint may be from an earlier life of the fd */
	bool file = (fd_hint(fd) & HINT_FILE) && io_is_file(t, fd), dead;
	bool wait = fd_end_life(fd);
	long r;

	fd_hint_set(fd, 0);
	known_forget(fd, KNOWN_ALL);
	dead = !file && kill_number(t, fd);
	sched_io_cancel_fd(t, fd, -1);
	sched_ahead_end(fd);
	COUNT(t, syscalls);
	wait |= dead && fd_used(fd);
	block_begin(t, wait);
	if (dead)
		raw_interrupt(fd);
	if (wait)
		fd_wait_unused(fd);
	r = sys1(SYS_close, fd);
	block_end(t);
	rt_exit();
	return r == -EINTR ? 0 : (int)r;
}

/* ---- the preload library's ---- */

#define HEIRS 32u

/* Duplicates of files whose fds are being left: an fd's state says which is its own. */
static struct {
	uint32_t taken; /* the thread that wins the exchange has it */
	int fd;         /* valid before the state names it */
} heirs[HEIRS];

/* Before each wait, a counted thread finds the duplicate keep. 0: there is none; later
 * waiters wait by the fd, and lead_away moves them. */
static unsigned heir_begin(int fd, int keep)
{
	struct fd_state *s = fd_at(fd);

	for (unsigned i = 0; s && i < HEIRS; i++) {
		uint8_t none = 0;

		if (load_relaxed(&heirs[i].taken) || xchg_acquire(&heirs[i].taken, 1))
			continue;
		store_relaxed(&heirs[i].fd, keep);
		/* seq_cst: before we look whether a thread is counted; pairs with
		 * io_left_for */
		if (cas_seq_cst(&s->heir, &none, (uint8_t)(i + 1)))
			return i + 1;
		store_release(&heirs[i].taken, 0); /* another thread leaves it, too */
		break;
	}
	return 0;
}

static void heir_end(int fd, unsigned heir)
{
	if (!heir)
		return;
	store_release(&fd_at(fd)->heir, (uint8_t)0);
	store_release(&heirs[heir - 1].taken, 0);
}

int io_left_for(int fd)
{
	const struct fd_state *s = fd_peek(fd);
	/* seq_cst: after the caller has counted itself; pairs with heir_begin */
	unsigned heir = s ? load_seq_cst(&s->heir) : 0;

	return likely(!heir) ? -EBADF : fd_dup(load_relaxed(&heirs[heir - 1].fd));
}

/* In a forked child: what the threads had taken that are not there. */
static void forget(void)
{
	dead_fd = -1; /* closed with the other fds of the library */
	memset(heirs, 0, sizeof(heirs));
	fd_fork_child();
	file_fork_child();
	raw_fork_child();
}

/* A thread in a system call is outside the runtime, so a fork does not wait for it. The
 * child forgets it when its runtime is rebuilt, before a thread can have entered it. */
AT_LOAD(close_register)
{
	sched_on_child(forget);
}

/* Moves the calls that wait by fd, again and again until no thread is counted that has
 * not been told, because a counted thread may have been about to wait. */
static void lead_away(struct uk_thread *t, int fd, int keep)
{
	struct fd_pause p = { 0, 0 };
	bool on = true;

	while (on) {
		sched_io_cancel_fd(t, fd, keep);
		if (!fd_used(fd))
			break;
		block_begin(t, true);
		on = fd_pause(&p);
		block_end(t);
	}
}

static bool is_in_use(int fd)
{
	return sched_io_pending(fd) || fd_used(fd);
}

void io_leave(int fd)
{
	struct uk_thread *t;
	unsigned heir;
	int keep;

	fd_hint_set(fd, 0);
	/* before we look for waiters: a call of several parts then does not go on by
	 * the fd */
	fd_end_life(fd);
	if (likely(!is_in_use(fd)))
		return;
	t = rt_enter();
	keep = fd_dup(fd);
	if (keep >= 0) {
		heir = heir_begin(fd, keep);
		lead_away(t, fd, keep);
		heir_end(fd, heir);
		fd_drop(keep);
	}
	rt_exit();
}

void io_leave_end(int fd)
{
	if (sched_io_holds() || likely(!sched_io_peek(fd)))
		return;
	sched_io_anew(rt_enter(), fd);
	rt_exit();
}
