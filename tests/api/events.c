/* SPDX-License-Identifier: Apache-2.0 */
/* Timers and signals that arrive on channels. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uk/uk.h>

#include "test.h"

static uk_chan *c;

static void chan(size_t size, size_t capacity)
{
	CHECK_EQ(uk_chan_create(&c, size, capacity), 0);
}

static int next(void)
{
	int v = 0;

	CHECK_EQ(uk_chan_recv(c, &v), 0);
	return v;
}

static void a_timer_sends_once_and_not_early(void)
{
	uk_time at = uk_after(5 * UK_MS);
	uk_timer *t, *over;
	int v = 7, w = 8;

	chan(sizeof(int), 1);
	CHECK_EQ(uk_timer_start(&t, c, &v, at, 0), 0);
	v = 0; /* it was copied */
	CHECK_EQ(next(), 7);
	CHECK(uk_now() >= at);
	CHECK_EQ(uk_timer_start(&over, c, &w, 0, 0), 0);
	CHECK_EQ(next(), 8);
	CHECK_EQ(uk_chan_recv_until(c, &v, uk_after(10 * UK_MS)), -ETIMEDOUT);
	uk_timer_stop(t);
	uk_timer_stop(over);
	uk_timer_stop(NULL);
	uk_chan_destroy(c);
}

static void a_timer_repeats_in_its_rhythm(void)
{
	uk_time begun = uk_now(), period = 2 * UK_MS;
	uk_timer *t;

	chan(0, 0);
	CHECK_EQ(uk_timer_start(&t, c, NULL, begun + period, period), 0);
	for (int i = 1; i <= 10; i++) {
		CHECK_EQ(uk_chan_recv(c, NULL), 0);
		CHECK(uk_now() >= begun + i * period);
	}
	uk_timer_stop(t);
	CHECK_EQ(uk_chan_tryrecv(c, NULL), -EAGAIN);
	uk_chan_destroy(c);
}

/* Only what the channel holds, and the one that the timer waits with. */
static void times_that_nobody_takes_are_left_out(void)
{
	uk_timer *t;
	int v = 1, n = 0;

	chan(sizeof(int), 2);
	CHECK_EQ(uk_timer_start(&t, c, &v, uk_now(), UK_MS / 10), 0);
	UNTIL(uk_chan_len(c) == 2);
	uk_timer_stop(t);
	while (!uk_chan_tryrecv(c, &v))
		n++;
	CHECK_EQ(n, 2);
	uk_chan_destroy(c);
}

static void a_timer_is_stopped_in_any_state(void)
{
	uk_timer *t;

	for (int i = 0; i < 100; i++) {
		chan(0, (size_t)i % 2);
		CHECK_EQ(uk_timer_start(&t, c, NULL, uk_after(i % 5 * UK_MS / 10),
					i % 3 * UK_MS / 10),
			 0);
		if (i % 7 == 0)
			uk_sleep(UK_MS / 4);
		if (i % 4 == 3)
			CHECK_EQ(uk_chan_close(c), 0);
		uk_timer_stop(t);
		uk_chan_destroy(c);
	}
	chan(4, 1);
	CHECK_EQ(uk_timer_start(NULL, c, &t, 0, 0), -EINVAL);
	CHECK_EQ(uk_timer_start(&t, c, NULL, 0, 0), -EINVAL);
	CHECK_EQ(uk_timer_start(&t, c, &t, 0, -1), -EINVAL);
	uk_chan_destroy(c);
}

/* The caller stays cancelled, and its deadline stays. */
static void *stops(void *t)
{
	uk_thread_set_deadline(1);
	uk_thread_cancel(uk_thread_self());
	uk_timer_stop(t);
	CHECK(uk_thread_is_cancelled());
	CHECK_EQ(uk_thread_set_deadline(UK_FOREVER), 1);
	return NULL;
}

