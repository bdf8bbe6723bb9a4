/* SPDX-License-Identifier: Apache-2.0 */
/* What the reactor costs by itself, on each engine: an idle poll, a NOP alone and in batches
 * of 16, a kick from one core to another, one request of an echo server (100 connections,
 * CPU time of the server's thread). Single-thread figures are CPU time, too. Build: the target bench-event of the meson project; it
 * reaches below the public API. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "reactor/engine.h"

static struct reactor R;

static void die(const char *what)
{
	fprintf(stderr, "bench-event: %s\n", what);
	exit(1);
}

static void on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static int64_t thread_cpu(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

static void idle_poll(void)
{
	enum { N = 500000 };
	struct io_op op = { .kind = IO_POLL, .len = 1 };
	int p[2];
	int64_t t;

	if (pipe(p))
		die("pipe");
	op.fd = p[0];
	t = thread_cpu();
	for (int i = 0; i < N; i++)
		R.ops->poll(&R, 0);
	printf("  poll(0), nothing pending      %7.1f ns\n",
	       (double)(thread_cpu() - t) / N);
	R.ops->submit(&R, &op);
	R.ops->poll(&R, 0);
	t = thread_cpu();
	for (int i = 0; i < N; i++)
		R.ops->poll(&R, 0);
	printf("  poll(0), one op pending       %7.1f ns\n",
	       (double)(thread_cpu() - t) / N);
	R.ops->cancel(&R, &op);
	while (op.state != IO_DONE)
		R.ops->poll(&R, -1);
	close(p[0]), close(p[1]);
}

static void nops(int batch)
{
	enum { N = 500000 };
	struct io_op op[64] = { 0 };
	int64_t t = thread_cpu();

	for (int i = 0; i < N; i += batch) {
		for (int k = 0; k < batch; k++) {
			op[k].kind = IO_NOP;
			R.ops->submit(&R, &op[k]);
		}
		for (int n = 0; n < batch;)
			for (struct io_op *o = R.ops->poll(&R, -1); o; o = o->next)
				n++;
	}
	printf("  NOP, batch of %-2d              %7.1f ns each\n", batch,
	       (double)(thread_cpu() - t) / N);
}

/* -- kick -- */
#define KICKS 3000
static int64_t kicked_at;
static uint32_t
    turn; /* poller writes: the round that it is going to sleep in, from 1 */
static uint32_t kicks; /* kicker writes */
static int64_t latency[KICKS];

static void *kicker(void *arg)
{
	(void)arg;
	on_cpu(1);
	for (uint32_t i = 0; i < KICKS; i++) {
		while (load_acquire(&turn) != i + 1)
			sys0(SYS_sched_yield);
		for (int64_t end = sys_now() + 20000; sys_now() < end;)
			cpu_relax(); /* it sleeps by now */
		kicked_at = sys_now();
		store_release(&kicks, i + 1);
		R.ops->kick(&R);
	}
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void kick_latency(void)
{
	enum { N = 500000 };
	pthread_t t;
	int64_t begin;

	turn = kicks = 0;
	pthread_create(&t, NULL, kicker, NULL);
	for (uint32_t i = 0; i < KICKS; i++) {
		store_release(&turn, i + 1);
		do /* a poll may return for nothing */
			R.ops->poll(&R, -1);
		while (load_acquire(&kicks) != i + 1);
		latency[i] = sys_now() - kicked_at;
	}
	pthread_join(t, NULL);
	qsort(latency, KICKS, sizeof(latency[0]), by_value);
	printf("  kick to wake, other core      %7.1f us p50, %.1f us p99\n",
	       (double)latency[KICKS / 2] / 1000,
	       (double)latency[KICKS * 99 / 100] / 1000);
	begin = sys_now();
	for (int i = 0; i < N; i++)
		R.ops->kick(&R);
	printf("  kick, repeated                %7.1f ns\n",
	       (double)(sys_now() - begin) / N);
	R.ops->poll(&R, -1);
}

/* -- echo -- */
#define CONNS 100
#define REQUESTS 100000
static struct {
	struct io_op rx;
	char buf[128];
	int sv[2];
} conn[CONNS];

static void *client(void *arg)
{
	char buf[128] = { 0 };

	(void)arg;
	on_cpu(1);
	for (int i = 0; i < REQUESTS / CONNS; i++) {
		for (int c = 0; c < CONNS; c++)
			if (send(conn[c].sv[1], buf, 64, 0) != 64)
				die("send");
		for (int c = 0; c < CONNS; c++)
			if (recv(conn[c].sv[1], buf, 64, 0) != 64)
				die("recv");
	}
	return NULL;
}

static void echo(void)
{
	pthread_t t;
	int64_t cpu, wall, n = 0;
	uint64_t calls;

	for (int c = 0; c < CONNS; c++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, conn[c].sv))
			die("socketpair");
		conn[c].rx = (struct io_op){ .kind = IO_RECV,
					     .fd = conn[c].sv[0],
					     .addr = conn[c].buf,
					     .len = sizeof(conn[c].buf) };
		R.ops->submit(&R, &conn[c].rx);
	}
	cpu = thread_cpu();
	wall = sys_now();
	calls = R.count.syscalls;
	pthread_create(&t, NULL, client, NULL);
	while (n < REQUESTS) {
		struct io_op *o = R.ops->poll(&R, -1), *next;

		for (; o; o = next, n++) {
			next = o->next;
			if (send(o->fd, o->addr, (size_t)o->res, MSG_DONTWAIT) !=
			    o->res)
				die("send");
			R.ops->submit(&R, o);
		}
	}
	pthread_join(t, NULL);
	printf(
	    "  echo request                  %7.0f ns CPU, %.0f ns wall, %.2f system calls\n",
	    (double)(thread_cpu() - cpu) / REQUESTS,
	    (double)(sys_now() - wall) / REQUESTS,
	    (double)(R.count.syscalls - calls) / REQUESTS + 1);
	for (int c = 0; c < CONNS; c++) {
		R.ops->cancel_fd(&R, conn[c].sv[0], -1);
		while (conn[c].rx.state != IO_DONE)
			R.ops->poll(&R, -1);
		close(conn[c].sv[0]), close(conn[c].sv[1]);
	}
}

int main(void)
{
	static const char *const want[] = { "uring", "uring", "epoll" };

	on_cpu(0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 0; i < 3; i++) {
		uring_no_msg_kick = i == 1;
		if (reactor_init(&R, want[i], NULL))
			continue;
		printf("%s%s\n", R.ops->name, i == 1 ? ", kicked by eventfd" : "");
		if (i != 1) {
			idle_poll();
			nops(1);
			nops(16);
			echo();
		}
		kick_latency();
		reactor_fini(&R);
	}
	return 0;
}
