/* SPDX-License-Identifier: Apache-2.0 */
/* peer.c - asks the broker (broker.h) to watch this process.
 *
 * The monitor never waits for the broker: one that is stopped, or that the service
 * manager is just starting, must not keep the monitor from its looks. Questions are
 * sent as long as there is space. Answers are read when the socket's signal arrives, or
 * at the next look.
 *
 * In a forked child the fd means nothing: the socket is in the table of the parent's
 * monitor.
 */
#include "monitor/peer.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "monitor/alarm.h"
#include "monitor/broker.h"
#include "base/env.h"
#include "base/log.h"
#include "base/sys.h"

static struct sockaddr_un where = { .sun_family = AF_UNIX };
static int sock = -1;
static unsigned awaited; /* answers */

void peer_init(void)
{
	const char *path = env_get("UK_BROKER");

	fmt_to(where.sun_path, sizeof(where.sun_path), "%s", path ? path : BROKER_PATH);
	sock = -1;
}

static int ask(int tid, uint64_t carrier)
{
	struct broker_ask a = { .version = BROKER_VERSION,
				.pid = (int)sys0(SYS_getpid),
				.tid = tid,
				.carrier = carrier };
	int r = (int)sysn(SYS_sendto, sock, &a, sizeof(a), MSG_DONTWAIT | MSG_NOSIGNAL,
			  NULL, 0);

	if (r < 0)
		return r;
	awaited++;
	return 0;
}

int peer_start(void)
{
	int r;

	awaited = 0;
	sock = (int)sys3(SYS_socket, AF_UNIX,
			 SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return sock;
	r = (int)sys3(SYS_connect, sock, &where, sizeof(where));
	if (!r)
		r = alarm_by(sock);
	if (!r)
		r = ask(sys_gettid(), 0);
	if (r)
		peer_stop();
	return r;
}

int peer_seat(int tid, uint64_t carrier)
{
	return ask(tid, carrier);
}

bool peer_is(int fd)
{
	return fd == sock;
}

/* The n bytes in *a are an answer, and a question of ours is open. */
static bool is_answer(const struct broker_answer *a, long n)
{
	return n == sizeof(*a) && a->version == BROKER_VERSION && awaited &&
	       a->error <= 0 && a->error != -EINPROGRESS;
}

int peer_answers(void)
{
	struct broker_answer a;
	int refused = 0;

	for (;;) {
		long n =
		    sysn(SYS_recvfrom, sock, &a, sizeof(a), MSG_DONTWAIT, NULL, NULL);

		if (n == -EAGAIN || n == -EINTR)
			break;
		if (n == -ECONNRESET)
			continue; /* it closed without reading all; comes once */
		if (!is_answer(&a, n))
			return refused ? refused : -ENOTCONN;
		awaited--;
		if (a.error)
			refused = a.error;
	}
	return refused ? refused : awaited ? -EINPROGRESS : 0;
}

void peer_stop(void)
{
	if (sock >= 0)
		sys1(SYS_close, sock);
	sock = -1;
}
