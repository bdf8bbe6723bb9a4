/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that a thread causes itself.
 * - A thread sends its process a signal that only this thread unblocks: the signal is
 *   delivered before the call returns (POSIX, kill). If main unblocks it or waits for it,
 *   the kernel delivers it to main. A signal pending for the process is delivered to the
 *   thread that unblocks it, before the unblocking call returns.
 * - A thread that writes to a pipe or stream without a reader gets SIGPIPE itself, at
 *   once; one that grows a file beyond its limit gets SIGXFSZ. If the thread blocks the
 *   signal, it is pending for this thread alone, whatever the masks of other threads and
 *   the action.
 * - The default action kills the process. After a SA_RESETHAND handler has run in one
 *   thread, the default action applies in all threads. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "posix.h"

#define ROUNDS 200

static __thread volatile int mine; /* volatile: the header declares kill a leaf */
static __thread volatile int code, sender, value;
static pthread_t first, ran_in;
static volatile int ran;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	mine++;
	code = info->si_code;
	sender = info->si_pid;
	value = info->si_value.sival_int;
	ran_in = pthread_self();
	__atomic_add_fetch(&ran, 1, __ATOMIC_SEQ_CST);
}

static int is_pending(int sig)
{
	sigset_t s;

	CHECK(!sigpending(&s));
	return sigismember(&s, sig);
}

/* -- signals for the process -- */

static void handle_blocked(int sig)
{
	struct sigaction a = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	CHECK(!sigaction(sig, &a, NULL));
	mask(SIG_BLOCK, sig);
}

static void one_by_one(int sig)
{
	mine = 0;
	mask(SIG_UNBLOCK, sig);
	for (int i = 1; i <= ROUNDS; i++) {
		CHECK(!kill(getpid(), sig) && mine == i);
		CHECK(code == SI_USER && sender == getpid());
	}
	CHECK(!sigqueue(getpid(), sig, (union sigval){ .sival_int = 7 }));
	CHECK(mine == ROUNDS + 1 && code == SI_QUEUE);
	CHECK(value == 7 && sender == getpid());
	mask(SIG_BLOCK, sig);
}

static void *sends(void *arg)
{
	one_by_one(SIGUSR1);
	one_by_one(SIGTERM);
	one_by_one(SIGRTMIN + 3);
	one_by_one(SIGPIPE);
	one_by_one(SIGURG);
	return arg;
}

static void *pends(void *arg)
{
	sigset_t s = only(SIGUSR1);
	int sig;

	mine = 0;
	mask(SIG_BLOCK, SIGUSR1);
	CHECK(!kill(getpid(), SIGUSR1) && !mine);
	CHECK(is_pending(SIGUSR1));
	CHECK(!sigwait(&s, &sig) && sig == SIGUSR1);
	SAY(kill(getpid(), 0));
	CHECK(kill(getpid(), 65) == -1 && errno == EINVAL);
	return arg;
}

static void *opens(void *arg)
{
	for (int i = 1; i <= 100; i++) {
		mine = 0;
		mask(SIG_BLOCK, SIGUSR1);
		CHECK(!kill(getpid(), SIGUSR1) && !mine);
		CHECK(is_pending(SIGUSR1));
		mask(SIG_UNBLOCK, SIGUSR1);
		CHECK(mine == 1 && !is_pending(SIGUSR1));
	}
	return arg;
}

/* -- main gets it, although its mask blocks it otherwise -- */

static void *sends_main(void *arg)
{
	char path[64], line[128];
	int there = 0;

	mask(SIG_UNBLOCK, SIGUSR1);
	mine = 0;
	snprintf(path, sizeof(path), "/proc/self/task/%d/status", getpid());
	while (!there) { /* until main has unblocked it */
		FILE *f = fopen(path, "r");
		unsigned long long blocked = ~0ull;

		while (f && fgets(line, sizeof(line), f))
			sscanf(line, "SigBlk: %llx", &blocked);
		fclose(f);
		there = !(blocked >> (SIGUSR1 - 1) & 1);
	}
	CHECK(!kill(getpid(), SIGUSR1));
	return arg;
}

static void main_takes_the_signal(void)
{
	sigset_t open, wait = only(SIGUSR1);
	pthread_t t;
	int sig;

	CHECK(!pthread_sigmask(SIG_SETMASK, NULL, &open));
	sigdelset(&open, SIGUSR1);
	mine = 0;
	t = start(sends_main, NULL);
	CHECK(sigsuspend(&open) == -1 && errno == EINTR && mine == 1);
	finish(t);
	t = start(sends_main, NULL);
	CHECK(!sigwait(&wait, &sig) && sig == SIGUSR1 && mine == 1);
	finish(t);
	puts("main is signalled");
}

