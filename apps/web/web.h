/* SPDX-License-Identifier: Apache-2.0 */
/* web.h - what the files of the web server share.
 *
 *   main      start, signals, graceful stop           options  the command line
 *   listen    the listening sockets                   accept   the acceptors
 *   conn      the life of one connection              conns    all connections
 *   stream    its bytes, plain or TLS                 body     reads and drops a body
 *   request, path, chunked   syntax, pure functions   respond  from request to reply
 *   status    status page, metrics                    reply    what every reply has
 *   root      the root, opening below it              files    a cache of opened files
 *   privs     another user, chroot, sandbox           tls      OpenSSL
 *   successor, notify   restart, systemd              log      access log, one writer
 *   spawn     the kinds of thread
 */
#ifndef WEB_WEB_H
#define WEB_WEB_H

#include <netinet/in.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <uk/uk.h>

#include "request.h"

enum mode { MODE_PTH, MODE_UK, MODE_UK_SET, MODE_NET };

#define MAX_LISTENERS 16
#define MAX_RULES 16

/* Set once by options.c before any thread exists; read-only after. */
struct config {
	enum mode mode;
	unsigned vps;
	int net_cpu; /* -1: any */
	const char *listen[MAX_LISTENERS], *port, *root, *access_log, *pid_file;
	unsigned listens;
	const char *user;
	bool chroot, sandbox, precompressed;
	const char *cache_control[MAX_RULES]; /* [PATTERN:]VALUE */
	unsigned rules;
	const char *tls_cert, *tls_key;
	bool full, follow, status, status_remote, quiet;
	unsigned max_conns, backlog;
	size_t stack;
	uint64_t max_body;
	struct limits lim;
	uk_time t_idle, t_header, t_body, t_write, t_handshake, t_stop, t_cache;
	unsigned cache_files;
};
extern struct config cfg;
/* Do the acceptors park, as user threads? */
static inline bool accepts_park(void)
{
	return cfg.mode == MODE_UK || cfg.mode == MODE_NET;
}
void options_parse(int argc, char **argv);

/* ---- counters ---- */
/* They only grow, and are sharded by connection; gauges are differences of them. What
 * every request counts is in its connection's struct tally, because a locked
 * instruction waits for all earlier stores, which are cold with many connections.
 * conns.c adds the tallies up. */
#define WEB_COUNTERS(X)                                                                \
	X(accepted, "connections accepted")                                            \
	X(closed, "connections closed")                                                \
	X(requests, "requests answered") /* the sum of the classes */                  \
	X(r1xx, "interim replies")                                                     \
	X(r2xx, "replies of class 2xx")                                                \
	X(r3xx, "replies of class 3xx")                                                \
	X(r4xx, "replies of class 4xx")                                                \
	X(r5xx, "replies of class 5xx")                                                \
	X(bytes_sent, "bytes sent, without TLS overhead")                              \
	X(timeouts, "connections ended by a deadline")                                 \
	X(aborts, "connections broken off by the client")                              \
	X(tls_handshakes, "TLS handshakes completed")                                  \
	X(tls_resumed, "of these, resumed sessions")                                   \
	X(tls_failures, "TLS handshakes failed")                                       \
	X(accept_errors, "accept calls that failed for lack of a resource")            \
	X(refused, "connections refused for lack of a thread")                         \
	X(cache_hits, "files served from the cache")                                   \
	X(cache_misses, "files opened")

#define SHARDS 16
struct counters {
#define X(name, text) _Atomic(uint64_t) name; /* written by any thread, relaxed */
	WEB_COUNTERS(X)
#undef X
} __attribute__((aligned(128)));
extern struct counters counters[SHARDS];
#define COUNT(shard, name, n)                                                          \
	atomic_fetch_add_explicit(&counters[(shard) % SHARDS].name, (n),               \
				  memory_order_relaxed)

/* Written by the connection's thread (TALLY), read by the status page. */
struct tally {
	_Atomic(uint64_t) r2xx, cache_hits, bytes_sent;
};
#define TALLY(t, name, n)                                                              \
	atomic_store_explicit(                                                         \
	    &(t)->name, atomic_load_explicit(&(t)->name, memory_order_relaxed) + (n),  \
	    memory_order_relaxed)

/* ---- stream.c ---- */
#define IBUF 512
#define OBUF 2048
#define BIG 16384

