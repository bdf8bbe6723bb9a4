/* SPDX-License-Identifier: Apache-2.0 */
/* Every call that may sleep, interrupted by a handler with SA_RESTART and by one
 * without. As natively, it ends with EINTR or with what it transferred, or it goes on.
 * There are three tables: a signal for a thread, a signal for the process that only
 * this thread does not block, and one for main. The result does not depend on time. The
 * sender waits until the call sleeps (asleep.h), sends the signal, waits until the
 * handler has run, and then waits until the call is over or sleeps again. */
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <threads.h>

#include "asleep.h"
#include "posix.h"

#define TIMES 3   /* signals for a call that goes on */
#define LONG 1000 /* seconds; no limit expires */

struct row {
	const char *name;
	void (*set)(void);
	long (*call)(void);
	void (*wake)(void);
	long nr;   /* it may sleep in this system call ... */
	long *arg; /* ... with this argument; NULL: any */
};

/* ---- the objects that the calls use ---- */

static int fd[4];
static long on; /* the file descriptor or id that the call uses */
static char dir[64], path[80], buf[1 << 20];
static pid_t child;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_t other;
static sem_t sem, gate;
static uint32_t word;
static long word_at, sem_at;
static int queue = -1, set = -1;
static mtx_t mtx;

static void use(int i, int n)
{
	CHECK(n >= 0);
	fd[i] = n;
	if (!i)
		on = n;
}