/* -- the default action -- */

static void *kills(void *sig)
{
	mask(SIG_UNBLOCK, *(int *)sig);
	kill(getpid(), *(int *)sig);
	return sig;
}

static void killed_by(int sig)
{
	pid_t pid;

	signal(sig, SIG_DFL);
	pid = make_child();
	if (!pid) {
		finish(start(kills, &sig));
		_exit(7);
	}
	SAY(end_of(pid));
}

static void signals_to_itself_are_delivered_at_once(void)
{
	static const int sigs[] = { SIGUSR1, SIGTERM, SIGPIPE, SIGURG };

	first = pthread_self();
	for (int i = 0; i < 4; i++)
		handle_blocked(sigs[i]);
	handle_blocked(SIGRTMIN + 3);
	run_in_thread(sends);
	SAY(pthread_equal(ran_in, first));
	run_in_thread(pends);
	run_in_thread(opens);
	main_takes_the_signal();
	SAY(ran);
	for (int i = 0; i < 4; i++)
		killed_by(sigs[i]);
}

/* -- SIGPIPE -- */

static void on_broken(int sig)
{
	(void)sig;
	mine++;
}

static sigset_t both(void)
{
	sigset_t s;

	sigemptyset(&s);
	sigaddset(&s, SIGPIPE);
	sigaddset(&s, SIGXFSZ);
	return s;
}

static void mask_both(int how)
{
	sigset_t s = both();

	CHECK(!pthread_sigmask(how, &s, NULL));
}

/* Gives -1 and EPIPE. */
static void break_pipe(void)
{
	int p[2];

	CHECK(!pipe(p) && !close(p[0]));
	CHECK(write(p[1], "x", 1) == -1 && errno == EPIPE);
	close(p[1]);
}

static void break_stream(int flags)
{
	int s[2];

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, s) && !close(s[0]));
	CHECK(send(s[1], "x", 1, flags) == -1 && errno == EPIPE);
	close(s[1]);
}

/* A thread takes its own pending signal back, as libraries do that must not let the
 * program die. */
static void *takes_back(void *arg)
{
	struct timespec none = { 0, 0 };
	sigset_t s = both();
	siginfo_t info;

	mask_both(SIG_BLOCK);
	for (int i = 0; i < 3; i++) {
		SAY(is_pending(SIGPIPE));
		break_pipe();
		break_stream(0);
		SAY(is_pending(SIGPIPE));
		SAY(sigtimedwait(&s, &info, &none));
		printf("code %d, from us %d\n", info.si_code, info.si_pid == getpid());
		CHECK(sigtimedwait(&s, &info, &none) == -1 && errno == EAGAIN);
	}
	break_stream(MSG_NOSIGNAL);
	SAY(is_pending(SIGPIPE));
	mask_both(SIG_UNBLOCK);
	return arg;
}

static void *lets_through(void *arg)
{
	break_pipe();
	SAY(mine);
	mask_both(SIG_BLOCK);
	break_pipe();
	break_stream(0);
	SAY(mine);
	SAY(is_pending(SIGPIPE));
	mask_both(SIG_UNBLOCK);
	SAY(mine);
	SAY(is_pending(SIGPIPE));
	return arg;
}

/* -- during a call that waits -- */

static int ends[2];

static void *closes(void *arg)
{
	struct timespec t = { 0, 20000000 };

	nanosleep(&t, NULL);
	close(ends[0]);
	return arg;
}

static void *fills(void *arg)
{
	static char much[1 << 20];
	pthread_t t = start(closes, NULL);
	ssize_t r;

	do
		r = write(ends[1], much, sizeof(much));
	while (r > 0);
	CHECK(errno == EPIPE);
	finish(t);
	close(ends[1]);
	return arg;
}

static void *waits(void *stream)
{
	if (stream)
		CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	else
		CHECK(!pipe(ends));
	mine = 0;
	fills(NULL);
	printf("ran here: %d\n", mine > 0);
	return NULL;
}

/* -- a file beyond its size limit -- */

static void grow(void)
{
	FILE *f = tmpfile();

	CHECK(f && !ftruncate(fileno(f), 100));
	CHECK(pwrite(fileno(f), "x", 1, 100) == -1 && errno == EFBIG);
	fclose(f);
}

