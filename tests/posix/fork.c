/* SPDX-License-Identifier: Apache-2.0 */
/* A thread forks, and its child lives on with threads that it creates. vfork,
 * posix_spawn, system and popen work beside running threads. Programs start with the
 * mask of the thread that starts them. Handlers and masks work in a child. fork()
 * copies few pages. A child of _Fork, or of clone without shared memory, has one thread
 * and no runtime. Calls in it go to libc: those that POSIX allows, and others that work
 * natively. */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <wchar.h>

#include "asleep.h"
#include "posix.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* -- children with a runtime -- */

static int handled, stop;

static void on_usr(int sig)
{
	(void)sig;
	__atomic_fetch_add(&handled, 1, __ATOMIC_SEQ_CST);
}

static void *adds(void *arg)
{
	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&mutex);
		++*(int *)arg;
		pthread_mutex_unlock(&mutex);
		if (i % 100 == 0)
			usleep(100);
	}
	return arg;
}

/* In the child: threads, locks and sleeps work. */
static void child_lives(void)
{
	pthread_t t[8];
	int n = 0;

	/* the thread that held it in the parent does not exist here */
	CHECK(!pthread_mutex_init(&mutex, NULL));
	for (int i = 0; i < 8; i++)
		t[i] = start(adds, &n);
	for (int i = 0; i < 8; i++)
		finish(t[i]);
	_exit(n == 8000 ? 7 : 1);
}

static void *busy(void *arg)
{
	int n = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
		adds(&n);
	return arg;
}

static void child_signals(void)
{
	mask(SIG_BLOCK, SIGUSR1);
	handled = 0;
	CHECK(!kill(getpid(), SIGUSR1));
	usleep(1000);
	CHECK(handled == 0);
	mask(SIG_UNBLOCK, SIGUSR1);
	while (!__atomic_load_n(&handled, __ATOMIC_SEQ_CST))
		usleep(1000);
	CHECK(!kill(getpid(), SIGUSR1));
	while (__atomic_load_n(&handled, __ATOMIC_SEQ_CST) < 2)
		usleep(1000);
	signal(SIGTERM, SIG_DFL);
	kill(getpid(), SIGTERM);
	for (;;)
		pause();
}

static void *forks(void *arg)
{
	pid_t pid;

	for (int i = 0; i < 5; i++) {
		pid = fork();
		if (!pid)
			child_lives();
		CHECK(end_of(pid) == 7);
	}
	pid = fork();
	if (!pid)
		child_signals();
	printf("child ends by %d\n", end_of(pid));
	pid = fork();
	if (!pid)
		pthread_exit(NULL); /* its last thread ends: status 0 */
	printf("child's last thread: %d\n", end_of(pid));
	return arg;
}

/* Only the first 28 signals: the initial state of libc's two internal signals does not
 * matter. */
#define WANTED "s/^Sig\\(Blk\\|Ign\\).*\\(.......\\)$/\\1 \\2/p"
static const char show[] = "sed -n '" WANTED "' /proc/self/status";

static void *starts(void *arg)
{
	char *argv[] = { (char[]){ "sed" }, (char[]){ "-n" }, (char[]){ WANTED },
			 (char[]){ "/proc/self/status" }, NULL };
	char line[200];
	sigset_t set = only(SIGUSR2);
	pid_t pid;
	FILE *f;

	sigaddset(&set, SIGWINCH);
	CHECK(!pthread_sigmask(SIG_SETMASK, &set, NULL));
	pid = make_child();
	if (!pid) {
		execv("/bin/sed", argv);
		_exit(99);
	}
	CHECK(end_of(pid) == 0);
	CHECK(!posix_spawn(&pid, "/bin/sed", NULL, NULL, argv, environ));
	CHECK(end_of(pid) == 0);
	pid = vfork();
	if (!pid) {
		/* programs do this after vfork, although POSIX forbids it */
		struct sigaction dfl = { .sa_handler = SIG_DFL };

		close(100);
		sigaction(SIGPIPE, &dfl, NULL);
		sigprocmask(SIG_SETMASK, NULL, &set);
		execv("/bin/sed", argv);
		_exit(99);
	}
	CHECK(end_of(pid) == 0);
	CHECK(system(show) == 0);
	f = popen(show, "r");
	CHECK(f);
	while (fgets(line, sizeof(line), f))
		fputs(line, stdout);
	printf("bytes: %d\n", fwide(f, 0) < 0);
	CHECK(pclose(f) == 0);
	return arg;
}

/* A new thread in a child has no thread-specific values, whatever values the parent's
 * threads had. */
#define KEYS 40 /* libc keeps the first 32 in another place */
static pthread_key_t keys[KEYS];
static pthread_barrier_t both;

static void *has_values(void *arg)
{
	intptr_t had = 0;

	for (int i = 0; i < KEYS; i++) {
		had += pthread_getspecific(keys[i]) != NULL;
		CHECK(!pthread_setspecific(keys[i], keys));
	}
	for (int i = 0; arg && i < 2; i++)
		pthread_barrier_wait(arg);
	return (void *)had;
}

