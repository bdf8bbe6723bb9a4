/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the server and the runtime: /-/status (a page), /-/status.json (which
 * the page fetches each second; the page computes the rates) and /metrics (Prometheus
 * text format 0.0.4). Unless --show-status=remote is given, only this machine gets
 * them, and only if the host name is an address or localhost. Otherwise a foreign page
 * could read them, if its owner makes its own name resolve to 127.0.0.1 (DNS rebinding);
 * the request then has that name. An address can't be rebound.
 *
 * These requests are rare, so they may allocate: stdio builds a reply in memory,
 * without any call that could block the thread. */
#include "web.h"

#include <arpa/inet.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

extern const char status_page[];
#define SHOWN 100 /* threads and connections listed on the page */

static bool is_loopback(const union peer *a)
{
	const struct in6_addr *six = &a->six.sin6_addr;

	if (a->any.sa_family == AF_INET)
		return ntohl(a->four.sin_addr.s_addr) >> 24 == 127;
	return a->any.sa_family == AF_INET6 &&
	       (IN6_IS_ADDR_LOOPBACK(six) ||
		(IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == 127));
}

static bool path_is(const struct conn *c, const char *path)
{
	struct span p = c->r.path;

	return p.len == strlen(path) &&
	       memcmp(c->s.ibuf + c->s.ipos + p.off, path, p.len) == 0;
}

/* Is the host an address, localhost, or empty (which no browser sends)? */
static bool is_our_host(const struct conn *c)
{
	static const char local[] = "localhost";
	const char *p = c->s.ibuf + c->s.ipos + c->r.host.off;
	char text[INET6_ADDRSTRLEN];
	struct in6_addr six;
	struct in_addr four;
	uint32_t n = c->r.host.len, skip = 0;

	if (n && p[0] == '[') {
		const char *end = memchr(p, ']', n);

		skip = 1;
		n = end ? (uint32_t)(end - p) : 0;
	} else {
		const char *colon = memchr(p, ':', n);

		n = colon ? (uint32_t)(colon - p) : n;
	}
	if (n == 0)
		return c->r.minor == 0 || c->r.host.len == 0;
	if (n - skip >= sizeof(text))
		return false;
	memcpy(text, p + skip, n - skip);
	text[n - skip] = 0;
	return strcasecmp(text, local) == 0 || inet_pton(AF_INET, text, &four) == 1 ||
	       (skip && inet_pton(AF_INET6, text, &six) == 1);
}

bool status_wants(const struct conn *c)
{
	const char *p = c->s.ibuf + c->s.ipos + c->r.path.off;

	if (!cfg.status || c->r.path.len < 8 || !(p[1] == '-' || p[1] == 'm'))
		return false;
	if (!path_is(c, "/-/status") && !path_is(c, "/-/status.json") &&
	    !path_is(c, "/metrics"))
		return false;
	return cfg.status_remote || (is_loopback(&c->peer) && is_our_host(c));
}

/* All counters, from one walk over the connections. */
struct totals {
#define X(name, text) uint64_t name;
	WEB_COUNTERS(X)
#undef X
};

static void take_totals(struct totals *t)
{
	struct tally sum = { 0 };

	memset(t, 0, sizeof(*t));
	conns_tally(&sum);
	for (unsigned i = 0; i < SHARDS; i++) {
#define X(name, text)                                                                  \
	t->name += atomic_load_explicit(&counters[i].name, memory_order_relaxed);
		WEB_COUNTERS(X)
#undef X
	}
	t->r2xx += atomic_load_explicit(&sum.r2xx, memory_order_relaxed);
	t->cache_hits += atomic_load_explicit(&sum.cache_hits, memory_order_relaxed);
	t->bytes_sent += atomic_load_explicit(&sum.bytes_sent, memory_order_relaxed);
	t->requests = t->r2xx + t->r3xx + t->r4xx + t->r5xx;
}

/* A number from /proc/self/status, in the unit used there. */
static unsigned long proc_number(const char *key)
{
	char buf[4096], *p;
	int fd = uk_open("/proc/self/status", 0, 0);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = uk_read_all(fd, buf, sizeof(buf) - 1);
	uk_close(fd);
	buf[n > 0 ? n : 0] = 0;
	p = strstr(buf, key);
	return p ? strtoul(p + strlen(key), NULL, 10) : 0;
}

static void json_string(FILE *f, const char *s)
{
	putc('"', f);
	for (; *s; s++)
		if ((unsigned char)*s < 32 || *s == '"' || *s == '\\')
			fprintf(f, "\\u%04x", (unsigned)(unsigned char)*s);
		else
			putc(*s, f);
	putc('"', f);
}

