/* SPDX-License-Identifier: Apache-2.0 */
/* load.c - a closed-loop HTTP/1.1 keep-alive client that counts exactly.
 *
 * load PORT PATH CONNECTIONS SECONDS BODYFILE [WARM_SECONDS]
 * load PORT PATH CONNECTIONS 0 BODYFILE rate CONNECTIONS_PER_SECOND CALLS
 *
 * The second form is the load of the founding experiment: a new connection every 1/rate
 * seconds, whatever the server does, with CALLS requests each; then it closes. The
 * connections come from 32 addresses, because one address has only 28,000 ports, and
 * each port rests for a second after use.
 *
 * One kernel thread, epoll, one request in flight per connection. The first reply of
 * each connection is compared byte by byte with BODYFILE, later ones in status and
 * length.
 *
 * It stops at quiet points, so that the harness can read the server's CPU time for
 * exactly the counted requests. After the warm-up it completes what is in flight,
 * prints READY and waits for a line on stdin. After the measured time it completes what
 * is in flight again, prints "DONE requests seconds errors ..." and waits for another
 * line.
 *
 * Rejected: wrk. It reports errors by class but not lost connections at 10,000, and it
 * can't stop at a quiet point. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "../lib/bench.h"

#define DRAIN_NS ((int64_t)15 * 1000000000) /* a reply later than this is an error */
#define BATCH 256                           /* connections being made at one time */

enum state { CONNECTING, IDLE, HEAD, BODY, DEAD };

struct conn {
	int fd;
	enum state state;
	int seen;         /* complete replies */
	int want_close;   /* the server announced the end of the connection */
	size_t head_used; /* bytes in head */
	size_t body_left, body_done;
	int64_t sent;
	char head[1024];
};

static struct conn *conns;
static int nconns, ep, in_flight, issuing;
static int calls; /* replies after which a connection is done; 0 = never */
static char request[512];
static size_t request_len;
static char *body;
static size_t body_len;
static uint64_t requests, bytes;
static uint64_t e_connect, e_closed, e_io, e_status, e_body, e_late;
/* latency of the measured part: steps of 4 us, up to what counts as late; pages are
 * allocated as they are used */
#define HIST 4000000
static uint32_t hist[HIST];
static int recording;

static void kill_conn(struct conn *c, uint64_t *why)
{
	(*why)++;
	if (c->state == CONNECTING || c->state == HEAD || c->state == BODY)
		in_flight--;
	close(c->fd);
	c->state = DEAD;
}

static void send_request(struct conn *c)
{
	ssize_t n = send(c->fd, request, request_len, MSG_NOSIGNAL);
	c->state = HEAD;
	c->head_used = 0;
	c->sent = now_ns();
	in_flight++;
	if (n != (ssize_t)request_len)
		kill_conn(c, &e_io);
}

static void reply_done(struct conn *c)
{
	requests++;
	in_flight--;
	c->seen++;
	c->state = IDLE;
	if (recording) {
		int64_t step = (now_ns() - c->sent) / 4000;
		hist[step < HIST ? step : HIST - 1]++;
	}
	if (calls && c->seen == calls) {
		close(c->fd);
		c->state = DEAD;
		return;
	}
	if (c->want_close) {
		kill_conn(c, &e_closed);
		return;
	}
	if (issuing)
		send_request(c);
}

static void take_body(struct conn *c, const char *p, size_t n)
{
	if (n > c->body_left || (!c->seen && memcmp(p, body + c->body_done, n) != 0)) {
		kill_conn(c, &e_body);
		return;
	}
	c->body_left -= n;
	c->body_done += n;
	bytes += n;
	if (!c->body_left)
		reply_done(c);
}

