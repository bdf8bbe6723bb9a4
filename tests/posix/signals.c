/* SPDX-License-Identifier: Apache-2.0 */
/* A handler runs in the thread that gets the signal, whether it is parked, computes or
 * sleeps in the kernel. Calls end with EINTR or go on. Each thread has its own mask and
 * pending signals. Signals for the process go to a thread that does not block them.
 * However many signals a thread handles in a row, their handlers do not nest. */
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/msg.h>
#include <sys/time.h>

#include "posix.h"

static __thread int me;
static int ran_in[8], ready, stop;
static sem_t seen;

static int get(int *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void set(int *p, int v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

static void on_usr(int sig)
{
	(void)sig;
	__atomic_fetch_add(&ran_in[me], 1, __ATOMIC_RELEASE);
	sem_post(&seen);
}

static void handle(int sig, void (*fn)(int), int flags)
{
	struct sigaction a = { .sa_handler = fn, .sa_flags = flags };

	CHECK(!sigaction(sig, &a, NULL));
}

static void wait_seen(void)
{
	while (sem_wait(&seen))
		CHECK(errno == EINTR);
}

/* -- parked in a call -- */

static int ends[2];

static void *reads(void *restarts)
{
	char c = 0;
	ssize_t n;

	me = 1;
	set(&ready, 1);
	n = read(ends[0], &c, 1);
	if (restarts)
		CHECK(n == 1 && c == 'x');
	else
		CHECK(n == -1 && errno == EINTR);
	return NULL;
}

/* The test cannot see when the thread is in its call, so it waits 20 ms before the
 * signal. */
static void in_a_call(int restarts)
{
	pthread_t t;
	int was = get(&ran_in[1]);

	handle(SIGUSR1, on_usr, restarts ? SA_RESTART : 0);
	CHECK(!pipe(ends));
	set(&ready, 0);
	t = start(reads, restarts ? &ready : NULL);
	while (!get(&ready))
		usleep(100);
	usleep(20000);
	for (int i = 0; i < (restarts ? 5 : 1); i++) {
		CHECK(!pthread_kill(t, SIGUSR1));
		wait_seen();
	}
	if (restarts)
		CHECK(write(ends[1], "x", 1) == 1);
	finish(t);
	printf("%s: handlers ran in it %d\n", restarts ? "goes on" : "EINTR",
	       get(&ran_in[1]) - was);
	close(ends[0]);
	close(ends[1]);
}

static void *sleeps(void *arg)
{
	struct timespec ts = { 100, 0 }, left = { 0, 0 };

	me = 2;
	set(&ready, 1);
	CHECK(nanosleep(&ts, &left) == -1 && errno == EINTR);
	CHECK(left.tv_sec >= 90 && left.tv_sec <= 100);
	return arg;
}

static void *computes(void *arg)
{
	me = 3;
	set(&ready, 1);
	while (!get(&stop))
		__asm__ volatile("");
	return arg;
}

static void *in_kernel(void *arg)
{
	struct {
		long type;
		char text[8];
	} m;
	int q = msgget(IPC_PRIVATE, 0600);

	me = 4;
	CHECK(q >= 0);
	set(&ready, 1);
	CHECK(msgrcv(q, &m, sizeof(m.text), 0, 0) == -1 && errno == EINTR);
	msgctl(q, IPC_RMID, NULL);
	return arg;
}

static void *locks(void *arg)
{
	me = 5;
	set(&ready, 1);
	CHECK(!pthread_mutex_lock(arg));
	CHECK(!pthread_mutex_unlock(arg));
	return arg;
}

static void elsewhere(const char *name, void *(*fn)(void *), int who, void *arg)
{
	pthread_t t;

	set(&ready, 0);
	set(&stop, 0);
	t = start(fn, arg);
	while (!get(&ready))
		usleep(100);
	usleep(20000);
	CHECK(!pthread_kill(t, SIGUSR1));
	wait_seen();
	if (who == 5)
		CHECK(!pthread_mutex_unlock(arg));
	set(&stop, 1);
	finish(t);
	printf("%s: %d\n", name, get(&ran_in[who]));
}

/* -- masks -- */

static void *masked(void *arg)
{
	sigset_t usr1 = only(SIGUSR1), old, pending;

	me = 6;
	CHECK(!pthread_sigmask(SIG_BLOCK, &usr1, &old));
	CHECK(!sigismember(&old, SIGUSR1));
	CHECK(!raise(SIGUSR1));
	CHECK(!pthread_kill(pthread_self(), SIGUSR1)); /* pending only once */
	CHECK(!sigpending(&pending) && sigismember(&pending, SIGUSR1));
	CHECK(get(&ran_in[6]) == 0);
	CHECK(!pthread_sigmask(SIG_SETMASK, &old, NULL));
	CHECK(get(&ran_in[6]) == 1);
	CHECK(!sigpending(&pending) && !sigismember(&pending, SIGUSR1));
	return arg;
}

static void *suspends(void *arg)
{
	sigset_t usr1 = only(SIGUSR1), old;

	me = 7;
	CHECK(!pthread_sigmask(SIG_BLOCK, &usr1, &old));
	set(&ready, 1);
	CHECK(sigsuspend(&old) == -1 && errno == EINTR);
	CHECK(get(&ran_in[7]) == 1);
	CHECK(!pthread_sigmask(SIG_SETMASK, NULL, &old) && sigismember(&old, SIGUSR1));
	return arg;
}

/* -- sigwait, and signals for the process -- */

static void *waits(void *arg)
{
	sigset_t *set_ = arg;
	siginfo_t info;
	int sig;

	CHECK(!sigwait(set_, &sig) && sig == SIGUSR2);
	CHECK(sigwaitinfo(set_, &info) == SIGRTMIN + 3 &&
	      info.si_value.sival_int == 77);
	return NULL;
}

static void sigwait_takes_process_signals(void)
{
	union sigval v = { .sival_int = 77 };
	struct timespec none = { 0, 1000 };
	sigset_t set_ = only(SIGUSR2), old;
	pthread_t t;

	sigaddset(&set_, SIGRTMIN + 3);
	CHECK(!pthread_sigmask(SIG_BLOCK, &set_, &old));
	t = start(waits, &set_);
	CHECK(!kill(getpid(), SIGUSR2));
	usleep(1000);
	CHECK(!sigqueue(getpid(), SIGRTMIN + 3, v));
	finish(t);
	CHECK(sigtimedwait(&set_, NULL, &none) == -1 && errno == EAGAIN);
	CHECK(!pthread_sigmask(SIG_SETMASK, &old, NULL));
}

static void *open_to(void *arg)
{
	me = 0;
	mask(SIG_UNBLOCK, SIGUSR1);
	set(&ready, 1);
	while (!get(&ran_in[0]))
		usleep(1000);
	return arg;
}

/* main blocks the signal, one thread does not. */
static void process_signal_goes_to_the_thread_that_unblocks_it(void)
{
	pthread_t t;

	set(&ran_in[0], 0);
	set(&ready, 0);
	me = 1;
	mask(SIG_BLOCK, SIGUSR1);
	t = start(open_to, NULL);
	while (!get(&ready))
		usleep(100);
	CHECK(!kill(getpid(), SIGUSR1));
	wait_seen();
	finish(t);
	mask(SIG_UNBLOCK, SIGUSR1);
	printf("process: %d\n", get(&ran_in[0]));
}

/* -- faults -- */

static __thread sigjmp_buf back;
static char *volatile nowhere;

static void on_fault(int sig)
{
	siglongjmp(back, sig);
}

static void *faults(void *arg)
{
	volatile int n = 0;

	for (volatile int i = 0; i < 20; i++) {
		if (sigsetjmp(back, 1))
			n++;
		else
			*nowhere = 1;
		usleep(10);
	}
	CHECK(n == 20);
	return arg;
}

static void faults_are_handled(void)
{
	pthread_t t[4];

	handle(SIGSEGV, on_fault, 0);
	for (int i = 0; i < 4; i++)
		t[i] = start(faults, NULL);
	for (int i = 0; i < 4; i++)
		finish(t[i]);
	handle(SIGSEGV, SIG_DFL, 0);
}

static void *writes(void *arg)
{
	int p[2];

	me = 1;
	CHECK(!pipe(p) && !close(p[0]));
	CHECK(write(p[1], "x", 1) == -1 && errno == EPIPE);
	close(p[1]);
	return arg;
}

static void sigpipe_is_handled(void)
{
	int was = get(&ran_in[1]);

	handle(SIGPIPE, on_usr, 0);
	run_in_thread(writes);
	wait_seen();
	printf("SIGPIPE: %d\n", get(&ran_in[1]) - was);
}

/* -- signals stop the world, as in garbage collectors -- */

#define WORLD 50
static sem_t stopped, go_on[WORLD];
static __thread int in_it;
static int world_ends, born[WORLD];

static void on_stop(int sig)
{
	int err = errno;

	(void)sig;
	sem_post(&stopped);
	while (sem_wait(&go_on[in_it]))
		;
	errno = err;
}

static void *in_world(void *arg)
{
	volatile unsigned x = 0;

	in_it = (int)(long)arg;
	set(&born[in_it], 1);
	while (!get(&world_ends)) {
		if ((long)arg % 2)
			usleep(500);
		else
			for (int i = 0; i < 1000; i++)
				x += (unsigned)i;
	}
	(void)x;
	return arg;
}

static void collector_stops_the_world(void)
{
	pthread_t t[WORLD];

	sem_init(&stopped, 0, 0);
	handle(SIGRTMIN + 5, on_stop, SA_RESTART);
	for (long i = 0; i < WORLD; i++)
		CHECK(!sem_init(&go_on[i], 0, 0) &&
		      !pthread_create(&t[i], NULL, in_world, (void *)i));
	for (int i = 0; i < WORLD; i++)
		while (!get(&born[i]))
			usleep(100);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < WORLD; i++)
			CHECK(!pthread_kill(t[i], SIGRTMIN + 5));
		for (int i = 0; i < WORLD; i++)
			while (sem_wait(&stopped))
				;
		for (int i = 0; i < WORLD; i++)
			sem_post(&go_on[i]);
	}
	set(&world_ends, 1);
	for (int i = 0; i < WORLD; i++)
		finish(t[i]);
}