struct listing {
	FILE *f;
	unsigned n;
	uk_time now;
};

static int json_conn(const struct conn *c, void *arg)
{
	static const char *const names[] = { "idle", "busy", "ending" };
	struct listing *l = arg;
	char peer[INET6_ADDRSTRLEN];

	peer_text(&c->peer, peer);
	fprintf(l->f, "%s{\"id\":%llu,\"peer\":", l->n ? "," : "",
		(unsigned long long)c->id);
	json_string(l->f, peer);
	fprintf(l->f, ",\"state\":\"%s\",\"requests\":%u,\"age_ms\":%lld}",
		names[atomic_load((_Atomic(int) *)(uintptr_t)&c->state) % 3],
		(unsigned)atomic_load((_Atomic(uint32_t) *)(uintptr_t)&c->requests),
		(long long)((l->now - c->since) / UK_MS));
	return ++l->n >= SHOWN;
}

static int json_thread(const uk_thread_info *t, void *arg)
{
	struct listing *l = arg;

	fprintf(l->f, "%s{\"id\":%llu,\"name\":", l->n ? "," : "",
		(unsigned long long)t->id);
	json_string(l->f, t->name);
	fputs(",\"state\":", l->f);
	json_string(l->f, t->state ? t->state : "");
	fputs(",\"waits\":", l->f);
	json_string(l->f, t->waits ? t->waits : "");
	fprintf(l->f,
		",\"fd\":%d,\"vp\":%u,\"holder\":%llu,\"since_ms\":%lld,\"light\":%d}",
		t->fd, t->vp, (unsigned long long)t->holder,
		(long long)((l->now - t->since) / UK_MS), t->light);
	return ++l->n >= SHOWN;
}

