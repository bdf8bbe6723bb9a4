/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.c - what this machine has, what is used instead where it has not (law 6). */
#include <sys/resource.h>
#include <sys/utsname.h>

#include "api/inspect.h"
#include "arch/arch.h"
#include "base/panic.h"
#include "base/sys.h"
#include "event/probe.h"
#include "sched/vp.h"

typedef void row_fn(const char *, const char *, int, void *);

static void limits(row_fn *fn, void *arg)
{
	struct rlimit rl;
	char buf[128];

	if (!sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &rl)) {
		fmt_to(buf, sizeof(buf), "%lu (hard limit %lu)%s", (unsigned long)rl.rlim_cur,
		       (unsigned long)rl.rlim_max,
		       rl.rlim_cur < 4096 ? ": low for a server, see ulimit -n" : "");
		fn("open files", buf, rl.rlim_cur >= 4096, arg);
	}
}

UK_API int uk_doctor(row_fn *fn, void *arg)
{
	struct utsname u;
	char buf[160];
	int r = sched_start(), bad = 0;

	fn("ukthreads", UK_VERSION, 1, arg);
	if (!sys1(SYS_uname, &u)) {
		fmt_to(buf, sizeof(buf), "%s %s", u.release, u.machine);
		fn("kernel", buf, 1, arg);
	}
	if (r) {
		fmt_to(buf, sizeof(buf), "does not start: error %d", -r);
		fn("runtime", buf, 0, arg);
		return 1;
	}
	fmt_to(buf, sizeof(buf), "%u", vpset_default->n);
	fn("virtual processors", buf, 1, arg);
	fn("reactor", uk_reactor_name(), 1, arg);
	for (int i = 0; i < PROBE_COUNT; i++) {
		struct probe_row p = probe_row((enum probe)i);

		fmt_to(buf, sizeof(buf), "%s%s", p.present ? "yes" : "no: ",
		       p.present ? "" : p.instead);
		fn(p.name, buf, p.present, arg);
		bad += !p.present;
	}
	fn("thread pointer", arch_has_fsgsbase() ? "wrfsbase" : "arch_prctl (slower switches)",
	   arch_has_fsgsbase(), arg);
#if UK_SAN
	fn("TLS of user threads", "none: a sanitizer build makes light threads only", 0, arg);
#else
	fn("TLS of user threads", tls_method(), tls_method()[0] != 'n', arg);
#endif
	fn("stack guards", stack_guard_kind(), stack_guard_kind()[0] == 'M', arg);
	fn("activations", "marks and sampling monitor", 1, arg);
	limits(fn, arg);
	return bad;
}