static void a_cancelled_thread_can_stop_a_timer(void)
{
	uk_timer *timer;
	uk_thread *t;

	chan(0, 0);
	CHECK_EQ(uk_timer_start(&timer, c, NULL, uk_after(3600 * UK_SEC), 0), 0);
	CHECK_EQ(uk_thread_create(&t, NULL, stops, timer), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	uk_chan_destroy(c);
}

static int handled;

static void handler(int sig)
{
	handled = sig;
}

static void a_signal_arrives_on_its_channel(void)
{
	chan(sizeof(int), 1);
	signal(SIGUSR1, handler);
	CHECK_EQ(uk_signal_to_chan(SIGUSR1, c), 0);
	CHECK_EQ(uk_signal_to_chan(SIGUSR1, c), -EBUSY);
	CHECK_EQ(uk_signal_to_chan(SIGUSR2, c), 0);
	for (int i = 0; i < 50; i++) {
		int sig = i % 2 ? SIGUSR1 : SIGUSR2;

		CHECK_EQ(kill(getpid(), sig), 0);
		CHECK_EQ(next(), sig);
	}
	CHECK_EQ(handled, 0);
	CHECK_EQ(uk_signal_to_chan(SIGUSR1, NULL), 0);
	CHECK_EQ(uk_signal_to_chan(SIGUSR1, NULL), -ENOENT);
	CHECK_EQ(uk_signal_to_chan(SIGUSR2, NULL), 0);
	CHECK_EQ(raise(SIGUSR1), 0); /* the handler of before is there again */
	CHECK_EQ(handled, SIGUSR1);
	uk_chan_destroy(c);
}

static void a_signal_is_not_lost_while_the_channel_is_full(void)
{
	chan(sizeof(int), 1);
	CHECK_EQ(uk_signal_to_chan(SIGUSR1, c), 0);
	CHECK_EQ(kill(getpid(), SIGUSR1), 0);
	UNTIL(uk_chan_len(c) == 1);
	for (int i = 0; i < 10; i++) /* left out, all but one or two */
		CHECK_EQ(raise(SIGUSR1), 0);
	CHECK_EQ(next(), SIGUSR1);
	CHECK_EQ(next(), SIGUSR1);
	CHECK_EQ(uk_signal_to_chan(SIGUSR1, NULL), 0);
	uk_chan_destroy(c);
}

static void bad_signals_are_refused(void)
{
	const int bad[] = { 0, -1, 65, 1000, SIGKILL, SIGSTOP, SIGSEGV, SIGURG };

	chan(sizeof(int), 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_EQ(uk_signal_to_chan(bad[i], c), -EINVAL);
	uk_chan_destroy(c);
	chan(1, 1);
	CHECK_EQ(uk_signal_to_chan(SIGUSR1, c), -EINVAL);
	uk_chan_destroy(c);
}

/* Nobody in the child would hear of the signal. */
static void a_forked_child_has_the_disposition_of_before(void)
{
	int status, v;
	pid_t pid;

	chan(sizeof(int), 1);
	CHECK_EQ(uk_signal_to_chan(SIGTERM, c), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		raise(SIGTERM);
		_exit(1);
	}
	CHECK_EQ(uk_waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		CHECK_EQ(uk_signal_to_chan(SIGTERM, NULL), -ENOENT);
		CHECK_EQ(uk_signal_to_chan(SIGTERM, c), 0);
		kill(getpid(), SIGTERM);
		CHECK_EQ(uk_chan_recv(c, &v), 0);
		_exit(v == SIGTERM ? 0 : 1);
	}
	CHECK_EQ(uk_waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(uk_signal_to_chan(SIGTERM, NULL), 0);
	uk_chan_destroy(c);
}

/* A server waits for work, the next second, and the order to end. */
static void select_waits_for_all_of_them(void)
{
	int tick = 1, v, sig;
	uk_chan *stop;
	uk_timer *t;
	uk_chan_case k[2];

	chan(sizeof(int), 1);
	CHECK_EQ(uk_chan_create(&stop, sizeof(int), 1), 0);
	CHECK_EQ(uk_timer_start(&t, c, &tick, uk_now(), UK_MS), 0);
	CHECK_EQ(uk_signal_to_chan(SIGTERM, stop), 0);
	k[0] = (uk_chan_case){ c, UK_CHAN_RECV, 0, &v };
	k[1] = (uk_chan_case){ stop, UK_CHAN_RECV, 0, &sig };
	for (int i = 0; i < 3; i++)
		CHECK_EQ(uk_chan_select(k, 2, UK_FOREVER), 0);
	CHECK_EQ(kill(getpid(), SIGTERM), 0);
	while (uk_chan_select(k, 2, UK_FOREVER) == 0)
		;
	CHECK_EQ(sig, SIGTERM);
	CHECK_EQ(uk_signal_to_chan(SIGTERM, NULL), 0);
	uk_timer_stop(t);
	uk_chan_destroy(stop);
	uk_chan_destroy(c);
}

static void timers(void)
{
	RUN(a_timer_sends_once_and_not_early);
	RUN(a_timer_repeats_in_its_rhythm);
	RUN(times_that_nobody_takes_are_left_out);
	RUN(a_timer_is_stopped_in_any_state);
}

static void *root(void *arg)
{
	timers();
	return arg;
}

int main(void)
{
	uk_thread *t;

	CHECK_EQ(uk_thread_create(&t, NULL, root, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	puts("the same on a kernel thread:");
	timers();
	RUN(a_cancelled_thread_can_stop_a_timer);
	RUN(a_signal_arrives_on_its_channel);
	RUN(a_signal_is_not_lost_while_the_channel_is_full);
	RUN(bad_signals_are_refused);
	if (!SANITIZED)
		RUN(a_forked_child_has_the_disposition_of_before);
	RUN(select_waits_for_all_of_them);
	return 0;
}