/* -- left by a jump -- */

static sigjmp_buf out;

static void jumps_out(int sig)
{
	(void)sig;
	pthread_kill(pthread_self(), SIGUSR2); /* blocked until the handler is left */
	CHECK(!get(&ran_in[1]));
	siglongjmp(out, 1);
}

static void *is_left(void *arg)
{
	struct sigaction a = { .sa_handler = jumps_out };

	me = 1;
	set(&ran_in[1], 0);
	handle(SIGUSR2, on_usr, 0);
	sigaddset(&a.sa_mask, SIGUSR2);
	CHECK(!sigaction(SIGUSR1, &a, NULL));
	if (!sigsetjmp(out, 1))
		pthread_kill(pthread_self(), SIGUSR1);
	printf("left by a jump: %d\n", get(&ran_in[1]));
	return arg;
}

static void handler_leaves_by_a_jump(void)
{
	run_in_thread(is_left);
	handle(SIGUSR1, on_usr, 0);
}

/* -- signals for main -- */

static void *nothing(void *arg)
{
	while (!get(&stop))
		usleep(1000);
	return arg;
}

static void main_is_interrupted(void)
{
	/* the timer repeats, as the first signal may arrive before main waits */
	struct itimerval it = { { 0, 20000 }, { 0, 20000 } },
			 off = { { 0, 0 }, { 0, 0 } };
	pthread_t t;
	sem_t never;
	int was = get(&ran_in[0]);

	me = 0;
	set(&stop, 0);
	sem_init(&never, 0, 0);
	handle(SIGALRM, on_usr, 0);
	t = start(nothing, NULL);
	CHECK(!setitimer(ITIMER_REAL, &it, NULL));
	CHECK(sem_wait(&never) == -1 && errno == EINTR);
	CHECK(!setitimer(ITIMER_REAL, &off, NULL));
	set(&stop, 1);
	finish(t);
	printf("main: %d\n", get(&ran_in[0]) > was);
}

