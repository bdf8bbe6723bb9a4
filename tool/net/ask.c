/* SPDX-License-Identifier: Apache-2.0 */
/* ask.c - what no file says.
 *
 * Generic netlink lists the NAPIs (family "netdev", Linux 6.8). What io_uring and epoll
 * support is tried. sched_getaffinity(2) tells the CPUs of a NAPI's kernel thread. In a
 * recorded tree the answers are files: /asked/napi has lines "IFINDEX ID IRQ DEFER
 * FLUSH", /asked/features has words, /asked/thread-ID has the CPUs of a thread, or "-"
 * if there is none.
 *
 * A NAPI's kernel thread is named napi/DEVICE-ID. A program can take such a name, too,
 * so only kernel threads count. Netlink also tells the thread's pid, but in the initial
 * pid namespace; in ours another process may have that pid. */
#include "ask.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/io_uring.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- netlink ---- */

/* from <linux/netdev.h>, which older systems do not have */
enum { NAPI_GET = 11 };
enum {
	NAPI_IFINDEX = 1,
	NAPI_ID,
	NAPI_IRQ,
	NAPI_PID,
	NAPI_DEFER,
	NAPI_FLUSH,
	NAPI_MOST
};

struct message {
	struct nlmsghdr head;
	struct genlmsghdr genl;
	char data[64];
};

static int request(int fd, uint16_t family, uint8_t cmd, uint16_t flags,
		   const char *family_name)
{
	struct message m = { .head = { .nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN),
				       .nlmsg_type = family,
				       .nlmsg_flags =
					   (uint16_t)(NLM_F_REQUEST | flags) },
			     .genl = { .cmd = cmd, .version = 1 } };

	if (family_name) {
		struct nlattr *a = (struct nlattr *)m.data;

		a->nla_type = CTRL_ATTR_FAMILY_NAME;
		a->nla_len = (uint16_t)(NLA_HDRLEN + strlen(family_name) + 1);
		strcpy(m.data + NLA_HDRLEN, family_name);
		m.head.nlmsg_len += NLA_ALIGN(a->nla_len);
	}
	return send(fd, &m, m.head.nlmsg_len, 0) < 0 ? -errno : 0;
}

/* Get the attributes of one message whose types are below most. */
static void attributes(const struct nlmsghdr *h, long *value, size_t most)
{
	const char *at = (const char *)h + NLMSG_LENGTH(GENL_HDRLEN);
	const char *end = (const char *)h + h->nlmsg_len;

	memset(value, 0, most * sizeof(*value));
	while (at + NLA_HDRLEN <= end) {
		const struct nlattr *a = (const struct nlattr *)at;
		unsigned type = a->nla_type & NLA_TYPE_MASK;
		uint64_t v = 0;

		if (a->nla_len < NLA_HDRLEN || at + a->nla_len > end)
			return;
		if (type < most && a->nla_len <= NLA_HDRLEN + sizeof(v))
			memcpy(&v, at + NLA_HDRLEN, a->nla_len - (size_t)NLA_HDRLEN);
		if (type < most)
			value[type] = (long)v;
		at += NLA_ALIGN(a->nla_len);
	}
}

/* Call take for each message until the end of the dump, or for the single answer. (The
 * family netdev does not set NLM_F_MULTI in the messages of a dump.) */
static int answers(int fd, bool dump, void (*take)(const struct nlmsghdr *h, void *arg),
		   void *arg)
{
	static char buf[32768] __attribute__((aligned(8)));

	for (;;) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);
		struct nlmsghdr *h = (struct nlmsghdr *)buf;

		if (n <= 0)
			return n ? -errno : -EIO;
		for (; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
			if (h->nlmsg_type == NLMSG_ERROR)
				return ((struct nlmsgerr *)NLMSG_DATA(h))->error;
			if (h->nlmsg_type == NLMSG_DONE)
				return 0;
			take(h, arg);
			if (!dump)
				return 0;
		}
	}
}

static void take_family(const struct nlmsghdr *h, void *arg)
{
	long value[CTRL_ATTR_FAMILY_ID + 1];

	attributes(h, value, CTRL_ATTR_FAMILY_ID + 1);
	*(uint16_t *)arg = (uint16_t)value[CTRL_ATTR_FAMILY_ID];
}

struct napis {
	struct napi *all;
	size_t n;
};

static void take_napi(const struct nlmsghdr *h, void *arg)
{
	struct napis *to = arg;
	long value[NAPI_MOST];
	struct napi *one;

	attributes(h, value, NAPI_MOST);
	to->all = tree_grow(to->all, to->n, sizeof(*to->all));
	one = &to->all[to->n++];
	one->ifindex = (unsigned)value[NAPI_IFINDEX];
	one->id = (unsigned)value[NAPI_ID];
	one->irq = (unsigned)value[NAPI_IRQ];
	one->defer = value[NAPI_DEFER];
	one->flush = value[NAPI_FLUSH];
}

static int napis_by_netlink(struct napis *to)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	uint16_t family = 0;
	int err;

	if (fd < 0)
		return -errno;
	err = request(fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0, "netdev");
	if (!err)
		err = answers(fd, false, take_family, &family);
	if (!err)
		err = request(fd, family, NAPI_GET, NLM_F_DUMP, NULL);
	if (!err)
		err = answers(fd, true, take_napi, to);
	close(fd);
	return err;
}

