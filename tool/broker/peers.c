/* SPDX-License-Identifier: Apache-2.0 */
/* peers.c - the processes that the broker serves.
 *
 * One thread handles one epoll event at a time, so a peer that floods the broker gets
 * one turn for each of the others'. The broker waits for no peer, and drops a peer that
 * does not fetch its answers. A peer is the process that connected (SO_PEERPIDFD), even
 * if other processes have its end of the socket. When that process or the socket ends,
 * its home is removed with all its seats. Connections and seats of a user are limited.
 * The BPF program is attached only while some peer has a home.
 *
 * States of a slot:
 *   free --accept--> KNOWN (home 0) --first question--> SERVED (home) --end--> free
 *                    KNOWN --another needs its place--> free
 *
 * A peer that connects and asks nothing keeps its place until another needs one, of the
 * same user's or of all: then the one that has been silent longest is dropped.
 * (Rejected: a time limit for the first question. It needs a clock, and does not
 * help a new process while it runs.)
 *
 * When no connection can be accepted (the machine has no fds left), the listener is not
 * watched for a while, because it would report the same connection again and again.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "monitor/broker.h"
#include "monitor/spot_load.h"
#include "broker.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define PEERS_MOST 2048u
#define PEERS_OF_USER 256u
#define SEATS_OF_USER 16384u
#define OTHER_FILES 32u
/* how long the listener is not watched: a time, or a count of other events */
#define DEAF_MS 100
#define DEAF_EVENTS 100u
/* the data of an event: LISTENER, or a slot, with ENDED if its process has ended */
#define LISTENER 0x40000000u
#define ENDED 0x80000000u

_Static_assert(PEERS_MOST <= SPOT_HOMES, "each has one");

/* Linux 6.13 (struct pidfd_info): the ids are those of our own pid namespace. */
struct pidfd_says {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid;
	uint32_t ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid, rest;
};
#define PIDFD_ASK _IOWR(0xff, 11, struct pidfd_says)
#define PIDFD_PID_AND_CREDS 3u

struct peer {
	int fd, pidfd; /* fd 0: the slot is free */
	uid_t uid;
	uint32_t tgid;
	unsigned seats;
	uint64_t home; /* 0: it has not asked yet */
	uint64_t came; /* its place in the order of connecting */
};

static struct peer peers[PEERS_MOST];
static unsigned peers_most;  /* limited by the fds */
static unsigned peers_above; /* the slots from here on have never been used */
static unsigned homes;
static unsigned deaf; /* != 0: the listener is not watched */
static int events;

/* Ask the kernel about a live process or thread. 0 or -errno. */
static int pidfd_ask(int pidfd, struct pidfd_says *s)
{
	memset(s, 0, sizeof(*s));
	s->mask = PIDFD_PID_AND_CREDS;
	return ioctl(pidfd, PIDFD_ASK, s) ? -errno : 0;
}

static void leave(struct peer *p)
{
	if (p->home) {
		spot_no_home(p->home);
		if (!--homes)
			spot_detach();
	}
	close(p->pidfd);
	close(p->fd);
	memset(p, 0, sizeof(*p));
}

/* If tid is a thread of p, its pidfd, else -errno. The order matters: p is asked last.
 * It is alive then, so its pid was not another process's before. */
static int thread_of(const struct peer *p, int tid)
{
	struct pidfd_says thread, process;
	int fd = spot_thread(tid), r;

	if (fd < 0)
		return fd;
	r = pidfd_ask(fd, &thread);
	if (!r)
		r = pidfd_ask(p->pidfd, &process);
	if (!r && (thread.tgid != p->tgid || process.tgid != p->tgid))
		r = -EPERM;
	if (!r)
		return fd;
	close(fd);
	return r;
}

static unsigned seats_of_user(uid_t uid)
{
	unsigned n = 0;

	for (unsigned i = 0; i < peers_above; i++)
		if (peers[i].fd && peers[i].uid == uid)
			n += peers[i].seats;
	return n;
}

static int give_seat(struct peer *p, int tid, uint64_t carrier)
{
	int fd, r;

	if (seats_of_user(p->uid) >= SEATS_OF_USER)
		return -EUSERS;
	fd = thread_of(p, tid);
	if (fd < 0)
		return fd;
	r = spot_give_seat(fd, p->home, carrier);
	close(fd);
	p->seats += !r;
	return r;
}

/* The first question. A program with two user ids (set-user-ID) is refused: the BPF
 * program would send it nothing. */
static int give_home(struct peer *p, const struct broker_ask *a)
{
	static uint64_t last;
	struct pidfd_says s;
	int r = pidfd_ask(p->pidfd, &s);

	if (r)
		return r;
	if (a->pid != (int)s.tgid)
		return -EXDEV;
	if (s.ruid != p->uid || s.euid != p->uid || s.suid != p->uid)
		return -ENOTUNIQ;
	p->tgid = s.tgid;
	r = spot_home(last + 1, p->uid);
	if (r)
		return r;
	p->home = ++last;
	if (!homes++)
		r = spot_attach();
	return r ? r : give_seat(p, a->tid, 0);
}

