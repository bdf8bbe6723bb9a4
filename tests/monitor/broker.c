/* SPDX-License-Identifier: Apache-2.0 */
/* `uk broker`: a process that may not load a BPF program gets the events of the
 * broker's program, and can do nothing to other processes, whatever it sends. Each
 * scene is a process of user nobody, forked before any runtime starts. */
#define MECHANISM "bpf"
#define FORCE "bpf by a broker"
#include "told.h"

#include <dirent.h>
#include <errno.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "monitor/broker.h"

enum { NOBODY = 65534, OF_USER = 256 };

static struct sockaddr_un place = { .sun_family = AF_UNIX };
static pid_t broker;

/* listener: the listening socket, passed as a service manager passes it; -1: the broker
 * makes its own. */
static void become_the_broker(int out, int listener)
{
	char exe[4096], pid[16];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 16);

	CHECK(n > 0);
	exe[n] = 0;
	strcpy(strrchr(exe, '/'), "/../uk");
	dup2(out, 1);
	dup2(out, 2);
	if (listener >= 0) {
		dup2(listener, 3);
		snprintf(pid, sizeof(pid), "%d", getpid());
		setenv("LISTEN_PID", pid, 1);
		setenv("LISTEN_FDS", "1", 1);
	}
	closefrom(listener >= 0 ? 4 : 3);
	execl(exe, "uk", "broker", listener >= 0 ? NULL : "--socket", place.sun_path,
	      NULL);
	_exit(127);
}

static void begin_the_broker(int listener)
{
	char line[256] = "";
	int out[2], st;

	CHECK_EQ(pipe(out), 0);
	broker = fork();
	CHECK(broker >= 0);
	if (!broker)
		become_the_broker(out[1], listener);
	close(out[1]);
	CHECK(read(out[0], line, sizeof(line) - 1) >= 0);
	if (!strstr(line, "ready")) {
		CHECK_EQ(waitpid(broker, &st, 0), broker);
		if (strstr(line, "cannot be loaded"))
			SKIP("%s", line);
		fputs(line, stderr);
		CHECK(false && "the broker began");
	}
	close(out[0]);
}

static void end_the_broker(void)
{
	kill(broker, SIGKILL);
	waitpid(broker, NULL, 0);
	unlink(place.sun_path);
}

static pid_t scene(void (*fn)(void), uid_t user)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		CHECK_EQ(setgid(user), 0);
		CHECK_EQ(setuid(user), 0);
		fn();
		fflush(NULL);
		_exit(0);
	}
	return pid;
}

static void to_its_end(pid_t pid)
{
	int st;

	CHECK_EQ(waitpid(pid, &st, 0), pid);
	CHECK_EQ(st, 0);
}

static void play(void (*fn)(void))
{
	to_its_end(scene(fn, NOBODY));
}

static void play_as_root(void (*fn)(void))
{
	to_its_end(scene(fn, 0));
}

#define RUN_IN(how, fn) RUN_AS(fn, how(fn))

/* -- processes that keep to the protocol -- */

static void served(void)
{
	UNTIL(in_force());
	blocks_are_reported();
}

static void an_unprivileged_process_gets_events(void)
{
	descriptors(open_before);
	served();
	blocks_on_new_carriers_are_reported();
	a_forked_child_gets_its_own_events();
	the_programs_fds_are_unchanged();
	a_later_seccomp_filter_costs_only_the_events();
}

static void a_process_gets_events_after_exec(void)
{
	served();
	execl("/proc/self/exe", "told", "again", NULL);
	CHECK(false && "executed");
}

/* -- processes that do not -- */

static int call(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	CHECK_EQ(connect(fd, (void *)&place, sizeof(place)), 0);
	return fd;
}

