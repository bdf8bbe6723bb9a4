/* SPDX-License-Identifier: Apache-2.0 */
/* The command line, by getopt_long. A bad option prints one line and ends with status
 * 2. If the machine refuses something (address, root, certificate), the status is 3.
 *
 * Rare settings are items of a few options: --limit conns=9,body=1m. Most items were
 * options of their own before 0.2, and 0.2 still takes these names. */
#include "web.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

struct config cfg = {
	.mode = MODE_UK,
	.net_cpu = -1,
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

static void usage(void)
{
	puts(
	    "usage: ukweb [options]\n"
	    "\n"
	    "  --mode=M             uk (user threads), uk-set (acceptors in their own set),\n"
	    "                       net (uk, with a network processor),\n"
	    "                       pth (kernel threads)                        [uk]\n"
	    "      --net-cpu=N      CPU of the network processor                [any]\n"
	    "  -p, --port=N         port; 0: any free one                       [8080]\n"
	    "      --listen=WHERE   ADDR, ADDR:PORT, [ADDR]:PORT or unix:PATH; may be given\n"
	    "                       more than once                              [127.0.0.1]\n"
	    "  -r, --root=DIR       serve the files below DIR                   [.]\n"
	    "      --vps=N          virtual processors               [CPUs, or UK_VPS]\n"
	    "      --tls-cert=FILE  certificate chain, PEM: serve HTTPS\n"
	    "      --tls-key=FILE   its private key, PEM\n"
	    "      --access-log=F   Combined Log Format; - is standard output   [none]\n"
	    "      --precompressed  send FILE.br or FILE.gz to clients that accept it\n"
	    "      --cache-control=[PATTERN:]VALUE   send a Cache-Control field, with PATTERN\n"
	    "                       only for paths that match; the first match counts\n"
	    "      --user=NAME[:GROUP]  --chroot  --sandbox   fewer privileges after the start\n"
	    "      --pid-file=FILE  write the process id to FILE\n"
	    "\n"
	    "  Each of these takes a list, such as body=64k,uri=1k, and may be repeated:\n"
	    "      --limit LIST     conns=N, header=SIZE [16k], uri=SIZE [8k], body=SIZE [1m],\n"
	    "                       backlog=N [4096]\n"
	    "      --timeout LIST   in s, 500ms or 2m: idle=TIME [60], header=TIME [20],\n"
	    "                       body=TIME [30], write=TIME [60], handshake=TIME [15],\n"
	    "                       stop=TIME [30], cache=TIME [1; 0: no cache]\n"
	    "      --thread LIST    of a connection: stack=SIZE [64k; 256k with TLS], light\n"
	    "                       or full                                     [light]\n"
	    "\n"
	    "      --show-status=W  the pages /-/status and /metrics: no, local (only to this\n"
	    "                       machine) or remote (to all)                 [local]\n"
	    "      --no-symlinks    follow no symbolic links\n"
	    "  -q, --quiet          print only errors\n"
	    "  -h, --help; --version\n"
	    "\n"
	    "SIGTERM or SIGINT: answer what was accepted, then exit. Twice: exit now.\n"
	    "SIGHUP: reopen root and access log, reload the certificate.\n"
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
		snprintf(want, sizeof(want), "needs a number from %llu to %llu",
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
	bad(opt, v, "needs a time such as 10, 500ms or 2m");
}

static void set_mode(const char *name, const char *v)
{
	if (strcmp(v, "pth") == 0)
		cfg.mode = MODE_PTH;
	else if (strcmp(v, "uk") == 0)
		cfg.mode = MODE_UK;
	else if (strcmp(v, "uk-set") == 0)
		cfg.mode = MODE_UK_SET;
	else if (strcmp(v, "net") == 0)
		cfg.mode = MODE_NET;
	else
		bad(name, v, "must be one of pth, uk, uk-set, net");
}

static void set_net_cpu(const char *name, const char *v)
{
	cfg.net_cpu = (int)number(name, v, 0, CPU_SETSIZE - 1, false);
}

static void set_port(const char *name, const char *v)
{
	number(name, v, 0, 65535, false);
	cfg.port = v;
}

static void add_listener(const char *name, const char *v)
{
	if (cfg.listens == MAX_LISTENERS)
		bad(name, v, "too many addresses");
	cfg.listen[cfg.listens++] = v;
}

static void cache_rule(const char *name, const char *v)
{
	if (cfg.rules == MAX_RULES)
		bad(name, v, "too many rules");
	if (!*v || strlen(v) > 120)
		bad(name, v, "needs a value of 1 to 120 characters");
	for (const char *p = v; *p; p++)
		if (*p < 32 || *p > 126)
			bad(name, v, "needs printable ASCII characters");
	cfg.cache_control[cfg.rules++] = v;
}

static _Noreturn void show_help(const char *name, const char *v)
{
	(void)name, (void)v;
	usage();
	exit(EX_OK);
}

static _Noreturn void show_version(const char *name, const char *v)
{
	(void)name, (void)v;
	printf("ukweb %s\n", UK_VERSION);
	exit(EX_OK);
}

/* How an option sets its field of cfg. */
enum kind {
	ON, /* a bool */
	OFF,
	TEXT,  /* a const char * */
	COUNT, /* an unsigned from min to max */
	SMALL, /* the same, given as a size: 16k, 1m */
	SIZE,  /* a size of 64 bits */
	TIME,  /* a uk_time, at least min */
	CALL,  /* a function, with an argument */
	BARE,  /* a function, without an argument */
};

#define TO(field) &cfg.field, NULL
_Static_assert(sizeof(cfg.stack) == sizeof(uint64_t), "see SIZE");

struct opt {
	const char *name;
	enum kind kind;
	char letter; /* or 0 */
	void *to;
	void (*call)(const char *name, const char *v);
	uint64_t min, max;
};

#define ITEM(option, old, name, kind, field, min, max)                                 \
	{                                                                              \
		option, old,                                                           \
		{                                                                      \
			name, kind, 0, TO(field), min, max                             \
		}                                                                      \
	}

static const struct item {
	const char *option; /* NULL: only the old name of another option */
	const char *old;    /* the option that it was, or NULL */
	struct opt o;
} items[] = {
	ITEM("limit", "max-conns", "conns", COUNT, max_conns, 1, 10000000),
	ITEM("limit", "max-header", "header", SMALL, lim.max_header, 512, 1u << 20),
	ITEM("limit", "max-uri", "uri", SMALL, lim.max_uri, 64, 1u << 20),
	ITEM("limit", "max-body", "body", SIZE, max_body, 0, 1ull << 40),
	ITEM("limit", "backlog", "backlog", COUNT, backlog, 1, 65535),
	ITEM("timeout", "timeout-idle", "idle", TIME, t_idle, UK_MS, 0),
	ITEM("timeout", "timeout-header", "header", TIME, t_header, UK_MS, 0),
	ITEM("timeout", "timeout-body", "body", TIME, t_body, UK_MS, 0),
	ITEM("timeout", "timeout-write", "write", TIME, t_write, UK_MS, 0),
	ITEM("timeout", "timeout-handshake", "handshake", TIME, t_handshake, UK_MS, 0),
	ITEM("timeout", "timeout-stop", "stop", TIME, t_stop, UK_MS, 0),
	ITEM("timeout", "cache-time", "cache", TIME, t_cache, 0, 0),
	ITEM("thread", "stack", "stack", SIZE, stack, 32768, 1u << 26),
	ITEM("thread", "light", "light", OFF, full, 0, 0),
	ITEM("thread", "full", "full", ON, full, 0, 0),
	ITEM("show-status", "no-status", "no", OFF, status, 0, 0),
	ITEM("show-status", NULL, "local", ON, status, 0, 0),
	ITEM("show-status", "status-remote", "remote", ON, status_remote, 0, 0),
	{ NULL, "bind", { "listen", CALL, 0, NULL, add_listener, 0, 0 } },
};
#define ITEMS (sizeof(items) / sizeof(items[0]))

static bool takes_value(const struct opt *o)
{
	return o->kind != ON && o->kind != OFF && o->kind != BARE;
}

/* name is the option or item as messages show it. */
static void set(const struct opt *o, const char *name, const char *v)
{
	switch (o->kind) {
	case ON:
	case OFF:
		*(bool *)o->to = o->kind == ON;
		break;
	case TEXT:
		*(const char **)o->to = v;
		break;
	case COUNT:
	case SMALL:
		*(unsigned *)o->to =
		    (unsigned)number(name, v, o->min, o->max, o->kind == SMALL);
		break;
	case SIZE:
		*(uint64_t *)o->to = number(name, v, o->min, o->max, true);
		break;
	case TIME:
		*(uk_time *)o->to = span(name, v, (double)o->min);
		break;
	case CALL:
	case BARE:
		o->call(name, v);
		break;
	}
}

static bool belongs(const struct item *it, const char *option)
{
	return it->option && strcmp(it->option, option) == 0;
}

static _Noreturn void bad_item(const char *option, const char *text)
{
	char want[160] = "must be one of";
	size_t n = strlen(want);

	for (size_t i = 0; i < ITEMS; i++)
		if (belongs(&items[i], option))
			n += (size_t)snprintf(want + n, sizeof(want) - n, " %s%s,",
					      items[i].o.name,
					      takes_value(&items[i].o) ? "=..." : "");
	want[n - 1] = 0;
	bad(option, text, want);
}

static void set_item(const char *option, const char *text)
{
	size_t len = strcspn(text, "=");
	const char *v = text[len] ? text + len + 1 : NULL;
	char name[40];

	for (size_t i = 0; i < ITEMS; i++) {
		const struct opt *o = &items[i].o;

		if (!belongs(&items[i], option) || strlen(o->name) != len ||
		    memcmp(o->name, text, len) != 0 || takes_value(o) != (v != NULL))
			continue;
		snprintf(name, sizeof(name), "%s %s", option, o->name);
		set(o, name, v);
		return;
	}
	bad_item(option, text);
}

/* The list is copied: a successor gets the arguments as they were. */
static void set_items(const char *option, const char *v)
{
	char *list = strdupa(v), *text;

	while ((text = strsep(&list, ",")))
		set_item(option, text);
}

static void show_status(const char *option, const char *v)
{
	cfg.status = true;
	cfg.status_remote = false;
	set_item(option, v);
}

static const struct opt opts[] = {
	{ "mode", CALL, 0, NULL, set_mode, 0, 0 },
	{ "port", CALL, 'p', NULL, set_port, 0, 0 },
	{ "listen", CALL, 0, NULL, add_listener, 0, 0 },
	{ "root", TEXT, 'r', TO(root), 0, 0 },
	{ "vps", COUNT, 0, TO(vps), 1, 256 },
	{ "net-cpu", CALL, 0, NULL, set_net_cpu, 0, 0 },
	{ "tls-cert", TEXT, 0, TO(tls_cert), 0, 0 },
	{ "tls-key", TEXT, 0, TO(tls_key), 0, 0 },
	{ "access-log", TEXT, 0, TO(access_log), 0, 0 },
	{ "pid-file", TEXT, 0, TO(pid_file), 0, 0 },
	{ "limit", CALL, 0, NULL, set_items, 0, 0 },
	{ "timeout", CALL, 0, NULL, set_items, 0, 0 },
	{ "thread", CALL, 0, NULL, set_items, 0, 0 },
	{ "user", TEXT, 0, TO(user), 0, 0 },
	{ "chroot", ON, 0, TO(chroot), 0, 0 },
	{ "sandbox", ON, 0, TO(sandbox), 0, 0 },
	{ "precompressed", ON, 0, TO(precompressed), 0, 0 },
	{ "cache-control", CALL, 0, NULL, cache_rule, 0, 0 },
	{ "no-symlinks", OFF, 0, TO(follow), 0, 0 },
	{ "show-status", CALL, 0, NULL, show_status, 0, 0 },
	{ "quiet", ON, 'q', TO(quiet), 0, 0 },
	{ "help", BARE, 'h', NULL, show_help, 0, 0 },
	{ "version", BARE, 0, NULL, show_version, 0, 0 },
};
#define OPTS (sizeof(opts) / sizeof(opts[0]))

static void set_by_old_name(const struct item *it, const char *v)
{
	static bool noted[ITEMS];

	if (!noted[it - items])
		say("--%s is now --%s%s%s%s; the old name will be removed in 0.3",
		    it->old, it->option ? it->option : "", it->option ? " " : "",
		    it->o.name, takes_value(&it->o) ? "=..." : "");
	noted[it - items] = true;
	set(&it->o, it->old, v);
}

/* Check combinations, set the dependent defaults, and raise the limit of fds. */
static void settle(void)
{
	struct rlimit rl;
	unsigned fds = 1024;

	if (!cfg.listens)
		cfg.listen[cfg.listens++] = "127.0.0.1";
	if (!cfg.tls_cert != !cfg.tls_key)
		die(EX_USAGE_, "--tls-cert and --tls-key go together");
	if (cfg.full && cfg.mode == MODE_PTH)
		die(EX_USAGE_, "--thread full is for user threads, not for --mode=pth");
	if (cfg.lim.max_uri + 512 > cfg.lim.max_header)
		cfg.lim.max_header = cfg.lim.max_uri + 512;
	if (cfg.net_cpu >= 0 && cfg.mode != MODE_NET)
		die(EX_USAGE_, "--net-cpu is for --mode=net");
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
	/* A cache entry may hold an fd: with few fds, cache few files. */
	if (fds < 4 * cfg.cache_files)
		cfg.cache_files = fds < 64 ? 0 : fds / 4;
	if (!cfg.max_conns)
		cfg.max_conns = fds > 200 ? fds - 64 - cfg.cache_files : fds;
}

static struct option long_form(const char *name, const struct opt *o, size_t val)
{
	return (struct option){ name, takes_value(o) ? required_argument : no_argument,
				NULL, (int)val };
}

/* The tables in getopt's form. val is above all letters: 256 + the index in opts, or,
 * for an old name, 256 + OPTS + the index in items. */
static void for_getopt(struct option *longs, char *shorts)
{
	for (size_t i = 0; i < OPTS; i++) {
		*longs++ = long_form(opts[i].name, &opts[i], 256 + i);
		if (opts[i].letter)
			*shorts++ = opts[i].letter;
		if (opts[i].letter && takes_value(&opts[i]))
			*shorts++ = ':';
	}
	for (size_t i = 0; i < ITEMS; i++)
		if (items[i].old)
			*longs++ = long_form(items[i].old, &items[i].o, 256 + OPTS + i);
	*longs = (struct option){ 0 };
	*shorts = 0;
}

static const struct opt *by_letter(int c)
{
	const struct opt *o = opts;

	while (o->letter != c)
		o++;
	return o; /* getopt returns no other letters */
}

void options_parse(int argc, char **argv)
{
	struct option longs[OPTS + ITEMS + 1];
	char shorts[2 * OPTS + 1];
	const struct opt *o;
	int c;

	for_getopt(longs, shorts);
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (c == '?')
			exit(EX_USAGE_); /* getopt has printed what is wrong */
		if (c >= 256 + (int)OPTS) {
			set_by_old_name(&items[c - 256 - (int)OPTS], optarg);
			continue;
		}
		o = c >= 256 ? &opts[c - 256] : by_letter(c);
		set(o, o->name, optarg);
	}
	if (optind < argc)
		die(EX_USAGE_, "%s: not an option (see --help)", argv[optind]);
	settle();
}