static void no_values_of_the_parents_threads(void)
{
	pthread_t t;
	pid_t pid;

	for (int i = 0; i < KEYS; i++)
		CHECK(!pthread_key_create(&keys[i], NULL));
	CHECK(!pthread_barrier_init(&both, NULL, 2));
	t = start(has_values, &both);
	pthread_barrier_wait(&both);
	pid = fork();
	if (!pid)
		_exit(finish(start(has_values, NULL)) != NULL);
	printf("old values: %d\n", end_of(pid));
	pthread_barrier_wait(&both);
	CHECK(!finish(t));
	for (int i = 0; i < KEYS; i++)
		CHECK(!pthread_key_delete(keys[i]));
}

static void a_child_lives_on_with_threads(void)
{
	pthread_t b[3];
	pid_t pid;

	signal(SIGUSR1, on_usr);
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < 3; i++)
		b[i] = start(busy, NULL);
	run_in_thread(forks);
	run_in_thread(starts);
	pid = fork(); /* main forks */
	if (!pid)
		child_lives();
	printf("main's child: %d\n", end_of(pid));
	no_values_of_the_parents_threads();
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 3; i++)
		finish(b[i]);
}

/* -- the cost of a fork -- */

enum { FORKS = 20, MOST = 190 };

static long faults(void)
{
	struct rusage u;

	CHECK(!getrusage(RUSAGE_SELF, &u));
	return u.ru_minflt;
}

/* A child that only exits touches at most MOST pages, and so the parent has few pages
 * left to copy. This holds for more than half of the forks. */
static void *forks_light(void *arg)
{
	int light = 0;

	for (int i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(faults() > MOST);
		light += !end_of(pid);
	}
	CHECK(light > FORKS / 2);
	return arg;
}

static void a_fork_copies_few_pages(void)
{
	run_in_thread(forks_light);
}

/* -- children without a runtime -- */

static int s[2]; /* the child uses s[0] */
static volatile sig_atomic_t got;

static void on_signal(int sig)
{
	got = sig;
}

static void talks(void)
{
	char b[8] = "";
	struct pollfd p = { .fd = s[0], .events = POLLIN };

	CHECK(write(s[0], "hello", 5) == 5);
	CHECK(poll(&p, 1, -1) == 1);
	CHECK(read(s[0], b, 5) == 5 && !strcmp(b, "world"));
	CHECK(send(s[0], "again", 5, 0) == 5);
	CHECK(recv(s[0], b, 5, MSG_WAITALL) == 5 && !strcmp(b, "enoug"));
}

static void opens_and_closes(void)
{
	int p[2], fd;
	char c;

	CHECK(!pipe(p));
	CHECK(write(p[1], "x", 1) == 1 && read(p[0], &c, 1) == 1);
	fd = dup2(p[0], 77);
	CHECK(fd == 77 && !close(77) && !close(p[0]) && !close(p[1]));
}

static void sleeps_and_is_signalled(void)
{
	struct timespec ms = { 0, 1000000 };
	struct sigaction a = { .sa_handler = on_signal };

	CHECK(!nanosleep(&ms, NULL) && !usleep(1000));
	CHECK(!sigaction(SIGUSR1, &a, NULL));
	CHECK(!kill(getpid(), SIGUSR1) && got == SIGUSR1);
	CHECK(!sigaction(SIGUSR2, &a, NULL));
	CHECK(!raise(SIGUSR2) && got == SIGUSR2);
}

static void has_its_own(void)
{
	CHECK(gettid() == getpid());
	CHECK(!pthread_mutex_lock(&mutex) && !pthread_mutex_unlock(&mutex));
	free(malloc(100000));
}

static int child(void *arg)
{
	(void)arg;
	talks();
	opens_and_closes();
	sleeps_and_is_signalled();
	has_its_own();
	_exit(7);
}

/* -- ways to create the child -- */
static pid_t by_fork_only(void)
{
	pid_t pid = _Fork();

	return pid ? pid : child(NULL);
}

static pid_t by_clone(void)
{
	static char stack[256 << 10] __attribute__((aligned(16)));

	return clone(child, stack + sizeof(stack), SIGCHLD, NULL);
}

static pid_t by_system_call(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	return pid ? pid : child(NULL);
}

static void *talks_to(void *how)
{
	char b[8] = "";
	pid_t pid;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	pid = ((pid_t(*)(void))how)();
	CHECK(pid > 0);
	CHECK(recv(s[1], b, 5, MSG_WAITALL) == 5 && !strcmp(b, "hello"));
	CHECK(write(s[1], "world", 5) == 5);
	CHECK(recv(s[1], b, 5, MSG_WAITALL) == 5 && !strcmp(b, "again"));
	CHECK(write(s[1], "enough", 5) == 5);
	CHECK(end_of(pid) == 7);
	close(s[0]);
	close(s[1]);
	return NULL;
}

/* The child shares the parent's descriptor table. CLOSE_RANGE_UNSHARE gives it its own
 * before it closes. */
