/* SPDX-License-Identifier: Apache-2.0 */
/* main blocks and unblocks SIGURG, which is ignored by default. The signal never
 * interrupts main's poll(). */
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

static void poll_is_not_interrupted(void)
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
	mask(SIG_BLOCK, sig);
	start(sends, &sig);
	RUN(poll_is_not_interrupted);
	mask(SIG_UNBLOCK, sig);
	RUN(poll_is_not_interrupted);
	mask(SIG_BLOCK, sig);
	mask(SIG_UNBLOCK, sig);
	RUN(poll_is_not_interrupted);
	puts("not interrupted");
	return 0;
}
