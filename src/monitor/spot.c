/* SPDX-License-Identifier: Apache-2.0 */
/* spot.c - the process's half of the event detector: loads spot.bpf.c, or asks a
 * broker.
 *
 * A process that may load the program has one of its own, held by fds in the monitor's
 * own table of files: it is gone with the process, however that ends, and a forked
 * child loads its own. Other processes are served by `uk broker`, if there is one
 * (peer.c).
 *
 * Rejected: a task work that wakes a futex in a map that is shared with the kernel
 * (6.18; each fork would have to replace the map, and a work that was done just before
 * the wait is lost without a word in that map); a ring of events and a poll (the
 * monitor would wait for two things, the timer's signal and the ring); ownership of vps
 * in a map, taken away by the program itself (the kernel would write data on which the
 * process depends); a spare that the event names, and that takes the vp itself (it
 * saves the monitor's 5 of 19 us where the interrupt that carries the event takes 11;
 * every carrier would have to keep libc's signal blocked, whatever mask its program
 * sets, because a late signal ends the process). A signal that waits for the monitor is
 * kept, with the carrier's address in it, until it is fetched.
 */
#include "monitor/spot.h"

#include <errno.h>

#include "monitor/alarm.h"
#include "monitor/peer.h"
#include "monitor/spot_load.h"
#include "base/sys.h"

_Static_assert(offsetof(struct carrier, in_rt) ==
		       offsetof(struct spot_carrier, in_rt) &&
		   offsetof(struct carrier, vp) == offsetof(struct spot_carrier, vp) &&
		   offsetof(struct uk_vp, owner) == 0 && SPOT_SIGNAL == ALARM_SIGNAL,
	       "spot.bpf.c knows them");

static const uint64_t home = 1; /* the only one of our own program */
static bool brokered;

static int give_seat(int tid, uint64_t carrier)
{
	int fd = spot_thread(tid), r;

	if (fd < 0)
		return fd;
	r = spot_give_seat(fd, home, carrier);
	sys1(SYS_close, fd);
	return r;
}

static int start_here(void)
{
	int r = spot_load();

	if (r)
		return r;
	r = spot_home(home, SPOT_ANYONE);
	if (!r)
		r = spot_attach();
	if (!r)
		r = give_seat(sys_gettid(), 0);
	if (r)
		spot_unload();
	return r;
}

int spot_start(void)
{
	int r = start_here();

	brokered = (r == -EPERM || r == -ENOSYS) && !peer_start();
	return brokered ? -EINPROGRESS : r;
}

bool spot_brokered(void)
{
	return brokered;
}

void spot_stop(void)
{
	if (brokered)
		peer_stop();
	else
		spot_unload();
}

int spot_seat(struct carrier *c)
{
	return brokered ? peer_seat(c->tid, (uintptr_t)c)
			: give_seat(c->tid, (uintptr_t)c);
}

const char *spot_error(int r)
{
	switch (-r) {
	case ENOSYS:
		return "not built in: the build needs clang, bpftool, libbpf-dev";
	case EACCES:
		return "not tried: a seccomp filter may kill the process for it";
	case EPERM:
		return "needs root, or CAP_BPF and CAP_PERFMON (setcap "
		       "cap_bpf,cap_perfmon+ep PROGRAM), or a broker (sudo systemctl "
		       "enable --now uk-broker.socket)";
	case EINPROGRESS:
		return "waits for the broker's answer";
	case EXDEV:
		return "refused by the broker, which is in another pid namespace";
	case ENOTUNIQ:
		return "refused by the broker: the process has more than one user id";
	case EPROTO:
		return "refused by the broker, which has another version";
	case EUSERS:
		return "refused by the broker: this user has reached its limit";
	case ENFILE:
		return "refused by the broker, which can serve no more processes";
	case ENOTCONN:
		return "lost: the broker is gone";
	case EMFILE:
	case ENOMEM:
	case EAGAIN:
		return "failed: no memory or no fd is free";
	default:
		return "needs Linux 6.13 with BTF (bpf_send_signal_task)";
	}
}
