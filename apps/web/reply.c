/* SPDX-License-Identifier: Apache-2.0 */
/* What every reply has: status line and common fields, the length, counts and log; and
 * the page of an error. Runs on the connection's thread. */
#include "web.h"

#include <string.h>

static const struct {
	int status;
	const char *text;
} reasons[] = {
	{ 200, "OK" },
	{ 204, "No Content" },
	{ 206, "Partial Content" },
	{ 301, "Moved Permanently" },
	{ 304, "Not Modified" },
	{ 400, "Bad Request" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 408, "Request Timeout" },
	{ 412, "Precondition Failed" },
	{ 413, "Content Too Large" },
	{ 414, "URI Too Long" },
	{ 416, "Range Not Satisfiable" },
	{ 417, "Expectation Failed" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 503, "Service Unavailable" },
	{ 505, "HTTP Version Not Supported" },
};

static const char *reason_of(int status)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].status == status)
			return reasons[i].text;
	return "Error";
}

void reply_head(struct conn *c, int status, bool keep)
{
	static const char ok[] = "HTTP/1.1 200 OK\r\nDate: ";
	struct stream *s = &c->s;
	const char *date;

	date_now(&date);
	if (status == 200)
		stream_put(s, ok, sizeof(ok) - 1);
	else
		stream_printf(s, "HTTP/1.1 %d %s\r\nDate: ", status, reason_of(status));
	stream_put(s, date, DATE_LEN);
	stream_puts(s, "\r\nServer: ukweb\r\n");
	if (!keep)
		stream_puts(s, "Connection: close\r\n");
	else if (c->r.minor == 0)
		stream_puts(s, "Connection: keep-alive\r\n");
}

void reply_length(struct stream *s, uint64_t n)
{
	char text[48] = "Content-Length: ", digits[24];
	size_t k = 0, o = 16;

	do
		digits[k++] = (char)('0' + n % 10);
	while ((n /= 10) != 0);
	while (k)
		text[o++] = digits[--k];
	memcpy(text + o, "\r\n\r\n", 4);
	stream_put(s, text, o + 4);
}

void reply_done(struct conn *c, int status, uint64_t body)
{
	unsigned shard = (unsigned)c->id;

	if (status < 300)
		TALLY(&c->s.tally, r2xx, 1);
	else if (status < 400)
		COUNT(shard, r3xx, 1);
	else if (status < 500)
		COUNT(shard, r4xx, 1);
	else
		COUNT(shard, r5xx, 1);
	log_request(c, status, body);
}

void reply_error(struct conn *c, int status, bool keep, const char *extra)
{
	const char *why = reason_of(status);
	char page[512];
	int n = snprintf(
	    page, sizeof(page),
	    "<!DOCTYPE html>\n<html lang=\"en\"><head><title>%d %s</title></head>\n"
	    "<body><h1>%d %s</h1></body></html>\n",
	    status, why, status, why);
	bool head = c->r.method == M_HEAD && c->r.first.len;

	reply_head(c, status, keep);
	if (extra)
		stream_puts(&c->s, extra);
	stream_puts(&c->s, "Content-Type: text/html; charset=utf-8\r\n");
	reply_length(&c->s, (uint64_t)n);
	if (!head)
		stream_put(&c->s, page, (size_t)n);
	if (!keep)
		c->linger = true;
	reply_done(c, status, head ? 0 : (uint64_t)n);
}