/* -- a flood of signals for the process: handlers block all signals, and
 * threads end -- */

#define FLOOD 4000
static int flooded;

static void on_flood(int sig)
{
	(void)sig;
	__atomic_fetch_add(&flooded, 1, __ATOMIC_RELEASE);
	sem_post(&seen);
}

/* Runs until this many signals were handled, by any thread. */
static void *is_flooded(void *until)
{
	mask(SIG_UNBLOCK, SIGRTMIN + 4);
	while (get(&flooded) < (int)(intptr_t)until)
		usleep(100);
	return NULL;
}

static void no_signal_is_lost(void)
{
	struct sigaction a = { .sa_handler = on_flood };
	pthread_t t[4];

	sigfillset(&a.sa_mask);
	CHECK(!sigaction(SIGRTMIN + 4, &a, NULL));
	mask(SIG_BLOCK, SIGRTMIN + 4);
	for (intptr_t i = 0; i < 4; i++)
		CHECK(!pthread_create(&t[i], NULL, is_flooded,
				      (void *)((i + 1) * (FLOOD / 4))));
	for (int i = 0; i < 4; i++)
		sem_post(&seen); /* at most 4 signals are under way */
	for (int i = 0; i < FLOOD; i++) {
		wait_seen();
		CHECK(!kill(getpid(), SIGRTMIN + 4));
	}
	for (int i = 0; i < 4; i++)
		finish(t[i]);
	for (int i = 0; i < 4; i++)
		wait_seen();
	mask(SIG_UNBLOCK, SIGRTMIN + 4);
	printf("flood: %d\n", get(&flooded));
}

