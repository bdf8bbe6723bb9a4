/* SPDX-License-Identifier: Apache-2.0 */
/* broker.c - `uk broker`: the event detector for processes that may not load it
 * themselves.
 *
 * The broker loads spot.bpf.c once, as root, and drops all privileges. Then it
 * registers the threads of processes that ask, by the protocol of monitor/broker.h. It has
 * the only fds of the BPF program and its maps, and nothing is pinned. So when the
 * broker ends in any way, the kernel removes everything; each process prints a line
 * about that and finds its blocked threads by itself again.
 *
 * A process cannot harm others through the broker. A thread that it names is looked up
 * by pidfd and must be its own. What it says about its memory is read by the kernel in
 * that same memory. A signal goes only to the process that blocked, and only where
 * kill(2) by the same user could send one. What it can do to the broker is limited for
 * each user (peers.c).
 *
 * Rejected: a BPF program for each process (loading one takes about 10 ms, and each
 * would run at every switch of the machine); handing out the maps (a peer could write
 * anything there, and keep them after the broker ends); taking pidfds from the peer,
 * which would work across pid namespaces (closing a file from a stranger may block).
 */
#include "broker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "monitor/broker.h"
#include "monitor/spot_load.h"
#include "../options.h"

static void usage(FILE *f)
{
	fprintf(f,
		"usage: uk broker [--socket PATH]\n"
		"Tells processes that may not load BPF programs which of their threads "
		"block.\n"
		"Needs root (CAP_BPF and CAP_PERFMON) to start; see uk-broker(1).\n"
		"PATH is %s by default; processes find another one by UK_BROKER.\n",
		BROKER_PATH);
}

static int begin(const char *path)
{
	int r = spot_load();
	int listener;

	if (r) {
		fprintf(stderr, "uk broker: the BPF program cannot be loaded: %s%s\n",
			strerror(-r),
			r == -EPERM    ? "; it needs root, or CAP_BPF and CAP_PERFMON"
			: r == -ENOSYS ? ""
				       : "; it needs Linux 6.13 with BTF");
		return 1;
	}
	listener = broker_listen(path);
	if (listener < 0)
		return 1;
	if (!broker_prepare(listener)) {
		fprintf(stderr, "uk broker: not enough file descriptors: %s\n",
			strerror(errno));
		return 1;
	}
	if (!broker_drop())
		return 1;
	printf("uk broker: ready\n");
	fflush(stdout);
	broker_serve(listener);
	return 1;
}

int broker(int argc, char **argv)
{
	OPTIONS(longs, VALUE_OF("socket", 's'));
	const char *path = BROKER_PATH;
	int c;

	optind = 0; /* glibc: scan argv from the beginning, with these options */
	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c == 's') {
			path = optarg;
			continue;
		}
		usage(c == 'h' ? stdout : stderr);
		return c == 'h' ? 0 : 2;
	}
	if (optind < argc) {
		usage(stderr);
		return 2;
	}
	return begin(path);
}
