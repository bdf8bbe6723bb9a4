/* SPDX-License-Identifier: Apache-2.0 */
/* The command line, by getopt_long. A bad option ends with status 2 and one clear line; what
 * the machine refuses (address, root, certificate) ends with status 3. */
#include "web.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

struct config cfg = {
	.mode = MODE_UK,
	.port = "8080",
	.root = ".",
	.follow = true,
	.status = true,
	.backlog = 4096,
	.max_body = 1u << 20,
	.lim = { .max_uri = 8192, .max_header = 16384, .max_fields = 100 },
	.t_idle = 60 * UK_SEC,
	.t_header = 20 * UK_SEC,
	.t_body = 30 * UK_SEC,
	.t_write = 60 * UK_SEC,
	.t_handshake = 15 * UK_SEC,
	.t_stop = 30 * UK_SEC,
	.t_cache = UK_SEC,
	.cache_files = 1024,
};

enum {
	O_MODE = 256,
	O_BIND,
	O_VPS,
	O_CERT,
	O_KEY,
	O_LOG,
	O_PID,
	O_MAX_CONNS,
	O_MAX_HEADER,
	O_MAX_URI,
	O_MAX_BODY,
	O_T_IDLE,
	O_T_HEADER,
	O_T_BODY,
	O_T_WRITE,
	O_T_HANDSHAKE,
	O_T_STOP,
	O_CACHE,
	O_BACKLOG,
	O_STACK,
	O_LIGHT,
	O_FULL,
	O_USER,
	O_CHROOT,
	O_SANDBOX,
	O_PRECOMPRESSED,
	O_CACHE_CONTROL,
	O_NO_FOLLOW,
	O_NO_STATUS,
	O_STATUS_REMOTE,
	O_VERSION,
};

static const struct option longs[] = {
	{ "mode", required_argument, NULL, O_MODE },
	{ "port", required_argument, NULL, 'p' },
	{ "bind", required_argument, NULL, O_BIND },
	{ "listen", required_argument, NULL, O_BIND },
	{ "root", required_argument, NULL, 'r' },
	{ "vps", required_argument, NULL, O_VPS },
	{ "tls-cert", required_argument, NULL, O_CERT },
	{ "tls-key", required_argument, NULL, O_KEY },
	{ "access-log", required_argument, NULL, O_LOG },
	{ "pid-file", required_argument, NULL, O_PID },
	{ "max-conns", required_argument, NULL, O_MAX_CONNS },
	{ "max-header", required_argument, NULL, O_MAX_HEADER },
	{ "max-uri", required_argument, NULL, O_MAX_URI },
	{ "max-body", required_argument, NULL, O_MAX_BODY },
	{ "timeout-idle", required_argument, NULL, O_T_IDLE },
	{ "timeout-header", required_argument, NULL, O_T_HEADER },
	{ "timeout-body", required_argument, NULL, O_T_BODY },
	{ "timeout-write", required_argument, NULL, O_T_WRITE },
	{ "timeout-handshake", required_argument, NULL, O_T_HANDSHAKE },
	{ "timeout-stop", required_argument, NULL, O_T_STOP },
	{ "cache-time", required_argument, NULL, O_CACHE },
	{ "backlog", required_argument, NULL, O_BACKLOG },
	{ "stack", required_argument, NULL, O_STACK },
	{ "light", no_argument, NULL, O_LIGHT },
	{ "user", required_argument, NULL, O_USER },
	{ "chroot", no_argument, NULL, O_CHROOT },
	{ "sandbox", no_argument, NULL, O_SANDBOX },
	{ "precompressed", no_argument, NULL, O_PRECOMPRESSED },
	{ "cache-control", required_argument, NULL, O_CACHE_CONTROL },
	{ "full", no_argument, NULL, O_FULL },
	{ "no-symlinks", no_argument, NULL, O_NO_FOLLOW },
	{ "no-status", no_argument, NULL, O_NO_STATUS },
	{ "status-remote", no_argument, NULL, O_STATUS_REMOTE },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, O_VERSION },
	{ NULL, 0, NULL, 0 },
};

