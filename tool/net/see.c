/* SPDX-License-Identifier: Apache-2.0 */
/* see.c - reads the machine.
 *
 * What is missing is empty and not an error: containers hide half of it, and a machine
 * without any of it must be described, too.
 *
 * The interrupts of a device are those that its NAPIs name. Most drivers do not name
 * them. Then they are those whose line in /proc/interrupts has the device's name or its
 * bus address as a word; a device that is on no bus has none. (Rejected: msi_irqs of
 * the PCI device, which also lists the vectors for configuration and is elsewhere for
 * virtio.) */
#include "see.h"

#include <ctype.h>
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The last part of a link's target, or "". */
static void link_name(char name[64], const char *dev, const char *link)
{
	char path[PATH_MAX], full[PATH_MAX], to[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", dev, link);
	n = readlink(tree_path(path, full), to, sizeof(to) - 1);
	to[n < 0 ? 0 : n] = 0;
	snprintf(name, 64, "%s", n < 0 ? "" : basename(to));
}

/* ---- interrupts ---- */

/* "12: 5 7 PCI-MSIX 1-edge name" */
static bool irq_line(const char *line, struct irq *irq)
{
	char *at;

	irq->n = (unsigned)strtoul(line, &at, 10);
	if (at == line || *at != ':')
		return false;
	for (at++; *at == ' '; at++) {
		char *word = at + strspn(at, " ");
		size_t digits = strspn(word, "0123456789");

		if (!digits || (word[digits] && word[digits] != ' '))
			break; /* the end of the CPUs' columns */
		at = word + digits - 1;
	}
	snprintf(irq->name, sizeof(irq->name), "%s", at + strspn(at, " "));
	return true;
}

static void see_irqs(struct machine *m)
{
	char *text = tree_text("/proc/interrupts", NULL), *save = NULL;
	struct irq one = { 0 };

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (!irq_line(line, &one))
			continue;
		tree_value(one.cpus, "/proc/irq/%u/smp_affinity_list", one.n);
		m->irq = tree_grow(m->irq, m->n_irq, sizeof(one));
		m->irq[m->n_irq++] = one;
	}
	free(text);
}

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);
	const char *at = text;

	while (len && (at = strstr(at, word))) {
		if ((at == text || !isalnum((unsigned char)at[-1])) &&
		    !isalnum((unsigned char)at[len]))
			return true;
		at += len;
	}
	return false;
}

static bool is_of(const struct irq *irq, const struct device *d, const char *bus)
{
	size_t len = strlen(irq->name);

	bool named = false;

	for (size_t i = 0; i < d->n_napi; i++) {
		if (d->napi[i].irq == irq->n)
			return true;
		named |= d->napi[i].irq != 0;
	}
	if (named || !*bus) /* a software device has none, whatever its name */
		return false;
	if (len > 7 && !strcmp(irq->name + len - 7, "-config"))
		return false;
	return has_word(irq->name, d->name) || has_word(irq->name, bus);
}

/* ---- devices ---- */

static void see_napis(struct device *d, const struct napi *all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (all[i].ifindex != d->ifindex)
			continue;
		d->napi = tree_grow(d->napi, d->n_napi, sizeof(*all));
		d->napi[d->n_napi++] = all[i];
	}
}

static void see_one(struct machine *m, struct device *d, bool asked)
{
	char path[128], value[VALUE], bus[64];

	snprintf(path, sizeof(path), "/sys/class/net/%s/queues", d->name);
	d->rx = tree_list(path, "rx-", &d->n_rx);
	d->tx = tree_list(path, "tx-", &d->n_tx);
	link_name(d->driver, d->name, "device/driver");
	link_name(bus, d->name, "device");
	snprintf(d->state, sizeof(d->state), "%.15s",
		 tree_value(value, "/sys/class/net/%s/operstate", d->name));
	d->node = tree_number(-1, "/sys/class/net/%s/device/numa_node", d->name);
	tree_value(d->threaded, "/sys/class/net/%s/threaded", d->name);
	tree_value(d->defer, "/sys/class/net/%s/napi_defer_hard_irqs", d->name);
	tree_value(d->flush, "/sys/class/net/%s/gro_flush_timeout", d->name);
	/* without netlink: a device on a bus has it, a software device may not */
	d->has_napi = asked ? d->n_napi > 0 : *bus != 0;
	for (size_t i = 0; i < m->n_irq; i++) {
		if (!is_of(&m->irq[i], d, bus))
			continue;
		d->irq = tree_grow(d->irq, d->n_irq, sizeof(*d->irq));
		d->irq[d->n_irq++] = m->irq[i];
	}
}

