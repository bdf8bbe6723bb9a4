/* SPDX-License-Identifier: Apache-2.0 */
/* Timers that signal one thread by its gettid(), signal the process, or call a
 * function. Each thread gets the signals of its own timer, with their value, and
 * expirations that it misses count as overruns. */
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "posix.h"

enum { THREADS = 5, TIMES = 4 };

static __thread volatile int got, wrong;
static __thread int mine;

static void on_timer(int sig, siginfo_t *info, void *uc)
{
	(void)uc;
	if (sig != SIGRTMIN + 2 || info->si_code != SI_TIMER || !mine ||
	    info->si_value.sival_int != mine || info->si_overrun < 0)
		wrong = 1;
	got++;
}

static timer_t timer_for(pid_t tid, int sig, int value, clockid_t clock)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sig };
	timer_t id;

	ev.sigev_value.sival_int = value;
	ev._sigev_un._tid = tid;
	CHECK(!timer_create(clock, &ev, &id));
	return id;
}

static void every_ms(timer_t id, long first, long then)
{
	struct itimerspec t = { .it_value = { 0, first * 1000000 },
				.it_interval = { 0, then * 1000000 } };

	CHECK(!timer_settime(id, 0, &t, NULL));
}

static void *is_signalled(void *arg)
{
	timer_t id;

	mine = (int)(intptr_t)arg;
	id = timer_for(gettid(), SIGRTMIN + 2, mine, CLOCK_MONOTONIC);
	every_ms(id, 1, 1);
	while (got < TIMES)
		usleep(100000); /* a signal interrupts it */
	CHECK(timer_getoverrun(id) >= 0 && !timer_delete(id) && !wrong);
	return NULL;
}

/* Uses the timer as a profiler does: by CPU time, while it computes. */
static void *computes(void *arg)
{
	timer_t id;

	mine = 77;
	id = timer_for(gettid(), SIGRTMIN + 2, mine, CLOCK_THREAD_CPUTIME_ID);
	every_ms(id, 1, 1);
	while (got < TIMES)
		;
	CHECK(!timer_delete(id) && !wrong);
	return arg;
}

static long spent(void)
{
	struct timespec ts;

	CHECK(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts));
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void spin_ms(long ms)
{
	long end = spent() + ms;

	while (spent() < end)
		;
}

/* Other threads want to run meanwhile, so this thread moves between kernel threads. The
 * kernel checks the timer at its ticks, and a virtual machine loses some ticks: 60 ms
 * passed once without a signal. */
static void *computes_here_and_there(void *arg)
{
	timer_t id;
	int before;

	mine = 78;
	id = timer_for(gettid(), SIGRTMIN + 2, mine, CLOCK_THREAD_CPUTIME_ID);
	every_ms(id, 20, 20);
	do {
		before = got;
		for (int i = 0; i < 12 || (got == before && i < 200); i++) {
			spin_ms(5);
			usleep(1);
		}
		CHECK(got > before);
	} while (got < TIMES);
	CHECK(!timer_delete(id) && !wrong);
	return arg;
}

/* This thread uses no CPU time while others compute. */
static void *rests(void *arg)
{
	struct itimerspec left;
	timer_t id;

	mine = 79;
	id = timer_for(gettid(), SIGRTMIN + 2, mine, CLOCK_THREAD_CPUTIME_ID);
	every_ms(id, 20, 20);
	CHECK(!timer_gettime(id, &left) && left.it_value.tv_nsec <= 20000000 &&
	      left.it_value.tv_nsec > 0 && left.it_interval.tv_nsec == 20000000);
	for (int i = 0; i < 20; i++)
		usleep(10000);
	CHECK(!got);
	CHECK(!timer_delete(id));
	FAILS(timer_gettime(id, &left), EINVAL);
	return arg;
}

static void cpu_timers_count_own_time(void)
{
	enum { MANY = 6 };
	pthread_t t[MANY];

	for (intptr_t i = 0; i < MANY; i++)
		t[i] = start(i ? computes_here_and_there : rests, NULL);
	for (int i = 0; i < MANY; i++)
		finish(t[i]);
}

static void *spins_until(void *arg)
{
	while (!__atomic_load_n((int *)arg, __ATOMIC_ACQUIRE))
		;
	return NULL;
}

/* Signals the process; the caller waits for the signal. */
static timer_t process_timer(clockid_t clock, int value)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL,
			       .sigev_signo = SIGRTMIN + 4 };
	timer_t id;

	ev.sigev_value.sival_int = value;
	CHECK(!timer_create(clock, &ev, &id));
	return id;
}

