/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that wait for signals.
 * - A thread that left sigwait takes no more signals, whichever way it left: a signal
 *   sent to the process goes to a thread that still waits or that does not block it.
 * - A common server design: all threads block all signals, and one thread takes them
 *   with sigwait or signalfd. It gets every signal sent to the process while others
 *   compute. The default action of the signal (to end the process, or none) makes no
 *   difference.
 * - A signal that arrives just before a thread sleeps ends that sleep. This holds for
 *   sigsuspend, ppoll and pselect with a mask, and for sigsuspend in a handler that
 *   interrupted a computing thread, as garbage collectors stop the world. Each signal is
 *   sent only once, so a lost one hangs the test.
 * - A signal that arrives while main posts a semaphore runs its handler under the
 *   handler's sa_mask, which collectors rely on when they stop main there. A
 *   SA_RESETHAND handler is called, too. */
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/signalfd.h>

#include "asleep.h"
#include "posix.h"

static int stop; /* atomic */

static void *computes(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
		__asm__ volatile("");
	return arg;
}

static void taken(sem_t *s)
{
	while (sem_wait(s))
		CHECK(errno == EINTR);
}

/* -- a thread leaves sigwait -- */

#define TRIES 20

static sem_t has_left, may_end, came;
static pthread_t left;

static void on_usr2(int sig)
{
	(void)sig;
	sem_post(&came);
}

static __thread sigjmp_buf out;

static void jumps(int sig)
{
	(void)sig;
	siglongjmp(out, 1);
}

static void stays(void *arg)
{
	(void)arg;
	sem_post(&has_left);
	taken(&may_end);
}

static void *waits(void *name)
{
	sigset_t set = only(SIGUSR2);
	int sig = 0;

	CHECK(!pthread_setname_np(pthread_self(), name));
	pthread_cleanup_push(stays, NULL);
	if (!sigsetjmp(out, 1)) {
		CHECK(!sigwait(&set, &sig));
		CHECK(sig == SIGUSR2);
	}
	pthread_cleanup_pop(1);
	return NULL;
}

static pthread_t asleep(const char *name)
{
	pthread_t t = start(waits, (void *)(uintptr_t)name);

	until_sleeps(name);
	return t;
}

/* main blocks the signal, so only this thread can take it. */
static void *lets_through(void *arg)
{
	mask(SIG_UNBLOCK, SIGUSR2);
	for (int i = 0; i < TRIES; i++) {
		CHECK(!kill(getpid(), SIGUSR2));
		taken(&came);
	}
	return arg;
}

/* Two threads wait; one leaves by a jump, and the other takes the signal. */
static void by_a_jump(void)
{
	pthread_t stay;

	left = asleep("left");
	stay = asleep("stays");
	CHECK(!pthread_kill(left, SIGUSR1));
	taken(&has_left);
	CHECK(!kill(getpid(), SIGUSR2));
	taken(&has_left);
	sem_post(&may_end);
	sem_post(&may_end);
	finish(stay);
	finish(left);
}

static void nobody_waits(bool cancelled)
{
	left = asleep("left");
	CHECK(!(cancelled ? pthread_cancel(left) : pthread_kill(left, SIGUSR1)));
	taken(&has_left);
	if (cancelled) { /* it has left by cancellation */
		sem_post(&may_end);
		CHECK(finish(left) == PTHREAD_CANCELED);
	}
	finish(start(lets_through, NULL));
	if (!cancelled) {
		sem_post(&may_end);
		finish(left);
	}
}

/* A time limit beyond the end of time waits; a negative one gives EINVAL. */
static void *has_time(void *name)
{
	struct timespec never = { LONG_MAX, 0 }, before = { -1, 0 };
	sigset_t set = only(SIGUSR2);

	CHECK(!pthread_setname_np(pthread_self(), name));
	CHECK(sigtimedwait(&set, NULL, &before) < 0 && errno == EINVAL);
	CHECK(sigtimedwait(&set, NULL, &never) == SIGUSR2);
	return NULL;
}

