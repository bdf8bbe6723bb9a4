/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP dates. The present date is formatted once per second and shared. There are eight
 * slots in turn, so the slot that a reader copies is not rewritten for eight seconds.
 * One thread writes; others use the old slot meanwhile. main calls date_now once before
 * there are threads, so the shown slot is always complete. */
#include "web.h"

#include <string.h>

static const char days[7][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
static const char full_days[7][10] = { "Sunday",   "Monday", "Tuesday", "Wednesday",
				       "Thursday", "Friday", "Saturday" };
static const char months[12][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
				    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };

static void two(char *p, int v)
{
	p[0] = (char)('0' + v / 10 % 10);
	p[1] = (char)('0' + v % 10);
}

void date_format(time_t t, char out[DATE_LEN + 1])
{
	struct tm tm;

	gmtime_r(&t, &tm);
	memcpy(out, "Ddd, dd Mmm yyyy hh:mm:ss GMT", DATE_LEN + 1);
	memcpy(out, days[tm.tm_wday], 3);
	two(out + 5, tm.tm_mday);
	memcpy(out + 8, months[tm.tm_mon], 3);
	two(out + 12, (tm.tm_year + 1900) / 100);
	two(out + 14, tm.tm_year % 100);
	two(out + 17, tm.tm_hour);
	two(out + 20, tm.tm_min);
	two(out + 23, tm.tm_sec);
}

static int number(const char *p, uint32_t n, int *out)
{
	int v = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return -1;
		v = v * 10 + (p[i] - '0');
	}
	*out = v;
	return 0;
}

static int month(const char *p, int *out)
{
	for (int i = 0; i < 12; i++)
		if (memcmp(p, months[i], 3) == 0) {
			*out = i;
			return 0;
		}
	return -1;
}

static int clock_part(const char *p, struct tm *tm)
{
	return p[2] != ':' || p[5] != ':' || number(p, 2, &tm->tm_hour) ||
	       number(p + 3, 2, &tm->tm_min) || number(p + 6, 2, &tm->tm_sec);
}

/* Sun, 06 Nov 1994 08:49:37 GMT */
static int imf(const char *p, struct tm *tm)
{
	int y;

	if (memcmp(p + 3, ", ", 2) || p[7] != ' ' || p[11] != ' ' || p[16] != ' ' ||
	    memcmp(p + 25, " GMT", 4) || number(p + 5, 2, &tm->tm_mday) ||
	    month(p + 8, &tm->tm_mon) || number(p + 12, 4, &y) ||
	    clock_part(p + 17, tm))
		return -1;
	tm->tm_year = y - 1900;
	return 0;
}

static bool full_day(const char *p, size_t n)
{
	for (int i = 0; i < 7; i++)
		if (strlen(full_days[i]) == n && memcmp(p, full_days[i], n) == 0)
			return true;
	return false;
}

/* Sunday, 06-Nov-94 08:49:37 GMT; over 50 years ahead means the past (RFC 9110). */
static int rfc850(const char *p, uint32_t n, struct tm *tm)
{
	const char *q = memchr(p, ',', n);
	const char *now;
	int y, this_year = 0;

	if (!q || p + n - q != 24 || q[1] != ' ' || q[4] != '-' || q[8] != '-' ||
	    q[11] != ' ' || memcmp(q + 20, " GMT", 4) ||
	    number(q + 2, 2, &tm->tm_mday) || month(q + 5, &tm->tm_mon) ||
	    number(q + 9, 2, &y) || clock_part(q + 12, tm) ||
	    !full_day(p, (size_t)(q - p)))
		return -1;
	date_now(&now);
	number(now + 12, 4, &this_year);
	y += this_year / 100 * 100;
	tm->tm_year = (y > this_year + 50 ? y - 100 : y) - 1900;
	return 0;
}

/* Sun Nov  6 08:49:37 1994 */
static int asctime_form(const char *p, struct tm *tm)
{
	int y;

	if (p[3] != ' ' || p[7] != ' ' || p[10] != ' ' || p[19] != ' ' ||
	    month(p + 4, &tm->tm_mon) ||
	    (p[8] == ' ' ? number(p + 9, 1, &tm->tm_mday)
			 : number(p + 8, 2, &tm->tm_mday)) ||
	    clock_part(p + 11, tm) || number(p + 20, 4, &y))
		return -1;
	tm->tm_year = y - 1900;
	return 0;
}

int date_parse(const char *p, uint32_t n, time_t *out)
{
	struct tm tm = { 0 };

	if (!(n == 29 && imf(p, &tm) == 0) && !(n == 24 && asctime_form(p, &tm) == 0) &&
	    !(n > 24 && n < 34 && rfc850(p, n, &tm) == 0))
		return -1;
	if (tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour > 23 || tm.tm_min > 59 ||
	    tm.tm_sec > 60)
		return -1;
	*out = timegm(&tm);
	return 0;
}

int64_t date_now(const char **http)
{
	static char
	    slot[8][DATE_LEN + 1]; /* the holder of `writing` writes the next one */
	static _Atomic(unsigned) shown; /* release: the slot it names is complete */
	static _Atomic(int64_t) shown_sec;
	static _Atomic(int) writing;
	struct timespec ts;
	int64_t sec;

	clock_gettime(CLOCK_REALTIME_COARSE, &ts);
	sec = ts.tv_sec;
	if (atomic_load_explicit(&shown_sec, memory_order_relaxed) != sec &&
	    !atomic_exchange_explicit(&writing, 1, memory_order_acquire)) {
		unsigned next =
		    (atomic_load_explicit(&shown, memory_order_relaxed) + 1) & 7;

		date_format(sec, slot[next]);
		atomic_store_explicit(&shown, next, memory_order_release);
		atomic_store_explicit(&shown_sec, sec, memory_order_relaxed);
		atomic_store_explicit(&writing, 0, memory_order_release);
	}
	*http = slot[atomic_load_explicit(&shown, memory_order_acquire)];
	return sec * 1000000000 + ts.tv_nsec;
}