static void gets_signal_with(int value)
{
	siginfo_t info;
	sigset_t set = only(SIGRTMIN + 4);

	CHECK(sigwaitinfo(&set, &info) == SIGRTMIN + 4);
	CHECK(info.si_code == SI_TIMER && info.si_value.sival_int == value);
}

/* A timer on another thread's CPU clock that expires once and signals the process. */
static void *of_another(void *arg)
{
	struct itimerspec at = { .it_value = { 0, 0 } };
	int stop = 0;
	pthread_t t = start(spins_until, &stop);
	clockid_t clock;
	timer_t id;

	CHECK(!pthread_getcpuclockid(t, &clock));
	id = process_timer(clock, 6);
	CHECK(!clock_gettime(clock, &at.it_value));
	at.it_value.tv_sec += 1000;
	CHECK(!timer_settime(id, TIMER_ABSTIME, &at, NULL));
	CHECK(!timer_gettime(id, &at) && at.it_value.tv_sec > 500 &&
	      at.it_value.tv_sec <= 1000);
	at.it_value = (struct timespec){ 0, 3000000 };
	CHECK(!timer_settime(id, 0, &at, NULL));
	gets_signal_with(6);
	CHECK(!timer_gettime(id, &at) && !at.it_value.tv_sec && !at.it_value.tv_nsec);
	at.it_value.tv_nsec = -1;
	FAILS(timer_settime(id, 0, &at, NULL), EINVAL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	finish(t);
	CHECK(!timer_delete(id));
	return arg;
}

/* The signal is not taken for a while: it is pending once, and the rest
 * are overruns. */
static void *overruns(void *arg)
{
	struct timespec none = { 0, 0 };
	siginfo_t info;
	sigset_t set = only(SIGRTMIN + 3);
	timer_t id;

	CHECK(!pthread_sigmask(SIG_BLOCK, &set, NULL));
	id = timer_for(gettid(), SIGRTMIN + 3, 5, CLOCK_MONOTONIC);
	every_ms(id, 1, 1);
	do {
		usleep(20000);
		CHECK(sigwaitinfo(&set, &info) == SIGRTMIN + 3);
		CHECK(info.si_code == SI_TIMER && info.si_value.sival_int == 5);
		CHECK(timer_getoverrun(id) == info.si_overrun);
	} while (!info.si_overrun);
	CHECK(!timer_delete(id));
	while (sigtimedwait(&set, &info, &none) > 0)
		;
	return arg;
}

static sem_t called;

static void call(union sigval v)
{
	CHECK(v.sival_int == 9);
	sem_post(&called);
}

static void *by_function(void *arg)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD,
			       .sigev_notify_function = call };
	timer_t id;

	ev.sigev_value.sival_int = 9;
	CHECK(!timer_create(CLOCK_MONOTONIC, &ev, &id));
	every_ms(id, 1, 1);
	for (int i = 0; i < 3; i++)
		while (sem_wait(&called))
			CHECK(errno == EINTR);
	CHECK(!timer_delete(id));
	return arg;
}

/* A timer that signals the process; main does not take the signal. */
static void *by_process(void *arg)
{
	timer_t id = process_timer(CLOCK_REALTIME, 3);

	every_ms(id, 1, 0);
	gets_signal_with(3);
	CHECK(timer_getoverrun(id) == 0 && !timer_delete(id));
	return arg;
}

static timer_t left;

static void *ends_before(void *arg)
{
	left = timer_for(gettid(), SIGRTMIN + 2, 1, CLOCK_MONOTONIC);
	every_ms(left, 1, 1);
	mine = 1;
	return arg;
}

int main(void)
{
	struct sigaction a = { .sa_sigaction = on_timer,
			       .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigevent bad = { .sigev_notify = SIGEV_THREAD_ID,
				.sigev_signo = SIGUSR1 };
	pthread_t t[THREADS];
	sigset_t set = only(SIGRTMIN + 4);
	timer_t id;

	CHECK(!sigaction(SIGRTMIN + 2, &a, NULL) && !sem_init(&called, 0, 0));
	CHECK(!pthread_sigmask(SIG_BLOCK, &set, NULL));
	for (intptr_t i = 0; i < THREADS; i++)
		t[i] = start(is_signalled, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		finish(t[i]);
	run_in_thread(computes);
	RUN(cpu_timers_count_own_time);
	run_in_thread(of_another);
	run_in_thread(overruns);
	run_in_thread(by_function);
	run_in_thread(by_process);
	is_signalled((void *)10);
	run_in_thread(ends_before);
	usleep(5000);
	CHECK(!timer_delete(left));
	bad._sigev_un._tid = 0x3fffffff;
	FAILS(timer_create(CLOCK_MONOTONIC, &bad, &id), EINVAL);
	printf("main is signalled: %d\n", got >= TIMES);
	return 0;
}
