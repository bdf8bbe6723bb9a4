/* SPDX-License-Identifier: Apache-2.0 */
/* mq_notify: the notification arrives whether the process asked for it before its first
 * thread or after it, also when main has called pthread_exit. */
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <sys/wait.h>

#include "posix.h"

#define AFTER_MS 30 /* without its notification the process ends before this */

static void called(union sigval v)
{
	_exit(v.sival_int);
}

static void on_signal(int sig)
{
	_exit(sig == SIGUSR1 ? 5 : 1);
}

static mqd_t queue(void)
{
	struct mq_attr a = { .mq_maxmsg = 1, .mq_msgsize = 1 };
	char name[64];
	mqd_t q;

	snprintf(name, sizeof(name), "/uk-queue-%d", getpid());
	q = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &a);
	if (q >= 0)
		mq_unlink(name);
	return q;
}

static void ask(mqd_t q, int how)
{
	struct sigevent ev = { .sigev_notify = how,
			       .sigev_value.sival_int = 4,
			       .sigev_signo = SIGUSR1 };

	if (how == SIGEV_THREAD)
		ev.sigev_notify_function = called;
	CHECK(!mq_notify(q, &ev));
}

/* Another process sends, after AFTER_MS. */
static void send_later(mqd_t q)
{
	if (!fork()) {
		usleep(AFTER_MS * 1000);
		_exit(mq_send(q, "", 1, 0) != 0);
	}
}

static void *nothing(void *arg)
{
	return arg;
}

static void *asks(void *arg)
{
	ask(*(mqd_t *)arg, SIGEV_SIGNAL);
	return arg;
}

static void before(mqd_t q)
{
	ask(q, SIGEV_SIGNAL);
	finish(start(nothing, NULL));
	send_later(q);
	for (;;)
		pause();
}

static void after(mqd_t q)
{
	finish(start(nothing, NULL));
	ask(q, SIGEV_THREAD);
	send_later(q);
	pthread_exit(NULL);
}

static void in_a_thread(mqd_t q)
{
	finish(start(asks, &q));
	send_later(q);
	for (;;)
		pause();
}

static void in_a_child(mqd_t q)
{
	int status;
	pid_t pid;

	finish(start(nothing, NULL));
	pid = fork();
	if (!pid)
		in_a_thread(q);
	CHECK(waitpid(pid, &status, 0) == pid);
	_exit(WEXITSTATUS(status));
}

static void comes(const char *what, void (*fn)(mqd_t))
{
	int status;
	pid_t pid;

	pid = make_child();
	if (!pid)
		fn(queue());
	CHECK(waitpid(pid, &status, 0) == pid);
	printf("%s: %x\n", what, status);
}

int main(void)
{
	mqd_t q = queue();

	if (q < 0) {
		puts("skip: the kernel has no message queues");
		return 77;
	}
	mq_close(q);
	CHECK(signal(SIGUSR1, on_signal) != SIG_ERR);
	for (int i = 0; i < 5; i++) {
		comes("before the first thread", before);
		comes("after it", after);
		comes("in it", in_a_thread);
		comes("in a child's", in_a_child);
	}
	return 0;
}
