/* SPDX-License-Identifier: Apache-2.0 */
/* A vp moves: one kernel thread submits ops, another reaps them while the first sleeps,
 * spins or has ended. Also two owners that take turns, fork, and two vps that accept
 * from one listener. */
#include "each.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/lock.h"
#include "io/io.h"

enum fate { PARKS, SPINS, EXITS };

static struct {
	enum fate fate;
	uint32_t ready, stop;
	struct io_op rx, rx2;
	char buf[8], buf2[8];
	int sv[2];
} x;

static void *submitter(void *arg UNUSED)
{
	x.rx = mk(IO_RECV, x.sv[0], x.buf, 8);
	x.rx2 = mk(IO_POLL, x.sv[0], NULL, POLLRDHUP);
	submit(&x.rx);
	submit(&x.rx2);
	stays_pending(&x.rx); /* this sleeps, so the submitter arms the eventfd of the
			       * kick */
	store_release(&x.ready, 1);
	sys_futex_wake(&x.ready, 1);
	if (x.fate == PARKS)
		while (!load_acquire(&x.stop))
			sys_futex_wait(&x.stop, 0, TIME_NEVER);
	else if (x.fate == SPINS)
		while (!load_acquire(&x.stop))
			cpu_relax();
	return NULL;
}

static uint32_t kicked;

static void *kick_later(void *arg UNUSED)
{
	usleep(5000);
	store_release(&kicked, 1);
	R.ops->kick(&R);
	return NULL;
}

static void one_submits_and_another_reaps(enum fate fate)
{
	pthread_t t, k;
	int64_t begin;

	x.fate = fate;
	x.ready = x.stop = 0;
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, x.sv), 0);
	pthread_create(&t, NULL, submitter, NULL);
	while (!load_acquire(&x.ready))
		sys_futex_wait(&x.ready, 0, TIME_NEVER);
	if (fate == EXITS)
		pthread_join(t, NULL);
	/* this thread is the owner now, and must receive kicks */
	kicked = 0;
	pthread_create(&k, NULL, kick_later, NULL);
	while (!load_acquire(&kicked))    /* a retry may end a sleep early */
		R.ops->poll(&R, HANG_NS); /* if the kick is lost, this hangs */
	pthread_join(k, NULL);
	CHECK_EQ(x.rx.state, IO_PENDING);
	store_relaxed(&R.hogs, fate == SPINS);
	begin = sys_now();
	CHECK_EQ(write(x.sv[1], "moved", 5), 5);
	CHECK(wait_op(&x.rx) == 5 || (UK_HOSTILE && x.rx.res > 0));
	printf("# %s: the submitter %s, data after %lld us\n", engine,
	       fate == SPINS   ? "spins"
	       : fate == PARKS ? "is parked"
			       : "has ended",
	       (long long)(sys_now() - begin) / 1000);
	CHECK(!memcmp(x.buf, "moved", (size_t)x.rx.res));
	R.ops->cancel(&R, &x.rx2);
	CHECK_EQ(wait_op(&x.rx2), -ECANCELED);
	store_relaxed(&R.hogs, 0);
	store_release(&x.stop, 1);
	sys_futex_wake(&x.stop, 1);
	if (fate != EXITS)
		pthread_join(t, NULL);
	close(x.sv[0]), close(x.sv[1]);
}

static void ops_of_a_parked_thread_complete(void)
{
	one_submits_and_another_reaps(PARKS);
}

static void ops_of_a_hog_complete(void)
{
	one_submits_and_another_reaps(SPINS);
}

static void ops_of_an_ended_thread_complete(void)
{
	one_submits_and_another_reaps(EXITS);
}

/* Two kernel threads take turns as the owner, every few polls, while bytes arrive. */
static struct lock turn = LOCK_INIT(RANK_WATCH);
#define PAIRS 16
#define MESSAGES 20000
static struct {
	struct io_op rx;
	char c;
	int sv[2];
} pair[PAIRS];
static uint32_t got;

static void *owner(void *arg UNUSED)
{
	bool more = true;

	while (more) {
		lock_acquire(&turn);
		for (int i = 0; i < 3; i++) {
			struct io_op *o = R.ops->poll(&R, i ? 0 : 100000), *next;

			for (; o; o = next) {
				next = o->next;
				CHECK_EQ(o->res, 1);
				store_relaxed(&got, got + 1);
				submit(o);
			}
		}
		more = got < MESSAGES;
		lock_release(&turn);
		sys0(SYS_sched_yield);
	}
	return NULL;
}

static void two_owners_take_turns_under_traffic(void)
{
	pthread_t t[2];

	got = 0;
	for (int i = 0; i < PAIRS; i++) {
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair[i].sv), 0);
		pair[i].rx = mk(IO_RECV, pair[i].sv[0], &pair[i].c, 1);
		submit(&pair[i].rx);
	}
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, owner, NULL);
	for (uint32_t i = 0; i < MESSAGES; i++) {
		CHECK_EQ(write(pair[i % PAIRS].sv[1], "m", 1), 1);
		while (i - load_relaxed(&got) > 200 &&
		       (int32_t)(i - load_relaxed(&got)) > 0)
			sys0(SYS_sched_yield);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	CHECK_EQ(got, MESSAGES);
	for (int i = 0; i < PAIRS; i++) {
		R.ops->cancel(&R, &pair[i].rx);
		CHECK_EQ(wait_op(&pair[i].rx), -ECANCELED);
		close(pair[i].sv[0]), close(pair[i].sv[1]);
	}
}

