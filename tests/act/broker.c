/* SPDX-License-Identifier: Apache-2.0 */
/* `uk broker`: who may not load a BPF program has the events of one, and can do nothing to others,
 * whatever it says. Each scene is a process of user nobody, forked before any runtime starts. */
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

#include "act/broker.h"

enum { NOBODY = 65534, OF_USER = 256 };

static struct sockaddr_un place = { .sun_family = AF_UNIX };
static pid_t broker;

/* listener: as a service manager hands it over; -1: it makes its own. */
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

/* -- who is what it says -- */

static void served(void)
{
	UNTIL(in_force());
	blocks_are_told();
}

static void nobody_is_told(void)
{
	descriptors(open_before);
	served();
	who_was_born_later_is_seen_too();
	a_child_is_told_by_its_own();
	the_programs_descriptors_are_its_own();
	a_filter_that_comes_later_costs_only_the_events();
}

static void what_is_executed_is_told(void)
{
	served();
	execl("/proc/self/exe", "told", "again", NULL);
	CHECK(false && "executed");
}

/* -- who is not -- */

static int call(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	CHECK_EQ(connect(fd, (void *)&place, sizeof(place)), 0);
	return fd;
}

/* The answer's error; 1: it was the end. */
static int answer(int fd)
{
	struct broker_answer a;
	ssize_t n = recv(fd, &a, sizeof(a), 0);

	if (n < 0 && errno == ECONNRESET) /* it has not read all; said once */
		n = recv(fd, &a, sizeof(a), 0);
	if (n == 0)
		return 1;
	CHECK_EQ(n, sizeof(a));
	return a.error;
}

static int ask(int fd, int pid, int tid, const void *carrier)
{
	struct broker_ask a = { BROKER_VERSION, pid, tid, 0, (uintptr_t)carrier };

	/* or it was refused before it could ask */
	CHECK(send(fd, &a, sizeof(a), MSG_NOSIGNAL) == sizeof(a) || errno == EPIPE ||
	      errno == ECONNRESET);
	return answer(fd);
}

static void garbage_ends_the_talk(void)
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
	for (int i = 0; i < 2; i++) { /* a strange version; a carrier without a home */
		int fd = call();

		CHECK_EQ(send(fd, &a, sizeof(a), 0), sizeof(a));
		CHECK_EQ(answer(fd), -EPROTO);
		CHECK_EQ(answer(fd), 1);
		close(fd);
		a.version = BROKER_VERSION;
		a.carrier = 8;
	}
}

static void others_threads_have_no_seats(void)
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

/* Whoever has the socket: it speaks for who connected, and ends with him. */
static void the_socket_is_worth_nothing_to_others(void)
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

static void a_flood_drowns_nobody(void)
{
	struct broker_ask a = { BROKER_VERSION, getpid(), getpid(), 0, 0 };
	int fd = call();

	CHECK_EQ(ask(fd, getpid(), getpid(), NULL), 0);
	a.carrier = 8;
	/* its answers find no room at last, and it is dropped */
	while (send(fd, &a, sizeof(a), MSG_NOSIGNAL) == sizeof(a))
		;
	CHECK(errno == EPIPE || errno == ECONNRESET);
}

static void files_are_not_taken(void)
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
		CHECK_EQ(answer(fd), 0); /* an older kernel closes it for the broker */
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

/* Of the broker. */
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

static int files_of_few; /* when one is served */

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

static void who_is_silent_makes_room_for_who_asks(void)
{
	fill_by(takes_all_in_silence);
	play(is_served_at_once);
	to_its_end(scene(is_served_at_once, NOBODY - 2)); /* one of theirs */
	empty();
}

static void no_place_is_told_apart_from_no_more_for_a_user(void)
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

static void a_user_has_so_many_and_death_gives_them_back(void)
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

/* A program that has written down itself what the kernel's half looks for. */
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
		usleep(1); /* blocks, outside and with a vp */
		CHECK_EQ(write(go[1], "", 1), 1);
	}
	return NULL;
}

/* Does the calling thread get a signal when the carrier has blocked? */
static bool is_told(int *go)
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

/* As root, whom the broker serves as well. */
static void who_becomes_another_user_is_not_told(void)
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
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 8); /* libc has opened it */
	CHECK_EQ(read(go[0], &c, 1), 1);
	CHECK_EQ(ask(fd, getpid(), getpid(), NULL), 0);
	CHECK_EQ(ask(fd, getpid(), fake_tid, &fake), 0);
	while (!is_told(go))
		;
	CHECK_EQ(syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY), 0); /* this thread */
	while (is_told(go)) /* what was on its way */
		;
	for (int i = 0; i < 100; i++)
		CHECK(!is_told(go));
	close(go[3]);
	CHECK_EQ(pthread_join(t, NULL), 0);
}

/* -- who was there before the liars, and stays when the broker does not -- */

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
	blocks_are_told();
	tell(done);
	hear(next);
	UNTIL(!in_force());
	one_round();
}

/* Of the program that the broker holds. */
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

static void killed_the_broker_leaves_nothing(void)
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

/* And then it can accept nothing any more, though it is told that it could. */
static void a_service_managers_socket_is_taken(void)
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
	RUN_IN(play, garbage_ends_the_talk);
	RUN_IN(play, others_threads_have_no_seats);
	RUN_IN(play, the_socket_is_worth_nothing_to_others);
	RUN_IN(play, a_flood_drowns_nobody);
	RUN_IN(play, files_are_not_taken);
	RUN(a_user_has_so_many_and_death_gives_them_back);
	RUN(who_is_silent_makes_room_for_who_asks);
	RUN(no_place_is_told_apart_from_no_more_for_a_user);
	RUN_IN(play_as_root, who_becomes_another_user_is_not_told);
}

static void one_line_is_said(int st)
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

	RUN_IN(play, nobody_is_told);
	RUN_IN(play, what_is_executed_is_told);
	CHECK_EQ(pipe(done) | pipe(next) | pipe(said), 0);
	pid = scene(witness, NOBODY - 1);
	close(done[1]);
	hear(done);
	files_of_few = files();
	lies();
	tell(next);
	hear(done);
	RUN(killed_the_broker_leaves_nothing);
	tell(next);
	CHECK_EQ(waitpid(pid, &st, 0), pid);
	one_line_is_said(st);
	printf("ok without the broker its peers go on\n");
	RUN(a_service_managers_socket_is_taken);
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/uk-broker-XXXXXX";

	(void)argv;
	setenv("UK_ACTIVATION", "bpf", 1);
	setenv("UK_STALL", "0", 1); /* a loaded machine has stalls to tell of */
	if (argc > 1) {
		served();
		return 0;
	}
	if (geteuid())
		SKIP("root alone can begin a broker");
	CHECK(mkdtemp(dir));
	CHECK_EQ(chmod(dir, 0755), 0);
	snprintf(place.sun_path, sizeof(place.sun_path), "%s/socket", dir);
	setenv("UK_BROKER", place.sun_path, 1);
	begin_the_broker(-1);
	scenes();
	CHECK_EQ(rmdir(dir), 0);
	return 0;
}