/* The error in the broker's answer; 1: the broker has closed the connection. */
static int answer(int fd)
{
	struct broker_answer a;
	ssize_t n = recv(fd, &a, sizeof(a), 0);

	if (n < 0 && errno == ECONNRESET) /* it closed with our data unread; reported
					   * only once */
		n = recv(fd, &a, sizeof(a), 0);
	if (n == 0)
		return 1;
	CHECK_EQ(n, sizeof(a));
	return a.error;
}

static int ask(int fd, int pid, int tid, const void *carrier)
{
	struct broker_ask a = { BROKER_VERSION, pid, tid, 0, (uintptr_t)carrier };

	/* fails if the broker refused the connection before the question was sent */
	CHECK(send(fd, &a, sizeof(a), MSG_NOSIGNAL) == sizeof(a) || errno == EPIPE ||
	      errno == ECONNRESET);
	return answer(fd);
}

static void garbage_closes_the_connection(void)
{
	char much[4096] = { 1 };
	struct broker_ask a = { BROKER_VERSION, getpid(), getpid(), 0, 0 };
	static const size_t sizes[] = { 1, sizeof(a) / 2, sizeof(a) - 1, sizeof(a) + 1,
					sizeof(much) };

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int fd = call();

		memcpy(much, &a, sizeof(a));
		CHECK_EQ(send(fd, much, sizes[i], 0), sizes[i]);
		CHECK_EQ(answer(fd), -EPROTO);
		CHECK_EQ(answer(fd), 1);
		close(fd);
	}
	a.version = 0;
	for (int i = 0; i < 2; i++) { /* a wrong version; a carrier before the first
				       * question */
		int fd = call();

		CHECK_EQ(send(fd, &a, sizeof(a), 0), sizeof(a));
		CHECK_EQ(answer(fd), -EPROTO);
		CHECK_EQ(answer(fd), 1);
		close(fd);
		a.version = BROKER_VERSION;
		a.carrier = 8;
	}
}

static void threads_of_other_processes_get_no_seats(void)
{
	int fd = call(), other;
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child)
		for (;;)
			pause();
	other = call();
	CHECK_EQ(ask(other, getpid(), child, NULL), -EPERM); /* as its monitor */
	CHECK_EQ(answer(other), 1);
	other = call();
	CHECK_EQ(ask(other, child, child, NULL), -EXDEV);
	CHECK_EQ(ask(fd, getpid(), getpid(), NULL), 0);
	CHECK_EQ(ask(fd, getpid(), child, &fd), -EPERM);
	CHECK_EQ(ask(fd, getpid(), getppid(), &fd), -EPERM);
	CHECK_EQ(ask(fd, getpid(), 1, &fd), -EPERM);
	CHECK(ask(fd, getpid(), 0, &fd) < 0);
	CHECK(ask(fd, getpid(), -1, &fd) < 0);
	CHECK_EQ(ask(fd, getpid(), getpid(), &fd), 0);
	kill(child, SIGKILL);
	CHECK_EQ(waitpid(child, NULL, 0), child);
}

/* A connection acts only for the process that made it, whatever process holds the
 * socket, and is closed when that process ends. */
static void an_inherited_socket_is_useless_to_a_child(void)
{
	int fd, go[2];
	pid_t child, mother;
	char c;

	CHECK_EQ(pipe(go), 0);
	fd = call();
	CHECK_EQ(ask(fd, getpid(), getpid(), NULL), 0);
	mother = getpid();
	child = fork();
	CHECK(child >= 0);
	if (child) {
		CHECK_EQ(read(go[0], &c, 1), 1);
		_exit(0);
	}
	CHECK_EQ(ask(fd, mother, getpid(), &fd), -EPERM);
	CHECK_EQ(write(go[1], "", 1), 1);
	CHECK_EQ(answer(fd), 1);
	_exit(0);
}

