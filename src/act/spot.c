/* SPDX-License-Identifier: Apache-2.0 */
/* spot.c - our half of the event detector: brings spot.bpf.c into the kernel.
 *
 * One program for each process, held by descriptors in the monitor's own table of files: it is
 * gone with the process, however that ends, and a forked child starts its own.
 *
 * The program comes as a light skeleton: bytes that the kernel itself relocates against its own
 * types, so that at run time there is no library and no compiler. It wants CAP_BPF and
 * CAP_PERFMON.
 *
 * Rejected: a task work that wakes a futex in a map that is shared with the kernel (6.18; each
 * fork would have to replace the map, and a work that was done just before the wait is lost
 * without a word in that map); a ring of events and a poll (the monitor would wait for two
 * things, the timer's signal and the ring); ownership of vps in a map, taken away by the
 * program itself (the kernel would write what the process lives by). A signal that waits for
 * the monitor keeps, with the carrier's address in it, until it is fetched.
 */
#include "act/spot.h"

#include <errno.h>

#include "base/sys.h"

#if UK_HAVE_BPF

#include "act/spot_skel.h"
#include "act/spot_view.h"

_Static_assert(offsetof(struct carrier, in_rt) ==
		       offsetof(struct spot_carrier, in_rt) &&
		   offsetof(struct carrier, vp) == offsetof(struct spot_carrier, vp) &&
		   offsetof(struct uk_vp, owner) == 0,
	       "spot.bpf.c reads them");

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#define PIDFD_OF_THREAD 0200 /* PIDFD_THREAD: O_EXCL */

static struct spot_bpf skel;

static int bpf_call(int cmd, union bpf_attr *attr)
{
	return (int)sys3(SYS_bpf, cmd, attr, sizeof(*attr));
}

static int learn(void)
{
	union bpf_attr a = { .test.prog_fd = (uint32_t)skel.progs.learn.prog_fd };
	int r = bpf_call(BPF_PROG_TEST_RUN, &a);

	return r ? r : a.test.retval ? -EINVAL : 0;
}

int spot_start(void)
{
	int r;

	skel = (struct spot_bpf){ .ctx.sz = offsetof(struct spot_bpf, links) };
	r = spot_bpf__load(&skel);
	if (!r)
		r = learn();
	if (!r)
		r = spot_bpf__attach(&skel);
	if (r)
		spot_stop();
	return r;
}

void spot_stop(void)
{
	int fds[] = { skel.links.on_switch_fd, skel.progs.learn.prog_fd,
		      skel.progs.on_switch.prog_fd, skel.maps.home.map_fd,
		      skel.maps.seats.map_fd };

	for (unsigned i = 0; i < array_size(fds); i++)
		if (fds[i] > 0)
			sys1(SYS_close, fds[i]);
	skel = (struct spot_bpf){ .ctx.sz = 0 };
}

bool spot_seat(struct carrier *c)
{
	long fd = sys2(SYS_pidfd_open, c->tid, PIDFD_OF_THREAD);
	uint64_t address = (uintptr_t)c;
	int key = (int)fd, r;
	union bpf_attr a = { .map_fd = (uint32_t)skel.maps.seats.map_fd,
			     .key = (uintptr_t)&key,
			     .value = (uintptr_t)&address };

	if (fd < 0)
		return false;
	r = bpf_call(BPF_MAP_UPDATE_ELEM, &a);
	sys1(SYS_close, fd);
	return !r;
}

#else

int spot_start(void)
{
	return -ENOSYS;
}

void spot_stop(void) {}

bool spot_seat(struct carrier *c UNUSED)
{
	return false;
}

#endif

const char *spot_error(int r)
{
	switch (-r) {
	case ENOSYS:
		return "not built in: needs clang, bpftool and libbpf-dev where it is built";
	case EACCES:
		return "not tried under a seccomp filter, which may kill for it";
	case EPERM:
		return "needs root, or CAP_BPF and CAP_PERFMON: setcap "
		       "cap_bpf,cap_perfmon+ep PROGRAM";
	case EMFILE:
	case ENOMEM:
	case EAGAIN:
		return "no memory or descriptors for it";
	default:
		return "needs Linux 6.13 with BTF (bpf_send_signal_task)";
	}
}