/* -- a handler that always finds the next signal pending when it ends: the next one
 * runs in its place, not on top of it -- */

#define CHAIN 300
static int chained;
static uintptr_t lowest, highest;

static void on_chain(int sig)
{
	char here;
	uintptr_t at = (uintptr_t)&here;

	lowest = lowest && lowest < at ? lowest : at;
	highest = highest > at ? highest : at;
	if (++chained < CHAIN)
		CHECK(!kill(getpid(), sig));
	else
		sem_post(&seen);
}

static void chain(void)
{
	chained = 0;
	lowest = highest = 0;
	CHECK(!kill(getpid(), SIGUSR2));
	wait_seen();
	CHECK(chained == CHAIN);
	CHECK(highest - lowest < 32 << 10);
}

static void *chains(void *arg)
{
	pid_t pid;

	mask(SIG_UNBLOCK, SIGUSR2);
	chain();
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		chain();
		_exit(0);
	}
	CHECK(end_of(pid) == 0);
	return arg;
}

static void handlers_do_not_nest(void)
{
	handle(SIGUSR2, on_chain, 0);
	mask(SIG_BLOCK, SIGUSR2);
	run_in_thread(chains);
	mask(SIG_UNBLOCK, SIGUSR2);
}

/* -- sent to the process while one thread lets it through, which then ends: it is that
 * thread's -- */

static volatile int ended_by_now;

static void *ends_soon(void *arg)
{
	mask(SIG_UNBLOCK, SIGUSR2);
	sem_post(arg);
	while (!ended_by_now)
		;
	return arg;
}

static void a_thread_that_ends_takes_its_signals(void)
{
	sem_t up;
	pthread_t t;

	CHECK(!sem_init(&up, 0, 0));
	handle(SIGUSR2, on_usr, 0);
	mask(SIG_BLOCK, SIGUSR2);
	for (int i = 0; i < 100; i++) {
		ended_by_now = 0;
		t = start(ends_soon, &up);
		CHECK(!sem_wait(&up));
		if (i % 2)
			CHECK(!kill(getpid(), SIGUSR2));
		else
			CHECK(!sigqueue(getpid(), SIGUSR2, (union sigval){ 0 }));
		ended_by_now = 1;
		finish(t);
		CHECK(!sem_trywait(&seen));
	}
	mask(SIG_UNBLOCK, SIGUSR2);
}

int main(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

	setvbuf(stdout, NULL, _IOLBF, 0);
	CHECK(!sem_init(&seen, 0, 0));
	in_a_call(0);
	in_a_call(1);
	handle(SIGUSR1, on_usr, 0);
	elsewhere("asleep", sleeps, 2, NULL);
	elsewhere("computing", computes, 3, NULL);
	elsewhere("in the kernel", in_kernel, 4, NULL);
	pthread_mutex_lock(&m);
	elsewhere("at a mutex", locks, 5, &m);
	run_in_thread(masked);
	wait_seen();
	puts("masked");
	elsewhere("suspended", suspends, 7, NULL);
	RUN(sigwait_takes_process_signals);
	RUN(process_signal_goes_to_the_thread_that_unblocks_it);
	RUN(faults_are_handled);
	RUN(sigpipe_is_handled);
	RUN(collector_stops_the_world);
	RUN(handler_leaves_by_a_jump);
	RUN(no_signal_is_lost);
	RUN(handlers_do_not_nest);
	RUN(a_thread_that_ends_takes_its_signals);
	RUN(main_is_interrupted);
	return 0;
}
