/* SPDX-License-Identifier: Apache-2.0 */
/* Messages without stdio: used in signal handlers, on any stack, with any lock held. */
#include "base/log.h"

#include <signal.h>

#include "base/fds.h"
#include "base/hooks.h"
#include "base/sys.h"

struct out {
	char *buf;
	size_t n, len;
};

static void put(struct out *o, char c)
{
	if (o->len + 1 < o->n)
		o->buf[o->len++] = c;
}

static void pad(struct out *o, int n, char c)
{
	while (n-- > 0)
		put(o, c);
}

static void put_str(struct out *o, const char *s, int width, bool left)
{
	int len = 0;

	while (s[len])
		len++;
	if (!left)
		pad(o, width - len, ' ');
	for (int i = 0; i < len; i++)
		put(o, s[i]);
	if (left)
		pad(o, width - len, ' ');
}

static void put_num(struct out *o, unsigned long long v, unsigned base, bool neg,
		    int width, bool left, char fill, bool alt)
{
	char tmp[32];
	int i = 31;

	tmp[i] = 0;
	do {
		tmp[--i] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	if (alt) {
		tmp[--i] = 'x';
		tmp[--i] = '0';
	}
	if (neg)
		tmp[--i] = '-';
	if (fill == '0')
		pad(o, width - (31 - i), '0');
	put_str(o, tmp + i, fill == '0' ? 0 : width, left);
}

size_t fmt_tov(char *buf, size_t n, const char *fmt, va_list ap)
{
	struct out o = { buf, n, 0 };

	for (; *fmt; fmt++) {
		bool left = false, alt = false;
		char fill = ' ';
		int width = 0, longs = 0;

		if (*fmt != '%') {
			put(&o, *fmt);
			continue;
		}
		for (fmt++;; fmt++) {
			if (*fmt == '-')
				left = true;
			else if (*fmt == '#')
				alt = true;
			else if (*fmt == '0')
				fill = '0';
			else
				break;
		}
		for (; *fmt >= '0' && *fmt <= '9'; fmt++)
			width = width * 10 + (*fmt - '0');
		for (; *fmt == 'l' || *fmt == 'z'; fmt++)
			longs++;
		switch (*fmt) {
		case 'd': {
			long long v = longs == 0 ? va_arg(ap, int) : va_arg(ap, long);

			put_num(&o,
				v < 0 ? 0ULL - (unsigned long long)v
				      : (unsigned long long)v,
				10, v < 0, width, left, fill, false);
			break;
		}
		case 'u':
		case 'x': {
			unsigned long long v = longs == 0 ? va_arg(ap, unsigned)
							  : va_arg(ap, unsigned long);

			put_num(&o, v, *fmt == 'x' ? 16 : 10, false, width, left, fill,
				alt);
			break;
		}
		case 'p':
			put_num(&o, (uintptr_t)va_arg(ap, void *), 16, false, width,
				left, fill, true);
			break;
		case 's': {
			const char *s = va_arg(ap, const char *);

			put_str(&o, s ? s : "(null)", width, left);
			break;
		}
		case 'c':
			put(&o, (char)va_arg(ap, int));
			break;
		case '%':
			put(&o, '%');
			break;
		default:
			put(&o, '?');
			if (!*fmt)
				fmt--;
		}
	}
	if (n)
		buf[o.len] = 0;
	return o.len;
}

size_t fmt_to(char *buf, size_t n, const char *fmt, ...)
{
	va_list ap;
	size_t len;

	va_start(ap, fmt);
	len = fmt_tov(buf, n, fmt, ap);
	va_end(ap);
	return len;
}

static void write_all(int fd, const char *s, size_t n)
{
	while (n) {
		long r = sys3(SYS_write, fd, s, n);

		if (r == -EINTR || r == -EAGAIN)
			continue;
		if (r <= 0)
			return;
		s += r;
		n -= (size_t)r;
	}
}

void fmt_fd(int fd, const char *fmt, ...)
{
	char buf[1024];
	va_list ap;

	va_start(ap, fmt);
	write_all(fd, buf, fmt_tov(buf, sizeof(buf), fmt, ap));
	va_end(ap);
}

static void write_message(const char *s, size_t n)
{
	bool mine = files_are_the_programs();
	int fd = mine ? 2 : hooks.stderr_fd();

	if (fd < 0)
		return;
	write_all(fd, s, n);
	if (!mine)
		sys1(SYS_close, fd);
}

static void say(const char *what, const char *fmt, va_list ap)
{
	char buf[1024];
	size_t n = fmt_to(buf, sizeof(buf) - 1, "ukthreads: %s", what);

	n += fmt_tov(buf + n, sizeof(buf) - 1 - n, fmt, ap);
	buf[n++] = '\n';
	write_message(buf, n);
}

void uk_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("", fmt, ap);
	va_end(ap);
}

void uk_panic(const char *fmt, ...)
{
	static int once;
	uint64_t abrt = 1ull << (SIGABRT - 1);
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		unsigned long mask;
	} dfl = { 0 };
	va_list ap;

	va_start(ap, fmt);
	say("panic: ", fmt, ap);
	va_end(ap);
	if (hooks.panic && !__atomic_exchange_n(&once, 1, __ATOMIC_SEQ_CST))
		hooks.panic();
	/* abort(3) takes locks: raise the signal itself */
	sys4(SYS_rt_sigaction, SIGABRT, &dfl, NULL, 8);
	sys4(SYS_rt_sigprocmask, SIG_UNBLOCK, &abrt, NULL, sizeof(abrt));
	sys3(SYS_tgkill, sys0(SYS_getpid), sys_gettid(), SIGABRT);
	for (;;)
		sys1(SYS_exit_group, 134);
}
