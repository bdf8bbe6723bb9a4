/* SPDX-License-Identifier: Apache-2.0 */
/* The access log, in Combined Log Format, and messages to standard error.
 *
 * Connections append lines to a buffer under a mutex. One writer thread swaps it for an
 * empty one and writes it out, when it is half full or twice a second. When the buffer
 * is full, the connections wait: no line is ever dropped. log_close writes the rest.
 * SIGHUP and SIGUSR1 reopen the file (for logrotate); the writer does that between two
 * buffers. */
#include "web.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define CAP (256u * 1024)
#define LINE_MAX_ 3072u
#define FIELD_MAX 1024u
#define HOW (O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC)

static uk_mutex lock = UK_MUTEX_INIT;
static uk_cond filled = UK_COND_INIT, emptied = UK_COND_INIT, ended = UK_COND_INIT;
static char buffers[2][CAP];
static char *cur = buffers[0]; /* under lock */
static uint32_t len;           /* under lock */
static bool closing, done;     /* under lock */
static bool reopen;            /* under lock */
static int fd = -1;            /* used only by the writer once it runs */
static int64_t stamp_sec;      /* under lock */
static char stamp[40];         /* under lock */

/* Standard error may be a pipe that nobody reads any more. The server and its stop must
 * not wait for that, so a line that does not fit now is lost. (If poll reports POLLOUT,
 * a line fits.) */
void say(const char *fmt, ...)
{
	struct pollfd p = { .fd = 2, .events = POLLOUT };
	char line[1024];
	va_list ap;
	int n = 7;

	memcpy(line, "ukweb: ", 7);
	va_start(ap, fmt);
	n += vsnprintf(line + n, sizeof(line) - 8, fmt, ap);
	va_end(ap);
	if ((size_t)n > sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	if (poll(&p, 1, 0) > 0)
		uk_write_all(2, line, (size_t)n);
}

void die(int code, const char *fmt, ...)
{
	va_list ap;

	fputs("ukweb: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	_exit(code);
}

static int open_file(void)
{
	if (strcmp(cfg.access_log, "-") == 0)
		return 1;
	return uk_open(cfg.access_log, HOW, 0644);
}

static void write_out(const char *p, uint32_t n)
{
	static bool complained;
	ssize_t rc = uk_write_all(fd, p, n);

	if (rc < 0 && !complained) {
		complained = true;
		say("access log %s: %s", cfg.access_log, strerror((int)-rc));
	}
}

static void reopen_now(void)
{
	int n = open_file();

	if (n < 0) {
		say("access log %s: %s (keeping the old one)", cfg.access_log,
		    strerror(-n));
		return;
	}
	if (fd != 1)
		uk_close(fd);
	fd = n;
}

static void *writer(void *arg)
{
	(void)arg;
	uk_mutex_lock(&lock);
	for (;;) {
		char *full;
		uint32_t n;

		if (len < CAP / 2 && !closing && !reopen)
			uk_cond_wait_until(&filled, &lock, uk_after(500 * UK_MS));
		full = cur;
		n = len;
		cur = full == buffers[0] ? buffers[1] : buffers[0];
		len = 0;
		if (n) {
			uk_cond_broadcast(&emptied);
			uk_mutex_unlock(&lock);
			write_out(full, n);
			uk_mutex_lock(&lock);
		}
		if (reopen) {
			reopen = false;
			reopen_now();
		}
		if (closing && len == 0)
			break;
	}
	done = true;
	uk_cond_broadcast(&ended);
	uk_mutex_unlock(&lock);
	return NULL;
}

int log_open(void)
{
	if (!cfg.access_log)
		return 0;
	/* a plain call: the runtime has not started */
	fd = strcmp(cfg.access_log, "-") == 0 ? 1 : open(cfg.access_log, HOW, 0644);
	return fd < 0 ? -errno : 0;
}

/* Give the file to the user that must reopen it later. */
void log_owner(uid_t uid, gid_t gid)
{
	if (fd > 2 && fchown(fd, uid, gid) < 0)
		fprintf(stderr, "ukweb: access log %s: %s\n", cfg.access_log,
			strerror(errno));
}

int log_start(void)
{
	return cfg.access_log ? spawn_helper("log", writer) : 0;
}

void log_reopen(void)
{
	if (!cfg.access_log)
		return;
	uk_mutex_lock(&lock);
	reopen = true;
	uk_cond_signal(&filled);
	uk_mutex_unlock(&lock);
}

void log_close(uk_time deadline)
{
	if (!cfg.access_log)
		return;
	uk_mutex_lock(&lock);
	closing = true;
	uk_cond_broadcast(&filled);
	while (!done && uk_cond_wait_until(&ended, &lock, deadline) == 0)
		;
	uk_mutex_unlock(&lock);
}

/* Escape quotes and backslashes with a backslash, and what is not printable ASCII as
 * \xHH: whatever a client sends, a log line stays one line and is safe to show on a
 * terminal. */
static uint32_t put_escaped(char *out, const char *p, uint32_t n)
{
	static const char hex[] = "0123456789abcdef";
	uint32_t o = 0;

	for (uint32_t i = 0; i < n && o < FIELD_MAX - 4; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c >= 32 && c < 127 && c != '"' && c != '\\') {
			out[o++] = (char)c;
			continue;
		}
		out[o++] = '\\';
		if (c == '"' || c == '\\') {
			out[o++] = (char)c;
			continue;
		}
		out[o++] = 'x';
		out[o++] = hex[c >> 4];
		out[o++] = hex[c & 15];
	}
	return o;
}

static uint32_t put_quoted(char *out, const char *base, struct span s)
{
	uint32_t o = 0;

	out[o++] = '"';
	if (s.len)
		o += put_escaped(out + o, base + s.off, s.len);
	else
		out[o++] = '-';
	out[o++] = '"';
	return o;
}

static void new_stamp(int64_t sec)
{
	time_t t = (time_t)sec;
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(stamp, sizeof(stamp), "[%d/%b/%Y:%H:%M:%S +0000]", &tm);
	stamp_sec = sec;
}

void log_request(struct conn *c, int status, uint64_t bytes)
{
	const char *base = c->s.ibuf + c->s.ipos, *http;
	char peer[INET6_ADDRSTRLEN];
	int64_t sec;
	char *p;

	if (!cfg.access_log)
		return;
	peer_text(&c->peer, peer);
	sec = date_now(&http) / 1000000000;
	uk_thread_set_deadline(UK_FOREVER); /* the wait for a lock must not time out */
	uk_mutex_lock(&lock);
	while (len > CAP - LINE_MAX_ - 256) {
		uk_cond_signal(&filled);
		uk_cond_wait_until(&emptied, &lock, uk_after(UK_SEC));
	}
	if (sec != stamp_sec)
		new_stamp(sec);
	p = cur + len;
	p += sprintf(p, "%s - - %s ", peer, stamp);
	p += put_quoted(p, base, c->r.first);
	p += sprintf(p, " %d %llu ", status, (unsigned long long)bytes);
	p += put_quoted(p, base, c->r.referer);
	*p++ = ' ';
	p += put_quoted(p, base, c->r.user_agent);
	*p++ = '\n';
	len = (uint32_t)(p - cur);
	if (len >= CAP / 2)
		uk_cond_signal(&filled);
	uk_mutex_unlock(&lock);
}
