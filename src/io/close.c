/* SPDX-License-Identifier: Apache-2.0 */
/* close, while others wait on the descriptor or are just about to.
 *
 * A pending operation holds the open file: the peer sees no end, and a stale read swallows
 * bytes. So it must be cancelled; but a thread on another vp may begin the next one between
 * the cancelling and the close, and would wait for ever on a file that nobody can name (an
 * acceptor that comes back for the next client while its listener is closed). Hence
 *
 *   dup3(dead, fd)       in one step the number means a descriptor opened with O_PATH: all
 *                        that comes from now on gets -EBADF from the kernel itself, and the
 *                        number cannot be given to another file yet
 *   sched_io_cancel_fd   who holds the old file wakes with -EBADF
 *   raw_interrupt        the same for foreign threads in a system call
 *   using_wait           who was told "ready" and is about to make its call has made it, and
 *                        asynchronous requests have ended
 *   close(fd)
 *
 * It leaves no gap: an operation is in its reactor's table, or counted as on its way there,
 * before the kernel looks its descriptor up, so either that look finds the dead one or our
 * look at the table finds it.
 *
 * dup3 hides the error of closing the old file, which for a regular file on some file
 * systems tells of lost data; and what waits for a disk ends by itself. So files are closed
 * plainly, when the asynchronous requests on them have ended.
 *
 * The drop-in's close (io_leave, io_leave_end) is another one: natively who is in a call on a
 * file stays in it when the number is closed or becomes another file, and holds the file. So
 * those that wait are not ended but led away, each to a duplicate of its own, which it closes
 * when its call is over; and the number is never dead, since a dup2 has no moment at which
 * others may find nothing there:
 *
 *   io_leave      the life of the number ends (using.c); if anybody waits by it or is counted:
 *                   a duplicate is kept, and who comes to wait finds it (leaving)
 *                   who waits goes on with a duplicate of that
 *                   again, until nobody is counted
 *   (the kernel)  close, dup2, close_range: one step
 *   io_leave_end  an epoll instance forgets a file that is closed, so who has come in between
 *                   and waits by the number begins again by the number, and gets what a
 *                   call gets that began a moment later
 *
 * Whoever was in his call before io_leave is counted or waits; so he is found. A ring's
 * operation holds its file: there the last step is none.
 *
 * Rejected there: a dead number as above (others' writes fail while a dup2 replaces their pipe,
 * fstat and a child of fork see a directory, two closes of one number succeed both).
 *
 * Rejected: a mark "is being closed" that submitters look at (the number may be another
 * file's before the mark is taken back); shutdown(2) (other processes hold the socket).
 */
#include "io/io.h"

#include <fcntl.h>
#include <string.h>

#include "io/known.h"

static int dead_fd = -1; /* made when first needed, by whoever is first */

static int dead_open(struct uk_thread *t)
{
	long low = io_marked(t, SYS_openat, AT_FDCWD, SYS_ARG("/"), O_PATH | O_CLOEXEC,
			     0, 0, 0);
	int fd = low < 0 ? (int)low : files_dup((int)low), none = -1;

	if (low >= 0)
		sys1(SYS_close, low);
	if (fd >= 0 && !cas_acq_rel(&dead_fd, &none, fd)) {
		files_drop(fd);
		fd = none;
	}
	return fd;
}

/* Make fd a dead one. False: there is none, or fd is not open. */
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

/* The number is free whatever the kernel says, so close is never repeated; neither
 * cancellation nor a deadline keeps it from happening. */
int uk_close(int fd)
{
	if (unlikely(rt_begin())) /* no runtime, hence nobody who waits; or no memory */
		return (int)sys1(SYS_close, fd);
	struct uk_thread *t = rt_enter();
	/* a hint may be of another life of the number */
	bool file = (load_relaxed(io_hint(fd)) & HINT_FILE) && io_is_file(t, fd), dead;
	bool wait = bound_over(fd);
	long r;

	io_hint_set(fd, 0);
	known_forget(fd, KNOWN_ALL);
	dead = !file && kill_number(t, fd);
	sched_io_cancel_fd(t, fd, -1);
	sched_ahead_end(fd);
	COUNT(t, syscalls);
	wait |= dead && using_any(fd);
	block_begin(t, wait);
	if (dead)
		raw_interrupt(fd);
	if (wait)
		using_wait(fd);
	r = sys1(SYS_close, fd);
	block_end(t);
	rt_exit();
	return r == -EINTR ? 0 : (int)r;
}

/* ---- the drop-in's ---- */

#define LEAVING 32u

/* Who is counted finds here what file the number is, before each wait. */
static struct {
	int fd;   /* + 1; 0: free. Who leaves it, atomics */
	int keep; /* before fd */
} leaving[LEAVING];

static uint32_t nleaving; /* at most so many; atomics */

void close_fork_child(void)
{
	dead_fd = -1; /* closed with all that was ours */
	memset(leaving, 0, sizeof(leaving));
	nleaving = 0;
}

static int *leaving_begin(int fd, int keep)
{
	for (unsigned i = 0; i < LEAVING; i++) {
		int none = 0;

		if (load_relaxed(&leaving[i].fd) ||
		    !cas_acq_rel(&leaving[i].fd, &none, -1))
			continue;
		store_relaxed(&leaving[i].keep, keep);
		store_release(&leaving[i].fd, fd + 1);
		/* seq_cst: before we look who is counted, pairs with io_left_for */
		fetch_add_seq_cst(&nleaving, 1);
		return &leaving[i].fd;
	}
	return NULL; /* those that come wait, and are led away from there */
}

static void leaving_end(int *slot)
{
	if (!slot)
		return;
	store_release(slot, 0);
	fetch_sub_acq_rel(&nleaving, 1);
}

int io_left_for(int fd)
{
	/* seq_cst: after the caller has counted itself, pairs with leaving_begin */
	if (likely(!load_seq_cst(&nleaving)))
		return -EBADF;
	for (unsigned i = 0; i < LEAVING; i++)
		if (load_acquire(&leaving[i].fd) == fd + 1)
			return files_dup(load_relaxed(&leaving[i].keep));
	return -EBADF;
}

/* Until nobody is counted who has not been told. Who waits by the number is led away again and
 * again: he may have been about to. */
static void lead_away(struct uk_thread *t, int fd, int keep)
{
	struct using_pause p = { 0, 0 };
	bool on = true;

	while (on) {
		sched_io_cancel_fd(t, fd, keep);
		if (!using_any(fd))
			break;
		block_begin(t, true);
		on = using_pause(&p);
		block_end(t);
	}
}

bool io_leave_needed(int fd)
{
	return sched_io_pending(fd) || using_any(fd);
}

void io_leave(int fd)
{
	struct uk_thread *t;
	int keep, *slot;

	io_hint_set(fd, 0);
	bound_over(fd); /* before we look: who goes on by number later finds it over */
	if (likely(!io_leave_needed(fd)))
		return;
	t = rt_enter();
	keep = files_dup(fd);
	if (keep >= 0) {
		slot = leaving_begin(fd, keep);
		lead_away(t, fd, keep);
		leaving_end(slot);
		files_drop(keep);
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
