/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of the tests of uk.hpp: expected exceptions, and an element that notices wrong
 * moves, leaks and double destruction. */
#ifndef TESTS_CXX_BED_HPP
#define TESTS_CXX_BED_HPP

#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include <uk/uk.hpp>

#include "test.h"

using namespace std::chrono_literals;

/* No test waits so long. */
constexpr auto never = std::chrono::seconds(HANG_SEC);

/* Does f() throw this error? The handler has ended when this returns, because in builds
 * with light threads a handler must not wait. */
template <class F> bool throws(std::errc want, F f)
{
	try {
		f();
	} catch (const std::system_error &e) {
		return e.code() == want;
	}
	return false;
}

/* Runs f on a user thread and on a foreign thread. */
template <class F> void on_both(F f)
{
	uk::thread(f).join();
	std::thread(f).join();
}

/* A number that cannot be copied as bytes: it knows its own address. */
class counted
{
public:
	static inline std::atomic<int> alive;
	long value;

	counted(long v = 0) : value(v)
	{
		alive++;
	}
	counted(counted &&o) noexcept : value(std::exchange(o.value, -1))
	{
		CHECK(o.self == &o);
		alive++;
	}
	counted &operator=(counted &&o) noexcept
	{
		CHECK(self == this && o.self == &o);
		value = std::exchange(o.value, -1);
		return *this;
	}
	~counted()
	{
		CHECK(self == this);
		self = nullptr;
		alive--;
	}

private:
	counted *self = this;
};

#endif
