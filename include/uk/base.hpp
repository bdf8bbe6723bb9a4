/* SPDX-License-Identifier: Apache-2.0 */
/* base.hpp - what the C++ headers share: errors as exceptions, times as deadlines. A
 * program includes uk.hpp, or one of the headers named there. */
#ifndef UK_BASE_HPP
#define UK_BASE_HPP

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "uk/uk.hpp needs C++20 (-std=c++20); uk/uk.h does not"
#endif

#include <chrono>
#include <system_error>

#include <errno.h>

#include <uk/thread.h>
#include <uk/time.h>

namespace uk
{

namespace detail
{

[[noreturn]] inline void fail(int error, const char *what)
{
	throw std::system_error(-error, std::generic_category(), what);
}

/* The result of a C call; an error is thrown. */
template <class R> R check(R result, const char *what)
{
	if (result < 0)
		fail(static_cast<int>(result), what);
	return result;
}

/* A span of any kind in ns, rounded up: 0 for negative ones, UK_FOREVER from 285 years
 * on. */
template <class Rep, class Period>
uk_time span(const std::chrono::duration<Rep, Period> &d)
{
	double seconds = std::chrono::duration<double>(d).count();

	if (!(seconds > 0))
		return 0;
	if (seconds > 9e9)
		return UK_FOREVER;
	return std::chrono::ceil<std::chrono::nanoseconds>(d).count();
}

/* How far t is ahead: 0 if it has come. Far points are compared as floating point,
 * because their difference may overflow. */
template <class Clock, class Duration>
uk_time left(const std::chrono::time_point<Clock, Duration> &t)
{
	using seconds = std::chrono::duration<double>;
	auto now = Clock::now();
	seconds far = seconds(t.time_since_epoch()) - seconds(now.time_since_epoch());

	if (far.count() < -1)
		return 0;
	return far.count() > 9e9 ? UK_FOREVER : span(t - now);
}

/* t as a deadline of the C calls; 0 if it has come. */
template <class Clock, class Duration>
uk_time deadline_of(const std::chrono::time_point<Clock, Duration> &t)
{
	uk_time ns = left(t);

	return ns ? uk_after(ns) : 0;
}

/* The point in time after d. steady_clock is the clock of uk_now(). */
template <class Rep, class Period>
std::chrono::steady_clock::time_point after(const std::chrono::duration<Rep, Period> &d)
{
	return std::chrono::steady_clock::time_point(
	    std::chrono::nanoseconds(uk_after(span(d))));
}

inline bool own_deadline_passed()
{
	uk_time mine = uk_thread_set_deadline(UK_FOREVER);

	uk_thread_set_deadline(mine);
	return mine <= uk_now();
}

/* Call f(deadline) until t, and return what it returns: -ETIMEDOUT if t has come. The
 * thread's own deadline is thrown. */
template <class Clock, class Duration, class F>
int until(const std::chrono::time_point<Clock, Duration> &t, const char *what, F f)
{
	for (;;) {
		int r = f(deadline_of(t));

		if (r != -ETIMEDOUT || !left(t))
			return r;
		if (own_deadline_passed())
			fail(r, what);
	}
}

/* Call f again, without deadline and cancellation, until neither ends it. The thread
 * has both again afterwards. */
template <class F> int insist(F f)
{
	uk_time mine = uk_thread_set_deadline(UK_FOREVER);
	bool cancelled = false;
	int r;

	do {
		cancelled |= uk_thread_cancel_clear() != 0;
		r = f();
	} while (r == -ECANCELED);
	uk_thread_set_deadline(mine);
	if (cancelled)
		uk_thread_cancel(uk_thread_self());
	return r;
}

/* f, and again if cancellation or the thread's deadline ends it. */
template <class F> int surely(F f)
{
	int r = f();

	return r == -ECANCELED || r == -ETIMEDOUT ? insist(f) : r;
}

} // namespace detail

} // namespace uk

#endif
