/* SPDX-License-Identifier: Apache-2.0 */
/* Sets with a network processor. Threads behave as in any set, whether the kernel
 * grants a network processor or not. Its kernel thread sleeps when idle. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <uk/uk.h>

#include "test.h"

#define PAIRS 20
#define ROUNDS 200

static uk_vpset_attr attr_of(const char *name)
{
	uk_vpset_attr a = UK_VPSET_ATTR_INIT;

	a.name = name;
	a.n = (unsigned)uk_vp_count();
	a.flags = UK_VPSET_SQPOLL;
	a.idle = UK_MS;
	return a;
}

static uk_vpset *make(const uk_vpset_attr *a)
{
	uk_vpset *s;

	CHECK_EQ(uk_vpset_create_attr(&s, a), 0);
	return s;
}

static uk_thread *start(uk_vpset *s, void *(*fn)(void *), void *arg)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t;

	a.set = s;
	CHECK_EQ(uk_thread_create(&t, &a, fn, arg), 0);
	return t;
}

static void *echo(void *arg)
{
	const int *sv = arg;
	char buf[64];
	ssize_t n;

	while ((n = uk_recv(sv[1], buf, sizeof(buf), 0)) > 0)
		CHECK_EQ(uk_write_all(sv[1], buf, (size_t)n), n);
	CHECK_EQ(n, 0);
	return NULL;
}

static void *ask(void *arg)
{
	const int *sv = arg;

	for (int i = 0; i < ROUNDS; i++) {
		int back = 0;

		CHECK_EQ(uk_write_all(sv[0], &i, sizeof(i)), sizeof(i));
		CHECK_EQ(uk_read_all(sv[0], &back, sizeof(back)), sizeof(back));
		CHECK_EQ(back, i);
	}
	CHECK_EQ(uk_thread_set_deadline(uk_after(3 * UK_MS)), UK_FOREVER);
	CHECK_EQ(uk_recv(sv[0], arg, 1, 0), -ETIMEDOUT);
	uk_thread_set_deadline(UK_FOREVER);
	CHECK_EQ(uk_shutdown(sv[0], SHUT_WR), 0);
	return NULL;
}

/* Many pairs at once: the queue holds entries of several pairs, and vps steal. */
static void talk(uk_vpset *s)
{
	uk_thread *t[PAIRS][2];
	int sv[PAIRS][2];

	for (int i = 0; i < PAIRS; i++) {
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sv[i]), 0);
		t[i][0] = start(s, ask, sv[i]);
		t[i][1] = start(s, echo, sv[i]);
	}
	for (int i = 0; i < PAIRS; i++) {
		CHECK_EQ(uk_thread_join(t[i][0], NULL), 0);
		CHECK_EQ(uk_thread_join(t[i][1], NULL), 0);
		CHECK_EQ(uk_close(sv[i][0]), 0);
		CHECK_EQ(uk_close(sv[i][1]), 0);
	}
}

static void bad_attributes_are_refused(void)
{
	struct {
		uk_vpset_attr a;
		char more[8];
	} big = { attr_of("big"), { 0 } };
	uk_vpset_attr a = attr_of("bad");
	uk_vpset *s;

	CHECK_EQ(uk_vpset_create_attr(NULL, &a), -EINVAL);
	CHECK_EQ(uk_vpset_create_attr(NULL, NULL), -EINVAL);
	CHECK_EQ(uk_vpset_create(NULL, "bad", 1, NULL, 0), -EINVAL);
	a.size = sizeof(a.size);
	CHECK_EQ(uk_vpset_create_attr(&s, &a), -EINVAL);
	a = attr_of("bad");
	a.net_cpu = -2;
	CHECK_EQ(uk_vpset_create_attr(&s, &a), -EINVAL);
	a = attr_of("bad");
	a.idle = -1;
	CHECK_EQ(uk_vpset_create_attr(&s, &a), -EINVAL);
	a = attr_of("bad");
	a.min_wait = UK_FOREVER;
	CHECK_EQ(uk_vpset_create_attr(&s, &a), -EINVAL);
	a = attr_of("bad");
	a.min_wait = 60 * 60 * UK_SEC;
	CHECK_EQ(uk_vpset_create_attr(&s, &a), -EINVAL);
	a = attr_of("bad");
	a.napi_prefer = 2;
	CHECK_EQ(uk_vpset_create_attr(&s, &a), -EINVAL);
	big.a.size = sizeof(big);
	big.more[7] = 1; /* a field of a later library */
	CHECK_EQ(uk_vpset_create_attr(&s, &big.a), -E2BIG);
	big.more[7] = 0;
	CHECK_EQ(uk_vpset_create_attr(&s, &big.a), 0);
}

