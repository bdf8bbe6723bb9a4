/* SPDX-License-Identifier: Apache-2.0 */
/* spot_load.c - loads spot.bpf.c into the kernel, and tells it which threads to watch.
 *
 * The program comes as a light skeleton: bytes that the kernel itself relocates against
 * its own types, so that no library and no compiler is needed at run time. Loading
 * needs CAP_BPF and CAP_PERFMON; everything later needs only the fds, which is why the
 * broker can drop all its privileges.
 */
#include "monitor/spot_load.h"

#include <errno.h>

#include "base/sys.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#define PIDFD_OF_THREAD 0200 /* PIDFD_THREAD: O_EXCL */

int spot_thread(int tid)
{
	return (int)sys2(SYS_pidfd_open, tid, PIDFD_OF_THREAD);
}

#if UK_HAVE_BPF

#include "monitor/spot_skel.h"

static struct spot_bpf skel;

static int bpf_call(int cmd, union bpf_attr *attr)
{
	return (int)sys3(SYS_bpf, cmd, attr, sizeof(*attr));
}

static int map_set(int map, const void *key, const void *value)
{
	union bpf_attr a = { .map_fd = (uint32_t)map,
			     .key = (uintptr_t)key,
			     .value = (uintptr_t)value };

	return bpf_call(BPF_MAP_UPDATE_ELEM, &a);
}

int spot_load(void)
{
	skel = (struct spot_bpf){ .ctx.sz = offsetof(struct spot_bpf, links) };
	return spot_bpf__load(&skel);
}

int spot_attach(void)
{
	union bpf_attr a = { .raw_tracepoint.prog_fd =
				 (uint32_t)skel.progs.on_switch.prog_fd };
	int fd = bpf_call(BPF_RAW_TRACEPOINT_OPEN, &a);

	if (fd < 0)
		return fd;
	skel.links.on_switch_fd = fd;
	return 0;
}

static void close_if_open(int *fd)
{
	if (*fd > 0)
		sys1(SYS_close, *fd);
	*fd = 0;
}

void spot_detach(void)
{
	close_if_open(&skel.links.on_switch_fd);
}

void spot_unload(void)
{
	spot_detach();
	close_if_open(&skel.progs.on_switch.prog_fd);
	close_if_open(&skel.maps.homes.map_fd);
	close_if_open(&skel.maps.seats.map_fd);
}

int spot_home(uint64_t home, unsigned uid)
{
	struct spot_home h = { .uid = uid };

	return map_set(skel.maps.homes.map_fd, &home, &h);
}

void spot_no_home(uint64_t home)
{
	union bpf_attr a = { .map_fd = (uint32_t)skel.maps.homes.map_fd,
			     .key = (uintptr_t)&home };

	bpf_call(BPF_MAP_DELETE_ELEM, &a);
}

int spot_give_seat(int pidfd, uint64_t home, uint64_t carrier)
{
	struct spot_seat s = { home, carrier };

	return map_set(skel.maps.seats.map_fd, &pidfd, &s);
}

#else

int spot_load(void)
{
	return -ENOSYS;
}

int spot_attach(void)
{
	return -ENOSYS;
}

void spot_detach(void) {}
void spot_unload(void) {}

int spot_home(uint64_t home UNUSED, unsigned uid UNUSED)
{
	return -ENOSYS;
}

void spot_no_home(uint64_t home UNUSED) {}

int spot_give_seat(int pidfd UNUSED, uint64_t home UNUSED, uint64_t carrier UNUSED)
{
	return -ENOSYS;
}

#endif
