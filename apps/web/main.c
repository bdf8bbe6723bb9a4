/* SPDX-License-Identifier: Apache-2.0 */
/* ukweb - a web server in blocking style, one thread per connection.
 *
 * main runs on the first kernel thread, which the runtime does not own. It sets
 * everything up, blocks the signals that it handles (all threads inherit the mask),
 * starts the acceptors and waits for signals. No signal handler does any work. While a
 * successor starts, main polls a signalfd together with the successor's pipe. At other
 * times it does not poll: each signal to any thread of the process wakes a thread that
 * polls a signalfd, and the runtime's monitor gets many signals.
 *
 * Graceful stop: the acceptors drain the backlog (listen.c, accept.c), and replies say
 * "close". Idle keep-alive connections get GRACE for a request that is under way, then
 * end of file. A connection that has had no request yet gets the FRESH_SHARE-th part of
 * t_stop for its first one. When the last connection is closed, or t_stop is over, the
 * log is written out and the process ends with 0. A second signal cuts all connections
 * and ends the process with 1.
 *
 * The end of a stop must not depend on any lock that connections take. So a separate
 * kernel thread, the guard, waits for the second signal and for the end of the time,
 * and ends the process if main has not. */
#include "web.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define GRACE (250 * UK_MS)
#define FRESH_SHARE 6 /* 5 s of 30 */
#define CUT_TIME UK_SEC
#define LOG_TIME (2 * UK_SEC)

static sigset_t wanted;
static int signals;        /* signalfd of wanted */
static _Atomic(int) force; /* set by the guard: a second signal came */

static void block_signals(void)
{
	static const int all[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2 };

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&wanted);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		sigaddset(&wanted, all[i]);
	pthread_sigmask(SIG_BLOCK, &wanted, NULL);
	signals = signalfd(-1, &wanted, SFD_CLOEXEC);
	if (signals < 0)
		die(EX_SETUP, "signalfd: %s", strerror(errno));
}

static void check(int rc, const char *what)
{
	if (rc < 0)
		die(EX_SETUP, "%s: %s", what, strerror(-rc));
}

/* ---- the pid file ---- */

static int pid_write(void)
{
	int fd = cfg.pid_file ? open(cfg.pid_file,
				     O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)
			      : -1;

	if (!cfg.pid_file)
		return 0;
	if (fd < 0 || dprintf(fd, "%d\n", (int)getpid()) < 0)
		return -errno;
	close(fd);
	return 0;
}

/* Not if a successor has written its own pid. */
static void pid_remove(void)
{
	FILE *f = cfg.pid_file ? fopen(cfg.pid_file, "re") : NULL;
	int pid = 0;

	if (!f)
		return;
	if (fscanf(f, "%d", &pid) == 1 && pid == getpid())
		unlink(cfg.pid_file);
	fclose(f);
}

/* ---- the start ---- */

static void greet(void)
{
	if (cfg.quiet)
		return;
	if (cfg.mode == MODE_PTH)
		say("%s serves %s (pth: one kernel thread per connection)",
		    listeners[0].name, cfg.root);
	else
		say("%s serves %s (%s: user threads on %u vps, %s)", listeners[0].name,
		    cfg.root, mode_name(), uk_vpset_size(spawn_set()),
		    uk_reactor_name());
	for (unsigned i = 1; i < n_listeners; i++)
		say("and on %s", listeners[i].name);
}

static void set_up(void)
{
	const char *date;

	date_now(&date);
	notify_open();
	mime_init();
	check(root_init(), cfg.root);
	if (cfg.tls_cert && tls_init() < 0)
		exit(EX_SETUP); /* tls_init() has printed why */
	listen_open();
	check(log_open(), cfg.access_log);
	check(pid_write(), cfg.pid_file);
	privs_drop();
	check(spawn_init(), "starting the threads");
	check(log_start(), "starting the log");
	check(files_start(), "starting the janitor");
	check(accept_start(), "starting the acceptors");
	greet();
	notify("READY=1\nSTATUS=serving %s", cfg.root);
	successor_tell_ready();
}

/* ---- signals ---- */