static void no_attributes_are_the_defaults(void)
{
	uk_vpset_attr a = UK_VPSET_ATTR_INIT;
	uk_vpset *s, *by_default = make(NULL);

	s = make(&a);
	CHECK_EQ(uk_vpset_size(by_default), uk_vpset_size(s));
	CHECK_EQ(uk_vpset_sqpoll(by_default), 0);
}

static void a_plain_set_has_no_network_processor(void)
{
	uk_vpset_attr a = UK_VPSET_ATTR_INIT;
	uk_vpset *s;

	CHECK_EQ(uk_vpset_sqpoll(uk_vpset_default()), 0);
	a.size = offsetof(uk_vpset_attr, net_cpu); /* the size of an older program */
	a.n = 1;
	s = make(&a);
	CHECK_EQ(uk_vpset_sqpoll(s), 0);
	CHECK_EQ(uk_vpset_size(s), 1);
}

static void a_set_without_its_network_processor_reports_that_and_works(void)
{
	uk_vpset_attr a = attr_of("refused");
	uk_vpset *s;

	a.net_cpu = 1 << 20; /* no machine has this CPU */
	s = make(&a);
	CHECK(uk_vpset_sqpoll(s) < 0);
	talk(s);
}

static void threads_talk_through_a_network_processor(void)
{
	uk_vpset_attr a = attr_of("talk");
	uk_vpset *s = make(&a);

	printf("# network processor: %d\n", uk_vpset_sqpoll(s));
	talk(s);
}

static void threads_talk_in_batches(void)
{
	uk_vpset_attr a = attr_of("batch");

	a.min_wait = 50 * UK_US;
	a.batch = 8;
	a.napi = 20 * UK_US;
	talk(make(&a));
}

/* -- sends, which the network processor carries out, too -- */

#define MUCH (1 << 20)

static char much[MUCH], came[MUCH];
static int ends[2];

static void *takes(void *arg)
{
	CHECK_EQ(uk_read_all(ends[1], came, MUCH), MUCH);
	return arg;
}