static void usage(void)
{
	puts(
	    "usage: ukweb [options]\n"
	    "\n"
	    "  --mode=M             uk (user threads), uk-set (acceptor in a set of its own),\n"
	    "                       pth (kernel threads)                        [uk]\n"
	    "  -p, --port=N         port; 0 = any free one                      [8080]\n"
	    "      --listen=WHERE   ADDR, ADDR:PORT, [ADDR]:PORT or unix:PATH; may be given\n"
	    "                       more than once (also --bind)                [127.0.0.1]\n"
	    "  -r, --root=DIR       serve the files below DIR                   [.]\n"
	    "      --vps=N          virtual processors               [CPUs, or UK_VPS]\n"
	    "      --full           connections are full threads, with TLS blocks of their own\n"
	    "      --stack=SIZE     stack of a connection's thread       [64k; 256k with TLS]\n"
	    "      --tls-cert=FILE  certificate chain, PEM: serve HTTPS\n"
	    "      --tls-key=FILE   its private key, PEM\n"
	    "      --access-log=F   Combined Log Format; - is standard output   [none]\n"
	    "      --precompressed  serve FILE.br or FILE.gz to those who accept it\n"
	    "      --cache-control=[PATTERN:]VALUE   a Cache-Control field, also for paths that\n"
	    "                       match only; the first one that matches counts\n"
	    "      --user=NAME[:GROUP]  --chroot  --sandbox   fewer rights after the start\n"
	    "      --pid-file=FILE  write the process id there\n"
	    "\n"
	    "  limits: --max-conns=N --max-header=SIZE [16k] --max-uri=SIZE [8k]\n"
	    "          --max-body=SIZE [1m] --backlog=N [4096]\n"
	    "  times (s; also 500ms, 2m): --timeout-idle [60] --timeout-header [20]\n"
	    "          --timeout-body [30] --timeout-write [60] --timeout-handshake [15]\n"
	    "          --timeout-stop [30] --cache-time [1; 0 = no cache]\n"
	    "      --no-symlinks    follow no symbolic link at all\n"
	    "      --no-status      no /-/status and /metrics\n"
	    "      --status-remote  show them to others than this machine\n"
	    "  -q, --quiet          say nothing but errors\n"
	    "  -h, --help; --version\n"
	    "\n"
	    "SIGTERM or SIGINT: finish what was accepted, then exit. Twice: exit now.\n"
	    "SIGHUP: open root and access log, load the certificate anew.\n"
	    "SIGUSR1: reopen the access log. SIGUSR2: start a successor, which takes over.");
}

static _Noreturn void bad(const char *opt, const char *val, const char *want)
{
	die(EX_USAGE_, "--%s=%s: %s (see --help)", opt, val, want);
}

static uint64_t number(const char *opt, const char *v, uint64_t min, uint64_t max,
		       bool size)
{
	char *end, want[80];
	unsigned long long n = strtoull(v, &end, 10);
	unsigned shift = 0;

	if (size && *end && end[1] == 0)
		shift = (*end | 32) == 'k' ? 10 : (*end | 32) == 'm' ? 20 : 0;
	if (v[0] < '0' || v[0] > '9' || (*end && !shift) || n > max >> shift ||
	    n << shift < min) {
		snprintf(want, sizeof(want), "a number from %llu to %llu is wanted",
			 (unsigned long long)min, (unsigned long long)max);
		bad(opt, v, want);
	}
	return n << shift;
}

static uk_time span(const char *opt, const char *v, double min)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {
		{ "", 1e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "m", 60e9 }, { "h", 3600e9 }
	};
	char *end;
	double x = strtod(v, &end);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (end != v && strcmp(end, units[i].unit) == 0 &&
		    x * units[i].ns >= min && x * units[i].ns < 1e17)
			return (uk_time)(x * units[i].ns);
	bad(opt, v, "a time such as 10, 500ms or 2m is wanted");
}

static void set_mode(const char *v)
{
	if (strcmp(v, "pth") == 0)
		cfg.mode = MODE_PTH;
	else if (strcmp(v, "uk") == 0)
		cfg.mode = MODE_UK;
	else if (strcmp(v, "uk-set") == 0)
		cfg.mode = MODE_UK_SET;
	else
		bad("mode", v, "one of pth, uk, uk-set is wanted");
}

static void set_time(int o, const char *name, const char *v)
{
	static const struct {
		int o;
		uk_time *t;
	} where[] = {
		{ O_T_IDLE, &cfg.t_idle }, { O_T_HEADER, &cfg.t_header },
		{ O_T_BODY, &cfg.t_body }, { O_T_WRITE, &cfg.t_write },
		{ O_T_STOP, &cfg.t_stop }, { O_T_HANDSHAKE, &cfg.t_handshake },
		{ O_CACHE, &cfg.t_cache },
	};

	for (size_t i = 0; i < sizeof(where) / sizeof(where[0]); i++)
		if (where[i].o == o)
			*where[i].t = span(name, v, o == O_CACHE ? 0 : 1e6);
}