static void *grows(void *arg)
{
	struct timespec none = { 0, 0 };
	sigset_t s = both();

	mine = 0;
	grow();
	SAY(mine);
	mask_both(SIG_BLOCK);
	grow();
	SAY(is_pending(SIGXFSZ));
	SAY(sigtimedwait(&s, NULL, &none));
	grow();
	SAY(mine);
	mask_both(SIG_UNBLOCK);
	SAY(mine);
	return arg;
}

static void *grows_blocked(void *arg)
{
	mask_both(SIG_BLOCK);
	grow();
	return arg;
}

static void *outgrows(void *arg)
{
	grow();
	return arg;
}

/* -- an unblocked signal kills, whatever other threads block -- */

static int blocked;

static void *blocks(void *arg)
{
	mask_both(SIG_BLOCK);
	__atomic_store_n(&blocked, 1, __ATOMIC_SEQ_CST);
	pause();
	return arg;
}

static void *dies(void *arg)
{
	break_pipe();
	return arg;
}

static void death(void *(*how)(void *), bool others, bool in_main)
{
	pid_t pid = make_child();

	if (!pid) {
		if (others) {
			start(blocks, NULL);
			while (!__atomic_load_n(&blocked, __ATOMIC_SEQ_CST))
				usleep(1000);
		}
		if (in_main)
			how(NULL);
		else
			run_in_thread(how);
		_exit(7);
	}
	SAY(end_of(pid));
}

static void *forks(void *arg)
{
	death(dies, false, true);
	death(dies, true, false);
	mask_both(SIG_BLOCK);
	death(dies, false, true);
	mask_both(SIG_UNBLOCK);
	return arg;
}

static void a_broken_pipe_signals_its_writer(void)
{
	run_in_thread(takes_back);
	death(dies, false, false);
	death(dies, true, false);
	death(dies, true, true);
	death(waits, true, false);
	SAY(WTERMSIG(system("kill -PIPE $$")));
	run_in_thread(forks);
	signal(SIGPIPE, on_broken);
	run_in_thread(lets_through);
	run_in_thread(waits);
	finish(start(waits, ends));
	signal(SIGPIPE, SIG_DFL);
	run_in_thread(takes_back);
	death(dies, true, true);
}

static void a_file_beyond_its_limit_signals_its_writer(void)
{
	struct rlimit few = { 100, 100 }, none = { 0, 0 };

	CHECK(!setrlimit(RLIMIT_CORE, &none) && !setrlimit(RLIMIT_FSIZE, &few));
	death(outgrows, false, false);
	death(outgrows, true, false);
	death(outgrows, true, true);
	run_in_thread(grows_blocked);
	signal(SIGXFSZ, on_broken);
	run_in_thread(grows);
}

/* -- SA_RESETHAND -- */

static void on_once(int sig)
{
	ran += sig;
}

static void *raises(void *arg)
{
	CHECK(!raise((int)(intptr_t)arg));
	return arg;
}

static void *sends_one(void *arg)
{
	CHECK(!kill(getpid(), (int)(intptr_t)arg));
	return arg;
}

static void *faults(void *arg)
{
	raises(arg);
	return (void *)(intptr_t) * (volatile int *)arg;
}

static void thread(void *(*fn)(void *), int sig)
{
	finish(start(fn, (void *)(intptr_t)sig));
}

static void once(const char *what, void *(*one)(void *), void *(*then)(void *), int sig)
{
	struct sigaction a = { .sa_handler = on_once, .sa_flags = (int)SA_RESETHAND };
	pid_t pid = make_child();

	if (!pid) {
		CHECK(!sigaction(sig, &a, NULL));
		thread(one, sig);
		CHECK(ran == sig && !sigaction(sig, NULL, &a));
		CHECK(a.sa_handler == SIG_DFL);
		then((void *)(intptr_t)sig);
		_exit(1);
	}
	printf("%s: %d\n", what, end_of(pid));
}

static void *raised_again(void *arg)
{
	thread(raises, (int)(intptr_t)arg);
	return arg;
}

static void *fault_after(void *arg)
{
	thread(faults, (int)(intptr_t)arg);
	return arg;
}

static void a_reset_handler_runs_once(void)
{
	once("a thread's, then main's", raises, raises, SIGUSR1);
	once("a thread's, then the process's", raises, sends_one, SIGUSR1);
	once("a thread's, then another's", raises, raised_again, SIGTERM);
	once("asked for, then a fault", raises, fault_after, SIGSEGV);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	RUN_ALONE(signals_to_itself_are_delivered_at_once);
	RUN_ALONE(a_broken_pipe_signals_its_writer);
	RUN_ALONE(a_file_beyond_its_limit_signals_its_writer);
	RUN_ALONE(a_reset_handler_runs_once);
	return 0;
}