static void *sends(void *arg)
{
	struct iovec v[2] = { { much, 1000 }, { much + 1000, MUCH - 1000 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };
	char little[100];

	switch ((int)(intptr_t)arg) {
	case 0:
		CHECK_EQ(uk_send(ends[0], much, MUCH, 0), MUCH);
		break;
	case 1:
		CHECK_EQ(uk_sendmsg(ends[0], &m, 0), MUCH);
		break;
	case 2:
		CHECK_EQ(uk_writev(ends[0], v, 2), MUCH);
		break;
	default: /* from our stack, in small pieces */
		for (int at = 0, n; at < MUCH; at += n) {
			n = MUCH - at < 100 ? MUCH - at : 100;
			memcpy(little, much + at, (size_t)n);
			CHECK_EQ(uk_send(ends[0], little, (size_t)n, 0), n);
		}
	}
	return NULL;
}

static void all_bytes_that_are_sent_arrive(void)
{
	uk_vpset_attr a = attr_of("send");
	uk_vpset *s = make(&a);

	for (int i = 0; i < MUCH; i++)
		much[i] = (char)(i * 2654435761u >> 24);
	for (intptr_t how = 0; how < 4; how++) {
		uk_thread *t, *u;

		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
		memset(came, 0, MUCH);
		t = start(s, sends, (void *)how);
		u = start(s, takes, NULL);
		CHECK_EQ(uk_thread_join(t, NULL), 0);
		CHECK_EQ(uk_thread_join(u, NULL), 0);
		CHECK(!memcmp(much, came, MUCH));
		uk_close(ends[0]);
		uk_close(ends[1]);
	}
}

static volatile sig_atomic_t pipes;

static void on_pipe(int sig)
{
	(void)sig;
	pipes = pipes + 1;
}

static void *sends_to_nobody(void *arg)
{
	char c[10] = "nobody";
	struct timeval tick = { 0, 1000 };

	while (uk_send(ends[0], c, sizeof(c), MSG_DONTWAIT) > 0)
		;
	CHECK_EQ(uk_thread_set_deadline(uk_after(2 * UK_MS)), UK_FOREVER);
	CHECK_EQ(uk_send(ends[0], c, sizeof(c), 0), -ETIMEDOUT);
	uk_thread_set_deadline(UK_FOREVER);
	CHECK_EQ(setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &tick, sizeof(tick)), 0);
	CHECK_EQ(uk_send(ends[0], c, sizeof(c), 0), -EAGAIN);
	CHECK_EQ(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	CHECK_EQ(uk_send(ends[0], c, sizeof(c), 0), -EAGAIN);
	CHECK_EQ(fcntl(ends[0], F_SETFL, 0), 0);
	CHECK_EQ(uk_close(ends[1]), 0);
	CHECK_EQ(uk_send(ends[0], c, sizeof(c), MSG_NOSIGNAL), -EPIPE);
	CHECK_EQ(pipes, 0);
	CHECK_EQ(uk_send(ends[0], c, sizeof(c), 0), -EPIPE);
	CHECK_EQ(pipes, 1);
	CHECK_EQ(uk_write(ends[0], c, sizeof(c)), -EPIPE);
	CHECK_EQ(pipes, 2);
	CHECK_EQ(uk_close(ends[0]), 0);
	CHECK_EQ(uk_send(ends[0], c, sizeof(c), 0), -EBADF);
	return arg;
}

static void a_failed_send_returns_the_error(void)
{
	uk_vpset_attr a = attr_of("nobody");

	signal(SIGPIPE, on_pipe);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	CHECK_EQ(uk_thread_join(start(make(&a), sends_to_nobody, NULL), NULL), 0);
	signal(SIGPIPE, SIG_DFL);
}

static int closed[2];

static void *closes(void *arg)
{
	for (uintptr_t i = (uintptr_t)arg; i; i--)
		uk_yield();
	CHECK_EQ(uk_close(closed[0]), 0);
	return NULL;
}

static void *is_closed(void *arg)
{
	char c;

	CHECK_EQ(uk_recv(closed[0], &c, 1, 0), -EBADF);
	return arg;
}

static void a_close_ends_a_waiting_receive(void)
{
	uk_vpset_attr a = attr_of("close");
	uk_vpset *s = make(&a);

	for (uintptr_t i = 0; i < 50; i++) {
		uk_thread *t, *u;

		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, closed), 0);
		t = start(s, is_closed, NULL);
		u = start(s, closes, (void *)(i % 10));
		CHECK_EQ(uk_thread_join(t, NULL), 0);
		CHECK_EQ(uk_thread_join(u, NULL), 0);
		CHECK_EQ(uk_close(closed[1]), 0);
	}
}

static void *opens(void *arg)
{
	int fd = uk_open("/proc/self/stat", O_RDONLY, 0);
	char c;

	CHECK(fd >= 0);
	CHECK_EQ(uk_read(fd, &c, 1), 1);
	CHECK_EQ(uk_close(fd), 0);
	return arg;
}

static void a_file_is_opened_by_the_calling_thread(void)
{
	uk_vpset_attr a = attr_of("open");

	CHECK_EQ(uk_thread_join(start(make(&a), opens, NULL), NULL), 0);
}

/* -- its kernel thread, as /proc shows it -- */

static void task_file(char *to, size_t n, const char *tid, const char *name, char *path)
{
	FILE *f;

	snprintf(path, 300, "/proc/self/task/%s/%s", tid, name);
	f = fopen(path, "r");
	to[0] = 0;
	if (!f)
		return;
	n = fread(to, 1, n - 1, f);
	to[n] = 0;
	fclose(f);
}

/* True if all threads of that kind sleep. *n: how many there are; *times: how often
 * they went to sleep. A thread that is about to sleep, or was preempted there, is shown
 * as asleep, and is not yet in *times. */