static void cache_rule(const char *name, const char *v)
{
	if (cfg.rules == MAX_RULES)
		bad(name, v, "that is one rule too many");
	if (!*v || strlen(v) > 120)
		bad(name, v, "a value of 1 to 120 characters is wanted");
	for (const char *p = v; *p; p++)
		if (*p < 32 || *p > 126)
			bad(name, v, "printable ASCII is wanted");
	cfg.cache_control[cfg.rules++] = v;
}

static void set(int o, const char *name, const char *v)
{
	switch (o) {
	case O_MODE:
		set_mode(v);
		break;
	case 'p':
		number("port", v, 0, 65535, false);
		cfg.port = v;
		break;
	case O_BIND:
		if (cfg.listens == MAX_LISTENERS)
			bad(name, v, "that is one address too many");
		cfg.listen[cfg.listens++] = v;
		break;
	case 'r':
		cfg.root = v;
		break;
	case O_VPS:
		cfg.vps = (unsigned)number(name, v, 1, 256, false);
		break;
	case O_CERT:
		cfg.tls_cert = v;
		break;
	case O_KEY:
		cfg.tls_key = v;
		break;
	case O_LOG:
		cfg.access_log = v;
		break;
	case O_PID:
		cfg.pid_file = v;
		break;
	case O_MAX_CONNS:
		cfg.max_conns = (unsigned)number(name, v, 1, 10000000, false);
		break;
	case O_MAX_HEADER:
		cfg.lim.max_header = (uint32_t)number(name, v, 512, 1u << 20, true);
		break;
	case O_MAX_URI:
		cfg.lim.max_uri = (uint32_t)number(name, v, 64, 1u << 20, true);
		break;
	case O_MAX_BODY:
		cfg.max_body = number(name, v, 0, 1ull << 40, true);
		break;
	case O_BACKLOG:
		cfg.backlog = (unsigned)number(name, v, 1, 65535, false);
		break;
	case O_STACK:
		cfg.stack = number(name, v, 32768, 1u << 26, true);
		break;
	case O_LIGHT:
		cfg.full = false;
		break;
	case O_USER:
		cfg.user = v;
		break;
	case O_CHROOT:
		cfg.chroot = true;
		break;
	case O_SANDBOX:
		cfg.sandbox = true;
		break;
	case O_PRECOMPRESSED:
		cfg.precompressed = true;
		break;
	case O_CACHE_CONTROL:
		cache_rule(name, v);
		break;
	case O_FULL:
		cfg.full = true;
		break;
	case O_NO_FOLLOW:
		cfg.follow = false;
		break;
	case O_NO_STATUS:
		cfg.status = false;
		break;
	case O_STATUS_REMOTE:
		cfg.status_remote = true;
		break;
	case 'q':
		cfg.quiet = true;
		break;
	case 'h':
		usage();
		exit(EX_OK);
	case O_VERSION:
		printf("ukweb %s\n", UK_VERSION);
		exit(EX_OK);
	default:
		set_time(o, name, v);
	}
}

/* What follows from what was said; and as many descriptors as we may have. */
static void settle(void)
{
	struct rlimit rl;
	unsigned fds = 1024;

	if (!cfg.listens)
		cfg.listen[cfg.listens++] = "127.0.0.1";
	if (!cfg.tls_cert != !cfg.tls_key)
		die(EX_USAGE_, "--tls-cert and --tls-key go together");
	if (cfg.full && cfg.mode == MODE_PTH)
		die(EX_USAGE_, "--full is for user threads, not for --mode=pth");
	if (cfg.lim.max_uri + 512 > cfg.lim.max_header)
		cfg.lim.max_header = cfg.lim.max_uri + 512;
	if (!cfg.stack)
		cfg.stack = cfg.tls_cert ? 256 * 1024 : 64 * 1024;
	if (cfg.t_cache == 0)
		cfg.cache_files = 0;
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_NOFILE, &rl);
		getrlimit(RLIMIT_NOFILE, &rl);
		fds = rl.rlim_cur < 10000000 ? (unsigned)rl.rlim_cur : 10000000;
	}
	/* An entry may hold a descriptor: with few of them, cache little. */
	if (fds < 4 * cfg.cache_files)
		cfg.cache_files = fds < 64 ? 0 : fds / 4;
	if (!cfg.max_conns)
		cfg.max_conns = fds > 200 ? fds - 64 - cfg.cache_files : fds;
}

void options_parse(int argc, char **argv)
{
	int o, at = 0;

	while ((o = getopt_long(argc, argv, "p:r:qh", longs, &at)) != -1) {
		if (o == '?')
			exit(EX_USAGE_); /* getopt has said what is wrong */
		set(o, o >= 256 ? longs[at].name : "", optarg);
	}
	if (optind < argc)
		die(EX_USAGE_, "%s: not an option (see --help)", argv[optind]);
	settle();
}
