/* SPDX-License-Identifier: Apache-2.0 */
/* pt_wait.c - waiting for children. A wait for the end of one named child is a wait for
 * an fd to become readable (pidfd_open), and holds no carrier. For any child, or for a
 * stop, only the call itself can wait: bracketed. Once a child is traced, every wait
 * may be for a stop (children_notice).
 *
 * A child belongs to the carrier that has made it, so __WNOTHREAD would not find the
 * children of a user thread: it is left out.
 *
 * The kernel is asked first, without waiting: it reports ECHILD and EINVAL, and finds a
 * child that has ended already. */
#include <sys/resource.h>
#include <sys/wait.h>

#include "preload/pt_calls.h"
#include "preload/pt_children.h"
#include "preload/pt_spawn.h"

struct child {
	pid_t pid;
	int *status;
	struct rusage *usage;
};

static long reap_now(void *arg, int fd UNUSED)
{
	const struct child *c = arg;
	long r = sys4(SYS_wait4, c->pid, c->status, WNOHANG, c->usage);

	return r ? r : -EAGAIN;
}

/* Has it ended? It stays a zombie. */
static long ended_now(void *arg, int fd UNUSED)
{
	const struct child *c = arg;
	siginfo_t info = { .si_pid = 0 };
	long r =
	    sys5(SYS_waitid, P_PID, c->pid, &info, WEXITED | WNOHANG | WNOWAIT, NULL);

	return r || info.si_pid ? r : -EAGAIN;
}

/* Repeats now(c) until it gives something else than -EAGAIN. -ENOSYS: no pidfd, no
 * memory to poll it, or a stop may end the wait. */
static long until_ended(long (*now)(void *, int), struct child *c)
{
	struct pollfd p[2] = { { .events = POLLIN }, { .events = POLLIN } };
	long r = now(c, -1);

	if (r != -EAGAIN)
		return r;
	p[1].fd = children_notice();
	p[0].fd = p[1].fd < 0 ? -1 : (int)sys2(SYS_pidfd_open, c->pid, 0);
	if (p[0].fd < 0)
		return -ENOSYS;
	do
		r = uk_poll(p, array_size(p), TIME_NEVER);
	while (r > 0 && !p[1].revents && (r = now(c, -1)) == -EAGAIN);
	sys1(SYS_close, p[0].fd);
	return (r >= 0 && p[1].revents) || r == -ENOMEM ? -ENOSYS : r;
}

static pid_t wait_any(pid_t pid, int *status, int options, struct rusage *usage)
{
	struct child c = { pid, status, usage };
	pid_t r;

	if (options & WNOHANG)
		return NEXT(wait4)(pid, status, options, usage);
	if (pid > 0 && !options) {
		r = (pid_t)POSIX_CALL(true, until_ended(reap_now, &c));
		if (r >= 0 || errno != ENOSYS)
			return r;
	}
	return POSIX_HANDOFF(NEXT(wait4)(pid, status, options, usage));
}

LIBC_API pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	pid_t r;

	if (!posix_user())
		return NEXT(wait4)(pid, status, options, usage);
	r = wait_any(pid, status, options & ~__WNOTHREAD, usage);
	if (r > 0)
		signals_child_ended();
	return r;
}

LIBC_API pid_t wait3(int *status, int options, struct rusage *usage)
{
	return wait4(-1, status, options, usage);
}

LIBC_API pid_t waitpid(pid_t pid, int *status, int options)
{
	if (!posix_user())
		return NEXT(waitpid)(pid, status, options);
	return wait4(pid, status, options, NULL);
}
ALSO(waitpid, __waitpid);

LIBC_API pid_t wait(int *status)
{
	return waitpid(-1, status, 0);
}
ALSO(wait, __wait);

static int wait_for_state(idtype_t type, id_t id, siginfo_t *info, int options)
{
	struct child c = { .pid = (pid_t)id };
	int r;

	if (options & WNOHANG)
		return NEXT(waitid)(type, id, info, options);
	if (type == P_PID && c.pid > 0 && (options & ~WNOWAIT) == WEXITED) {
		r = (int)POSIX_CALL(true, until_ended(ended_now, &c));
		if (r >= 0)
			return NEXT(waitid)(type, id, info, options | WNOHANG);
		if (errno != ENOSYS)
			return r;
	}
	return POSIX_HANDOFF(NEXT(waitid)(type, id, info, options));
}

LIBC_API int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	int r;

	if (!posix_user())
		return NEXT(waitid)(type, id, info, options);
	r = wait_for_state(type, id, info, options & ~__WNOTHREAD);
	if (!r && !(options & WNOHANG && info && !info->si_pid))
		signals_child_ended();
	return r;
}

/* ---- for system and pclose ---- */

struct shell {
	pid_t pid; /* 0: it has ended */
	void (*undo)(void);
};

static void shell_kill(const struct shell *s)
{
	if (!s->pid)
		return;
	sys2(SYS_kill, s->pid, SIGKILL);
	while (sys4(SYS_wait4, s->pid, NULL, 0, NULL) == -EINTR)
		;
	s->undo();
}

/* Goes on after a handler. */
static long wait_to_the_end(pid_t pid, int *status)
{
	pid_t r;

	do
		r = waitpid(pid, status, 0);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

static long wait_uncancelled(pid_t pid, int *status)
{
	int state;
	long r;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	r = wait_to_the_end(pid, status);
	pthread_setcancelstate(state, NULL);
	return r;
}

long spawn_wait(pid_t pid, int *status, void (*undo)(void))
{
	struct shell s __attribute__((cleanup(shell_kill))) = { undo ? pid : 0, undo };
	long r;

	r = undo ? wait_to_the_end(pid, status) : wait_uncancelled(pid, status);
	s.pid = 0;
	return r;
}