static void a_huge_time_limit_waits(void)
{
	char name[] = "has time";
	pthread_t t = start(has_time, name);

	until_sleeps(name);
	CHECK(!pthread_kill(t, SIGUSR2));
	finish(t);
}

static void a_thread_that_left_sigwait_takes_no_signal(void)
{
	struct sigaction a = { .sa_handler = jumps };

	CHECK(!sem_init(&has_left, 0, 0) && !sem_init(&may_end, 0, 0) &&
	      !sem_init(&came, 0, 0));
	CHECK(!sigaction(SIGUSR1, &a, NULL));
	a.sa_handler = on_usr2;
	CHECK(!sigaction(SIGUSR2, &a, NULL));
	mask(SIG_BLOCK, SIGUSR2);
	a_huge_time_limit_waits();
	for (int i = 0; i < 5; i++) {
		by_a_jump();
		nobody_waits(false);
		nobody_waits(true);
	}
}

/* -- one thread takes all signals -- */

static const int sent[] = { SIGTERM,  SIGABRT, SIGPROF, SIGURG,  SIGCHLD,
			    SIGWINCH, SIGUSR1, SIGTTIN, SIGALRM, SIGVTALRM };
#define SENT (int)(sizeof(sent) / sizeof(sent[0]))
#define TIMES 5

static int got; /* atomic */

static void *takes(void *arg)
{
	sigset_t all;
	int sig;

	sigfillset(&all);
	for (int i = 0; i < TIMES * SENT; i++) {
		CHECK(!sigwait(&all, &sig));
		CHECK(sig == sent[i % SENT]);
		__atomic_fetch_add(&got, 1, __ATOMIC_RELEASE);
	}
	return arg;
}

static void *reads(void *arg)
{
	struct signalfd_siginfo info;
	sigset_t all;
	int fd;

	sigfillset(&all);
	fd = signalfd(-1, &all, SFD_CLOEXEC);
	CHECK(fd >= 0);
	for (int i = 0; i < TIMES * SENT; i++) {
		CHECK(read(fd, &info, sizeof(info)) == sizeof(info));
		CHECK((int)info.ssi_signo == sent[i % SENT]);
		__atomic_fetch_add(&got, 1, __ATOMIC_RELEASE);
	}
	close(fd);
	return arg;
}

static void each(void *(*fn)(void *))
{
	pthread_t t = start(fn, NULL);

	got = 0;
	for (int i = 0; i < TIMES * SENT; i++) {
		CHECK(!kill(getpid(), sent[i % SENT]));
		while (__atomic_load_n(&got, __ATOMIC_ACQUIRE) == i)
			usleep(100);
	}
	finish(t);
	printf("got %d\n", got);
}

static void one_thread_takes_all_signals(void)
{
	pthread_t busy[2];
	sigset_t all;

	sigfillset(&all);
	CHECK(!pthread_sigmask(SIG_SETMASK, &all, NULL));
	for (int i = 0; i < 2; i++)
		busy[i] = start(computes, NULL);
	each(takes);
	each(reads);
	stop = 1;
	for (int i = 0; i < 2; i++)
		finish(busy[i]);
}

/* -- a signal just before the sleep -- */

#define ROUNDS 600

static int handled; /* atomic */
static sem_t stopped, done;

static void on_usr1(int sig)
{
	(void)sig;
	__atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
}

static void by_suspend(const sigset_t *open)
{
	CHECK(sigsuspend(open) == -1 && errno == EINTR);
}

static void by_ppoll(const sigset_t *open)
{
	CHECK(ppoll(NULL, 0, NULL, open) == -1 && errno == EINTR);
}

static void by_pselect(const sigset_t *open)
{
	CHECK(pselect(0, NULL, NULL, NULL, NULL, open) == -1 && errno == EINTR);
}

static void *sleeps(void *arg)
{
	void (*by)(const sigset_t *) = arg;
	sigset_t open;

	sigemptyset(&open);
	for (int i = 0; i < ROUNDS; i++) {
		by(&open);
		CHECK(__atomic_load_n(&handled, __ATOMIC_SEQ_CST) == i + 1);
		sem_post(&done);
	}
	return NULL;
}