/* -errno: the peer broke the protocol, or got no home. */
static int reply(struct peer *p, const struct broker_ask *a)
{
	struct broker_answer answer = { BROKER_VERSION, 0 };
	bool first = !p->home;

	if (a->version != BROKER_VERSION || a->zero || first != !a->carrier)
		answer.error = -EPROTO;
	else if (first)
		answer.error = give_home(p, a);
	else
		answer.error = give_seat(p, a->tid, a->carrier);
	if (send(p->fd, &answer, sizeof(answer), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return -EPIPE;
	return first || answer.error == -EPROTO ? answer.error : 0;
}

static void hear(struct peer *p)
{
	struct broker_ask a;
	ssize_t n = recv(p->fd, &a, sizeof(a), MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != sizeof(a))
		a.version = 0; /* so reply() refuses it */
	if (n <= 0 || reply(p, &a))
		leave(p);
}

static struct peer *free_slot(void)
{
	for (unsigned i = 0; i < peers_most; i++)
		if (!peers[i].fd) {
			if (i >= peers_above)
				peers_above = i + 1;
			return &peers[i];
		}
	return NULL;
}

static bool has_too_many(uid_t uid)
{
	unsigned n = 0;

	for (unsigned i = 0; i < peers_above; i++)
		n += peers[i].fd && peers[i].uid == uid;
	return n >= PEERS_OF_USER;
}

/* The oldest peer that has asked nothing, of the user *uid or (NULL) of all users. */
static struct peer *silent(const uid_t *uid)
{
	struct peer *first = NULL;

	for (unsigned i = 0; i < peers_above; i++) {
		struct peer *p = &peers[i];

		if (p->fd && !p->home && (!uid || p->uid == *uid) &&
		    (!first || p->came < first->came))
			first = p;
	}
	return first;
}

static void refuse(int fd, int error)
{
	struct broker_answer no = { BROKER_VERSION, error };

	send(fd, &no, sizeof(no), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* A place for a new peer of uid. NULL: none, and *r is the reason. */
static struct peer *place_for(uid_t uid, int *r)
{
	bool many = has_too_many(uid);
	struct peer *p = many ? NULL : free_slot();

	*r = many ? -EUSERS : -ENFILE;
	if (!p)
		p = silent(many ? &uid : NULL);
	if (p && p->fd) {
		refuse(p->fd, *r);
		leave(p);
	}
	return p;
}

static bool watch(int fd, uint32_t what)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = what };

	return !epoll_ctl(events, EPOLL_CTL_ADD, fd, &e);
}

/* Give the process at the other end of fd a place. NULL: none, and *r is the reason. */
static struct peer *know(int fd, int *r)
{
	static uint64_t last;
	struct ucred cred;
	int pidfd;
	socklen_t n = sizeof(cred), m = sizeof(pidfd);
	struct peer *p;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &m)) {
		*r = -errno;
		return NULL;
	}
	p = place_for(cred.uid, r);
	if (p)
		*p = (struct peer){
			.fd = fd, .pidfd = pidfd, .uid = cred.uid, .came = ++last
		};
	else
		close(pidfd);
	return p;
}

static void deafen(int listener)
{
	deaf = DEAF_EVENTS;
	epoll_ctl(events, EPOLL_CTL_DEL, listener, NULL);
}

static void welcome(int listener)
{
	int r, fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct peer *p;
	uint32_t slot;

	if (fd < 0) {
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			deafen(listener);
		return;
	}
	p = know(fd, &r);
	if (!p) {
		refuse(fd, r);
		close(fd);
		return;
	}
	slot = (uint32_t)(p - peers);
	if (!watch(fd, slot) || !watch(p->pidfd, slot | ENDED))
		leave(p);
}

bool broker_prepare(int listener)
{
	struct rlimit l = { 2 * PEERS_MOST + OTHER_FILES,
			    2 * PEERS_MOST + OTHER_FILES };

	setrlimit(RLIMIT_NOFILE, &l);
	if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur < 2 * OTHER_FILES)
		return false;
	peers_most = MIN(PEERS_MOST, ((unsigned)l.rlim_cur - OTHER_FILES) / 2);
	events = epoll_create1(EPOLL_CLOEXEC);
	return events >= 0 && watch(listener, LISTENER);
}

void broker_serve(int listener)
{
	struct epoll_event e;

	for (;;) {
		int n = epoll_wait(events, &e, 1, deaf ? DEAF_MS : -1);

		if (n < 0 && errno != EINTR)
			return;
		if (deaf && (n == 0 || !--deaf))
			deaf = watch(listener, LISTENER) ? 0 : DEAF_EVENTS;
		if (n <= 0)
			continue;
		if (e.data.u32 == LISTENER)
			welcome(listener);
		else if (e.data.u32 & ENDED)
			leave(&peers[e.data.u32 & ~ENDED]);
		else
			hear(&peers[e.data.u32]);
	}
}