static int napis_by_file(struct napis *to)
{
	char *text = tree_text("/asked/napi", NULL), *save = NULL;
	struct napi one = { 0 };

	if (!text)
		return -ENOENT;
	for (char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (sscanf(line, "%u %u %u %ld %ld", &one.ifindex, &one.id, &one.irq,
			   &one.defer, &one.flush) != 5)
			continue;
		to->all = tree_grow(to->all, to->n, sizeof(one));
		to->all[to->n++] = one;
	}
	free(text);
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct napi *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

int ask_napis(struct napi **all, size_t *n)
{
	struct napis found = { NULL, 0 };
	int err = tree_is_machine() ? napis_by_netlink(&found) : napis_by_file(&found);

	for (size_t i = 0; i < found.n; i++) {
		ask_thread_cpus(found.all[i].id, found.all[i].cpus);
		if (!strcmp(found.all[i].cpus, "-"))
			found.all[i].cpus[0] = 0;
	}
	if (found.n)
		qsort(found.all, found.n, sizeof(*found.all), by_id);
	*all = found.all;
	*n = found.n;
	return err;
}

/* ---- features ---- */

static bool try_sqpoll(bool *napi)
{
	struct io_uring_params p = { .flags = IORING_SETUP_SQPOLL,
				     .sq_thread_idle = 1 };
	/* as struct io_uring_napi, which older headers do not have */
	unsigned settings[6] = { 0 };
	long ring = syscall(SYS_io_uring_setup, 1, &p);
	enum { REGISTER_NAPI = 27 };

	if (ring < 0)
		return false;
	*napi = !syscall(SYS_io_uring_register, ring, REGISTER_NAPI, settings, 1);
	close((int)ring);
	return true;
}

static bool try_epoll(void)
{
	struct {
		uint32_t usec;
		uint16_t budget;
		uint8_t prefer, pad;
	} params = { 0 };
	int fd = epoll_create1(EPOLL_CLOEXEC);
	bool ok = fd >= 0 && !ioctl(fd, _IOW(0x8A, 1, params), &params);

	if (fd >= 0)
		close(fd);
	return ok;
}

void ask_features(struct features *f)
{
	char words[VALUE];

	if (tree_is_machine()) {
		f->uring_napi = false;
		f->sqpoll = try_sqpoll(&f->uring_napi);
		f->epoll_poll = try_epoll();
		return;
	}
	tree_value(words, "/asked/features");
	f->sqpoll = strstr(words, "sqpoll");
	f->uring_napi = strstr(words, "uring-napi");
	f->epoll_poll = strstr(words, "epoll-poll");
}

/* ---- kernel threads ---- */

static bool is_kernel_thread(const char *pid)
{
	char stat[VALUE];
	const char *at = strrchr(tree_value(stat, "/proc/%s/stat", pid), ')');
	unsigned flags = 0;

	/* state ppid pgrp session tty tpgid flags */
	return at && sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
	       flags & 0x00200000; /* PF_KTHREAD */
}

/* The kernel thread of a NAPI, or 0. */
static pid_t thread_of(unsigned napi)
{
	char end[16], comm[VALUE];
	size_t n, len = (size_t)snprintf(end, sizeof(end), "-%u", napi);
	char **pids = tree_list("/proc", "", &n);
	pid_t found = 0;

	for (size_t i = 0; i < n && !found; i++) {
		size_t l;

		if (*pids[i] < '1' || *pids[i] > '9')
			continue;
		l = strlen(tree_value(comm, "/proc/%s/comm", pids[i]));
		if (!strncmp(comm, "napi/", 5) && l > len &&
		    !strcmp(comm + l - len, end) && is_kernel_thread(pids[i]))
			found = atoi(pids[i]);
	}
	tree_list_free(pids, n);
	return found;
}

void ask_thread_cpus(unsigned napi, char cpus[VALUE])
{
	cpu_set_t set;
	pid_t pid;

	if (!tree_is_machine()) {
		if (!*tree_value(cpus, "/asked/thread-%u", napi))
			strcpy(cpus, "-");
		return;
	}
	pid = thread_of(napi);
	if (!pid)
		strcpy(cpus, "-");
	else if (sched_getaffinity(pid, sizeof(set), &set))
		*cpus = 0;
	else
		cpus_print(&set, cpus);
}

int set_thread_cpus(unsigned napi, const char *cpus)
{
	char path[64];
	cpu_set_t set;
	pid_t pid;

	if (!tree_is_machine()) {
		snprintf(path, sizeof(path), "/asked/thread-%u", napi);
		return tree_write(path, cpus);
	}
	if (!strcmp(cpus, "-"))
		return 0; /* the thread starts and ends with `threaded` */
	pid = thread_of(napi);
	if (!pid)
		return -ESRCH;
	cpus_parse(cpus, &set);
	return sched_setaffinity(pid, sizeof(set), &set) ? -errno : 0;
}

bool ask_same_device(const char *name, unsigned ifindex)
{
	return !tree_is_machine() || if_nametoindex(name) == ifindex;
}