static void take_head(struct conn *c, const char *p, size_t n)
{
	size_t old = c->head_used, room = sizeof c->head - 1 - old;
	size_t take = n < room ? n : room;
	memcpy(c->head + old, p, take);
	c->head_used += take;
	c->head[c->head_used] = 0;
	char *end = memmem(c->head, c->head_used, "\r\n\r\n", 4);
	if (!end) {
		if (take < n)
			kill_conn(c, &e_status);
		return;
	}
	size_t used = (size_t)(end + 4 - c->head) - old;
	end[2] = 0;
	char *cl = strcasestr(c->head, "\ncontent-length:");
	c->want_close = strcasestr(c->head, "\nconnection: close") != NULL;
	if (strncmp(c->head, "HTTP/1.1 200", 12) != 0 || !cl ||
	    strtoul(cl + 16, NULL, 10) != body_len) {
		if (!e_status)
			fprintf(stderr, "unexpected reply:\n%s\n", c->head);
		kill_conn(c, &e_status);
		return;
	}
	c->state = BODY;
	c->body_left = body_len;
	c->body_done = 0;
	take_body(c, p + used, n - used);
}

static void readable(struct conn *c)
{
	static char buf[65536];
	ssize_t n = recv(c->fd, buf, sizeof buf, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0)
		kill_conn(c, n ? &e_io : &e_closed);
	else if (c->state == HEAD)
		take_head(c, buf, (size_t)n);
	else if (c->state == BODY)
		take_body(c, buf, (size_t)n);
	else
		kill_conn(c, &e_body); /* bytes without a request */
}

static void connected(struct conn *c)
{
	int err = 0;
	socklen_t len = sizeof err;
	struct epoll_event ev = { .events = EPOLLIN,
				  .data.u32 = (uint32_t)(c - conns) };
	if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &err, &len) || err) {
		kill_conn(c, &e_connect);
		return;
	}
	in_flight--;
	epoll_ctl(ep, EPOLL_CTL_MOD, c->fd, &ev);
	send_request(c);
}

static int poll_once(int timeout)
{
	struct epoll_event ev[512];
	int n = epoll_wait(ep, ev, 512, timeout);
	for (int i = 0; i < n; i++) {
		struct conn *c = &conns[ev[i].data.u32];
		if (c->state == CONNECTING)
			connected(c);
		else if (c->state != DEAD)
			readable(c);
	}
	return n;
}

static void connect_all(int port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port) };
	inet_pton(AF_INET, "127.0.0.1", &sa.sin_addr);
	for (int i = 0; i < nconns; i++) {
		struct conn *c = &conns[i];
		int one = 1;
		c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (c->fd < 0)
			die("socket", errno);
		c->state = IDLE;
		if (connect(c->fd, (struct sockaddr *)&sa, sizeof sa)) {
			kill_conn(c, &e_connect);
			continue;
		}
		setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		struct epoll_event ev = { .events = EPOLLIN, .data.u32 = (uint32_t)i };
		epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &ev);
		send_request(c);
		if (i % BATCH == BATCH - 1)
			poll_once(1);
	}
}

static double quantile_us(double q)
{
	uint64_t total = 0, sum = 0;
	for (int i = 0; i < HIST; i++)
		total += hist[i];
	for (int i = 0; i < HIST; i++)
		if ((double)(sum += hist[i]) >= q * (double)total)
			return i * 4;
	return HIST * 4;
}

static void report(double took)
{
	printf(
	    "DONE requests=%llu seconds=%.6f bytes=%llu p50=%.0f p99=%.0f connect=%llu "
	    "closed=%llu io=%llu status=%llu body=%llu late=%llu\n",
	    (unsigned long long)requests, took, (unsigned long long)bytes,
	    quantile_us(0.5), quantile_us(0.99), (unsigned long long)e_connect,
	    (unsigned long long)e_closed, (unsigned long long)e_io,
	    (unsigned long long)e_status, (unsigned long long)e_body,
	    (unsigned long long)e_late);
	fflush(stdout);
}

