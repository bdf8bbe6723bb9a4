/* SPDX-License-Identifier: Apache-2.0 */
/* Events: one select waits for the time, for a signal and for work. Threads of a group
 * run programs; the group has the first error among them. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uk/uk.h>

/* 0, or -EPROTO if the command fails. */
static int64_t run_command(void *command)
{
	char sh[] = "sh", c[] = "-c";
	char *argv[] = { sh, c, command, NULL };
	int status;
	pid_t pid;
	int r = uk_spawn(&pid, "sh", NULL, NULL, argv, NULL);

	if (r == 0)
		r = uk_waitpid(pid, &status, 0);
	return r < 0 ? r : status ? -EPROTO : 0;
}

static int run_commands(const char *last)
{
	const char *commands[] = { "exit 0", "sleep 0.01", last };
	uk_group *g;
	int r = uk_group_create(&g, 3);

	if (r < 0)
		return r;
	for (int i = 0; i < 3 && r == 0; i++)
		r = uk_group_spawn(g, NULL, NULL, run_command,
				   (void *)(uintptr_t)commands[i]);
	if (r == 0)
		r = uk_group_join(g, 0, uk_after(60 * UK_SEC));
	uk_group_destroy(g);
	return r;
}

/* Sends SIGTERM to this process, as an administrator would. */
static void *terminates(void *arg)
{
	char command[40];

	snprintf(command, sizeof(command), "kill -TERM %d", (int)getpid());
	run_command(command);
	return arg;
}

int main(void)
{
	uk_chan *ticks, *stop;
	uk_timer *timer;
	uk_thread *t;
	int sig = 0, n = 0;

	printf("all commands succeed: %d\n", run_commands("exit 0"));
	printf("one fails: %s\n", strerror(-run_commands("exit 1")));

	if (uk_chan_create(&ticks, 0, 1) || uk_chan_create(&stop, sizeof(int), 1) ||
	    uk_timer_start(&timer, ticks, NULL, uk_after(UK_MS), UK_MS) ||
	    uk_signal_to_chan(SIGTERM, stop))
		return 1;
	uk_chan_case k[2] = { { ticks, UK_CHAN_RECV, 0, NULL },
			      { stop, UK_CHAN_RECV, 0, &sig } };

	while (uk_chan_select(k, 2, UK_FOREVER) == 0)
		if (++n == 3 && uk_thread_create(&t, NULL, terminates, NULL))
			return 1;
	printf("ended by %s, after %s ticks\n", sig == SIGTERM ? "SIGTERM" : "?",
	       n >= 3 ? "3 or more" : "too few");
	uk_thread_join(t, NULL);
	uk_timer_stop(timer);
	uk_signal_to_chan(SIGTERM, NULL);
	uk_chan_destroy(ticks);
	uk_chan_destroy(stop);
	return 0;
}
