/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.c - what this machine has, and what replaces what is missing (law 6,
 * docs/ARCHITECTURE.md). */
#include <sys/resource.h>
#include <sys/utsname.h>

#include "debug/inspect.h"
#include "monitor/detect.h"
#include "arch/arch.h"
#include "base/env.h"
#include "base/log.h"
#include "base/sys.h"
#include "reactor/probe.h"
#include "sched/vp.h"

#define FEW_CARRIERS 256u

typedef void row_fn(const char *, const char *, int, void *);

/* Explains why there is no ring. */
static void explain(char *buf, size_t n, int err)
{
	struct rlimit rl = { RLIM_INFINITY, RLIM_INFINITY };

	sys4(SYS_prlimit64, 0, RLIMIT_MEMLOCK, NULL, &rl);
	switch (-err) {
	case ENOMEM:
		if (rl.rlim_cur == RLIM_INFINITY)
			fmt_to(buf, n, "no memory for a ring");
		else
			fmt_to(buf, n,
			       "a ring's memory does not fit into the limit of locked "
			       "memory (RLIMIT_MEMLOCK), %lu KiB: raise ulimit -l",
			       (unsigned long)(rl.rlim_cur >> 10));
		break;
	case EPERM:
	case EACCES:
		fmt_to(buf, n,
		       "refused: kernel.io_uring_disabled, or a seccomp filter");
		break;
	case ENOSYS:
		fmt_to(buf, n, "this kernel has none, or one without a needed feature");
		break;
	case EMFILE:
	case ENFILE:
		fmt_to(buf, n, "no fd is free for a ring: raise ulimit -n");
		break;
	default:
		fmt_to(buf, n, "a ring cannot be made: error %d", -err);
	}
}

static unsigned vps_on_epoll(void)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < load_acquire(&vp_count_all); i++)
		n += vp_all[i]->reactor.ops == &epoll_ops;
	return n;
}

static void reactor_row(row_fn *fn, void *arg)
{
	int err = load_relaxed(&reactor_dropped);
	char buf[240], why[160];

	if (err) {
		explain(why, sizeof(why), err);
		fmt_to(buf, sizeof(buf), "epoll for %u of %u vps: %s", vps_on_epoll(),
		       load_acquire(&vp_count_all), why);
	} else {
		fmt_to(buf, sizeof(buf), "%s%s", uk_reactor_name(),
		       env_get("UK_REACTOR") ? ", by UK_REACTOR" : "");
	}
	fn("reactor", buf, !err, arg);
}

/* A row for each set that wants a network processor. */
static int net_rows(row_fn *fn, void *arg)
{
	int bad = 0;

	for (uint32_t i = 0; i < load_acquire(&vp_count_all); i++) {
		const struct uk_vpset *s = vp_all[i]->set;
		int has = uk_vpset_sqpoll(s);
		char name[64], buf[120];

		if (vp_all[i]->index || !has)
			continue;
		fmt_to(name, sizeof(name), "network processor of set %s", s->name);
		if (has < 0)
			fmt_to(buf, sizeof(buf), "none: error %d", has);
		else
			fmt_to(
			    buf, sizeof(buf), "yes, %s%s",
			    s->net_cpu.cpu < 0 ? "on any CPU" : "on a CPU of its own",
			    s->net_cpu.napi_err ? "; it polls no network queue" : "");
		fn(name, buf, has > 0 && !s->net_cpu.napi_err, arg);
		bad += has < 0;
	}
	return bad;
}

static void vps_row(row_fn *fn, void *arg)
{
	int64_t milli = cpus_quota();
	unsigned n = vpset_default->n;
	bool fewer = !env_get("UK_VPS") && n < cpus_vps(process_cpus.n);
	bool cut = !env_get("UK_VPS") && process_cpus.n > SET_MOST && n == SET_MOST;
	char buf[240], quota[60] = "";

	if (milli >= 0)
		fmt_to(quota, sizeof(quota), ", a control group allows %ld.%ld",
		       (long)(milli / 1000), (long)(milli % 1000 / 100));
	fmt_to(buf, sizeof(buf), "%u (%u CPUs%s%s%s)", n, process_cpus.n, quota,
	       env_get("UK_VPS") ? "; UK_VPS" : "",
	       cut     ? "; the limit of a set"
	       : fewer ? "; RLIMIT_NPROC, pids.max, memory or ulimit -n allows no more"
		       : "");
	fn("virtual processors", buf, !cut && !fewer, arg);
}

static void limits(row_fn *fn, void *arg)
{
	struct rlimit rl;
	char buf[128];

	if (!sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &rl)) {
		fmt_to(buf, sizeof(buf), "%lu (hard limit %lu)%s",
		       (unsigned long)rl.rlim_cur, (unsigned long)rl.rlim_max,
		       rl.rlim_cur < 4096 ? ": low for a server, raise ulimit -n" : "");
		fn("open files", buf, rl.rlim_cur >= 4096, arg);
	}
	cap_learn();
	fmt_to(buf, sizeof(buf), "%u, %s%s", carriers_cap(), carriers_cap_origin(),
	       carriers_cap() < FEW_CARRIERS
		   ? ": when so many threads are in blocking calls, the others stop"
		   : "");
	fn("kernel threads", buf, carriers_cap() >= FEW_CARRIERS, arg);
	if (!sys4(SYS_prlimit64, 0, RLIMIT_AS, NULL, &rl) &&
	    rl.rlim_cur != RLIM_INFINITY) {
		fmt_to(buf, sizeof(buf),
		       "%lu MiB (RLIMIT_AS): each thread takes its whole stack of it",
		       (unsigned long)(rl.rlim_cur >> 20));
		fn("address space", buf, false, arg);
	}
}

UK_API int uk_doctor(row_fn *fn, void *arg)
{
	struct utsname u;
	char buf[400];
	int r = sched_start(), bad = 0;

	fn("ukthreads", UK_VERSION, 1, arg);
	if (!sys1(SYS_uname, &u)) {
		fmt_to(buf, sizeof(buf), "%s %s", u.release, u.machine);
		fn("kernel", buf, 1, arg);
	}
	if (r) {
		fmt_to(buf, sizeof(buf),
		       "does not start: error %d (the reason is on standard error)",
		       -r);
		fn("runtime", buf, 0, arg);
		return 1;
	}
	vps_row(fn, arg);
	reactor_row(fn, arg);
	bad += net_rows(fn, arg);
	for (int i = 0; i < PROBE_COUNT; i++) {
		struct probe_row p = probe_row((enum probe)i);

		fmt_to(buf, sizeof(buf), "%s%s",
		       p.present ? "yes" : "no: ", p.present ? "" : p.instead);
		fn(p.name, buf, p.present, arg);
		bad += !p.present;
	}
	fn("thread pointer", arch_tp_how(), arch_has_fsgsbase(), arg);
#if UK_SAN
	fn("TLS of user threads", "none: a sanitizer build makes light threads only", 0,
	   arg);
#else
	fn("TLS of user threads",
	   arch_full_threads() ? tls_method()
			       : "none: on this processor every thread is light",
	   tls_method()[0] != 'n', arg);
#endif
	fn("stack guards", stack_guard_kind(), stack_guard_kind()[0] == 'M', arg);
	detect_explain(buf, sizeof(buf));
	fn("activations", buf, 1, arg);
	limits(fn, arg);
	return bad;
}