static void drain_late(void)
{
	for (int i = 0; i < nconns; i++)
		if (conns[i].fd > 0 && conns[i].state != DEAD && conns[i].state != IDLE)
			kill_conn(&conns[i], &e_late);
}

/* Completes what is in flight; a reply that does not arrive in time is an error. */
static void drain(void)
{
	int64_t end = now_ns() + DRAIN_NS;
	issuing = 0;
	while (in_flight > 0 && now_ns() < end)
		poll_once(100);
	drain_late();
}

static void choose_source(int fd, long n)
{
	int one = 1;
	struct sockaddr_in sa = { .sin_family = AF_INET };
	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + (uint32_t)(n % 32));
	setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
	if (bind(fd, (struct sockaddr *)&sa, sizeof sa))
		die("bind", errno);
}

static void start_conn(struct conn *c, const struct sockaddr_in *sa)
{
	int one = 1;
	struct epoll_event ev = { .events = EPOLLOUT,
				  .data.u32 = (uint32_t)(c - conns) };
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->fd < 0)
		die("socket", errno);
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	choose_source(c->fd, c - conns);
	c->state = CONNECTING;
	in_flight++;
	if (connect(c->fd, (const struct sockaddr *)sa, sizeof *sa) &&
	    errno != EINPROGRESS)
		kill_conn(c, &e_connect);
	else
		epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &ev);
}

/* Makes connections at a fixed rate, whatever the server does. */
static void open_loop(int port, double rate)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port) };
	int64_t t0 = now_ns(), end;
	inet_pton(AF_INET, "127.0.0.1", &sa.sin_addr);
	issuing = 1;
	for (int i = 0; i < nconns;) {
		while (i < nconns && now_ns() - t0 >= (int64_t)(i * 1e9 / rate))
			start_conn(&conns[i++], &sa);
		poll_once(rate >= 500 ? 0 : 1);
	}
	for (end = now_ns() + DRAIN_NS; in_flight > 0 && now_ns() < end;)
		poll_once(100);
	double took = (double)(now_ns() - t0) / 1e9;
	drain_late();
	report(took);
}

static void run_for(double seconds)
{
	int64_t end = now_ns() + (int64_t)(seconds * 1e9);
	issuing = 1;
	for (int i = 0; i < nconns; i++)
		if (conns[i].state == IDLE)
			send_request(&conns[i]);
	while (now_ns() < end)
		poll_once(10);
	drain();
}

static void read_body(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &st))
		die(path, errno);
	body_len = (size_t)st.st_size;
	body = malloc(body_len + 1);
	if (!body || read(fd, body, body_len) != (ssize_t)body_len)
		die(path, errno);
	close(fd);
}

int main(int argc, char **argv)
{
	char line[64];
	if (argc < 6) {
		fprintf(stderr,
			"usage: load PORT PATH CONNS SECONDS BODYFILE [WARM]\n");
		return 2;
	}
	nconns = atoi(argv[3]);
	double seconds = atof(argv[4]), warm = argc > 6 ? atof(argv[6]) : 0.5;
	read_body(argv[5]);
	request_len =
	    (size_t)snprintf(request, sizeof request,
			     "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", argv[2]);
	conns = calloc((size_t)nconns, sizeof *conns);
	ep = epoll_create1(EPOLL_CLOEXEC);
	if (!conns || ep < 0)
		die("load", errno);
	if (argc > 8 && !strcmp(argv[6], "rate")) {
		recording = 1;
		calls = atoi(argv[8]);
		open_loop(atoi(argv[1]), atof(argv[7]));
		return 0;
	}
	connect_all(atoi(argv[1]));
	run_for(warm);
	printf("READY\n");
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		return 1;
	requests = bytes = 0;
	recording = 1;
	int64_t t0 = now_ns();
	run_for(seconds);
	double took = (double)(now_ns() - t0) / 1e9;
	report(took);
	return fgets(line, sizeof line, stdin) ? 0 : 1;
}