static void clear(void)
{
	for (int i = 0; i < 4; i++) {
		if (fd[i] > 0)
			close(fd[i]);
		fd[i] = -1;
	}
	if (child > 0) {
		kill(child, SIGKILL);
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	child = 0;
	if (queue >= 0)
		msgctl(queue, IPC_RMID, NULL);
	if (set >= 0)
		semctl(set, 0, IPC_RMID);
	queue = set = -1;
}

static void flags_of(int n, int more)
{
	CHECK(!fcntl(n, F_SETFL, more));
}

static void fill(int n)
{
	flags_of(n, O_NONBLOCK);
	while (write(n, buf, 4096) > 0)
		;
	while (write(n, buf, 1) > 0)
		;
	flags_of(n, 0);
}

static void drain(void)
{
	flags_of(fd[1], O_NONBLOCK);
	while (read(fd[1], buf, sizeof(buf)) > 0)
		;
}

static void give(void)
{
	CHECK(write(fd[1], "x", 1) == 1);
}

static void empty_pipe(void)
{
	int p[2];

	CHECK(!pipe(p));
	use(0, p[0]);
	use(1, p[1]);
}

static void full_pipe(void)
{
	int p[2];

	CHECK(!pipe(p));
	use(0, p[1]);
	use(1, p[0]);
	fill(p[1]);
}

static void two_pipes(void)
{
	int p[2];

	empty_pipe();
	CHECK(!pipe(p));
	use(2, p[1]);
	use(3, p[0]);
}

static void pair(int type)
{
	int s[2];

	CHECK(!socketpair(AF_UNIX, type, 0, s));
	use(0, s[0]);
	use(1, s[1]);
}

static void limit(int which)
{
	struct timeval tv = { LONG, 0 };

	CHECK(!setsockopt(fd[0], SOL_SOCKET, which, &tv, sizeof(tv)));
}

static void stream(void)
{
	pair(SOCK_STREAM);
}

static void stream_limited(void)
{
	pair(SOCK_STREAM);
	limit(SO_RCVTIMEO);
}

static void three_there(void)
{
	pair(SOCK_STREAM);
	CHECK(write(fd[1], "abc", 3) == 3);
}

static void three_there_limited(void)
{
	three_there();
	limit(SO_RCVTIMEO);
}

static void full_stream(void)
{
	pair(SOCK_STREAM);
	fill(fd[0]);
}

static void full_stream_limited(void)
{
	full_stream();
	limit(SO_SNDTIMEO);
}

static void datagrams(void)
{
	pair(SOCK_DGRAM);
}

static void full_datagrams(void)
{
	pair(SOCK_DGRAM);
	fill(fd[0]);
}

static void terminal(void)
{
	use(1, posix_openpt(O_RDWR | O_NOCTTY));
	CHECK(!grantpt(fd[1]) && !unlockpt(fd[1]));
	use(0, open(ptsname(fd[1]), O_RDWR | O_NOCTTY));
}

static void type_line(void)
{
	CHECK(write(fd[1], "\n", 1) == 1);
}

static void an_eventfd(void)
{
	use(0, eventfd(0, 0));
}

static void count_up(void)
{
	CHECK(!eventfd_write(fd[0], 1));
}

static void a_timerfd(void)
{
	struct itimerspec it = { .it_value = { LONG, 0 } };

	use(0, timerfd_create(CLOCK_MONOTONIC, 0));
	CHECK(!timerfd_settime(fd[0], 0, &it, NULL));
}

static void expire(void)
{
	struct itimerspec it = { .it_value = { 0, 1 } };

	CHECK(!timerfd_settime(fd[0], 0, &it, NULL));
}

static void an_inotify(void)
{
	use(0, inotify_init());
	CHECK(inotify_add_watch(fd[0], dir, IN_CREATE) >= 0);
}

static void create(void)
{
	unlink(path);
	use(1, open(path, O_CREAT | O_RDWR, 0600));
}

static struct sockaddr_un place(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/s", dir);
	return a;
}

static void listener(void)
{
	struct sockaddr_un a = place();

	unlink(a.sun_path);
	use(0, socket(AF_UNIX, SOCK_STREAM, 0));
	CHECK(!bind(fd[0], (struct sockaddr *)&a, sizeof(a)) && !listen(fd[0], 0));
}

static void listener_limited(void)
{
	listener();
	limit(SO_RCVTIMEO);
}

static int connect_to_place(int n)
{
	struct sockaddr_un a = place();

	return connect(n, (struct sockaddr *)&a, sizeof(a));
}

static void call_it(void)
{
	use(1, socket(AF_UNIX, SOCK_STREAM, 0));
	CHECK(!connect_to_place(fd[1]));
}

/* no further connection fits */
static void full_listener(void)
{
	listener();
	call_it();
	use(3, fd[0]);
	use(0, socket(AF_UNIX, SOCK_STREAM, 0));
}

static void full_listener_limited(void)
{
	full_listener();
	limit(SO_SNDTIMEO);
}

static void let_in(void)
{
	use(2, accept(fd[3], NULL, NULL));
}

static void a_fifo(void)
{
	unlink(path);
	CHECK(!mkfifo(path, 0600));
}

static void both_ends(void)
{
	use(1, open(path, O_RDWR));
}

static void locked_file(int how)
{
	struct flock all = { .l_type = F_WRLCK };

	unlink(path);
	use(0, open(path, O_CREAT | O_RDWR, 0600));
	use(1, open(path, O_RDWR));
	CHECK(!(how ? flock(fd[1], LOCK_EX) : fcntl(fd[1], F_OFD_SETLK, &all)));
}

static void flocked(void)
{
	locked_file(1);
}

static void record_locked(void)
{
	locked_file(0);
}

static void unlock_file(void)
{
	struct flock none = { .l_type = F_UNLCK };

	CHECK(!flock(fd[1], LOCK_UN) && !fcntl(fd[1], F_OFD_SETLK, &none));
}

static void a_child(void)
{
	child = fork();
	CHECK(child >= 0);
	if (!child)
		for (;;)
			pause();
	on = child;
}

static void end_child(void)
{
	CHECK(!kill(child, SIGKILL));
}

static void private_sem(void)
{
	CHECK(!sem_init(&sem, 0, 0));
}

static void shared_sem(void)
{
	CHECK(!sem_init(&sem, 1, 0));
}

static void post(void)
{
	CHECK(!sem_post(&sem));
}

static void take_mutex(void)
{
	CHECK(!pthread_mutex_lock(&mutex));
}

static void leave_mutex(void)
{
	CHECK(!pthread_mutex_unlock(&mutex));
}

static void take_mtx(void)
{
	CHECK(mtx_init(&mtx, mtx_timed) == thrd_success &&
	      mtx_lock(&mtx) == thrd_success);
}

static void leave_mtx(void)
{
	CHECK(mtx_unlock(&mtx) == thrd_success);
}

static void take_rwlock(void)
{
	CHECK(!pthread_rwlock_wrlock(&rwlock));
}

static void leave_rwlock(void)
{
	CHECK(!pthread_rwlock_unlock(&rwlock));
}

static void nothing(void) {}

static void signal_cond(void)
{
	take_mutex();
	CHECK(!pthread_cond_signal(&cond));
	leave_mutex();
}

static void a_barrier(void)
{
	CHECK(!pthread_barrier_init(&barrier, NULL, 2));
}

static void to_barrier(void)
{
	pthread_barrier_wait(&barrier);
}

static void *until_gate(void *arg)
{
	while (sem_wait(&gate))
		;
	return arg;
}

static void another(void)
{
	other = start(until_gate, NULL);
}

static void open_gate(void)
{
	CHECK(!sem_post(&gate));
}

static void wake_word(void)
{
	__atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void clear_word(void)
{
	word = 0;
}

static struct message {
	long type;
	char text[8192];
} message = { .type = 1 };

static void a_queue(void)
{
	queue = msgget(IPC_PRIVATE, 0600);
	CHECK(queue >= 0);
	on = queue;
}

static void full_queue(void)
{
	a_queue();
	while (!msgsnd(queue, &message, sizeof(message.text), IPC_NOWAIT))
		;
}

static void send_to_queue(void)
{
	CHECK(!msgsnd(queue, &message, 1, 0));
}

/* removes all messages, also that of a waiting sender */
static void empty_queue(void)
{
	while (msgrcv(queue, &message, sizeof(message.text), 0, IPC_NOWAIT) >= 0)
		;
}

static void a_set(void)
{
	set = semget(IPC_PRIVATE, 1, 0600);
	CHECK(set >= 0 && !semctl(set, 0, SETVAL, 0));
	on = set;
}

static void set_up(void)
{
	struct sembuf up = { 0, 1, 0 };

	CHECK(!semop(set, &up, 1));
}

static void posix_queue(int full)
{
	struct mq_attr a = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	char name[40];

	snprintf(name, sizeof(name), "/intr-%d", (int)getpid());
	use(0, mq_open(name, O_CREAT | O_RDWR, 0600, &a));
	mq_unlink(name);
	if (full)
		CHECK(!mq_send(fd[0], "x", 1, 0));
}

static void empty_mq(void)
{
	posix_queue(0);
}

static void full_mq(void)
{
	posix_queue(1);
}

static void send_mq(void)
{
	CHECK(!mq_send(fd[0], "x", 1, 0));
}

static void receive_mq(void)
{
	CHECK(mq_receive(fd[0], buf, 8, NULL) == 1);
}

/* ---- the calls ---- */

#define CALL(name, expr)                                                               \
	static long name(void)                                                         \
	{                                                                              \
		return (expr);                                                         \
	}
#define IOV(n)                                                                         \
	&(struct iovec)                                                                \
	{                                                                              \
		.iov_base = buf, .iov_len = (n)                                        \
	}
#define MSG(n)                                                                         \
	&(struct msghdr)                                                               \
	{                                                                              \
		.msg_iov = IOV(n), .msg_iovlen = 1                                     \
	}
#define MSGS(n)                                                                        \
	&(struct mmsghdr)                                                              \
	{                                                                              \
		.msg_hdr = {.msg_iov = IOV(n), .msg_iovlen = 1 }                       \
	}
#define SPAN                                                                           \
	&(struct timespec)                                                             \
	{                                                                              \
		.tv_sec = LONG                                                         \
	}

static struct sockaddr_un addr;
static socklen_t addr_len;
static struct timespec left;
static sigset_t none, waited;

static struct timespec *later(void)
{
	static struct timespec t;

	t = in_ms(CLOCK_REALTIME, LONG * 1000L);
	return &t;
}

static struct timespec *later_mono(void)
{
	static struct timespec t;

	t = in_ms(CLOCK_MONOTONIC, LONG * 1000L);
	return &t;
}

/* Prints whether the rest of LONG is plausible. The kernel may add the
 * timer's slack. */
static long was_left(long r, long s)
{
	int err = errno;

	printf("left %s; ", s > 0 && s <= LONG + 1 ? "some" : s ? "what?" : "nothing");
	errno = err;
	return r;
}

/* The same for `left`, after a call that returned r. */
static long some_left(long r)
{
	return was_left(r, left.tv_sec + 1);
}

/* Turns an error number into -1 and errno. */
static long by_errno(int r)
{
	errno = r;
	return r ? -1 : 0;
}

static long by_thrd(int r)
{
	return r == thrd_success ? 0 : r == thrd_timedout ? 1000 : 2000 + r;
}

static struct sockaddr *addr_at(void)
{
	addr_len = sizeof(addr);
	return (struct sockaddr *)&addr;
}

static long kept(int i, int n)
{
	if (n >= 0)
		fd[i] = n;
	return n < 0 ? n : 0;
}

CALL(c_read, read(fd[0], buf, 1))
CALL(c_read_all, read(fd[0], buf, sizeof(buf)))
CALL(c_read_8, read(fd[0], buf, 8))
CALL(c_read_event, read(fd[0], buf, 4096) > 0 ? 1 : -1)
CALL(c_readv, readv(fd[0], IOV(1), 1))
CALL(c_preadv2, preadv2(fd[0], IOV(1), 1, -1, 0))
CALL(c_raw_read, syscall(SYS_read, fd[0], buf, 1))
CALL(c_write, write(fd[0], buf, 1))
CALL(c_write_much, write(fd[0], buf, sizeof(buf)))
CALL(c_send_much, send(fd[0], buf, sizeof(buf), 0) > 0 ? 1 : -1)
CALL(c_writev_much, writev(fd[0], IOV(sizeof(buf)), 1))
CALL(c_writev, writev(fd[0], IOV(1), 1))
CALL(c_pwritev2, pwritev2(fd[0], IOV(1), 1, -1, 0))
CALL(c_recv, recv(fd[0], buf, 1, 0))
CALL(c_recv_all, recv(fd[0], buf, 4, MSG_WAITALL))
CALL(c_recv_peek, recv(fd[0], buf, 1, MSG_PEEK))
CALL(c_recvfrom, recvfrom(fd[0], buf, 1, 0, addr_at(), &addr_len))
CALL(c_recvmsg, recvmsg(fd[0], MSG(1), 0))
CALL(c_recvmsg_all, recvmsg(fd[0], MSG(4), MSG_WAITALL))
CALL(c_recvmmsg, recvmmsg(fd[0], MSGS(1), 1, 0, NULL))
CALL(c_send, send(fd[0], buf, 1, 0))
CALL(c_sendto, sendto(fd[0], buf, 1, 0, NULL, 0))
CALL(c_sendmsg, sendmsg(fd[0], MSG(1), 0))
CALL(c_sendmmsg, sendmmsg(fd[0], MSGS(1), 1, 0))
CALL(c_accept, kept(2, accept(fd[0], NULL, NULL)))
CALL(c_accept4, kept(2, accept4(fd[0], addr_at(), &addr_len, SOCK_CLOEXEC)))
CALL(c_connect, connect_to_place(fd[0]))
CALL(c_splice, splice(fd[0], NULL, fd[2], NULL, 1, 0))
CALL(c_tee, tee(fd[0], fd[2], 1, 0))
CALL(c_vmsplice, vmsplice(fd[0], IOV(1), 1, 0))
CALL(c_open_read, kept(0, open(path, O_RDONLY)))
CALL(c_open_write, kept(0, open(path, O_WRONLY)))
CALL(c_fopen, ({
	     FILE *f = fopen(path, "r");
	     f ? fclose(f) : -1;
     }))
CALL(c_poll, poll(&(struct pollfd){ .fd = fd[0], .events = POLLIN }, 1, -1))
CALL(c_poll_limit,
     poll(&(struct pollfd){ .fd = fd[0], .events = POLLIN }, 1, LONG * 1000))
CALL(c_ppoll, ppoll(&(struct pollfd){ .fd = fd[0], .events = POLLIN }, 1, NULL, NULL))
CALL(c_ppoll_mask,
     ppoll(&(struct pollfd){ .fd = fd[0], .events = POLLIN }, 1, SPAN, &none))
CALL(c_select, ({
	     struct timeval tv = { LONG, 0 };
	     fd_set in;
	     long r;
	     FD_ZERO(&in);
	     FD_SET(fd[0], &in);
	     r = select(fd[0] + 1, &in, NULL, NULL, &tv);
	     was_left(r, tv.tv_sec + 1);
     }))
CALL(c_pselect, ({
	     fd_set in;
	     FD_ZERO(&in);
	     FD_SET(fd[0], &in);
	     pselect(fd[0] + 1, &in, NULL, NULL, NULL, &none);
     }))
CALL(c_epoll_wait, epoll_wait(fd[2], &(struct epoll_event){ 0 }, 1, -1))
CALL(c_epoll_pwait, epoll_pwait(fd[2], &(struct epoll_event){ 0 }, 1, -1, &none))
CALL(c_epoll_pwait2, epoll_pwait2(fd[2], &(struct epoll_event){ 0 }, 1, SPAN, NULL))
CALL(c_getc, ({
	     FILE *f = fdopen(dup(fd[0]), "r");
	     int c = getc(f), err = errno;
	     fclose(f);
	     errno = err;
	     c == 'x' ? 1 : c;
     }))
CALL(c_flock, flock(fd[0], LOCK_EX))
CALL(c_setlkw, fcntl(fd[0], F_SETLKW, &(struct flock){ .l_type = F_WRLCK }))
CALL(c_ofd_setlkw, fcntl(fd[0], F_OFD_SETLKW, &(struct flock){ .l_type = F_WRLCK }))
CALL(c_lockf, lockf(fd[0], F_LOCK, 0))
CALL(c_waitpid, waitpid(child, NULL, 0) > 0 ? 0 : -1)
CALL(c_wait4, wait4(child, NULL, 0, NULL) > 0 ? 0 : -1)
CALL(c_wait, wait(NULL) > 0 ? 0 : -1)
CALL(c_waitid, waitid(P_PID, (id_t)child, &(siginfo_t){ 0 }, WEXITED))
CALL(c_waitid_all, waitid(P_ALL, 0, &(siginfo_t){ 0 }, WEXITED))
CALL(c_sem_wait, sem_wait(&sem))
CALL(c_sem_timedwait, sem_timedwait(&sem, later()))
CALL(c_sem_clockwait, sem_clockwait(&sem, CLOCK_MONOTONIC, later_mono()))
CALL(c_mutex_lock, by_errno(pthread_mutex_lock(&mutex) ?: pthread_mutex_unlock(&mutex)))
CALL(c_mutex_timedlock,
     by_errno(pthread_mutex_timedlock(&mutex, later()) ?: pthread_mutex_unlock(&mutex)))
CALL(c_cond_wait, ({
	     int r = 0;
	     pthread_mutex_lock(&mutex);
	     r = pthread_cond_wait(&cond, &mutex);
	     pthread_mutex_unlock(&mutex);
	     by_errno(r);
     }))
CALL(c_cond_timedwait, ({
	     int r = 0;
	     pthread_mutex_lock(&mutex);
	     r = pthread_cond_timedwait(&cond, &mutex, later());
	     pthread_mutex_unlock(&mutex);
	     by_errno(r);
     }))
CALL(c_rdlock,
     by_errno(pthread_rwlock_rdlock(&rwlock) ?: pthread_rwlock_unlock(&rwlock)))
CALL(c_timedwrlock, by_errno(pthread_rwlock_timedwrlock(&rwlock, later())
				 ?: pthread_rwlock_unlock(&rwlock)))
CALL(c_barrier, pthread_barrier_wait(&barrier) > 0)
CALL(c_join, by_errno(pthread_join(other, NULL)))
CALL(c_timedjoin, by_errno(pthread_timedjoin_np(other, NULL, later())))
CALL(c_mtx_lock, by_thrd(mtx_lock(&mtx) ?: mtx_unlock(&mtx)))
CALL(c_mtx_timedlock, by_thrd(mtx_timedlock(&mtx, later()) ?: mtx_unlock(&mtx)))
CALL(c_futex, syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0))
CALL(c_futex_limit, syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, SPAN, NULL, 0))
CALL(c_futex_abs,
     syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, later_mono(), NULL, -1))