static void hang_up(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	notify("RELOADING=1\nMONOTONIC_USEC=%lld",
	       (long long)ts.tv_sec * 1000000 + ts.tv_nsec / 1000);
	log_reopen();
	files_reload();
	if (cfg.tls_cert && tls_reload() == 0)
		say("certificate loaded");
	notify("READY=1");
}

static int start_successor(int starting)
{
	int fd = successor_start();

	if (fd >= 0)
		return fd;
	say("cannot start a successor: %s", strerror(-fd));
	return starting;
}

/* True: the successor serves, and this process may stop. */
static bool succeeded(void)
{
	if (!successor_ready()) {
		say("the successor has not started; this process continues");
		return false;
	}
	notify("MAINPID=%d", (int)successor_pid());
	say("process %d takes over", (int)successor_pid());
	return true;
}

/* The next signal, or 0: starting, a successor's pipe (-1: none), is readable. */
static int next_signal(int starting)
{
	struct pollfd p[2] = { { .fd = signals, .events = POLLIN },
			       { .fd = starting, .events = POLLIN } };
	struct signalfd_siginfo si;
	int sig = -1;

	while (sig < 0) {
		if (starting < 0)
			sig = sigwaitinfo(&wanted, NULL);
		else if (poll(p, 2, -1) <= 0)
			continue;
		else if (p[1].revents)
			sig = 0;
		else if (read(signals, &si, sizeof(si)) == sizeof(si))
			sig = (int)si.ssi_signo;
	}
	return sig;
}

/* Handle signals until it is time to stop. True: a successor has the sockets. */
static bool attend(void)
{
	int starting = -1;

	for (;;) {
		switch (next_signal(starting)) {
		case 0:
			if (succeeded())
				return true;
			starting = -1;
			break;
		case SIGHUP:
			hang_up();
			break;
		case SIGUSR1:
			log_reopen();
			break;
		case SIGUSR2:
			starting = start_successor(starting);
			break;
		default:
			return false;
		}
	}
}

/* ---- the end ---- */

static bool second_signal(uk_time ns)
{
	uk_time end = uk_after(ns), left;

	while ((left = end - uk_now()) > 0) {
		struct timespec ts = { (time_t)(left / UK_SEC), (long)(left % UK_SEC) };
		int sig = sigtimedwait(&wanted, NULL, &ts);

		if (sig == SIGTERM || sig == SIGINT)
			return true;
	}
	return false;
}

static void *guard(void *arg)
{
	const struct timespec cut = { CUT_TIME / UK_SEC + 1, 0 };

	(void)arg;
	if (second_signal(cfg.t_stop + CUT_TIME + LOG_TIME + UK_SEC)) {
		atomic_store(&force, 1);
		nanosleep(&cut, NULL);
		_exit(EX_FORCED);
	}
	say("the graceful stop did not end in time; exiting");
	_exit(EX_OK);
}

static void start_guard(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, guard, NULL) == 0)
		pthread_detach(t);
}

static void wait_for_the_last(uk_time end)
{
	uk_time grace = uk_after(GRACE), fresh = uk_after(cfg.t_stop / FRESH_SHARE);

	for (;;) {
		accept_wake();
		if (accept_wait_end(uk_after(20 * UK_MS)) == 0 &&
		    conns_wait_none(uk_after(20 * UK_MS)) == 0)
			return;
		if (uk_now() >= grace)
			conns_end_idle(uk_now() >= fresh);
		if (!atomic_load(&force) && uk_now() < end)
			continue;
		say("%u connections cut", conns_cut());
		conns_wait_none(uk_after(CUT_TIME));
		return;
	}
}

static int stop(bool handed)
{
	uk_time end = uk_after(cfg.t_stop);

	if (!handed)
		notify("STOPPING=1");
	atomic_store(&stop_by, end);
	atomic_store(&handed_over, handed);
	atomic_store(&stopping, 1);
	listen_shut(handed);
	wait_for_the_last(end);
	log_close(uk_after(LOG_TIME));
	pid_remove();
	return atomic_load(&force) ? EX_FORCED : EX_OK;
}

int main(int argc, char **argv)
{
	bool handed;

	successor_keep_args(argv);
	options_parse(argc, argv);
	block_signals();
	set_up();
	handed = attend();
	start_guard(); /* before any call that may wait */
	if (!cfg.quiet)
		say("stopping");
	_exit(stop(handed));
}
