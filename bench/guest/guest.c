/* SPDX-License-Identifier: Apache-2.0 */
/* guest.c - what a guest pays, as far as it can see: it reads its own clock before and
 * after an operation.
 *
 *   guest ROUNDS: prints "cost NAME LEAST MEDIAN" in nanoseconds, a line each
 *   guest ROUNDS ADDRESS: the echo of ADDRESS alone
 *   guest echo ADDRESS: the other end of that
 *
 * The least of many rounds is the operation alone, undisturbed; the median includes
 * what else the machine did. CPUID does nothing and always exits to the host under VMX
 * and SVM: if there is a host it costs an exit, if there is none some tens of
 * nanoseconds. Compare the other figures with it. Not every round of timer-next sets
 * the CPU's timer (the tick or another timer may be earlier): there the median counts,
 * and the least is a round that did not set it. */
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define PORT 7007

static long rounds;

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int up(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Repeats one operation so often that the cost of the clock is small beside it. */
static void measure(const char *name, long batch, void (*one)(void))
{
	int64_t *took = malloc((size_t)rounds * sizeof(*took));

	for (long i = 0; i < rounds; i++) {
		int64_t start = now();

		for (long k = 0; k < batch; k++)
			one();
		took[i] = (now() - start) * 10 / batch;
	}
	qsort(took, (size_t)rounds, sizeof(*took), up);
	printf("cost %s %.1f %.1f\n", name, (double)took[0] / 10,
	       (double)took[rounds / 2] / 10);
	fflush(stdout);
	free(took);
}

/* ---- in one thread ---- */

static void leaves(void)
{
#if defined(__x86_64__)
	unsigned a, b, c, d;

	__cpuid(0, a, b, c, d);
#endif
}

static void calls(void)
{
	syscall(SYS_getppid);
}

static int timer;

static void arm(int64_t ns)
{
	struct itimerspec t = { .it_value = { .tv_sec = ns / 1000000000,
					      .tv_nsec = ns % 1000000000 } };

	timerfd_settime(timer, 0, &t, NULL);
}

/* Each time is earlier than the one before, so the CPU's timer is set every time. */
static void arms_next(void)
{
	static int64_t ns = 100000; /* before the next tick */

	ns = ns > 50000 ? ns - 1000 : 100000;
	arm(ns);
}

static void arms_later(void)
{
	arm(INT64_C(1000000000) * 1000);
}

static char *fresh;
static size_t used;
#define FRESH ((size_t)64 << 20)

static void touches(void)
{
	if (used == FRESH) {
		madvise(fresh, FRESH, MADV_DONTNEED);
		used = 0;
	}
	fresh[used] = 1;
	used += 4096;
}

/* ---- between two threads ---- */

static int there, back;
static atomic_int turn;

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *answers(void *arg)
{
	eventfd_t v;

	pin((int)(intptr_t)arg);
	while (!eventfd_read(there, &v) && v < 2)
		eventfd_write(back, 1);
	return NULL;
}

static void asks(void)
{
	eventfd_t v;

	eventfd_write(there, 1);
	eventfd_read(back, &v);
}

static void *spins(void *arg)
{
	int t;

	pin((int)(intptr_t)arg);
	while ((t = atomic_load(&turn)) >= 0)
		if (t == 1)
			atomic_store(&turn, 0);
	return NULL;
}

static void tells(void)
{
	atomic_store(&turn, 1);
	while (atomic_load(&turn))
		;
}

static void with(const char *name, void *(*other)(void *), int cpu, void (*one)(void))
{
	pthread_t t;

	if (pthread_create(&t, NULL, other, (void *)(intptr_t)cpu))
		exit(1);
	measure(name, other == spins ? 10 : 1, one);
	if (other == spins)
		atomic_store(&turn, -1);
	else
		eventfd_write(there, 2);
	pthread_join(t, NULL);
}

/* ---- a datagram and its echo ---- */

static int sock;

static struct sockaddr_in at(const char *address)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	inet_pton(AF_INET, address, &a.sin_addr);
	return a;
}

static void *echoes(void *arg)
{
	struct sockaddr_in a = at(arg), from;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	char text[256];

	if (bind(fd, (struct sockaddr *)&a, sizeof(a)))
		return arg;
	for (;;) {
		socklen_t len = sizeof(from);
		ssize_t n =
		    recvfrom(fd, text, sizeof(text), 0, (struct sockaddr *)&from, &len);

		if (n > 0)
			sendto(fd, text, (size_t)n, 0, (struct sockaddr *)&from, len);
	}
}

static void sends(void)
{
	char text[256] = "";

	do { /* until the other end answers; a lost datagram is sent again */
		send(sock, text, sizeof(text), 0);
	} while (recv(sock, text, sizeof(text), 0) < 0);
}

static void echo(const char *name, const char *address)
{
	struct sockaddr_in a = at(address);
	struct timeval limit = { .tv_usec = 100000 };

	sock = socket(AF_INET, SOCK_DGRAM, 0);
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (connect(sock, (struct sockaddr *)&a, sizeof(a)))
		exit(1);
	measure(name, 1, sends);
	close(sock);
}

static void alone(void)
{
	pthread_t t;

	pin(0);
	timer = timerfd_create(CLOCK_MONOTONIC, 0);
	there = eventfd(0, 0);
	back = eventfd(0, 0);
	fresh = mmap(NULL, FRESH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	if (timer < 0 || there < 0 || back < 0 || fresh == MAP_FAILED)
		exit(1);
	madvise(fresh, FRESH, MADV_NOHUGEPAGE);
#if defined(__x86_64__)
	measure("cpuid", 10, leaves);
#endif
	measure("system-call", 10, calls);
	measure("timer-later", 10, arms_later);
	measure("timer-next", 10, arms_next);
	measure("page-fault", 10, touches);
	with("wake-same-cpu", answers, 0, asks);
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
		with("wake-other-cpu", answers, 1, asks);
		with("memory-other-cpu", spins, 1, tells);
	}
	if (!pthread_create(&t, NULL, echoes, (void *)(uintptr_t) "127.0.0.1"))
		echo("echo-loopback", "127.0.0.1");
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "echo"))
		return echoes(argv[2]) != NULL;
	rounds = argc > 1 ? atol(argv[1]) : 0;
	if (rounds < 1)
		return 2;
	if (argc == 3)
		echo("echo-veth", argv[2]);
	else
		alone();
	return 0;
}