CALL(c_futex_shared, syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0))
CALL(c_nanosleep, ({
	     left.tv_sec = 0;
	     some_left(nanosleep(SPAN, &left));
     }))
CALL(c_clock_nanosleep, ({
	     left.tv_sec = 0;
	     some_left(by_errno(clock_nanosleep(CLOCK_MONOTONIC, 0, SPAN, &left)));
     }))
CALL(c_clock_abs, ({
	     left.tv_sec = 0;
	     long r = by_errno(
		 clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, later(), &left));
	     was_left(r, left.tv_sec);
     }))
CALL(c_usleep, usleep(LONG * 1000000u))
CALL(c_sleep, was_left(0, sleep(LONG)))
CALL(c_thrd_sleep, ({
	     left.tv_sec = 0;
	     some_left(by_thrd(thrd_sleep(SPAN, &left)));
     }))
CALL(c_msgrcv, msgrcv(queue, &message, sizeof(message.text), 0, 0))
CALL(c_msgsnd, msgsnd(queue, &message, sizeof(message.text), 0))
CALL(c_semop, semop(set, &(struct sembuf){ 0, -1, 0 }, 1))
CALL(c_semtimedop, semtimedop(set, &(struct sembuf){ 0, -1, 0 }, 1, SPAN))
CALL(c_mq_receive, mq_receive(fd[0], buf, 8, NULL))
CALL(c_mq_timedreceive, mq_timedreceive(fd[0], buf, 8, NULL, later()))
CALL(c_mq_send, mq_send(fd[0], "x", 1, 0))
CALL(c_mq_timedsend, mq_timedsend(fd[0], "x", 1, 0, later()))
CALL(c_pause, pause())
CALL(c_sigsuspend, sigsuspend(&none))
CALL(c_sigwait, ({
	     int sig = 0, r = sigwait(&waited, &sig);
	     r ? by_errno(r) : sig == SIGUSR2 ? 2 : sig;
     }))
