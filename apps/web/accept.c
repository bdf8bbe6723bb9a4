/* SPDX-License-Identifier: Apache-2.0 */
/* The acceptors, one thread for each listening socket.
 *
 * An acceptor blocks in accept, and must be woken when the server stops. On a kernel
 * thread (pth) and in its own set (uk-set) it is in accept(2), and SIGURG, whose
 * handler does nothing, interrupts the call. main repeats the signal until the acceptor
 * has ended, because a signal just before the call is lost. A parked acceptor (uk, net)
 * wakes with -EBADF when main closes the fd that it waits on; a second fd of the socket
 * (late) remains for the rest of the backlog.
 *
 * While the server stops, an acceptor takes the connections of the backlog until none
 * came for DRAIN. It ends at once if another process holds the socket, too.
 *
 * If there are no fds left (EMFILE and the like), the connection stays in the backlog,
 * and accept would fail again at once. So idle keep-alive connections are closed, and
 * the acceptor sleeps a little.
 *
 * Rejected: connecting to the own socket to wake an acceptor (a successor may get that
 * connection, and after a chroot a unix socket has no name). */
#include "web.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DRAIN (100 * UK_MS)
#define PATIENCE (2 * UK_SEC)

_Atomic(int) handed_over;

static uk_mutex lock = UK_MUTEX_INIT;
static uk_cond ended = UK_COND_INIT;
static unsigned alive; /* under lock */

static void nothing(int sig)
{
	(void)sig;
}

int accept_start(void)
{
	struct sigaction sa = { .sa_handler = nothing }; /* no SA_RESTART */
	int rc = 0;

	sigaction(SIGURG, &sa, NULL);
	for (unsigned i = 0; i < n_listeners && rc == 0; i++) {
		struct listener *l = &listeners[i];

		if (accepts_park()) /* now, while there are fds left */
			l->late = fcntl(l->fd, F_DUPFD_CLOEXEC, 0);
		alive++;
		rc = accepts_park() && l->late < 0 ? -errno : spawn_acceptor(l);
	}
	return rc;
}

/* ---- the stop, on main ---- */

void accept_wake(void)
{
	for (unsigned i = 0; i < n_listeners; i++) {
		struct listener *l = &listeners[i];
		int tid = atomic_load(&l->tid), fd;

		if (tid)
			syscall(SYS_tgkill, getpid(), tid, SIGURG);
		if (accepts_park() && (fd = atomic_exchange(&l->fd, -1)) >= 0)
			uk_close(fd);
	}
}

int accept_wait_end(uk_time deadline)
{
	int rc = 0;

	uk_mutex_lock(&lock);
	while (alive && rc == 0)
		rc = uk_cond_wait_until(&ended, &lock, deadline);
	uk_mutex_unlock(&lock);
	return rc;
}

/* ---- accepting ---- */

/* Block in the kernel, for the comparison of the modes. It declares that, because
 * otherwise the runtime would have to detect each call (uk_blocking_begin(3)). */
static int accept_raw(struct listener *l, struct sockaddr *a, socklen_t *n)
{
	bool user_thread = cfg.mode == MODE_UK_SET;
	int fd;

	if (user_thread)
		uk_blocking_begin(); /* it stays on its kernel thread until _end() */
	atomic_store(&l->tid, (int)syscall(SYS_gettid));
	fd = accept4(l->fd, a, n, SOCK_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	atomic_store(&l->tid, 0);
	if (user_thread)
		uk_blocking_end();
	return fd;
}

/* The next connection of the backlog, or -ESHUTDOWN: this process takes no more. */
static int accept_late(struct listener *l, struct sockaddr *a, socklen_t *n)
{
	struct pollfd p = { .fd = l->fd, .events = POLLIN };
	int rc;

	if (l->shared || atomic_load(&handed_over))
		return -ESHUTDOWN;
	if (accepts_park()) {
		/* no thread deadline: uk_accept4 would not try if it had passed */
		rc = uk_wait_fd(l->late, POLLIN, uk_after(DRAIN));
		if (rc < 0)
			return rc == -ETIMEDOUT ? -ESHUTDOWN : rc;
		return uk_accept4(l->late, a, n, SOCK_CLOEXEC);
	}
	rc = poll(&p, 1, DRAIN / UK_MS);
	if (rc == 0)
		return -ESHUTDOWN;
	return rc < 0 ? -errno : accept_raw(l, a, n);
}

/* Blocks until there is a connection. */
static int accept_one(struct listener *l, struct ticket *t)
{
	struct sockaddr *a = &t->peer.any;
	socklen_t n = sizeof(t->peer);

	a->sa_family = AF_UNIX; /* accept of a unix socket may not set it */
	if (atomic_load(&stopping))
		return accept_late(l, a, &n);
	if (accepts_park())
		return uk_accept4(l->fd, a, &n, SOCK_CLOEXEC);
	return accept_raw(l, a, &n);
}

/* No thread can be created: tell the client by HTTP, if it speaks plain text. */
static void turn_away(struct ticket *t, int rc)
{
	static const char busy[] =
	    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n"
	    "Content-Length: 0\r\nConnection: close\r\n\r\n";
	static _Atomic(int64_t) said;

	if (!cfg.tls_cert)
		uk_send(t->fd, busy, sizeof(busy) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	uk_close(t->fd);
	free(t);
	COUNT(0, refused, 1);
	if (uk_now() - atomic_load(&said) > UK_SEC) {
		atomic_store(&said, uk_now());
		say("cannot create a thread for a connection: %s", strerror(-rc));
	}
	conns_leave();
}

/* If no thread can be created now (UK_THREAD_LIMIT, the system's limits), an idle
 * connection is closed, or a busy one ends soon. Until then the client waits as in the
 * backlog. */
static int start_thread(struct ticket *t)
{
	uk_time end = 0;
	int rc;

	while ((rc = spawn_conn(t)) == -EAGAIN) {
		if (end == 0)
			end = uk_after(PATIENCE);
		else if (uk_now() > end)
			break;
		conns_close_idle(1);
		uk_sleep(2 * UK_MS);
	}
	return rc;
}

static void accept_failed(int rc)
{
	static _Atomic(int64_t) said;

	if (rc == -ECONNABORTED || rc == -EPROTO || rc == -EINTR)
		return;
	if (rc == -EBADF && atomic_load(&stopping)) /* woken by accept_wake() */
		return;
	COUNT(0, accept_errors, 1);
	if (uk_now() - atomic_load(&said) > UK_SEC) {
		atomic_store(&said, uk_now());
		say("accept: %s; closing idle connections", strerror(-rc));
	}
	uk_sleep(conns_close_idle(8) ? 2 * UK_MS : 50 * UK_MS);
}

static void give_up(struct listener *l)
{
	int fd = atomic_exchange(&l->fd, -1);

	if (fd >= 0)
		uk_close(fd);
	if (accepts_park())
		uk_close(l->late);
	uk_mutex_lock(&lock);
	alive--;
	uk_cond_broadcast(&ended);
	uk_mutex_unlock(&lock);
}

void *acceptor_main(void *arg)
{
	struct listener *l = arg;

	while (conns_enter() == 0) {
		struct ticket *t = malloc(sizeof(*t));
		int fd = t ? accept_one(l, t) : -ENOMEM, rc;

		if (fd < 0) {
			free(t);
			conns_leave();
			if (fd == -ESHUTDOWN)
				break;
			accept_failed(fd);
			continue;
		}
		t->fd = fd;
		rc = start_thread(t);
		if (rc < 0)
			turn_away(t, rc);
	}
	give_up(l);
	return NULL;
}
