/* SPDX-License-Identifier: Apache-2.0 */
/* Another process shares our open files and takes data that was reported to us as
 * ready. This must not stop the vp: a ticking thread shows that it runs on. */
#include "iotest.h"

#include <sys/time.h>

#define ROUNDS 3000

static int ticks, stop; /* atomics */

static void *ticker(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		uk_sleep(MS);
		__atomic_fetch_add(&ticks, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

struct taker {
	int fd;
	int kind;
	size_t got;
};

static void *taker(void *arg)
{
	struct taker *k = arg;
	char b[16];

	for (;;) {
		ssize_t r;

		if (k->kind == 2) {
			int fd = uk_accept(k->fd, NULL, NULL);

			r = fd < 0 ? fd : 1;
			if (fd >= 0)
				uk_close(fd);
		} else if (k->kind == 1) {
			r = uk_recv(k->fd, b, 1, 0);
		} else {
			r = uk_read(k->fd, b, 1);
		}
		if (r <= 0)
			return (void *)(intptr_t)r;
		__atomic_fetch_add(&k->got, (size_t)r, __ATOMIC_RELAXED);
	}
}

static size_t got_now(const struct taker *k)
{
	return __atomic_load_n(&k->got, __ATOMIC_RELAXED);
}

/* The thief: a process that reads from the same open file as fast as it can. */
static void on_alarm(int sig)
{
	(void)sig;
}

static pid_t thief(int fd, int other, int kind, int report)
{
	pid_t pid = fork();
	struct itimerval tick = { { 0, 300000 }, { 0, 300000 } };
	struct sigaction sa = { .sa_handler = on_alarm }; /* interrupts accept */
	size_t got = 0, before = 0;
	sigset_t none;
	char b[16];

	if (pid)
		return pid;
	close(other);
	sigemptyset(&none); /* a carrier blocks signals, and the fork inherited that */
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (kind == 2) {
		sigaction(SIGALRM, &sa, NULL);
		setitimer(ITIMER_REAL, &tick, NULL);
	} else {
		alarm(HANG_SEC);
	}
	for (;;) {
		if (kind == 2) {
			int c = accept(fd, NULL, NULL);

			if (c >= 0) {
				close(c);
				got++;
			} else if (errno != EINTR || got == before) {
				break; /* no client came for a while */
			}
			before = c < 0 ? got : before;
		} else {
			ssize_t r = kind ? recv(fd, b, 1, 0) : read(fd, b, 1);

			if (r <= 0)
				break;
			got++;
		}
	}
	if (write(report, &got, sizeof(got)) != sizeof(got))
		_exit(1);
	_exit(0);
}

static void steal(int kind)
{
	struct taker k = { .kind = kind };
	int s[2] = { -1, -1 }, rep[2], t0;
	struct sockaddr_in a;
	size_t other = 0;
	uk_thread *t, *tick;
	intptr_t end;
	pid_t pid;

	if (kind == 0)
		make_pipe(s, 0);
	else if (kind == 1)
		make_unix(s, SOCK_STREAM);
	else
		s[0] = make_listener(&a, 128);
	CHECK_EQ(pipe(rep), 0);
	pid = thief(s[0], s[1], kind, rep[1]);
	CHECK(pid > 0);
	k.fd = s[0];
	__atomic_store_n(&ticks, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
	tick = spawn(ticker, NULL);
	t = spawn(taker, &k);
	for (int i = 0; i < (kind == 2 ? 300 : ROUNDS); i++) {
		if (kind == 2) {
			int c = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

			CHECK_EQ(uk_connect(c, (struct sockaddr *)&a, sizeof(a)), 0);
			uk_close(c);
		} else {
			CHECK_EQ(uk_write(s[1], "x", 1), 1);
		}
		if (i % 10 == 0)
			uk_sleep(MS / 10);
	}
	/* no more data comes: a thread that lost the last race waits, and the vp must
	 * run on */
	t0 = __atomic_load_n(&ticks, __ATOMIC_RELAXED);
	while (__atomic_load_n(&ticks, __ATOMIC_RELAXED) - t0 < 5)
		uk_sleep(MS);
	if (kind == 2) {
		/* the thief ends after a while without clients; then ours gets the last
		 * one, even if it lost a race and waits in accept */
		CHECK_EQ(uk_read_all(rep[0], &other, sizeof(other)), sizeof(other));
		if (got_now(&k) + other < 301) {
			int c = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

			CHECK_EQ(uk_connect(c, (struct sockaddr *)&a, sizeof(a)), 0);
			uk_close(c);
		}
		/* the only limit is the time limit of the test */
		while (got_now(&k) + other < 301)
			uk_sleep(MS);
		CHECK_EQ(uk_close(s[0]), 0);
		end = (intptr_t)join(t);
		CHECK_EQ(end, -EBADF);
		CHECK_EQ(k.got + other, 301);
	} else {
		CHECK_EQ(uk_close(s[1]), 0); /* end of file for both */
		end = (intptr_t)join(t);
		CHECK_EQ(end, 0);
		CHECK_EQ(uk_read_all(rep[0], &other, sizeof(other)), sizeof(other));
		CHECK_EQ(k.got + other, ROUNDS);
		uk_close(s[0]);
	}
	CHECK(k.got > 0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	join(tick);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	close(rep[0]);
	close(rep[1]);
	printf("ours %zu, theirs %zu\n", k.got, other);
}

static void a_vp_runs_on_while_bytes_of_a_pipe_are_stolen(void)
{
	steal(0);
}

static void a_vp_runs_on_while_bytes_of_a_socket_are_stolen(void)
{
	steal(1);
}

static void a_vp_runs_on_while_connections_are_stolen(void)
{
	steal(2);
}

int main(void)
{
	io_test_init(HANG_SEC);
	USER(a_vp_runs_on_while_bytes_of_a_pipe_are_stolen);
	USER(a_vp_runs_on_while_bytes_of_a_socket_are_stolen);
	USER(a_vp_runs_on_while_connections_are_stolen);
	return 0;
}