static bool a_ring_is_mapped(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	bool yes = false;

	while (f && fgets(line, sizeof(line), f))
		yes |= strstr(line, "io_uring") != NULL;
	if (f)
		fclose(f);
	return yes;
}

#define NO_ROOM 77 /* the child's ring was refused for lack of memory */

static void child_starts_anew(int theirs)
{
	struct io_op own;
	char buf[8];
	int p[2], r;

	CHECK(!a_ring_is_mapped());
	R.ops->fork_leave(&R);
	r = R.ops->fork_child(&R);
	if (no_locked_memory(r))
		_exit(NO_ROOM);
	CHECK_EQ(r, 0);
	CHECK_EQ(a_ring_is_mapped(), is_uring);
	CHECK_EQ(R.pending, 0);
	CHECK(!reactor_peek_fd(&R, theirs));
	CHECK_EQ(pipe(p), 0);
	own = mk(IO_READ, p[0], buf, 8);
	submit(&own);
	stays_pending(&own);
	CHECK_EQ(write(p[1], "c", 1), 1);
	CHECK_EQ(wait_op(&own), 1);
	R.ops->kick(&R);
	R.ops->poll(&R, -1);
	_exit(0);
}

static void a_forked_child_starts_anew_and_the_parent_goes_on(void)
{
	struct io_op rx;
	char buf[8];
	int sv[2], status;
	pid_t pid;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	rx = mk(IO_RECV, sv[0], buf, 8);
	submit(&rx);
	stays_pending(&rx);
	fflush(NULL);
	pid = fork();
	if (!pid)
		child_starts_anew(sv[0]);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (status == NO_ROOM << 8)
		printf("# %s: not enough locked memory for the child's ring\n", engine);
	else
		CHECK_EQ(status, 0);
	stays_pending(&rx);
	CHECK_EQ(write(sv[1], "p", 1), 1);
	CHECK_EQ(wait_op(&rx), 1);
	close(sv[0]), close(sv[1]);
}

/* -- two vps, one listener -- */

#define CLIENTS 400
static struct reactor vp[2];
static int listener;
static uint32_t accepted;

static void *acceptor(void *arg)
{
	struct reactor *r = arg;
	struct io_op op = mk(IO_ACCEPT, listener, NULL, 0);

	r->ops->submit(r, &op);
	for (;;) {
		struct io_op *o = r->ops->poll(r, -1);
		int fd;

		if (load_acquire(&accepted) >= CLIENTS)
			break;
		if (!o)
			continue;
		fd = o->res == REACTOR_READY ? (int)io_accept_try(&op) : o->res;
		if (fd != -EAGAIN) {
			CHECK(fd >= 0);
			close(fd);
			if (fetch_add_acq_rel(&accepted, 1) + 1 >= CLIENTS)
				for (int i = 0; i < 2; i++)
					vp[i].ops->kick(&vp[i]);
		}
		r->ops->submit(r, &op);
	}
	if (op.state == IO_PENDING)
		r->ops->cancel(r, &op);
	while (op.state != IO_DONE)
		r->ops->poll(r, NS_PER_SEC);
	return NULL;
}

static void two_vps_accept_from_one_listener(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	pthread_t t[2];
	int n = 0;

	listener = socket(AF_INET, SOCK_STREAM, 0);
	accepted = 0;
	CHECK_EQ(bind(listener, (struct sockaddr *)&a, sizeof(a)), 0);
	CHECK_EQ(listen(listener, 100), 0);
	CHECK_EQ(getsockname(listener, (struct sockaddr *)&a, &len), 0);
	for (int i = 0; i < 2; i++) {
		int r = reactor_init(&vp[n], is_uring ? "uring" : "epoll", NULL);

		if (no_locked_memory(r))
			break;
		CHECK_EQ(r, 0);
		n++;
	}
	for (int i = 0; n == 2 && i < 2; i++)
		pthread_create(&t[i], NULL, acceptor, &vp[i]);
	for (int i = 0; n == 2 && i < CLIENTS; i++) {
		int c = socket(AF_INET, SOCK_STREAM, 0);

		CHECK_EQ(connect(c, (struct sockaddr *)&a, sizeof(a)), 0);
		close(c);
	}
	/* the thread that accepts the last client kicks both reactors, so none is freed
	 * before both threads have ended. */
	for (int i = 0; n == 2 && i < 2; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < n; i++)
		reactor_fini(&vp[i]);
	CHECK_EQ(accepted, n == 2 ? CLIENTS : 0);
	close(listener);
}

static void all(void)
{
	RUN_ON(ops_of_a_parked_thread_complete);
	RUN_ON(ops_of_a_hog_complete);
	RUN_ON(ops_of_an_ended_thread_complete);
	RUN_ON(two_owners_take_turns_under_traffic);
	RUN_ON(a_forked_child_starts_anew_and_the_parent_goes_on);
	RUN_ON(two_vps_accept_from_one_listener);
}

int main(void)
{
	on_each_engine(all);
	return 0;
}
