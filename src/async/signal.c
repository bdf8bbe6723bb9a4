/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that arrive on a channel. The handler, on whichever kernel thread the kernel
 * chooses, notes the signal and posts a semaphore; a light thread for each signal sends
 * its number. As with the kernel's pending signals, one that comes while the same one
 * is still noted is not counted.
 *
 *   pending: 0 --handler--> 1, posts --thread, before it sends--> 0
 *
 * A forked child has the dispositions of before, because the threads that would send
 * are lost: a child that nobody tells of SIGTERM must end by it.
 */
#include <pthread.h>
#include <signal.h>

#include "async/async.h"
#include "base/at_load.h"
#include "base/libc.h"
#include "sync/chan.h"
#include "uk/sync.h"
#include "uk/thread.h"

static struct watch {
	uk_sem sem;
	uint32_t pending; /* as above */
	uk_chan *chan;    /* NULL: not watched; under the mutex, as are the others */
	uk_thread *thread;
	struct sigaction before;
} watches[NSIG];

static uk_mutex mutex = UK_MUTEX_INIT;

static void note(int sig)
{
	struct watch *w = &watches[sig];

	if (!xchg_acq_rel(&w->pending, 1))
		uk_sem_post(&w->sem);
}

static void *sends(void *arg)
{
	struct watch *w = arg;
	int sig = (int)(w - watches);

	while (!uk_sem_wait(&w->sem)) {
		xchg_acq_rel(&w->pending, 0);
		if (uk_chan_send(w->chan, &sig))
			break;
	}
	return NULL;
}

static int watch(struct watch *w, uk_chan *c)
{
	struct sigaction a = { .sa_handler = note, .sa_flags = SA_RESTART };
	int r;

	if (w->chan)
		return -EBUSY;
	*w = (struct watch){ .chan = c };
	sigfillset(&a.sa_mask);
	r = helper_thread(&w->thread, "signal", sends, w);
	if (!r && LIBC(sigaction)((int)(w - watches), &a, &w->before)) {
		helper_end(w->thread);
		r = -EINVAL;
	}
	if (r)
		w->chan = NULL;
	return r;
}

static int unwatch(struct watch *w)
{
	if (!w->chan)
		return -ENOENT;
	LIBC(sigaction)((int)(w - watches), &w->before, NULL);
	helper_end(w->thread);
	w->chan = NULL;
	return 0;
}

static bool may_be_watched(int sig)
{
	switch (sig) {
	case SIGSEGV:
	case SIGBUS:
	case SIGILL:
	case SIGFPE:
	case SIGTRAP:
	case SIGABRT:
	case SIGSYS:
	case SIGURG: /* the runtime's own */
		return false;
	default:
		return sig > 0 && sig < NSIG;
	}
}

int uk_signal_to_chan(int sig, uk_chan *c)
{
	int r;

	if (!may_be_watched(sig) || (c && c->elem != sizeof(int)))
		return -EINVAL;
	r = uk_mutex_lock(&mutex);
	if (r)
		return r;
	r = c ? watch(&watches[sig], c) : unwatch(&watches[sig]);
	uk_mutex_unlock(&mutex);
	return r;
}

static void forget(void)
{
	for (int sig = 1; sig < NSIG; sig++)
		if (watches[sig].chan) {
			LIBC(sigaction)(sig, &watches[sig].before, NULL);
			watches[sig].chan = NULL;
		}
	mutex = (uk_mutex)UK_MUTEX_INIT;
}

AT_LOAD(signal_register)
{
	pthread_atfork(NULL, NULL, forget);
}