CALL(c_sigwaitinfo, sigwaitinfo(&waited, NULL) == SIGUSR2 ? 2 : -1)
CALL(c_sigtimedwait, sigtimedwait(&waited, NULL, SPAN) == SIGUSR2 ? 2 : -1)

/* ---- the interrupted thread, and the sender ---- */

static pthread_t target;
static char target_tid[16];
static const struct row *volatile now;
static sem_t go;
static int at, done, ran, restarts;
static long result;
static int result_errno;

static void send_usr2(void)
{
	CHECK(!pthread_kill(target, SIGUSR2));
}

static void an_epoll(void)
{
	struct epoll_event ev = { .events = EPOLLIN };

	empty_pipe();
	use(2, epoll_create1(0));
	CHECK(!epoll_ctl(fd[2], EPOLL_CTL_ADD, fd[0], &ev));
	on = fd[2];
}

/* the calls use the write end */
static void empty_pipe_out(void)
{
	int p[2];

	CHECK(!pipe(p));
	use(0, p[1]);
	use(1, p[0]);
}

static void stream_out_limited(void)
{
	stream();
	limit(SO_SNDTIMEO);
}

static const struct row rows[] = {
	{ "read", empty_pipe, c_read, give, ANY_CALL, NULL },
	{ "read, much", empty_pipe, c_read_all, give, ANY_CALL, NULL },
	{ "readv", empty_pipe, c_readv, give, ANY_CALL, NULL },
	{ "preadv2", empty_pipe, c_preadv2, give, ANY_CALL, NULL },
	{ "getc", empty_pipe, c_getc, give, SYS_read, NULL },
	{ "syscall read", empty_pipe, c_raw_read, give, SYS_read, &on },
	{ "read tty", terminal, c_read, type_line, SYS_read, &on },
	{ "read eventfd", an_eventfd, c_read_8, count_up, SYS_read, &on },
	{ "read timerfd", a_timerfd, c_read_8, expire, SYS_read, &on },
	{ "read inotify", an_inotify, c_read_event, create, SYS_read, &on },
	{ "write", full_pipe, c_write, drain, ANY_CALL, NULL },
	{ "writev", full_pipe, c_writev, drain, ANY_CALL, NULL },
	{ "pwritev2", full_pipe, c_pwritev2, drain, ANY_CALL, NULL },
	{ "vmsplice", full_pipe, c_vmsplice, drain, SYS_vmsplice, &on },
	{ "splice", two_pipes, c_splice, give, SYS_splice, &on },
	{ "tee", two_pipes, c_tee, give, SYS_tee, &on },
	{ "read socket", stream, c_read, give, ANY_CALL, NULL },
	{ "read socket limited", stream_limited, c_read, give, ANY_CALL, NULL },
	{ "readv socket", stream, c_readv, give, ANY_CALL, NULL },
	{ "readv socket limited", stream_limited, c_readv, give, ANY_CALL, NULL },
	{ "recv", stream, c_recv, give, ANY_CALL, NULL },
	{ "recv limited", stream_limited, c_recv, give, ANY_CALL, NULL },
	{ "recv peek", stream, c_recv_peek, give, ANY_CALL, NULL },
	{ "recv peek limited", stream_limited, c_recv_peek, give, ANY_CALL, NULL },
	{ "recvfrom", stream, c_recvfrom, give, ANY_CALL, NULL },
	{ "recvfrom limited", stream_limited, c_recvfrom, give, ANY_CALL, NULL },
	{ "recvmsg", stream, c_recvmsg, give, ANY_CALL, NULL },
	{ "recvmsg limited", stream_limited, c_recvmsg, give, ANY_CALL, NULL },
	{ "recvmmsg", stream, c_recvmmsg, give, ANY_CALL, NULL },
	{ "recvmmsg limited", stream_limited, c_recvmmsg, give, ANY_CALL, NULL },
	{ "recvfrom dgram", datagrams, c_recvfrom, give, ANY_CALL, NULL },
	{ "recvmsg dgram", datagrams, c_recvmsg, give, ANY_CALL, NULL },
	{ "recv 3 of 4", three_there, c_recv_all, give, ANY_CALL, NULL },
	{ "recv 3 of 4 limited", three_there_limited, c_recv_all, give, ANY_CALL,
	  NULL },
	{ "recvmsg 3 of 4", three_there, c_recvmsg_all, give, ANY_CALL, NULL },
	{ "write socket", full_stream, c_write, drain, ANY_CALL, NULL },
	{ "write socket limited", full_stream_limited, c_write, drain, ANY_CALL, NULL },
	{ "writev socket", full_stream, c_writev, drain, ANY_CALL, NULL },
	{ "writev socket limited", full_stream_limited, c_writev, drain, ANY_CALL,
	  NULL },
	{ "send", full_stream, c_send, drain, ANY_CALL, NULL },
	{ "send limited", full_stream_limited, c_send, drain, ANY_CALL, NULL },
	{ "sendto", full_stream, c_sendto, drain, ANY_CALL, NULL },
	{ "sendto limited", full_stream_limited, c_sendto, drain, ANY_CALL, NULL },
	{ "sendmsg", full_stream, c_sendmsg, drain, ANY_CALL, NULL },
	{ "sendmsg limited", full_stream_limited, c_sendmsg, drain, ANY_CALL, NULL },
	{ "sendmmsg", full_stream, c_sendmmsg, drain, ANY_CALL, NULL },
	{ "sendmmsg limited", full_stream_limited, c_sendmmsg, drain, ANY_CALL, NULL },
	{ "send dgram", full_datagrams, c_send, drain, ANY_CALL, NULL },
	{ "write partly", empty_pipe_out, c_write_much, drain, ANY_CALL, NULL },
	{ "writev partly", empty_pipe_out, c_writev_much, drain, ANY_CALL, NULL },
	{ "send partly", stream, c_send_much, drain, ANY_CALL, NULL },
	{ "send partly limited", stream_out_limited, c_send_much, drain, ANY_CALL,
	  NULL },
	{ "accept", listener, c_accept, call_it, ANY_CALL, NULL },
	{ "accept4", listener, c_accept4, call_it, ANY_CALL, NULL },
	{ "connect", full_listener, c_connect, let_in, SYS_connect, &on },
	{ "accept limited", listener_limited, c_accept, call_it, ANY_CALL, NULL },
	{ "accept4 limited", listener_limited, c_accept4, call_it, ANY_CALL, NULL },
	{ "connect limited", full_listener_limited, c_connect, let_in, SYS_connect,
	  &on },
	{ "open fifo to read", a_fifo, c_open_read, both_ends, SYS_openat, NULL },
	{ "open fifo to write", a_fifo, c_open_write, both_ends, SYS_openat, NULL },
	{ "fopen fifo", a_fifo, c_fopen, both_ends, SYS_openat, NULL },
	{ "poll", empty_pipe, c_poll, give, ANY_CALL, NULL },
	{ "poll limit", empty_pipe, c_poll_limit, give, ANY_CALL, NULL },
	{ "ppoll", empty_pipe, c_ppoll, give, ANY_CALL, NULL },
	{ "ppoll mask", empty_pipe, c_ppoll_mask, give, ANY_CALL, NULL },
	{ "select", empty_pipe, c_select, give, ANY_CALL, NULL },
	{ "pselect", empty_pipe, c_pselect, give, ANY_CALL, NULL },
	{ "epoll_wait", an_epoll, c_epoll_wait, give, ANY_CALL, NULL },
	{ "epoll_pwait", an_epoll, c_epoll_pwait, give, ANY_CALL, NULL },
	{ "epoll_pwait2", an_epoll, c_epoll_pwait2, give, ANY_CALL, NULL },
	{ "flock", flocked, c_flock, unlock_file, SYS_flock, &on },
	{ "F_SETLKW", record_locked, c_setlkw, unlock_file, SYS_fcntl, &on },
	{ "F_OFD_SETLKW", record_locked, c_ofd_setlkw, unlock_file, SYS_fcntl, &on },
	{ "lockf", record_locked, c_lockf, unlock_file, SYS_fcntl, &on },
	{ "waitpid", a_child, c_waitpid, end_child, ANY_CALL, NULL },
	{ "wait4", a_child, c_wait4, end_child, ANY_CALL, NULL },
	{ "wait", a_child, c_wait, end_child, SYS_wait4, NULL },
	{ "waitid", a_child, c_waitid, end_child, ANY_CALL, NULL },
	{ "waitid all", a_child, c_waitid_all, end_child, SYS_waitid, NULL },
	{ "sem_wait", private_sem, c_sem_wait, post, ANY_CALL, NULL },
	{ "sem_wait shared", shared_sem, c_sem_wait, post, SYS_futex, &sem_at },
	{ "sem_timedwait", private_sem, c_sem_timedwait, post, ANY_CALL, NULL },
	{ "sem_timedwait shared", shared_sem, c_sem_timedwait, post, SYS_futex,
	  &sem_at },
	{ "sem_clockwait", private_sem, c_sem_clockwait, post, ANY_CALL, NULL },
	{ "sem_clockwait shared", shared_sem, c_sem_clockwait, post, SYS_futex,
	  &sem_at },
	{ "mutex_lock", take_mutex, c_mutex_lock, leave_mutex, ANY_CALL, NULL },
	{ "mutex_timedlock", take_mutex, c_mutex_timedlock, leave_mutex, ANY_CALL,
	  NULL },
	{ "cond_wait", nothing, c_cond_wait, signal_cond, ANY_CALL, NULL },
	{ "cond_timedwait", nothing, c_cond_timedwait, signal_cond, ANY_CALL, NULL },
	{ "rwlock_rdlock", take_rwlock, c_rdlock, leave_rwlock, ANY_CALL, NULL },
	{ "rwlock_timedwrlock", take_rwlock, c_timedwrlock, leave_rwlock, ANY_CALL,
	  NULL },
	{ "barrier_wait", a_barrier, c_barrier, to_barrier, ANY_CALL, NULL },
	{ "join", another, c_join, open_gate, ANY_CALL, NULL },
	{ "timedjoin", another, c_timedjoin, open_gate, ANY_CALL, NULL },
	{ "mtx_lock", take_mtx, c_mtx_lock, leave_mtx, ANY_CALL, NULL },
	{ "mtx_timedlock", take_mtx, c_mtx_timedlock, leave_mtx, ANY_CALL, NULL },
	{ "futex", clear_word, c_futex, wake_word, ANY_CALL, NULL },
	{ "futex limit", clear_word, c_futex_limit, wake_word, ANY_CALL, NULL },
	{ "futex abs", clear_word, c_futex_abs, wake_word, ANY_CALL, NULL },
	{ "futex shared", clear_word, c_futex_shared, wake_word, SYS_futex, &word_at },
	{ "nanosleep", nothing, c_nanosleep, NULL, ANY_CALL, NULL },
	{ "clock_nanosleep", nothing, c_clock_nanosleep, NULL, ANY_CALL, NULL },
	{ "clock absolute", nothing, c_clock_abs, NULL, ANY_CALL, NULL },
	{ "usleep", nothing, c_usleep, NULL, ANY_CALL, NULL },
	{ "sleep", nothing, c_sleep, NULL, ANY_CALL, NULL },
	{ "thrd_sleep", nothing, c_thrd_sleep, NULL, SYS_clock_nanosleep, NULL },
	{ "msgrcv", a_queue, c_msgrcv, send_to_queue, SYS_msgrcv, &on },
	{ "msgsnd", full_queue, c_msgsnd, empty_queue, SYS_msgsnd, &on },
	{ "semop", a_set, c_semop, set_up, SYS_semtimedop, &on },
	{ "semtimedop", a_set, c_semtimedop, set_up, SYS_semtimedop, &on },
	{ "mq_receive", empty_mq, c_mq_receive, send_mq, SYS_mq_timedreceive, &on },
	{ "mq_timedreceive", empty_mq, c_mq_timedreceive, send_mq, SYS_mq_timedreceive,
	  &on },
	{ "mq_send", full_mq, c_mq_send, receive_mq, SYS_mq_timedsend, &on },
	{ "mq_timedsend", full_mq, c_mq_timedsend, receive_mq, SYS_mq_timedsend, &on },
	{ "pause", nothing, c_pause, NULL, ANY_CALL, NULL },
	{ "sigsuspend", nothing, c_sigsuspend, NULL, ANY_CALL, NULL },
	{ "sigwait", nothing, c_sigwait, send_usr2, ANY_CALL, NULL },
	{ "sigwaitinfo", nothing, c_sigwaitinfo, send_usr2, ANY_CALL, NULL },
	{ "sigtimedwait", nothing, c_sigtimedwait, send_usr2, ANY_CALL, NULL },
};

