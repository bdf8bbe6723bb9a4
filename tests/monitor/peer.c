/* SPDX-License-Identifier: Apache-2.0 */
/* A process leaves a broker that breaks the protocol. The test plays the broker. */
#include "monitor/peer.h"

#include <errno.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "monitor/alarm.h"
#include "monitor/broker.h"
#include "test.h"

static struct sockaddr_un place = { .sun_family = AF_UNIX };
static int listener, end;

static void is_asked(void)
{
	struct broker_ask a;

	CHECK_EQ(recv(end, &a, sizeof(a), 0), sizeof(a));
	CHECK_EQ(a.version, BROKER_VERSION);
	CHECK_EQ(a.pid, getpid());
}

static void begins(void)
{
	CHECK_EQ(peer_start(), 0);
	end = accept(listener, NULL, NULL);
	CHECK(end >= 0);
	is_asked();
	CHECK_EQ(peer_answers(), -EINPROGRESS);
}

static void says(int error)
{
	struct broker_answer a = { BROKER_VERSION, error };

	CHECK_EQ(send(end, &a, sizeof(a), MSG_NOSIGNAL), sizeof(a));
}

static void ends(void)
{
	peer_stop();
	close(end);
}

static void each_question_gets_an_answer(void)
{
	begins();
	says(0);
	CHECK_EQ(peer_answers(), 0);
	CHECK_EQ(peer_seat(1, 8), 0);
	CHECK_EQ(peer_seat(2, 8), 0);
	is_asked();
	is_asked();
	says(0);
	CHECK_EQ(peer_answers(), -EINPROGRESS);
	says(-EPERM);
	CHECK_EQ(peer_answers(), -EPERM);
	CHECK_EQ(peer_answers(), 0);
	ends();
}

static void an_answer_without_a_question_breaks_the_protocol(void)
{
	begins();
	says(0);
	says(0);
	CHECK_EQ(peer_answers(), -ENOTCONN);
	ends();
}

static void an_invalid_error_code_breaks_the_protocol(void)
{
	static const int lies[] = { 1, EPERM, INT_MAX, -EINPROGRESS };

	for (unsigned i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		begins();
		says(lies[i]);
		CHECK_EQ(peer_answers(), -ENOTCONN);
		ends();
	}
}

static void a_refusal_is_received_after_a_question_was_sent(void)
{
	CHECK_EQ(peer_start(), 0);
	end = accept(listener, NULL, NULL);
	CHECK(end >= 0);
	says(-EUSERS);
	close(end); /* the question is still unread in it */
	CHECK_EQ(peer_answers(), -EUSERS);
	CHECK_EQ(peer_answers(), -ENOTCONN);
	peer_stop();
}

int main(void)
{
	char dir[] = "/tmp/uk-peer-XXXXXX";

	CHECK(mkdtemp(dir));
	snprintf(place.sun_path, sizeof(place.sun_path), "%s/socket", dir);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	CHECK_EQ(bind(listener, (void *)&place, sizeof(place)), 0);
	CHECK_EQ(listen(listener, 1), 0);
	setenv("UK_BROKER", place.sun_path, 1);
	alarm_init(); /* blocks the signal of the socket */
	peer_init();
	RUN(each_question_gets_an_answer);
	RUN(an_answer_without_a_question_breaks_the_protocol);
	RUN(an_invalid_error_code_breaks_the_protocol);
	RUN(a_refusal_is_received_after_a_question_was_sent);
	unlink(place.sun_path);
	CHECK_EQ(rmdir(dir), 0);
	return 0;
}