static void a_client_that_floods_is_dropped(void)
{
	struct broker_ask a = { BROKER_VERSION, getpid(), getpid(), 0, 0 };
	int fd = call();

	CHECK_EQ(ask(fd, getpid(), getpid(), NULL), 0);
	a.carrier = 8;
	/* when there is no space left for its answers, the broker drops it */
	while (send(fd, &a, sizeof(a), MSG_NOSIGNAL) == sizeof(a))
		;
	CHECK(errno == EPIPE || errno == ECONNRESET);
}

static void passed_fds_are_not_accepted(void)
{
	struct broker_ask a = { BROKER_VERSION, getpid(), getpid(), 0, 0 };
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} c;
	struct iovec v = { &a, sizeof(a) };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = c.buf,
			    .msg_controllen = sizeof(c.buf) };
	int fd = call();

	memset(&c, 0, sizeof(c));
	c.align = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
				    .cmsg_type = SCM_RIGHTS,
				    .cmsg_len = CMSG_LEN(sizeof(int)) };
	memcpy(CMSG_DATA(&c.align), &fd, sizeof(fd));
	if (sendmsg(fd, &m, MSG_NOSIGNAL) < 0)
		CHECK_EQ(errno, EPERM);
	else
		CHECK_EQ(answer(fd), 0); /* an older kernel closes the fd for the
					  * broker */
}

/* -- when all places are taken -- */

enum { USERS = 8 };

static pid_t filler[USERS];
static int filled[2];

static void takes_all_in_silence(void)
{
	for (int i = 0; i < OF_USER; i++)
		call();
	CHECK_EQ(write(filled[1], "", 1), 1);
	for (;;)
		pause();
}

static void takes_all_and_asks(void)
{
	for (int i = 0, r = 0; i < OF_USER && !r; i++) {
		r = ask(call(), getpid(), getpid(), NULL);
		CHECK(!r || r == -ENFILE);
	}
	CHECK_EQ(write(filled[1], "", 1), 1);
	for (;;)
		pause();
}