static void on_usr1(int sig)
{
	(void)sig;
	__atomic_fetch_add(&ran, 1, __ATOMIC_SEQ_CST);
}

static int get(const int *p)
{
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}

static void put(int *p, int v)
{
	__atomic_store_n(p, v, __ATOMIC_SEQ_CST);
}

/* Runs in the interrupted thread. */
static void calls(void)
{
	for (;;) {
		while (sem_wait(&go))
			;
		if (!now)
			return;
		put(&at, 1);
		errno = 0;
		result = now->call();
		result_errno = errno;
		put(&done, 1);
	}
}

static bool sleeps(const struct row *r)
{
	char state[8], called[] = "called";

	if (!get(&at))
		return false;
	if (task_line(target_tid, "comm", state, sizeof(state)))
		return task_sleeps(target_tid);
	return user_thread_parked(called) ||
	       (r->nr != ANY_CALL && some_task_in(r->nr, r->arg ? *r->arg : ANY_CALL));
}

/* Waits until the call is over (true) or sleeps (false). Looks at the sleep first, as
 * the thread also sleeps after the call. */
static bool over(const struct row *r)
{
	for (;;) {
		bool asleep = sleeps(r);

		if (get(&done))
			return true;
		if (asleep)
			return false;
		usleep(50);
	}
}

