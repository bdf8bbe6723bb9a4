/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for children, and message queues and semaphores of the kernel. */
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix.h"

/* Starts a shell that runs `what`. */
static pid_t child(const char *what)
{
	const char *args[] = { "sh", "-c", what, NULL };
	pid_t pid = vfork();

	if (pid)
		return pid;
	execv("/bin/sh", (char **)(uintptr_t)args);
	_exit(127);
}

static void *ends(void *arg)
{
	struct rusage u;
	siginfo_t info = { 0 };
	int st;
	pid_t c = child("exec sleep 1000");

	CHECK(waitpid(c, &st, WNOHANG) == 0);
	CHECK(!kill(c, SIGKILL) && waitpid(c, &st, 0) == c && WTERMSIG(st) == SIGKILL);
	c = child("exec sleep 0.05");
	CHECK(waitpid(c, &st, 0) == c && WIFEXITED(st) && !WEXITSTATUS(st));
	FAILS(waitpid(c, &st, 0), ECHILD);
	FAILS(waitpid(c, &st, WNOHANG), ECHILD);
	FAILS(wait(&st), ECHILD);
	FAILS(waitpid(1, &st, 0), ECHILD);
	FAILS(waitpid(-1, &st, 12345 << 8), EINVAL);
	c = child("sleep 0.02; exit 7");
	CHECK(wait4(c, &st, 0, &u) == c && WEXITSTATUS(st) == 7);
	c = child("sleep 0.02; exit 8");
	CHECK(wait(&st) == c && WEXITSTATUS(st) == 8);
	c = child("sleep 0.02; kill -9 $$");
	CHECK(!waitid(P_PID, (id_t)c, &info, WEXITED | WNOWAIT));
	CHECK(info.si_pid == c && info.si_code == CLD_KILLED && info.si_status == 9);
	CHECK(!waitid(P_PID, (id_t)c, &info, WEXITED) && info.si_pid == c);
	FAILS(waitid(P_PID, (id_t)c, &info, WEXITED), ECHILD);
	FAILS(waitid(P_PID, (id_t)c, &info, 0), EINVAL);
	c = child("kill -STOP $$; exit 3");
	CHECK(waitpid(c, &st, WUNTRACED) == c && WIFSTOPPED(st));
	kill(c, SIGCONT);
	CHECK(waitpid(c, &st, 0) == c && WEXITSTATUS(st) == 3);
	return arg;
}

static void *one_child(void *arg)
{
	int st;
	pid_t c = child("exec sleep 0.1");

	CHECK(waitpid(c, &st, 0) == c && !st);
	return arg;
}

static void *children(void *arg)
{
	pthread_t t[20];

	for (int i = 0; i < 20; i++)
		t[i] = start(one_child, NULL);
	for (int i = 0; i < 20; i++)
		finish(t[i]);
	return arg;
}

/* ---- queues and semaphores ---- */

struct note {
	long type;
	char text[8];
};

static int q, sem;
static mqd_t mq;

static void *tells(void *arg)
{
	struct note m = { 1, "hello" };
	struct sembuf up = { 0, 1, 0 };

	usleep(20000);
	CHECK(!msgsnd(q, &m, sizeof(m.text), 0));
	CHECK(!semop(sem, &up, 1));
	if (mq != (mqd_t)-1)
		CHECK(!mq_send(mq, "word", 5, 3));
	return arg;
}

static void *queues(void *arg)
{
	struct mq_attr a = { .mq_maxmsg = 4, .mq_msgsize = 16 };
	struct timespec past = { 1, 0 };
	struct sembuf down = { 0, -1, 0 };
	struct note m;
	char buf[16], name[40];
	unsigned prio;
	pthread_t t;

	q = msgget(IPC_PRIVATE, 0600);
	sem = semget(IPC_PRIVATE, 1, 0600);
	snprintf(name, sizeof(name), "/uk-posix-wait-%d", getpid());
	mq = mq_open(name, O_CREAT | O_RDWR, 0600, &a);
	mq_unlink(name);
	CHECK(q >= 0 && sem >= 0);
	FAILS(msgrcv(q, &m, sizeof(m.text), 0, IPC_NOWAIT), ENOMSG);
	t = start(tells, NULL);
	CHECK(msgrcv(q, &m, sizeof(m.text), 0, 0) == sizeof(m.text));
	CHECK(!strcmp(m.text, "hello") && !semop(sem, &down, 1));
	if (mq != (mqd_t)-1) {
		CHECK(mq_receive(mq, buf, 16, &prio) == 5 && prio == 3);
		FAILS(mq_timedreceive(mq, buf, 16, &prio, &past), ETIMEDOUT);
	}
	finish(t);
	msgctl(q, IPC_RMID, NULL);
	semctl(sem, 0, IPC_RMID);
	return arg;
}

int main(void)
{
	run_in_thread(ends);
	run_in_thread(children);
	run_in_thread(queues);
	printf("ok\n");
	return 0;
}
