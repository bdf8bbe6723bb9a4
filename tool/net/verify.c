/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c - the probe: which CPUs were interrupted, and which processed packets?
 *
 * It subtracts two readings of the kernel's counters; no result depends on a clock. It
 * adds traffic only with --loopback, so it can run beside the program that the settings
 * are for. */
#include "verify.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../out.h"

struct counts {
	unsigned long long irqs[CPU_SETSIZE], ipis[CPU_SETSIZE], net_rx[CPU_SETSIZE];
	unsigned long long switches;
	long packets;
};

/* "CPU0 CPU2": the CPU of each column. Returns the number of columns. */
static size_t columns(const char *line, size_t cpu[CPU_SETSIZE])
{
	size_t n = 0;

	while ((line = strstr(line, "CPU")) && n < CPU_SETSIZE) {
		size_t c = strtoul(line += 3, NULL, 10);

		cpu[n++] = c < CPU_SETSIZE ? c : CPU_SETSIZE - 1;
	}
	return n;
}

static void add(unsigned long long *to, const char *at, const size_t *cpu, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *end;
		unsigned long long v = strtoull(at, &end, 10);

		if (end == at)
			return; /* ERR and MIS have one column */
		to[cpu[i]] += v;
		at = end;
	}
}

/* The counters that this line belongs to. */
static unsigned long long *home(struct counts *c, const char *name)
{
	if (isdigit((unsigned char)*name))
		return c->irqs;
	if (!strncmp(name, "RES:", 4) || !strncmp(name, "CAL:", 4))
		return c->ipis;
	return strncmp(name, "NET_RX:", 7) ? NULL : c->net_rx;
}

static void count_table(struct counts *c, const char *path)
{
	char *text = tree_text(path, NULL), *save = NULL;
	char *line = text ? strtok_r(text, "\n", &save) : NULL;
	size_t cpu[CPU_SETSIZE], n = line ? columns(line, cpu) : 0;

	while (n && (line = strtok_r(NULL, "\n", &save))) {
		const char *name = line + strspn(line, " "), *colon = strchr(name, ':');
		unsigned long long *to = home(c, name);

		if (to && colon)
			add(to, colon + 1, cpu, n);
	}
	free(text);
}

static void count(struct counts *c, const char *dev)
{
	char *stat = tree_text("/proc/stat", NULL), *at;

	memset(c, 0, sizeof(*c));
	count_table(c, "/proc/interrupts");
	count_table(c, "/proc/softirqs");
	at = stat ? strstr(stat, "\nctxt ") : NULL;
	c->switches = at ? strtoull(at + 6, NULL, 10) : 0;
	free(stat);
	c->packets = tree_number(0, "/sys/class/net/%s/statistics/rx_packets", dev);
}

/* ---- traffic ---- */

static void leave(const struct machine *m, long cpu)
{
	cpu_set_t host = m->online;

	if (cpu >= 0)
		CPU_CLR((size_t)cpu, &host);
	if (CPU_COUNT(&host)) /* a cpuset may refuse it, which is ignored */
		sched_setaffinity(0, sizeof(host), &host);
}

/* The kernel does not restart a call that has a timeout: it fails with EINTR although
 * no signal was caught, after SIGSTOP or a frozen cgroup, and also when the ring that
 * ask.c closed is torn down. */
static int one_datagram(int fd, char *text, size_t len)
{
	if (TEMP_FAILURE_RETRY(send(fd, text, len, 0)) < 0 ||
	    TEMP_FAILURE_RETRY(recv(fd, text, len, 0)) < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno; /* EAGAIN: lo is down */
	return 0;
}

static int datagrams(long n)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct timeval limit = { .tv_sec = 10 };
	socklen_t len = sizeof(a);
	char text[256] = "";
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (bind(fd, (struct sockaddr *)&a, len) ||
	    getsockname(fd, (struct sockaddr *)&a, &len) ||
	    connect(fd, (struct sockaddr *)&a, len))
		err = -errno;
	for (long i = 0; i < n && !err; i++)
		err = one_datagram(fd, text, sizeof(text));
	close(fd);
	return err;
}

/* ---- the result ---- */

static void say(const struct machine *m, const struct counts *a, const struct counts *b,
		long cpu)
{
	char name[24];

	out_num("switches", (long)(b->switches - a->switches));
	out_num("packets", b->packets - a->packets);
	out_list("cpus");
	for (size_t i = 0; i < CPU_SETSIZE; i++) {
		if (!CPU_ISSET(i, &m->online))
			continue;
		snprintf(name, sizeof(name), "%zu", i);
		out_item("cpu", name);
		out_bool("network", (long)i == cpu);
		out_num("device_interrupts", (long)(b->irqs[i] - a->irqs[i]));
		out_num("processor_interrupts", (long)(b->ipis[i] - a->ipis[i]));
		out_num("net_rx_softirqs", (long)(b->net_rx[i] - a->net_rx[i]));
		out_close();
	}
	out_close();
}

int probe(const struct machine *m, const char *dev, long cpu, long seconds,
	  long loopback)
{
	struct timespec left = { .tv_sec = seconds };
	static struct counts before, after;
	int err = 0;

	if (loopback)
		leave(m, cpu);
	count(&before, dev);
	if (loopback)
		err = datagrams(loopback);
	else
		while (nanosleep(&left, &left) && errno == EINTR)
			;
	count(&after, dev);
	out_object("probe");
	out_str("device", dev);
	if (!loopback)
		out_num("seconds", seconds);
	else
		out_num("datagrams", loopback);
	say(m, &before, &after, cpu);
	out_close();
	if (before.packets == after.packets)
		out_line("No packet came through %s meanwhile: the counts say nothing "
			 "about it.",
			 dev);
	return err;
}