static int has_own_table(void *arg)
{
	int fd = *(int *)arg;

	CHECK(!close_range(fd, fd, CLOSE_RANGE_UNSHARE));
	FAILS(fcntl(fd, F_GETFD), EBADF);
	return 8;
}

static void *shares_files(void *arg)
{
	static char stack[256 << 10] __attribute__((aligned(16)));
	int fd = dup(1);
	pid_t pid =
	    clone(has_own_table, stack + sizeof(stack), SIGCHLD | CLONE_FILES, &fd);

	CHECK(pid > 0 && end_of(pid) == 8);
	CHECK(fcntl(fd, F_GETFD) >= 0 && !close(fd));
	return arg;
}

static void a_child_without_a_runtime_works(void)
{
	static pid_t (*const by[])(void) = { by_fork_only, by_clone, by_system_call };

	for (int i = 0; i < 18; i++)
		if (i / 3 % 2)
			talks_to((void *)by[i % 3]); /* main forks */
		else
			finish(start(talks_to, (void *)by[i % 3]));
	run_in_thread(shares_files);
	shares_files(NULL);
}

static int quits;

static void *waits_to_quit(void *arg)
{
	while (!__atomic_load_n(&quits, __ATOMIC_ACQUIRE))
		usleep(1000);
	return arg;
}

static void *returns(void *arg)
{
	return arg;
}

/* The thread is not in the child, where others are created. */
static void a_thread_has_a_stack_of_the_program(void)
{
	void *stack = aligned_alloc(4096, 1 << 20);
	pthread_attr_t a;
	pthread_t t;
	pid_t pid;

	CHECK(stack && !pthread_attr_init(&a));
	CHECK(!pthread_attr_setstack(&a, stack, 1 << 20));
	CHECK(!pthread_create(&t, &a, waits_to_quit, NULL));
	pid = fork();
	if (!pid) {
		run_in_thread(returns);
		_exit(9);
	}
	CHECK(pid > 0 && end_of(pid) == 9);
	__atomic_store_n(&quits, 1, __ATOMIC_RELEASE);
	finish(t);
	free(stack);
}

static struct locks {
	pthread_mutex_t lock, held;
	pthread_cond_t turned;
	pthread_rwlock_t gate;
	sem_t given;
	int turn;
} * shared;

static void *waits_for_turn(void *arg)
{
	pthread_mutex_lock(&shared->lock);
	while (!shared->turn)
		pthread_cond_wait(&shared->turned, &shared->lock);
	pthread_mutex_unlock(&shared->lock);
	return arg;
}

static void *waits_for_gift(void *arg)
{
	return sem_wait(&shared->given) ? NULL : arg;
}

static void *waits_for_gate(void *arg)
{
	return pthread_rwlock_wrlock(&shared->gate) ? NULL : arg;
}

static void *waits_for_holder(void *arg)
{
	return pthread_mutex_lock(&shared->held) ? NULL : arg;
}

static void *only_forks(void *arg)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	CHECK(end_of(pid) == 0);
	return arg;
}

/* The objects are for one process, as is the default, but lie in memory that a child
 * has, too. */
static void threads_that_wait_in_shared_memory_are_woken_after_a_fork(void)
{
	static void *(*const by[])(void *) = { waits_for_turn, waits_for_gift,
					       waits_for_gate, waits_for_holder };
	pthread_t t[4];

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	CHECK(!pthread_mutex_init(&shared->lock, NULL));
	CHECK(!pthread_mutex_init(&shared->held, NULL));
	CHECK(!pthread_cond_init(&shared->turned, NULL));
	CHECK(!pthread_rwlock_init(&shared->gate, NULL));
	CHECK(!sem_init(&shared->given, 0, 0));
	CHECK(!pthread_rwlock_rdlock(&shared->gate));
	CHECK(!pthread_mutex_lock(&shared->held));
	for (int i = 0; i < 4; i++) {
		t[i] = start(by[i], &t[i]);
		CHECK(!pthread_setname_np(t[i], "in shared"));
		until_sleeps("in shared");
		CHECK(!pthread_setname_np(t[i], "waits"));
	}
	run_in_thread(only_forks);
	pthread_mutex_lock(&shared->lock);
	shared->turn = 1;
	pthread_cond_signal(&shared->turned);
	pthread_mutex_unlock(&shared->lock);
	CHECK(!sem_post(&shared->given));
	CHECK(!pthread_rwlock_unlock(&shared->gate));
	CHECK(!pthread_mutex_unlock(&shared->held));
	for (int i = 0; i < 4; i++)
		CHECK(finish(t[i]) == &t[i]);
	CHECK(!munmap(shared, sizeof(*shared)));
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	RUN_ALONE(a_fork_copies_few_pages);
	RUN_ALONE(a_child_lives_on_with_threads);
	RUN_ALONE(a_child_without_a_runtime_works);
	RUN_ALONE(a_thread_has_a_stack_of_the_program);
	RUN_ALONE(threads_that_wait_in_shared_memory_are_woken_after_a_fork);
	return 0;
}
