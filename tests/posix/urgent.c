/* SPDX-License-Identifier: Apache-2.0 */
/* Who has blocked a signal once that is ignored by default, and lets it through again, is not
 * interrupted by it. */
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include "posix.h"

static sem_t go, sent;

static void *sends(void *arg)
{
	for (;;) {
		sem_wait(&go);
		for (int i = 0; i < 20; i++) {
			usleep(1000);
			CHECK(!kill(getpid(), *(int *)arg));
		}
		sem_post(&sent);
	}
}

static void let_through(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	CHECK(!pthread_sigmask(SIG_UNBLOCK, &set, NULL));
}

static void block(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	CHECK(!pthread_sigmask(SIG_BLOCK, &set, NULL));
}

static void waits_in_peace(void)
{
	sem_post(&go);
	do
		CHECK(!poll(NULL, 0, 100));
	while (sem_trywait(&sent));
}

int main(void)
{
	int sig = SIGURG;

	CHECK(!sem_init(&go, 0, 0) && !sem_init(&sent, 0, 0));
	block(sig);
	start(sends, &sig);
	RUN(waits_in_peace);
	let_through(sig);
	RUN(waits_in_peace);
	block(sig);
	let_through(sig);
	RUN(waits_in_peace);
	puts("in peace");
	return 0;
}