static void see_devices(struct machine *m)
{
	size_t n, n_napi;
	struct napi *napi;
	bool asked = !ask_napis(&napi, &n_napi);
	char **names = tree_list("/sys/class/net", "", &n);

	m->can.netlink = asked;
	for (size_t i = 0; i < n; i++) {
		long index = tree_number(0, "/sys/class/net/%s/ifindex", names[i]);
		struct device *d;

		if (!index) /* bonding_masters is a file */
			continue;
		m->dev = tree_grow(m->dev, m->n_dev, sizeof(*m->dev));
		d = &m->dev[m->n_dev++];
		snprintf(d->name, sizeof(d->name), "%.15s", names[i]);
		d->ifindex = (unsigned)index;
		if (!ask_same_device(d->name, d->ifindex))
			m->other_sys =
			    "/sys shows another network namespace than this one: "
			    "enter it with `ip netns exec`, or mount sysfs again";
		see_napis(d, napi, n_napi);
		see_one(m, d, asked);
	}
	tree_list_free(names, n);
	free(napi);
}

struct device *see_device(const struct machine *m, const char *name)
{
	for (size_t i = 0; i < m->n_dev; i++)
		if (!strcmp(m->dev[i].name, name))
			return &m->dev[i];
	return NULL;
}

struct device *see_default_device(const struct machine *m)
{
	char *text = tree_text("/proc/net/route", NULL), *save = NULL;
	struct device *found = NULL;

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line && !found;
	     line = strtok_r(NULL, "\n", &save)) {
		char name[IFNAMSIZ];
		unsigned to;

		if (sscanf(line, "%15s %x", name, &to) == 2 && !to)
			found = see_device(m, name);
	}
	free(text);
	for (size_t i = 0; i < m->n_dev && !found; i++)
		if (m->dev[i].has_napi && !strcmp(m->dev[i].state, "up"))
			found = &m->dev[i];
	return found;
}

/* ---- other programs that change these settings ---- */

/* --banirq=N, --banirq N, -iN or -i N on irqbalance's command line */
static void see_bans(struct machine *m, const char *pid)
{
	char path[64];
	size_t len = 0;
	char *args, *end;

	snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
	args = tree_text(path, &len);
	end = args ? args + len : NULL;
	for (char *a = args; a && a < end; a += strlen(a) + 1) {
		const char *next = a + strlen(a) + 1;
		unsigned n;

		if ((!strcmp(a, "--banirq") || !strcmp(a, "-i")) && next < end
			? sscanf(next, "%u", &n) != 1
			: sscanf(a, "--banirq=%u", &n) != 1 &&
			      sscanf(a, "-i%u", &n) != 1)
			continue;
		for (size_t i = 0; i < m->n_irq; i++)
			m->irq[i].banned |= m->irq[i].n == n;
	}
	free(args);
}

static void see_daemons(struct machine *m)
{
	char comm[VALUE];
	size_t n;
	char **pids = tree_list("/proc", "", &n);

	for (size_t i = 0; i < n; i++) {
		if (*pids[i] < '1' || *pids[i] > '9')
			continue;
		tree_value(comm, "/proc/%s/comm", pids[i]);
		if (!strcmp(comm, "irqbalance")) {
			m->irqbalance = true;
			see_bans(m, pids[i]);
		}
		m->tuned |= !strcmp(comm, "tuned");
	}
	tree_list_free(pids, n);
	tree_value(m->profile, "/etc/tuned/active_profile");
}

void see(struct machine *m)
{
	char value[VALUE];

	memset(m, 0, sizeof(*m));
	tree_value(m->kernel, "/proc/sys/kernel/osrelease");
	cpus_parse(tree_value(value, "/sys/devices/system/cpu/online"), &m->online);
	cpus_parse(tree_value(value, "/sys/devices/system/cpu/isolated"), &m->isolated);
	tree_value(m->busy_poll, "/proc/sys/net/core/busy_poll");
	tree_value(m->busy_read, "/proc/sys/net/core/busy_read");
	m->root = !tree_is_machine() || !geteuid();
	ask_features(&m->can);
	see_irqs(m);
	see_daemons(m);
	see_devices(m);
}