/* The number of fds that the broker has open. */
static int files(void)
{
	char path[64];
	int n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", broker);
	d = opendir(path);
	CHECK(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static int files_of_few; /* while it serves one process */

static void nobody_else_is_there(void)
{
	while (files() > files_of_few)
		usleep(1000);
}

static void fill_by(void (*fn)(void))
{
	char c;

	nobody_else_is_there();
	CHECK_EQ(pipe(filled), 0);
	for (int i = 0; i < USERS; i++) {
		filler[i] = scene(fn, (uid_t)(NOBODY - 2 - i));
		CHECK_EQ(read(filled[0], &c, 1), 1);
	}
}

static void empty(void)
{
	for (int i = 0; i < USERS; i++) {
		kill(filler[i], SIGKILL);
		CHECK_EQ(waitpid(filler[i], NULL, 0), filler[i]);
	}
	close(filled[0]);
	close(filled[1]);
	nobody_else_is_there();
}

static void is_served_at_once(void)
{
	CHECK_EQ(ask(call(), getpid(), getpid(), NULL), 0);
}

static void is_told_that_all_is_full(void)
{
	CHECK_EQ(ask(call(), getpid(), getpid(), NULL), -ENFILE);
}

static void a_silent_client_is_dropped_for_one_that_asks(void)
{
	fill_by(takes_all_in_silence);
	play(is_served_at_once);
	to_its_end(scene(is_served_at_once, NOBODY - 2)); /* a user that holds places */
	empty();
}

static void a_full_broker_answers_enfile_to_a_new_user(void)
{
	fill_by(takes_all_and_asks);
	play(is_told_that_all_is_full);
	empty();
}

static int calls_until_no(int *fds)
{
	for (int i = 0;; i++) {
		fds[i] = call();
		if (ask(fds[i], getpid(), getpid(), NULL))
			return i;
	}
}

static int full[2];

static void takes_all_and_waits(void)
{
	int fds[OF_USER + 1];
	char n = calls_until_no(fds) == OF_USER;

	CHECK_EQ(write(full[1], &n, 1), 1);
	for (;;)
		pause();
}

static void has_a_place(void)
{
	int fd;

	while (fd = call(), ask(fd, getpid(), getpid(), NULL))
		close(fd);
}

static void a_user_has_a_limit_and_an_exit_frees_its_places(void)
{
	char all;
	pid_t pid;

	CHECK_EQ(pipe(full), 0);
	pid = scene(takes_all_and_waits, NOBODY);
	close(full[1]);
	CHECK_EQ(read(full[0], &all, 1), 1);
	CHECK(all);
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	play(has_a_place);
}

/* A program that itself writes the data that the BPF program looks for. */
static struct {
	uint32_t in_rt, post;
	uint64_t *vp;
} fake;
static uint64_t fake_owner;
static int fake_tid;

static void *fake_carrier(void *arg)
{
	int *go = arg;
	char c;

	fake_tid = (int)syscall(SYS_gettid);
	CHECK_EQ(write(go[1], "", 1), 1);
	while (read(go[2], &c, 1) == 1) {
		usleep(1); /* blocks, outside the runtime and with a vp */
		CHECK_EQ(write(go[1], "", 1), 1);
	}
	return NULL;
}

/* Does the calling thread get a signal when the carrier has blocked? */
static bool gets_signal(int *go)
{
	uint64_t set = 1ull << 31;
	siginfo_t info;
	char c;

	CHECK_EQ(write(go[3], "", 1), 1);
	CHECK_EQ(read(go[0], &c, 1), 1);
	return syscall(SYS_rt_sigtimedwait, &set, &info, &(struct timespec){ 0, 0 },
		       8) == 32 &&
	       info.si_value.sival_ptr == &fake;
}

/* As root, which the broker serves as well. */
static void a_thread_that_changes_its_user_gets_no_events(void)
{
	uint64_t set = 1ull << 31;
	int go[4], fd = call();
	pthread_t t;
	char c;

	CHECK_EQ(pipe(go), 0);
	CHECK_EQ(pipe(go + 2), 0);
	fake.vp = &fake_owner;
	fake_owner = (uintptr_t)&fake;
	CHECK_EQ(pthread_create(&t, NULL, fake_carrier, go), 0);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 8); /* libc has unblocked
							        * it */
	CHECK_EQ(read(go[0], &c, 1), 1);
	CHECK_EQ(ask(fd, getpid(), getpid(), NULL), 0);
	CHECK_EQ(ask(fd, getpid(), fake_tid, &fake), 0);
	while (!gets_signal(go))
		;
	CHECK_EQ(syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY), 0); /* of this thread
								      * only */
	while (gets_signal(go)) /* signals that were on their way */
		;
	for (int i = 0; i < 100; i++)
		CHECK(!gets_signal(go));
	close(go[3]);
	CHECK_EQ(pthread_join(t, NULL), 0);
}

/* -- a process that was there before the others, and outlives the broker -- */

static int done[2], next[2], said[2];

static void tell(int *to)
{
	CHECK_EQ(write(to[1], "", 1), 1);
}

static void hear(int *from)
{
	char c;

	CHECK_EQ(read(from[0], &c, 1), 1);
}

static void witness(void)
{
	dup2(said[1], 2);
	served();
	tell(done);
	hear(next);
	CHECK(in_force());
	blocks_are_reported();
	tell(done);
	hear(next);
	UNTIL(!in_force());
	one_round();
}

/* The BPF program that the broker holds. */
static uint32_t program_id(void)
{
	char path[64], line[256];
	unsigned id = 0;

	for (int fd = 3; fd < 32 && !id; fd++) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", broker, fd);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f))
			sscanf(line, "prog_id: %u", &id);
		if (f)
			fclose(f);
	}
	return id;
}

static bool is_loaded(uint32_t id)
{
	union bpf_attr a = { .prog_id = id };
	long fd = syscall(SYS_bpf, BPF_PROG_GET_FD_BY_ID, &a, sizeof(a));

	if (fd >= 0)
		close((int)fd);
	return fd >= 0;
}