static bool all_sleep(long *times, int *n)
{
	DIR *d = opendir("/proc/self/task");
	const struct dirent *e;
	bool sleep = true;

	*times = *n = 0;
	while ((e = readdir(d))) {
		char text[4096], path[300], *at;

		task_file(text, sizeof(text), e->d_name, "comm", path);
		if (strncmp(text, "iou-sqp", 7))
			continue;
		++*n;
		task_file(text, sizeof(text), e->d_name, "status", path);
		at = strstr(text, "State:\t");
		sleep &= at && at[7] == 'S';
		at = strstr(text, "\nvoluntary_ctxt_switches:\t");
		*times += at ? atol(at + 26) : 0;
	}
	closedir(d);
	return sleep;
}

static void a_network_processor_sleeps_when_idle_and_is_woken(void)
{
	uk_vpset_attr a = attr_of("sleep");
	uk_vpset *s = make(&a);
	long before, after;
	int n;

	if (uk_vpset_sqpoll(s) < 0) {
		printf("skipped: no network processor here, error %d\n",
		       uk_vpset_sqpoll(s));
		return;
	}
	for (int i = 0; i < 5; i++) {
		UNTIL(all_sleep(&before, &n));
		talk(s);
		UNTIL(all_sleep(&after, &n) && after > before);
	}
}

/* -- a forked child has its own network processor, and the parent keeps its own -- */

static uk_vpset *forked;

static int child(int was)
{
	long times;
	int n;

	talk(forked);
	CHECK_EQ(uk_vpset_sqpoll(forked), was);
	all_sleep(&times, &n);
	CHECK_EQ(n > 0, was > 0);
	return 0;
}

static void *forks(void *arg)
{
	for (int i = 0; i < 5; i++) {
		int was = uk_vpset_sqpoll(forked), status;
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid)
			_exit(child(was));
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
	}
	return arg;
}

static void a_forked_child_has_a_network_processor_of_its_own(void)
{
	uk_vpset_attr a = attr_of("fork");

	if (SANITIZED)
		return;
	a.napi = 20 * UK_US;
	forked = make(&a);
	talk(forked);
	CHECK_EQ(uk_thread_join(start(forked, forks, NULL), NULL), 0);
	forks(NULL);
	talk(forked);
}

/* -- credentials -- */

static uid_t uid_of_a_message(const int *pair)
{
	char byte;
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(struct ucred))];
	} c;
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &c,
			    .msg_controllen = sizeof(c) };
	struct ucred who;

	CHECK_EQ(uk_send(pair[0], "x", 1, 0), 1);
	CHECK_EQ(uk_recvmsg(pair[1], &m, 0), 1);
	CHECK_EQ(c.head.cmsg_type, SCM_CREDENTIALS);
	memcpy(&who, CMSG_DATA(&c.head), sizeof(who));
	return who.uid;
}

static void *gives_up_its_privileges(void *arg)
{
	static const int one = 1;
	int pair[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	CHECK_EQ(setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)), 0);
	CHECK_EQ(uid_of_a_message(pair), 0);
	CHECK_EQ(setuid(65534), 0);
	CHECK_EQ(uid_of_a_message(pair), 65534);
	return arg;
}

/* This is the last test, because the process gives up its privileges. */
static void a_message_has_the_credentials_of_the_sending_thread(void)
{
	uk_vpset_attr a = attr_of("rights");

	if (getuid() ||
	    SANITIZED) /* under TSan, libc's broadcast does not reach our handler */
		return;
	CHECK_EQ(uk_thread_join(start(make(&a), gives_up_its_privileges, NULL), NULL),
		 0);
}

int main(void)
{
	CHECK_EQ(uk_init(), 0);
	RUN(bad_attributes_are_refused);
	RUN(no_attributes_are_the_defaults);
	RUN(a_plain_set_has_no_network_processor);
	RUN(a_set_without_its_network_processor_reports_that_and_works);
	RUN(threads_talk_through_a_network_processor);
	RUN(threads_talk_in_batches);
	RUN(all_bytes_that_are_sent_arrive);
	RUN(a_failed_send_returns_the_error);
	RUN(a_close_ends_a_waiting_receive);
	RUN(a_file_is_opened_by_the_calling_thread);
	RUN(a_network_processor_sleeps_when_idle_and_is_woken);
	RUN(a_forked_child_has_a_network_processor_of_its_own);
	RUN(a_message_has_the_credentials_of_the_sending_thread);
	return 0;
}