static void *sends(void *arg)
{
	pthread_t t = *(pthread_t *)arg;

	for (int i = 0; i < ROUNDS; i++) {
		CHECK(!pthread_kill(t, SIGUSR1));
		taken(&done);
	}
	return NULL;
}

static void just_before(void (*by)(const sigset_t *), const char *what, int from_main)
{
	pthread_t t;

	handled = 0;
	mask(SIG_BLOCK, SIGUSR1);
	t = start(sleeps, (void *)by);
	if (from_main)
		sends(&t);
	else
		finish(start(sends, &t));
	finish(t);
	printf("%s\n", what);
}

/* -- a collector stops the world -- */

static void on_stop(int sig)
{
	sigset_t only;

	(void)sig;
	sigfillset(&only);
	sigdelset(&only, SIGUSR1);
	sem_post(&stopped);
	sigsuspend(&only);
	sem_post(&done);
}

static void collector_stops_the_world(void)
{
	struct sigaction sa = { .sa_handler = on_stop, .sa_flags = SA_RESTART };
	pthread_t t[2];

	sigfillset(&sa.sa_mask);
	CHECK(!sigaction(SIGUSR2, &sa, NULL) && !sem_init(&stopped, 0, 0));
	for (int i = 0; i < 2; i++)
		t[i] = start(computes, NULL);
	for (int n = 0; n < ROUNDS / 3; n++) {
		for (int i = 0; i < 2; i++)
			CHECK(!pthread_kill(t[i], SIGUSR2));
		for (int i = 0; i < 2; i++)
			taken(&stopped);
		for (int i = 0; i < 2; i++)
			CHECK(!pthread_kill(t[i], SIGUSR1));
		for (int i = 0; i < 2; i++)
			taken(&done);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		finish(t[i]);
	printf("stopped the world\n");
}

/* -- signals to main during its calls -- */

static struct sigaction of_main;

static void on_main(int sig)
{
	sigset_t now;

	pthread_sigmask(SIG_BLOCK, NULL, &now);
	CHECK(sigismember(&now, sig) && sigismember(&now, SIGTERM));
	if (of_main.sa_flags & (int)SA_RESETHAND)
		CHECK(!sigaction(sig, &of_main, NULL));
	__atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
}

static void *sends_main(void *arg)
{
	for (int i = 0; i < 5 * ROUNDS; i++) {
		sem_post(&stopped);
		CHECK(!pthread_kill(*(pthread_t *)arg, SIGUSR2));
		taken(&done);
		while (__atomic_load_n(&handled, __ATOMIC_SEQ_CST) == i)
			sched_yield();
	}
	return NULL;
}

static void main_posts(int flags)
{
	pthread_t me = pthread_self(), t;

	of_main = (struct sigaction){ .sa_handler = on_main, .sa_flags = flags };
	sigfillset(&of_main.sa_mask);
	handled = 0;
	CHECK(!sigaction(SIGUSR2, &of_main, NULL));
	t = start(sends_main, &me);
	for (int i = 0; i < 5 * ROUNDS; i++) {
		taken(&stopped);
		sem_post(&done);
	}
	finish(t);
	printf("main\n");
}

static void a_signal_just_before_a_sleep_ends_it(void)
{
	struct sigaction sa = { .sa_handler = on_usr1, .sa_flags = SA_RESTART };

	CHECK(!sigaction(SIGUSR1, &sa, NULL) && !sem_init(&done, 0, 0));
	for (int from_main = 0; from_main < 2; from_main++) {
		just_before(by_suspend, "sigsuspend", from_main);
		just_before(by_ppoll, "ppoll", from_main);
		just_before(by_pselect, "pselect", from_main);
	}
	mask(SIG_UNBLOCK, SIGUSR1);
	collector_stops_the_world();
	main_posts(SA_RESTART);
	main_posts((int)SA_RESETHAND);
}

int main(void)
{
	RUN_ALONE(a_thread_that_left_sigwait_takes_no_signal);
	RUN_ALONE(one_thread_takes_all_signals);
	RUN_ALONE(a_signal_just_before_a_sleep_ends_it);
	return 0;
}