static void a_killed_broker_leaves_no_bpf_program(void)
{
	uint32_t id = program_id();

	CHECK(is_loaded(id));
	end_the_broker();
	UNTIL(!is_loaded(id));
}

static bool broker_sleeps(void)
{
	char path[64], line[512] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", broker);
	f = fopen(path, "r");
	CHECK(f && fgets(line, sizeof(line), f));
	fclose(f);
	return !strncmp(strrchr(line, ')'), ") S", 3);
}

/* After the shutdown the socket polls readable, but nothing can be accepted from it. */
static void the_broker_uses_a_service_managers_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	CHECK_EQ(bind(fd, (void *)&place, sizeof(place)), 0);
	CHECK_EQ(chmod(place.sun_path, 0666), 0);
	CHECK_EQ(listen(fd, 10), 0);
	begin_the_broker(fd);
	play(has_a_place);
	CHECK_EQ(shutdown(fd, SHUT_RDWR), 0);
	for (int in_a_row = 0; in_a_row < 20; usleep(1000))
		in_a_row = broker_sleeps() ? in_a_row + 1 : 0;
	end_the_broker();
	close(fd);
}

static void lies(void)
{
	RUN_IN(play, garbage_closes_the_connection);
	RUN_IN(play, threads_of_other_processes_get_no_seats);
	RUN_IN(play, an_inherited_socket_is_useless_to_a_child);
	RUN_IN(play, a_client_that_floods_is_dropped);
	RUN_IN(play, passed_fds_are_not_accepted);
	RUN(a_user_has_a_limit_and_an_exit_frees_its_places);
	RUN(a_silent_client_is_dropped_for_one_that_asks);
	RUN(a_full_broker_answers_enfile_to_a_new_user);
	RUN_IN(play_as_root, a_thread_that_changes_its_user_gets_no_events);
}

static void one_line_is_reported(int st)
{
	char lines[1024] = "", *first;
	size_t n = 0;
	ssize_t r;

	close(said[1]);
	while ((r = read(said[0], lines + n, sizeof(lines) - 1 - n)) > 0)
		n += (size_t)r;
	if (st)
		fputs(lines, stderr);
	CHECK_EQ(st, 0);
	first = strstr(lines, "the broker is gone");
	CHECK(first);
	CHECK(!strstr(first + 1, "the broker is gone"));
}

static void scenes(void)
{
	pid_t pid;
	int st;

	RUN_IN(play, an_unprivileged_process_gets_events);
	RUN_IN(play, a_process_gets_events_after_exec);
	CHECK_EQ(pipe(done) | pipe(next) | pipe(said), 0);
	pid = scene(witness, NOBODY - 1);
	close(done[1]);
	hear(done);
	files_of_few = files();
	lies();
	tell(next);
	hear(done);
	RUN(a_killed_broker_leaves_no_bpf_program);
	tell(next);
	CHECK_EQ(waitpid(pid, &st, 0), pid);
	one_line_is_reported(st);
	printf("ok processes go on without the broker\n");
	RUN(the_broker_uses_a_service_managers_socket);
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/uk-broker-XXXXXX";

	(void)argv;
	setenv("UK_ACTIVATION", "bpf", 1);
	setenv("UK_STALL", "0", 1); /* a loaded machine would report stalls */
	if (argc > 1) {
		served();
		return 0;
	}
	if (geteuid())
		SKIP("only root can start a broker");
	CHECK(mkdtemp(dir));
	CHECK_EQ(chmod(dir, 0755), 0);
	snprintf(place.sun_path, sizeof(place.sun_path), "%s/socket", dir);
	setenv("UK_BROKER", place.sun_path, 1);
	begin_the_broker(-1);
	scenes();
	CHECK_EQ(rmdir(dir), 0);
	return 0;
}