static void interrupt(bool process)
{
	int before = get(&ran);

	CHECK(!(process ? kill(getpid(), SIGUSR1) : pthread_kill(target, SIGUSR1)));
	while (get(&ran) == before)
		usleep(50);
}

static void one(const struct row *r, bool process)
{
	bool cut = false;

	r->set();
	put(&at, 0);
	put(&done, 0);
	now = r;
	CHECK(!sem_post(&go));
	CHECK(!over(r));
	for (int i = 0; i < TIMES && !cut; i++) {
		interrupt(process);
		cut = over(r);
	}
	if (!cut) {
		CHECK(r->wake);
		r->wake();
		while (!get(&done))
			usleep(50);
	}
	printf("%s, %s: %s%ld %s\n", r->name, restarts ? "SA_RESTART" : "no flag",
	       cut ? "" : "goes on; ", result,
	       result < 0 ? strerror(result_errno) : "");
	fflush(stdout);
	if (cut && r->wake &&
	    (r->set == take_mutex || r->set == take_mtx || r->set == take_rwlock ||
	     r->set == another))
		r->wake();
	clear();
}

static void kicks(bool process)
{
	struct sigaction a = { .sa_handler = on_usr1 };

	for (restarts = 0; restarts < 2; restarts++) {
		a.sa_flags = restarts ? SA_RESTART : 0;
		CHECK(!sigaction(SIGUSR1, &a, NULL));
		for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
			one(&rows[i], process);
	}
	now = NULL;
	CHECK(!sem_post(&go));
}

