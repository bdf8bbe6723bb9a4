/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - turns the machine and the user's options (the wish) into a list of writes.
 *
 * One CPU does the network's work. A rung is a way to do it there, the best first:
 *   sqpoll    io_uring's kernel thread executes the calls and polls the queue, whose
 *             interrupts stay off while it polls
 *   epoll     the program polls the queue while it waits in epoll, also with
 *             interrupts off
 *   threaded  a kernel thread of the device polls the queue
 *   rps       the device has no NAPI: its packets are handed to the CPU
 *   advise    nothing can be set; the tool only gives advice
 * The plan takes the best rung that the machine supports. It does not list a setting
 * that is right already, and keeps a deferral that somebody has chosen.
 *
 * Changes are listed in the order of writing. Undo goes backwards, so a kernel thread
 * exists again before its CPUs are set. irqbalance moves interrupts every ten seconds,
 * so while it runs the plan has no write for them, but advises the option that makes
 * irqbalance leave them alone. What tuned's profile sets is not touched.
 *
 * discover shows XPS, but the plan does not set it: packets sent from the network CPU
 * take that CPU's queue anyway. */
#include "plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As in the kernel's documentation of busy polling: two empty polls, 0.2 ms. */
#define DEFER "2"
#define FLUSH "200000"
#define BUSY_USEC "50"

const char *const rung_names[RUNGS] = { "sqpoll", "epoll", "threaded", "rps",
					"advise" };

static const char admin[] = "CAP_NET_ADMIN", root[] = "root",
		  cap_nice[] = "CAP_SYS_NICE";

/* ---- the lists ---- */