struct ssl_st;
struct stream {
	int fd;
	int err;  /* first error: -errno, sticky; output is dropped after it */
	bool eof; /* TLS: the transport has ended; the last bytes are in small */
	struct ssl_st *ssl;
	uk_time now; /* the time of the last read, while that is exact enough; else 0 */
	struct tally tally; /* bytes_sent: handed to the kernel (plain) or to TLS */
	char *ibuf; /* plain: small, or from the pool, or BIG; TLS: NULL while idle */
	char *obuf; /* NULL, from the pool, or BIG from the heap */
	uint32_t ipos, ilen, icap;
	uint32_t olen, ocap;
	uint32_t rpos, rlen; /* TLS: the bytes from the network in small */
	char small[IBUF];
};
void stream_init(struct stream *s, int fd);
void stream_free(struct stream *s);
/* Read more bytes behind ilen: their number, 0 = end, -errno. First makes space for up
 * to max bytes from ipos on (-ENOBUFS: they are there already). May move the buffer. */
ssize_t stream_fill(struct stream *s, uint32_t max);
void stream_put(struct stream *s, const void *p, size_t n);
static inline void stream_puts(struct stream *s, const char *t)
{
	stream_put(s, t, strlen(t));
}
void stream_printf(struct stream *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* A body in memory: it is sent together with the head. */
void stream_body(struct stream *s, const void *p, size_t n);
void stream_file(struct stream *s, int fd, off_t off, uint64_t n);
int stream_flush(struct stream *s, bool more);
/* The present time; reads the clock once per request. */
uk_time stream_now(struct stream *s);
void stream_idle(struct stream *s); /* give all but the small buffer back */
void stream_room(struct stream *s); /* for a batch: take a BIG output buffer */

/* ---- tls.c ---- */
int tls_init(void);
int tls_reload(void);
int tls_accept(struct stream *s, unsigned shard); /* 0 or -errno */
bool tls_pending(struct stream *s);
int tls_more(struct stream *s); /* wait for bytes: 0, also at the end, or -errno */
ssize_t tls_read(struct stream *s, void *p, size_t n);
ssize_t tls_write(struct stream *s, const void *p, size_t n);
void tls_bye(struct stream *s);
void tls_free(struct stream *s);
void tls_thread_end(void);

/* Codings of a content. For each but IDENTITY there may be a variant beside a file. */
enum coding { BR, GZIP, N_CODINGS, IDENTITY = N_CODINGS };

/* ---- conn.c ---- */
enum conn_state { C_IDLE, C_BUSY, C_ENDING };

/* A unix socket has no peer address. */
union peer {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
};

struct conn {
	uint64_t id;
	struct conn *next, *prev;   /* under the lock of conns.c */
	_Atomic(int) state;         /* set by its thread; C_ENDING: by any thread */
	_Atomic(uint32_t) requests; /* set by its thread, read by the status page */
	uk_time since;              /* when it was accepted */
	enum coding coding;         /* of the present reply */
	const char *caching;        /* its Cache-Control, or NULL */
	bool linger;                /* the client may still be sending */
	struct request r;
	struct stream s;
	union peer peer;
};

/* The acceptor passes it to the connection's thread, which frees it. */
struct ticket {
	int fd;
	union peer peer;
};
void *conn_main(void *ticket);

/* ---- conns.c ---- */
/* Reserve a place for a connection before accept; waits while max_conns places are
 * taken. 0, or -ETIMEDOUT after stop_by. */
int conns_enter(void);
void conns_leave(void);
void conns_add(struct conn *c);
void conns_remove(struct conn *c);
int conns_wait_none(uk_time deadline);   /* 0 or -ETIMEDOUT */
unsigned conns_close_idle(unsigned max); /* closes at most max, the oldest first */
unsigned conns_end_idle(bool fresh);     /* ends all idle ones; new ones if fresh */
unsigned conns_cut(void);                /* shuts all down now */
void conns_tally(struct tally *sum);     /* adds live and ended connections */
unsigned conns_each(int (*fn)(const struct conn *, void *),
		    void *arg); /* returns how many are alive */
void peer_text(const union peer *a, char out[INET6_ADDRSTRLEN]);

extern _Atomic(int) stopping; /* set once by main; connections end after their reply */
extern _Atomic(int64_t) stop_by; /* uk_time; written before stopping */

/* ---- reply.c ---- */
/* Status line, Date, Server, and Connection if it is not the version's default. */
void reply_head(struct conn *c, int status, bool keep);
/* Content-Length, and the end of the head. */
void reply_length(struct stream *s, uint64_t n);
/* Count and log a reply with a body of so many bytes. */
void reply_done(struct conn *c, int status, uint64_t body);
/* A small page for a status; unless keep, the connection closes after it. */
void reply_error(struct conn *c, int status, bool keep, const char *extra);

/* ---- respond.c ---- */
/* Answer c->r. Returns whether the connection stays open. */
bool respond(struct conn *c);
/* Read the request's body and drop it: 0, or -status. */
int body_drain(struct conn *c);

/* ---- range.c ---- */
#define MAX_RANGES 16
struct range {
	uint64_t first, len;
};
/* The number of satisfiable ranges of "bytes=..." (not merged, in order). 0: none is
 * satisfiable (416); -1: ignore the field. */
int ranges_parse(const char *p, uint32_t n, uint64_t size,
		 struct range out[MAX_RANGES]);

/* ---- date.c ---- */
#define DATE_LEN 29
void date_format(time_t t, char out[DATE_LEN + 1]);
int date_parse(const char *p, uint32_t n, time_t *out); /* all three forms; 0 or -1 */
/* Sets *http to the present date. Returns CLOCK_REALTIME_COARSE in ns. */
int64_t date_now(const char **http);

/* ---- root.c ---- */
int root_init(void);
int root_reopen(void);
/* Open path below the present root; sets *gen to the root's generation. */
int root_open(const char *path, int64_t now, unsigned *gen);
unsigned root_generation(void);

/* ---- files.c ---- */
struct file {
	_Atomic(uint32_t) refs; /* one for the cache and one for each user */
	uint32_t hash, keylen;
	char *key; /* normalised path */
	unsigned root;
	int fd;     /* -1 if body is set */
	char *body; /* the content of a small file */
	uint64_t size, ino, dev;
	struct timespec mtime, ctime;
	_Atomic(int64_t) lacks[N_CODINGS]; /* ns; when there was no such variant */
	_Atomic(int64_t) checked; /* ns; the thread that renews it looks at the disk */
	const char *type;
	uint32_t etag_len, head_len;
	char etag[48], modified[DATE_LEN + 1];
	const char *cache_control; /* NULL: none */
	char head[448];            /* Content-Type ... of a 200 without coding */
};
int files_start(void);   /* starts the janitor */
void files_reload(void); /* SIGHUP: reopen the root, drop the cache */
/* 0 and *out (for file_put), or -status; -301: a directory without slash. */
int file_get(const char *path, uint32_t n, uint32_t hash, int64_t now, struct conn *c,
	     struct file **out);
/* The variant of f in coding k, if there is one that is not older; else NULL. */
struct file *file_variant(struct file *f, enum coding k, int64_t now, struct conn *c);
void file_put(struct file *f);

/* ---- mime.c ---- */
void mime_init(void);
const char *mime_of(const char *path, size_t n);

/* ---- log.c ---- */
int log_open(void); /* opens the file */
void log_owner(uid_t uid, gid_t gid);
int log_start(void); /* starts the writer */
void log_reopen(void);
void log_request(struct conn *c, int status, uint64_t bytes);
void log_close(uk_time deadline);
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void die(int code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- status.c ---- */
bool status_wants(const struct conn *c);
bool status_respond(struct conn *c, bool keep);

/* ---- listen.c ---- */
struct listener {
	_Atomic(int) fd; /* main closes it to wake a parked acceptor */
	bool unlinks;    /* bound to a path that this process must remove */
	bool shared;     /* other processes hold the socket, too: leave its backlog */
	struct sockaddr_storage addr;
	socklen_t addr_len;
	char name[160];
	int late;         /* uk, net: a second fd, for the backlog after fd is closed */
	_Atomic(int) tid; /* the kernel thread that is in accept(2); 0: none */
};
extern struct listener listeners[MAX_LISTENERS];
extern unsigned n_listeners;
void listen_open(void);        /* binds or inherits; on failure die() */
void listen_shut(bool handed); /* refuses new clients, unless handed to a successor */
void listen_unlink(bool handed);

/* ---- accept.c ---- */
int accept_start(void);
void accept_wake(void); /* wakes blocked acceptors; main repeats it */
int accept_wait_end(uk_time deadline);
void *acceptor_main(void *listener);
extern _Atomic(int) handed_over; /* set before stopping: a successor takes the rest */

/* ---- successor.c ---- */
void successor_keep_args(char **argv);
int successor_start(void);  /* an fd that becomes readable, or -errno */
bool successor_ready(void); /* after that: is it ready? else it failed and is gone */
int successor_inherited(int fds[MAX_LISTENERS], bool shared[MAX_LISTENERS]);
void successor_tell_ready(void);
bool successor_is(void); /* was this process started by a predecessor? */
pid_t successor_pid(void);

/* ---- privs.c ---- */
void privs_drop(void); /* before there are threads */

/* ---- notify.c ---- */
void notify_open(void);
void notify(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int notify_inherited(int *first); /* the number of fds from systemd */

/* ---- spawn.c ---- */
int spawn_init(void);
int spawn_acceptor(struct listener *l);
int spawn_helper(const char *name, void *(*fn)(void *));
int spawn_conn(struct ticket *t);
void spawn_trim_stack(void); /* of the caller */
const char *mode_name(void);
/* The set that connections run in. */
uk_vpset *spawn_set(void);

#define EX_OK 0
#define EX_FORCED 1
#define EX_USAGE_ 2
#define EX_SETUP 3

#endif
