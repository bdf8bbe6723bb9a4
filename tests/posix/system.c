/* SPDX-License-Identifier: Apache-2.0 */
/* system and popen in threads: their results, cancellation, which kills the child, and
 * handlers that start programs while a start is interrupted. The last runs only with
 * the preload library: in native libc the handler may wait for a lock that the
 * interrupted call holds. */
#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix.h"

static void *results(void *arg)
{
	int s = system("exit 3");

	CHECK(WIFEXITED(s) && WEXITSTATUS(s) == 3);
	s = system("kill -TERM $$");
	CHECK(WIFSIGNALED(s) && WTERMSIG(s) == SIGTERM);
	CHECK(system(NULL));
	s = system("exec /nonexistent 2>/dev/null");
	CHECK(WIFEXITED(s) && WEXITSTATUS(s) == 127);
	return arg;
}

/* -- cancellation -- */

static int fifo[2];
static char command[100];

static void *is_cancelled(void *arg)
{
	system(command);
	printf("it came back\n");
	return arg;
}

static int ignored(int sig)
{
	struct sigaction a;

	CHECK(!sigaction(sig, NULL, &a));
	return a.sa_handler == SIG_IGN;
}

static void *cancels(void *arg)
{
	pthread_t t;
	char c;

	CHECK(!pipe(fifo));
	/* the child holds the write end of the pipe until it is gone */
	snprintf(command, sizeof(command), "echo >&%d; exec sleep 1000", fifo[1]);
	t = start(is_cancelled, NULL);
	CHECK(read(fifo[0], &c, 1) == 1);
	close(fifo[1]);
	CHECK(!pthread_cancel(t));
	CHECK(finish(t) == PTHREAD_CANCELED);
	CHECK(read(fifo[0], &c, 1) == 0);
	FAILS(waitpid(-1, NULL, 0), ECHILD);
	CHECK(!ignored(SIGINT) && !ignored(SIGQUIT));
	close(fifo[0]);
	return arg;
}

/* -- handlers -- */

static volatile int stop, handled;

static void on_usr(int sig)
{
	int err = errno;

	(void)sig;
	if (handled++ % 8 == 0)
		CHECK(!system(":"));
	errno = err;
}

static void *starts(void *arg)
{
	char text[10] = "";

	for (int i = 0; i < 20; i++) {
		FILE *f = popen("echo hallo", "r");

		CHECK(f);
		while (!fgets(text, sizeof(text), f)) {
			CHECK(ferror(f) && errno == EINTR);
			clearerr(f);
		}
		CHECK(!strcmp(text, "hallo\n"));
		CHECK(!pclose(f));
		CHECK(!system(":"));
	}
	stop = 1;
	return arg;
}

static void *disturbed(void *arg)
{
	struct sigaction a = { .sa_handler = on_usr, .sa_flags = SA_RESTART };
	pthread_t t;

	CHECK(!sigaction(SIGUSR1, &a, NULL));
	stop = 0;
	t = start(starts, NULL);
	while (!stop) {
		pthread_kill(t, SIGUSR1);
		usleep(300);
	}
	finish(t);
	return arg;
}

/* A thread that is cancelled before and during pclose still returns the
 * child's status. */
static void *closes(void *f)
{
	int status;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	CHECK((*(FILE **)f = popen("read x; exit 3", "w")));
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	pthread_cancel(pthread_self());
	status = pclose(*(FILE **)f);
	printf("pclose: %d\n", status);
	pthread_testcancel();
	return NULL;
}

int main(void)
{
	FILE *f;

	run_in_thread(results);
	printf("results\n");
	for (int i = 0; i < 5; i++)
		run_in_thread(cancels);
	printf("cancelled\n");
	CHECK(finish(start(closes, &f)) == PTHREAD_CANCELED);
	if (dlsym(RTLD_DEFAULT, "uk_dump"))
		run_in_thread(disturbed);
	printf("ok\n");
	return 0;
}
