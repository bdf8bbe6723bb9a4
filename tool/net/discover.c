/* SPDX-License-Identifier: Apache-2.0 */
/* discover.c - `uk net discover`: prints what the machine has, and what is missing. */
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "../out.h"
#include "see.h"

static void say_cpus(const struct machine *m)
{
	char list[VALUE], last[VALUE] = "";

	out_object("cpus");
	cpus_print(&m->online, list);
	out_str("online", list);
	cpus_print(&m->isolated, list);
	out_str("isolated", list);
	out_list("cores");
	for (size_t i = 0; i < CPU_SETSIZE; i++) {
		if (!CPU_ISSET(i, &m->online))
			continue;
		tree_value(list,
			   "/sys/devices/system/cpu/cpu%zu/topology/"
			   "thread_siblings_list",
			   i);
		if (*list && strcmp(list, last) != 0)
			out_str(NULL, list);
		strcpy(last, list);
	}
	out_close();
	out_close();
}

static void say_queues(const struct device *d, char *const *queue, size_t n,
		       const char *heading, const char *file)
{
	char value[VALUE];

	out_object(heading);
	for (size_t i = 0; i < n; i++)
		out_str(queue[i], tree_value(value, "/sys/class/net/%s/queues/%s/%s",
					     d->name, queue[i], file));
	out_close();
}

static void say_napis(const struct device *d)
{
	char name[16];

	out_list("napis");
	for (size_t i = 0; i < d->n_napi; i++) {
		const struct napi *n = &d->napi[i];

		snprintf(name, sizeof(name), "%u", n->id);
		out_item("id", name);
		out_num("irq", n->irq);
		out_num("defer_hard_irqs", n->defer);
		out_num("gro_flush_timeout", n->flush);
		out_str("thread_cpus", n->cpus);
		out_close();
	}
	out_close();
}

static void say_irqs(const struct irq *irq, size_t n)
{
	char name[16], value[VALUE];

	out_list("irqs");
	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%u", irq[i].n);
		out_item("irq", name);
		out_str("name", irq[i].name);
		out_str("cpus", irq[i].cpus);
		out_str("effective",
			tree_value(value, "/proc/irq/%u/effective_affinity_list",
				   irq[i].n));
		out_bool("banned", irq[i].banned);
		out_close();
	}
	out_close();
}

static void say_device(const struct device *d)
{
	out_item("device", d->name);
	out_num("ifindex", d->ifindex);
	out_str("state", d->state);
	out_str("driver", d->driver);
	out_num("node", d->node);
	out_bool("napi", d->has_napi);
	out_str("threaded", d->threaded);
	out_str("napi_defer_hard_irqs", d->defer);
	out_str("gro_flush_timeout", d->flush);
	say_queues(d, d->rx, d->n_rx, "rps", "rps_cpus");
	say_queues(d, d->tx, d->n_tx, "xps", "xps_cpus");
	say_napis(d);
	say_irqs(d->irq, d->n_irq);
	out_close();
}

static bool read_only(const char *dir)
{
	struct statvfs fs;
	char path[PATH_MAX];

	return !statvfs(tree_path(dir, path), &fs) && fs.f_flag & ST_RDONLY;
}

static void say_lacks(const struct machine *m)
{
	out_list("lacks");
	if (CPU_COUNT(&m->online) < 2)
		out_str(NULL,
			"a second CPU: one does the network's work, others the rest");
	if (!m->n_dev)
		out_str(NULL, "network devices, or /sys is not mounted");
	if (m->other_sys)
		out_str(NULL, m->other_sys);
	if (!m->can.netlink)
		out_str(NULL,
			"the netlink family netdev (Linux 6.8): NAPIs are guessed");
	if (!m->can.sqpoll)
		out_str(NULL,
			"io_uring with SQPOLL: the kernel is too old, or forbids it "
			"(kernel.io_uring_disabled, seccomp)");
	else if (!m->can.uring_napi)
		out_str(NULL, "io_uring that polls queues (Linux 6.9)");
	if (!m->can.epoll_poll)
		out_str(NULL, "busy-polling for one epoll instance (Linux 6.9)");
	if (!m->root)
		out_str(NULL,
			"root: discover, plan and verify work, apply and undo do not");
	if (read_only("/sys") || read_only("/proc/sys"))
		out_str(NULL, "a writable /sys and /proc/sys: this may be a container");
	out_close();
}

void discover(const struct machine *m)
{
	out_str("kernel", m->kernel);
	say_cpus(m);
	out_list("devices");
	for (size_t i = 0; i < m->n_dev; i++)
		say_device(&m->dev[i]);
	out_close();
	out_object("sysctl");
	out_str("net.core.busy_poll", m->busy_poll);
	out_str("net.core.busy_read", m->busy_read);
	out_close();
	out_object("features");
	out_bool("netdev_netlink", m->can.netlink);
	out_bool("sqpoll", m->can.sqpoll);
	out_bool("uring_napi", m->can.uring_napi);
	out_bool("epoll_busy_poll", m->can.epoll_poll);
	out_close();
	out_bool("irqbalance", m->irqbalance);
	out_bool("tuned", m->tuned);
	out_str("tuned_profile", m->profile);
	out_bool("root", m->root);
	say_lacks(m);
}