static void advise(struct plan *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void advise(struct plan *p, const char *format, ...)
{
	va_list ap;

	p->advice = tree_grow(p->advice, p->n_advice, sizeof(*p->advice));
	va_start(ap, format);
	if (vasprintf(&p->advice[p->n_advice], format, ap) >= 0)
		p->n_advice++;
	va_end(ap);
}

/* NULL if the setting has the value already, or does not exist. */
static struct change *change(struct plan *p, const char *key, const char *new,
			     const char *needs, const char *why)
{
	struct change *c;

	p->change = tree_grow(p->change, p->n, sizeof(*p->change));
	c = &p->change[p->n];
	if (setting_read(key, c->old) || !strcmp(c->old, new))
		return NULL;
	snprintf(c->key, sizeof(c->key), "%s", key);
	snprintf(c->new, sizeof(c->new), "%s", new);
	c->needs = needs;
	c->why = why;
	p->n++;
	return c;
}

static void key_of(char key[192], const struct plan *p, const char *file)
{
	snprintf(key, 192, "/sys/class/net/%s/%s", p->dev->name, file);
}

/* ---- interrupts ---- */

static void irq_to(struct plan *p, unsigned irq, const char *cpus, const char *why)
{
	char key[192];
	struct change *c;

	snprintf(key, sizeof(key), "/proc/irq/%u/smp_affinity_list", irq);
	c = change(p, key, cpus, root, why);
	if (c)
		c->may = true;
}

static void own_irqs(struct plan *p, const struct machine *m)
{
	char cpu[24], bans[VALUE] = "";
	size_t used = 0;

	snprintf(cpu, sizeof(cpu), "%ld", p->cpu);
	for (size_t i = 0; i < p->dev->n_irq; i++) {
		const struct irq *irq = &p->dev->irq[i];

		if (!m->irqbalance || irq->banned)
			irq_to(p, irq->n, cpu,
			       "the network CPU gets the device's interrupts");
		else if (strcmp(irq->cpus, cpu) != 0 && used + 24 < sizeof(bans))
			used += (size_t)snprintf(bans + used, sizeof(bans) - used,
						 " --banirq=%u", irq->n);
	}
	if (used)
		advise(p,
		       "irqbalance is running and would move the device's interrupts "
		       "again: start it with%s (IRQBALANCE_ARGS in "
		       "/etc/default/irqbalance), then plan again",
		       bans);
}

static bool is_own(const struct plan *p, unsigned irq)
{
	for (size_t i = 0; i < p->dev->n_irq; i++)
		if (p->dev->irq[i].n == irq)
			return true;
	return false;
}

/* Other interrupts that may go to the network CPU are moved away, with --alone. */
static void other_irqs(struct plan *p, const struct machine *m, bool away)
{
	static const char why[] = "other interrupts stay away from the network CPU";
	size_t n = 0;

	for (size_t i = 0; i < m->n_irq; i++) {
		const struct irq *irq = &m->irq[i];
		cpu_set_t set;
		char list[VALUE];

		cpus_parse(irq->cpus, &set);
		if (is_own(p, irq->n) || !CPU_ISSET((size_t)p->cpu, &set))
			continue;
		n++;
		if (!away || (m->irqbalance && !irq->banned))
			continue;
		CPU_CLR((size_t)p->cpu, &set);
		if (!CPU_COUNT(&set)) {
			set = m->online;
			CPU_CLR((size_t)p->cpu, &set);
		}
		cpus_print(&set, list);
		irq_to(p, irq->n, list, why);
	}
	if (n && m->irqbalance)
		advise(p,
		       "irqbalance may move other interrupts to the network CPU: set "
		       "IRQBALANCE_BANNED_CPULIST=%ld",
		       p->cpu);
	else if (n && !away)
		advise(p,
		       "%zu other interrupts may go to the network CPU: --alone moves "
		       "them away",
		       n);
}

/* ---- the rungs ---- */

static void rps(struct plan *p, bool to_cpu, const char *why)
{
	char file[128], key[192], old[VALUE], mask[VALUE];
	cpu_set_t set;

	CPU_ZERO(&set);
	if (to_cpu)
		CPU_SET((size_t)p->cpu, &set);
	for (size_t i = 0; i < p->dev->n_rx; i++) {
		snprintf(file, sizeof(file), "queues/%s/rps_cpus", p->dev->rx[i]);
		key_of(key, p, file);
		if (setting_read(key, old))
			continue;
		cpus_print_mask(&set, old, mask);
		change(p, key, mask, admin, why);
	}
}

/* The CPUs of the threads: saved before the threads end, or set after they exist. */
static void threads(struct plan *p, const char *cpus, const char *why)
{
	char key[192];

	for (size_t i = 0; i < p->dev->n_napi; i++) {
		snprintf(key, sizeof(key), "napi-thread %u", p->dev->napi[i].id);
		change(p, key, cpus, cap_nice, why);
	}
}

/* Two pollers on one queue disturb each other: the device's kernel threads must end. */
static void no_threads(struct plan *p)
{
	char key[192];

	if (!*p->dev->threaded || !strcmp(p->dev->threaded, "0"))
		return;
	threads(p, "-", "the thread ends; undo restores its CPUs");
	key_of(key, p, "threaded");
	change(p, key, "0", admin, "a kernel thread would poll the queue, too");
}

/* A NAPI whose deferral differs from its device's was set separately. A write to the
 * device's file would change it, too, and undo could not restore it. */
static bool napis_differ(const struct device *d)
{
	for (size_t i = 0; i < d->n_napi; i++)
		if (d->napi[i].defer != atol(d->defer) ||
		    d->napi[i].flush != atol(d->flush))
			return true;
	return false;
}

static void defer(struct plan *p, const struct machine *m)
{
	const struct device *d = p->dev;
	char key[192];

	if (m->can.netlink && napis_differ(d)) {
		advise(p,
		       "a queue of %s has its own deferral, set by netlink: the "
		       "deferral is not changed",
		       d->name);
		return;
	}
	key_of(key, p, "gro_flush_timeout");
	if (!strcmp(d->flush, "0"))
		change(p, key, FLUSH, admin,
		       "nanoseconds until the kernel polls if nothing else does");
	key_of(key, p, "napi_defer_hard_irqs");
	if (!strcmp(d->defer, "0"))
		change(p, key, DEFER, admin,
		       "empty polls before interrupts are on again");
}

static void busy_sysctl(struct plan *p)
{
	static const char why[] = "this kernel busy-polls for all sockets or for none";
	char old[VALUE];

	if (!strcmp(tree_value(old, "/proc/sys/net/core/busy_read"), "0"))
		change(p, "/proc/sys/net/core/busy_read", BUSY_USEC, root, why);
	if (!strcmp(tree_value(old, "/proc/sys/net/core/busy_poll"), "0"))
		change(p, "/proc/sys/net/core/busy_poll", BUSY_USEC, root, why);
}

static void threaded(struct plan *p)
{
	char cpu[24], key[192];

	snprintf(cpu, sizeof(cpu), "%ld", p->cpu);
	key_of(key, p, "threaded");
	if (!strcmp(p->dev->threaded, "0"))
		change(p, key, "1", admin, "kernel threads poll the queues");
	threads(p, cpu, "the thread that polls the queue runs on the network CPU");
	if (!p->dev->n_napi)
		advise(p,
		       "this kernel does not tell which threads are the device's: run "
		       "taskset -pc %ld $(pgrep napi/%s-)",
		       p->cpu, p->dev->name);
}

static void program_polls(struct plan *p, const struct machine *m)
{
	no_threads(p);
	rps(p, false, "packets stay on the CPU that polls");
	if (p->rung == EPOLL && !m->can.epoll_poll)
		busy_sysctl(p);
	if (p->dev->n_napi > 1)
		advise(p,
		       "%s has %zu queues for one CPU to poll: reduce them with "
		       "ethtool -L %s combined 1",
		       p->dev->name, p->dev->n_napi, p->dev->name);
	if (p->rung == SQPOLL)
		advise(p,
		       "the program must use io_uring with IORING_SETUP_SQPOLL|SQ_AFF, "
		       "sq_thread_cpu=%ld, and IORING_REGISTER_NAPI",
		       p->cpu);
	else if (m->can.epoll_poll)
		advise(p,
		       "the program must set EPIOCSPARAMS on its epoll instance and "
		       "wait there with a thread on CPU %ld",
		       p->cpu);
	defer(p, m);
}

/* ---- what the machine offers ---- */

static const char *lacks(enum rung r, const struct machine *m, const struct device *d,
			 const struct wish *w)
{
	if (r == ADVISE)
		return NULL;
	if (r == RPS && w->cpu >= 0 && CPU_ISSET((size_t)w->cpu, &m->isolated))
		return "the kernel hands no packets to an isolated CPU";
	if (r == RPS)
		return d->n_rx ? NULL : "the device has no receive queues";
	if (!d->has_napi)
		return "the device has no NAPI (no device has it while down; veth has "
		       "it with `ethtool -K DEV gro on`)";
	if (r == THREADED)
		return *d->threaded ? NULL
				    : "the kernel has no threaded NAPI (Linux 5.12)";
	if (!*d->defer || !*d->flush)
		return "the kernel can't defer interrupts (Linux 5.8)";
	if (r == EPOLL)
		return m->can.epoll_poll || *m->busy_poll
			   ? NULL
			   : "epoll can't busy-poll here";
	return m->can.sqpoll && m->can.uring_napi ? NULL
						  : "io_uring can't poll queues here";
}

/* An isolated CPU is better than one of the device's node, and that is better than any
 * other. Of equal ones the last is taken: the first CPUs have the most housekeeping. */
static long choose_cpu(const struct machine *m, const struct device *d, enum rung r)
{
	long best = -1;
	int worth = -1;
	char value[VALUE];
	cpu_set_t near;

	CPU_ZERO(&near);
	if (d->node >= 0)
		cpus_parse(tree_value(value, "/sys/devices/system/node/node%ld/cpulist",
				      d->node),
			   &near);
	for (size_t i = 0; i < CPU_SETSIZE; i++) {
		int w = 2 * !!CPU_ISSET(i, &m->isolated) + !!CPU_ISSET(i, &near);

		if (r == RPS && CPU_ISSET(i, &m->isolated))
			continue; /* the kernel refuses RPS there */
		if (CPU_ISSET(i, &m->online) && w >= worth) {
			best = (long)i;
			worth = w;
		}
	}
	return best;
}

static void about_cpu(struct plan *p, const struct machine *m)
{
	char list[VALUE];
	cpu_set_t set;

	tree_value(list, "/sys/devices/system/cpu/cpu%ld/topology/thread_siblings_list",
		   p->cpu);
	cpus_parse(list, &set);
	if (CPU_COUNT(&set) > 1)
		advise(p, "CPUs %s share a core: keep the others idle", list);
	if (!CPU_ISSET((size_t)p->cpu, &m->isolated))
		advise(p,
		       "other programs may still run on CPU %ld: keep them off with "
		       "cpusets, systemd's AllowedCPUs= or isolcpus=",
		       p->cpu);
	if (m->tuned)
		advise(p,
		       "tuned is running (profile %s) and writes its settings when a "
		       "profile is chosen: choose the profile before apply, not after",
		       m->profile);
}

/* Choose the best rung, or take the wished one. NULL, or what is missing for it. */
static const char *choose_rung(struct plan *p, const struct machine *m,
			       const struct wish *w)
{
	const char *why = NULL;
	int least = CPU_COUNT(&m->online) < 2 ? ADVISE : SQPOLL;

	if (w->rung >= 0) {
		p->rung = (enum rung)w->rung;
		if (w->rung < least)
			return "the machine has one CPU: none to spare for the network";
		return lacks(p->rung, m, p->dev, w);
	}
	if (least)
		advise(p, "the machine has one CPU: none to spare for the network");
	for (int r = least; r < RUNGS; r++) {
		p->rung = (enum rung)r;
		why = lacks(p->rung, m, p->dev, w);
		if (!why)
			return NULL;
		advise(p, "not %s: %s", rung_names[r], why);
	}
	return why;
}

static void fill(struct plan *p, const struct machine *m, const struct wish *w)
{
	if (p->rung == ADVISE)
		return;
	if (p->rung == THREADED)
		threaded(p);
	else if (p->rung == RPS)
		rps(p, true, "packets are processed on the network CPU");
	else
		program_polls(p, m);
	own_irqs(p, m);
	other_irqs(p, m, w->alone);
	about_cpu(p, m);
}

const char *plan_make(struct plan *p, const struct machine *m, const struct wish *w)
{
	const char *why;

	memset(p, 0, sizeof(*p));
	p->cpu = -1;
	p->rung = ADVISE;
	if (m->other_sys)
		return m->other_sys;
	p->dev = w->dev ? see_device(m, w->dev) : see_default_device(m);
	if (!p->dev && w->dev)
		return "there is no such device";
	if (!p->dev) {
		advise(p, "no device has NAPI or a default route: name one with --dev");
		return w->rung < 0 || w->rung == ADVISE ? NULL : "there is no device";
	}
	if (w->cpu >= 0 && !CPU_ISSET((size_t)w->cpu, &m->online))
		return "that CPU is not online";
	why = choose_rung(p, m, w);
	p->cpu = w->cpu >= 0 ? w->cpu : choose_cpu(m, p->dev, p->rung);
	if (!why)
		fill(p, m, w);
	return why;
}