static void json_stats(FILE *f, const uk_stats *s)
{
	const char *sep = "";

#define X(name, text)                                                                  \
	fprintf(f, "%s\"" #name "\":%llu", sep, (unsigned long long)s->name);          \
	sep = ",";
	UK_COUNTERS(X)
	X(threads, "")
	X(ready, "")
	X(vps, "")
	X(carriers, "")
	X(spares, "")
	X(stacks, "")
#undef X
}

static void json_runtime(FILE *f)
{
	uk_vpset *set = spawn_set();
	uk_stats s;

	uk_stats_get(&s, sizeof(s));
	fprintf(f, ",\"engine\":\"%s\",\"runtime\":{", uk_reactor_name());
	json_stats(f, &s);
	fputs("},\"vps\":[", f);
	for (unsigned i = 0; i < uk_vpset_size(set); i++) {
		uk_vp *vp = uk_vpset_vp(set, i);

		memset(&s, 0, sizeof(s));
		uk_vp_stats(vp, &s, sizeof(s));
		fprintf(f, "%s{\"id\":%u,\"stats\":{", i ? "," : "", uk_vp_id(vp));
		json_stats(f, &s);
		fputs("}}", f);
	}
	fputs("]", f);
}

static void build_json(FILE *f)
{
	struct listing l = { f, 0, uk_now() };
	struct totals all;
	unsigned alive;
	const char *sep = "";

	take_totals(&all);
	fprintf(f, "{\"version\":\"%s\",\"mode\":\"%s\",\"tls\":%s,\"now_ms\":%lld,",
		UK_VERSION, mode_name(), cfg.tls_cert ? "true" : "false",
		(long long)(l.now / UK_MS));
	fprintf(f, "\"kernel_threads\":%lu,\"rss_kb\":%lu,\"server\":{",
		proc_number("\nThreads:"), proc_number("\nVmRSS:"));
#define X(name, text)                                                                  \
	fprintf(f, "%s\"" #name "\":%llu", sep, (unsigned long long)all.name);         \
	sep = ",";
	WEB_COUNTERS(X)
#undef X
	fputs("},\"connections\":[", f);
	alive = conns_each(json_conn, &l);
	fprintf(f, "],\"alive\":%u", alive);
	if (cfg.mode != MODE_PTH)
		json_runtime(f);
	fputs(",\"threads\":[", f);
	l.n = 0;
	if (cfg.mode != MODE_PTH)
		uk_thread_each(json_thread, &l, sizeof(uk_thread_info));
	fputs("]}\n", f);
}

static void metric(FILE *f, const char *name, const char *type, const char *help,
		   const char *labels, uint64_t v)
{
	if (help) /* the texts have no backslash or newline */
		fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
	fprintf(f, "%s%s %llu\n", name, labels, (unsigned long long)v);
}

/* malloc's own counts, of all arenas. It counts the memory in its caches, one for each
 * kernel thread, as in use. */
static void metrics_heap(FILE *f)
{
	struct mallinfo2 m = mallinfo2();

	metric(f, "ukweb_heap_bytes", "gauge", "memory that malloc holds", "",
	       m.arena + m.hblkhd);
	metric(f, "ukweb_heap_used_bytes", "gauge", "the part of it that is in use", "",
	       m.uordblks + m.hblkhd);
}

static void metrics_server(FILE *f)
{
	struct totals all;
	char labels[64];

	take_totals(&all);
	snprintf(labels, sizeof(labels), "{version=\"%s\",mode=\"%s\",engine=\"%s\"}",
		 UK_VERSION, mode_name(),
		 cfg.mode == MODE_PTH ? "kernel" : uk_reactor_name());
	metric(f, "ukweb_info", "gauge", "what is running", labels, 1);
#define X(name, text)                                                                  \
	if (#name[0] != 'r' || #name[2] != 'x')                                        \
		metric(f, "ukweb_" #name "_total", "counter", text, "", all.name);
	WEB_COUNTERS(X)
#undef X
	metric(f, "ukweb_replies_total", "counter", "replies by class of status",
	       "{code=\"1xx\"}", all.r1xx);
	metric(f, "ukweb_replies_total", NULL, NULL, "{code=\"2xx\"}", all.r2xx);
	metric(f, "ukweb_replies_total", NULL, NULL, "{code=\"3xx\"}", all.r3xx);
	metric(f, "ukweb_replies_total", NULL, NULL, "{code=\"4xx\"}", all.r4xx);
	metric(f, "ukweb_replies_total", NULL, NULL, "{code=\"5xx\"}", all.r5xx);
	metric(f, "ukweb_connections", "gauge", "connections alive", "",
	       all.accepted - all.closed);
	metric(f, "process_threads", "gauge", "kernel threads", "",
	       proc_number("\nThreads:"));
	metric(f, "process_resident_memory_bytes", "gauge", "resident memory", "",
	       proc_number("\nVmRSS:") * 1024ull);
	metrics_heap(f);
}

static void metrics_runtime(FILE *f)
{
	uk_vpset *set = spawn_set();
	unsigned n = uk_vpset_size(set);
	uk_stats s;
	uk_stats *vp = calloc(n, sizeof(*vp));
	char labels[32];

	uk_stats_get(&s, sizeof(s));
#define X(name, text)                                                                  \
	metric(f, "ukthreads_" #name "_total", "counter", text, "", s.name);
	UK_COUNTERS(X)
#undef X
#define X(name, text) metric(f, "ukthreads_" #name, "gauge", text, "", s.name);
	X(threads, "user threads alive")
	X(ready, "user threads in run queues")
	X(vps, "virtual processors")
	X(carriers, "kernel threads that run or may run user threads")
	X(spares, "parked carriers")
	X(stacks, "stacks mapped, in use or pooled")
#undef X
	for (unsigned i = 0; vp && i < n; i++)
		uk_vp_stats(uk_vpset_vp(set, i), &vp[i], sizeof(vp[i]));
	for (unsigned i = 0; vp && i < n; i++) {
		snprintf(labels, sizeof(labels), "{vp=\"%u\"}",
			 uk_vp_id(uk_vpset_vp(set, i)));
		metric(f, "ukthreads_vp_switches_total", "counter",
		       i ? NULL : "context switches of each vp of the default set",
		       labels, vp[i].switches);
	}
	free(vp);
}

bool status_respond(struct conn *c, bool keep)
{
	const char *type = "text/html; charset=utf-8", *body = status_page;
	char *mem = NULL;
	size_t n = strlen(status_page);

	if (!path_is(c, "/-/status")) {
		FILE *f = open_memstream(&mem, &n);

		if (!f) {
			reply_error(c, 503, keep, NULL);
			return keep;
		}
		if (path_is(c, "/metrics")) {
			type = "text/plain; version=0.0.4; charset=utf-8";
			metrics_server(f);
			if (cfg.mode != MODE_PTH)
				metrics_runtime(f);
		} else {
			type = "application/json";
			build_json(f);
		}
		fclose(f);
		body = mem;
	}
	reply_head(c, 200, keep);
	stream_printf(&c->s,
		      "Content-Type: %s\r\nCache-Control: no-store\r\n"
		      "X-Content-Type-Options: nosniff\r\nContent-Length: %zu\r\n\r\n",
		      type, n);
	if (c->r.method != M_HEAD)
		stream_body(&c->s, body, n);
	reply_done(c, 200, c->r.method == M_HEAD ? 0 : n);
	free(mem);
	return keep;
}