static void is_called(void)
{
	target = pthread_self();
	snprintf(target_tid, sizeof(target_tid), "%ld", syscall(SYS_gettid));
	CHECK(!sem_post(&gate));
}

static void *called(void *usr1)
{
	CHECK(!pthread_setname_np(pthread_self(), "called"));
	CHECK(!pthread_sigmask(SIG_UNBLOCK, usr1, NULL));
	is_called();
	calls();
	return NULL;
}

static void *kicks_main(void *arg)
{
	while (sem_wait(&gate))
		;
	puts("-- main");
	kicks(false);
	return arg;
}

static void to_thread(sigset_t *usr1, bool process)
{
	pthread_t t;

	CHECK(!pthread_sigmask(process ? SIG_BLOCK : SIG_UNBLOCK, usr1, NULL));
	t = start(called, usr1);
	while (sem_wait(&gate))
		;
	puts(process ? "-- the process" : "-- a thread");
	kicks(process);
	finish(t);
	CHECK(!pthread_sigmask(SIG_UNBLOCK, usr1, NULL));
}

int main(void)
{
	sigset_t usr1 = only(SIGUSR1);
	pthread_t t;

	snprintf(dir, sizeof(dir), "/tmp/intr-XXXXXX");
	CHECK(mkdtemp(dir) && !sem_init(&gate, 0, 0) && !sem_init(&go, 0, 0));
	snprintf(path, sizeof(path), "%s/f", dir);
	sem_at = (long)&sem;
	word_at = (long)&word;
	for (int i = 0; i < 4; i++)
		fd[i] = -1;
	sigemptyset(&none);
	waited = only(SIGUSR2);
	mask(SIG_BLOCK, SIGUSR2);
	to_thread(&usr1, false);
	to_thread(&usr1, true);
	t = start(kicks_main, NULL);
	is_called();
	calls();
	finish(t);
	unlink(path);
	snprintf(path, sizeof(path), "%s/s", dir);
	unlink(path);
	rmdir(dir);
	return 0;
}
