/* SPDX-License-Identifier: Apache-2.0 */
/* Restart without a refused connection. SIGUSR2 starts a successor, the program that
 * argv[0] names now with the same arguments, and passes the listening sockets to it.
 * When the successor reports that it serves, this process stops gracefully. The sockets
 * are never closed completely, so no connection is refused or reset. If the successor
 * ends before that, this process continues.
 *
 *   UKWEB_LISTEN=3s,5   the fds of the sockets; s: other processes hold it, too
 *   UKWEB_READY=7       the write end of a pipe: one byte means ready
 *
 * Rejected: SO_REUSEPORT (the kernel may give a connection to the listener that is
 * about to close, and then resets it). All this runs on main. */
#include "web.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char **args;
static int ready = -1; /* read end of the pipe; -1: no successor is starting */
static pid_t child;
static bool is_one;

/* Copy the arguments before getopt changes their order. */
void successor_keep_args(char **argv)
{
	size_t n = 0;

	while (argv[n])
		n++;
	args = calloc(n + 1, sizeof(*args));
	for (size_t i = 0; args && i < n; i++)
		args[i] = argv[i];
}

pid_t successor_pid(void)
{
	return child;
}

static void describe(char *text, size_t cap, posix_spawn_file_actions_t *fa)
{
	size_t k = (size_t)snprintf(text, cap, "UKWEB_LISTEN=");

	for (unsigned i = 0; i < n_listeners; i++) {
		int fd = listeners[i].fd;

		k += (size_t)snprintf(text + k, cap - k, "%s%d%s", i ? "," : "", fd,
				      listeners[i].shared ? "s" : "");
		/* a dup2 onto itself clears close-on-exec */
		posix_spawn_file_actions_adddup2(fa, fd, fd);
	}
}

static char **new_environ(char *listen, char *tell)
{
	size_t n = 0, k = 0;
	char **env;

	while (environ[n])
		n++;
	env = calloc(n + 3, sizeof(*env));
	if (!env)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], "UKWEB_", 6) != 0)
			env[k++] = environ[i];
	env[k++] = listen;
	env[k] = tell;
	return env;
}

static int spawn_it(int out)
{
	char listen[16 * MAX_LISTENERS + 32], tell[32], **env;
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	sigset_t none;
	int rc = ENOMEM;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&fa);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	describe(listen, sizeof(listen), &fa);
	snprintf(tell, sizeof(tell), "UKWEB_READY=%d", out);
	posix_spawn_file_actions_adddup2(&fa, out, out);
	env = new_environ(listen, tell);
	if (env && args)
		rc = posix_spawnp(&child, args[0], &fa, &attr, args, env);
	free(env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&fa);
	return -rc;
}

int successor_start(void)
{
	int ends[2], rc;

	if (ready >= 0)
		return -EALREADY;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	rc = spawn_it(ends[1]);
	close(ends[1]);
	if (rc < 0) {
		close(ends[0]);
		return rc;
	}
	return ready = ends[0];
}

bool successor_ready(void)
{
	char byte;
	bool yes = read(ready, &byte, 1) == 1;

	close(ready);
	ready = -1;
	if (!yes) {
		kill(child, SIGKILL); /* it may have closed the pipe and be hanging */
		waitpid(child, NULL, 0);
	}
	return yes;
}

/* ---- in the successor ---- */

bool successor_is(void)
{
	return is_one;
}

int successor_inherited(int fds[MAX_LISTENERS], bool shared[MAX_LISTENERS])
{
	const char *p = getenv("UKWEB_LISTEN");
	int n = 0;

	is_one = p != NULL;
	while (p && *p && n < MAX_LISTENERS) {
		char *end;

		fds[n] = (int)strtol(p, &end, 10);
		shared[n++] = *end == 's';
		p = strchr(end, ',');
		p = p ? p + 1 : NULL;
	}
	unsetenv("UKWEB_LISTEN");
	return n;
}

void successor_tell_ready(void)
{
	const char *t = getenv("UKWEB_READY");
	int fd = t ? atoi(t) : -1;

	unsetenv("UKWEB_READY");
	if (fd < 0)
		return;
	if (write(fd, "1", 1) < 0)
		say("the predecessor has ended");
	close(fd);
}
