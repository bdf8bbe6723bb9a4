/* SPDX-License-Identifier: Apache-2.0 */
/* net.c - `uk net discover|plan|apply|verify|undo`: lets one CPU do the network's work.
 *
 * It does not need the runtime or another program, only /proc, /sys, netlink and a few
 * system calls. The parts, in the order in which data flows:
 *   tree      the files of this machine, or of a recorded one (--root)
 *   ask       what no file says
 *   see       reads the machine; discover prints it
 *   plan      lists the writes, each with its reason; changes nothing
 *   journal   saves the old values on disk before the first write
 *   apply     writes, and undoes
 *   verify    reads the settings back, and counts interrupts and packets
 *   commands  the order of checks and actions, and the messages
 * This file parses the command line.
 *
 * It is in C like the rest of `uk`: a script would need an interpreter with netlink,
 * which many machines do not have. (Rejected: a daemon that corrects settings
 * continuously. A person who changes a setting after apply has a reason; verify shows
 * the change.) */
#include "net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../options.h"
#include "commands.h"
#include "../out.h"
#include "tree.h"

static void usage(FILE *f)
{
	fprintf(f,
		"usage: uk net [discover|plan|apply|verify|undo] [OPTION...]\n"
		"  let one CPU do the network's work; the default command is plan\n"
		"  --dev NAME     network device; default: that of the default route\n"
		"  --cpu N        network CPU; default: an isolated one, or the last\n"
		"  --rung sqpoll|epoll|threaded|rps|advise   default: the best\n"
		"  --alone        move other interrupts away from the network CPU\n"
		"  --seconds N    verify: count for N seconds; default: 2\n"
		"  --loopback N   verify: count while N datagrams go through lo\n"
		"  --json         print one JSON object\n"
		"  --root DIR     use a recorded /proc and /sys below DIR\n");
}

static bool number(const char *s, long least, long most, long *to)
{
	char *end;

	*to = strtol(s, &end, 10);
	return *s && !*end && *to >= least && *to <= most;
}

static bool rung(const char *s, int *to)
{
	for (*to = 0; *to < RUNGS; ++*to)
		if (!strcmp(s, rung_names[*to]))
			return true;
	return false;
}

static bool take_option(int c, struct options *o)
{
	switch (c) {
	case 'd':
		o->wish.dev = optarg;
		return *optarg && !strchr(optarg, '/') && strlen(optarg) < IFNAMSIZ;
	case 'c':
		return number(optarg, 0, CPU_SETSIZE - 1, &o->wish.cpu);
	case 'r':
		return rung(optarg, &o->wish.rung);
	case 'a':
		return o->wish.alone = true;
	case 's':
		return number(optarg, 0, 3600, &o->seconds);
	case 'l':
		return number(optarg, 1, 100000000, &o->loopback);
	case 'j':
		return out_json = true;
	case 'R':
		tree_at(optarg);
		return *optarg;
	default:
		return false;
	}
}

/* With --json anywhere on the command line, the error is JSON, too. */
static int wrong(int argc, char **argv, const char *word)
{
	for (int i = 1; i < argc; i++)
		out_json |=
		    strlen(argv[i]) > 2 && !strncmp("--json", argv[i], strlen(argv[i]));
	if (word)
		fprintf(stderr, "uk net: invalid argument '%s'\n", word);
	usage(stderr);
	if (out_json) {
		out_begin();
		out_str("error", "wrong usage");
		out_end();
	}
	return USAGE;
}

int net(int argc, char **argv)
{
	OPTIONS(longs, VALUE_OF("dev", 'd'), VALUE_OF("cpu", 'c'),
		VALUE_OF("rung", 'r'), WORD("alone", 'a'), VALUE_OF("seconds", 's'),
		VALUE_OF("loopback", 'l'), WORD("json", 'j'), VALUE_OF("root", 'R'));
	struct options o = { .wish = { .cpu = -1, .rung = -1 }, .seconds = 2 };
	int which = 0, c;

	optind = 0;
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'h') {
			usage(stdout);
			return fflush(stdout) || ferror(stdout) ? FAILURE : DONE;
		}
		if (!take_option(c, &o))
			return wrong(argc, argv, c != '?' ? optarg : NULL);
	}
	if (optind < argc)
		which = command_find(argv[optind]);
	if (which < 0 || argc - optind > 1)
		return wrong(argc, argv, which < 0 ? argv[optind] : argv[optind + 1]);
	return command_run(which, &o);
}
