/* SPDX-License-Identifier: Apache-2.0 */
/* ukweb - a web server in blocking style, one thread per connection.
 *
 * main runs on the first kernel thread, which the runtime does not own: it sets everything
 * up, blocks the signals it wants (all threads inherit that), starts the acceptor and waits
 * in sigwait. No signal handler does anything.
 *
 * Graceful stop: the acceptor drains the backlog (listen.c); replies say "close"; idle
 * keep-alives get GRACE for a request that is under way, then an end of file; when the last
 * connection is gone, or t_stop is over, the log is written out and the process ends with 0.
 * A second signal cuts everything and ends with 1. */
#include "web.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GRACE (250 * UK_MS)

static sigset_t wanted;

static void block_signals(void)
{
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGTERM);
	sigaddset(&wanted, SIGINT);
	sigaddset(&wanted, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &wanted, NULL);
}

static void check(int rc, const char *what)
{
	if (rc < 0)
		die(EX_SETUP, "%s: %s", what, strerror(-rc));
}

static void set_up(void)
{
	const char *date;

	date_now(&date);
	check(spawn_init(), "starting the threads");
	mime_init();
	check(files_init(), cfg.root);
	if (cfg.tls_cert && tls_init() < 0)
		exit(EX_SETUP); /* it has said why */
	listen_open();
	if (cfg.access_log)
		check(log_open(), cfg.access_log);
	check(spawn_acceptor(), "starting the acceptor");
	if (!cfg.quiet) {
		if (cfg.mode == MODE_PTH)
			say("http%s://%s/ serves %s (pth: one kernel thread per connection)",
			    cfg.tls_cert ? "s" : "", listen_name(), cfg.root);
		else
			say("http%s://%s/ serves %s (%s: user threads on %u vps, %s)",
			    cfg.tls_cert ? "s" : "", listen_name(), cfg.root, mode_name(),
			    uk_vpset_size(uk_vpset_default()), uk_reactor_name());
	}
}

static void hang_up(void)
{
	log_reopen();
	if (cfg.tls_cert && tls_reload() == 0)
		say("certificate loaded");
}

/* A further signal while stopping? */
static bool again(void)
{
	const struct timespec zero = { 0, 0 };
	int sig = sigtimedwait(&wanted, NULL, &zero);

	return sig == SIGTERM || sig == SIGINT;
}

static int stop(void)
{
	uk_time grace = uk_after(GRACE), end = uk_after(cfg.t_stop);
	int code = EX_OK;

	atomic_store(&stop_by, end);
	atomic_store(&stopping, 1);
	listen_stop();
	while (listen_wait_end(uk_after(20 * UK_MS)) < 0 ||
	       conns_wait_none(uk_after(20 * UK_MS)) < 0) {
		if (uk_now() >= grace)
			conns_close_idle(UINT32_MAX);
		if (again())
			code = EX_FORCED;
		if (code == EX_OK && uk_now() < end)
			continue;
		say("%u connections cut", conns_cut());
		conns_wait_none(uk_after(UK_SEC));
		break;
	}
	log_close();
	return code;
}

int main(int argc, char **argv)
{
	int sig;

	options_parse(argc, argv);
	block_signals();
	set_up();
	for (;;) {
		if (sigwait(&wanted, &sig) != 0)
			continue;
		if (sig != SIGHUP)
			break;
		hang_up();
	}
	if (!cfg.quiet)
		say("stopping");
	sig = stop();
	fflush(NULL);
	_exit(sig);
}
