/* SPDX-License-Identifier: Apache-2.0 */
/* What a C++ program may expect on user threads: thread_local objects, exceptions that
 * cross kernel threads while they are handled, streams, std::thread::id, mutexes and
 * std::thread. */
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <locale>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "fibers.h"
#include "test.h"

static std::atomic<long> made, gone, order_errors;

struct Counted {
	std::string text = "a string that is too long for the small buffer";
	std::vector<int> numbers;
	Counted()
	{
		made++;
	}
	~Counted()
	{
		if (numbers.size() != 3)
			order_errors++;
		gone++;
	}
};

static thread_local Counted counted;
static thread_local int plain = 17;
static thread_local std::unique_ptr<std::map<int, std::string>> table;

static thread_local int destroyed_after;
struct Late {
	int number;
	explicit Late(int n) : number(n) {}
	~Late()
	{
		/* the last one constructed is destroyed first */
		if (destroyed_after != number)
			order_errors++;
		destroyed_after = number - 1;
	}
};

static void use_objects(void *arg)
{
	int number = (int)(long)arg;

	CHECK_EQ(plain, 17);
	CHECK(!table);
	CHECK(counted.numbers.empty());
	CHECK_EQ(counted.text.size(), 46);
	plain = number;
	table = std::make_unique<std::map<int, std::string>>();
	counted.numbers = { 1, 2 };
	fiber_yield();
	(*table)[number] = std::string(200, 'x') + std::to_string(number);
	counted.numbers.push_back(number);
	fiber_yield();
	CHECK_EQ(plain, number);
	CHECK_EQ(counted.numbers[2], number);
	CHECK_EQ((*table)[number].size(), 200 + std::to_string(number).size());
	thread_local Late one(1);
	thread_local Late two(2);
	thread_local Late three(3);
	destroyed_after = 3;
	CHECK_EQ(one.number + two.number + three.number, 6);
}

static std::vector<void *> numbered(size_t n)
{
	std::vector<void *> args(n);

	for (size_t i = 0; i < n; i++)
		args[i] = (void *)(i + 1);
	return args;
}

static void each_thread_makes_and_destroys_its_thread_local_objects()
{
	auto args = numbered(500);

	for (int round = 0; round < 3; round++) {
		made = gone = 0;
		fibers_run(4, 500, use_objects, args.data());
		CHECK_EQ(made, 500);
		CHECK_EQ(gone, 500);
		CHECK_EQ(order_errors, 0);
	}
}

static int deep(int n, int number)
{
	std::string on_stack = "frame " + std::to_string(n);

	if (n == 0)
		throw std::runtime_error("thrown by " + std::to_string(number));
	return deep(n - 1, number) + (int)on_stack.size();
}

struct YieldsInDestructor {
	~YieldsInDestructor()
	{
		int was = std::uncaught_exceptions();

		fiber_yield();
		if (was != 1 || std::uncaught_exceptions() != 1)
			order_errors++;
	}
};

static void throw_and_catch(void *arg)
{
	int number = (int)(long)arg;
	std::string want = "thrown by " + std::to_string(number);

	for (int i = 0; i < 10; i++) {
		std::exception_ptr kept;

		CHECK_EQ(std::uncaught_exceptions(), 0);
		CHECK(!std::current_exception());
		try {
			YieldsInDestructor y;
			deep(5, number);
		} catch (const std::exception &e) {
			CHECK(want == e.what());
			fiber_yield(); /* in the handler: libstdc++ keeps
				        * caughtExceptions in this thread's TLS */
			CHECK(want == e.what());
			try {
				deep(3, -number);
			} catch (const std::runtime_error &inner) {
				fiber_yield();
				CHECK(want.size() + 1 ==
				      std::string(inner.what()).size());
			}
			kept = std::current_exception();
			CHECK(kept);
			try {
				throw; /* the outer one again */
			} catch (const std::exception &again) {
				CHECK(&again == &e);
			}
		}
		fiber_yield();
		try {
			std::rethrow_exception(kept);
		} catch (const std::exception &e) {
			CHECK(want == e.what());
		}
	}
	CHECK_EQ(std::uncaught_exceptions(), 0);
}

static void exceptions_cross_yields_and_kernel_threads()
{
	auto args = numbered(300);
	unsigned long before = fibers_migrations();

	fibers_run(4, 300, throw_and_catch, args.data());
	CHECK_EQ(order_errors, 0);
	CHECK(fibers_migrations() - before > 300);
}

static void use_streams(void *arg)
{
	int number = (int)(long)arg;
	std::mt19937 random(number);

	for (int i = 0; i < 10; i++) {
		std::ostringstream out;
		double d = number * M_PI;

		out << number << ' ' << std::boolalpha << true << ' ' << d;
		fiber_yield();
		out << ' ' << std::string(random() % 100, 'y');
		std::istringstream in(out.str());
		int n;
		std::string yes;
		double back;

		in >> n >> yes >> back;
		CHECK_EQ(n, number);
		CHECK(yes == "true");
		CHECK(std::fabs(back - d) < 0.01);
		fiber_yield();
		std::locale::global(std::locale::classic());
		CHECK(std::isalpha('z', std::locale()));
		CHECK_EQ(std::stoi(std::to_string(number)), number); /* uses errno */
	}
}

static void streams_and_numbers_work()
{
	auto args = numbered(300);

	fibers_run(4, 300, use_streams, args.data());
}

static std::mutex lock;
static std::set<std::thread::id> ids;
static std::recursive_mutex recursive;
static long under_lock;

static void use_threads(void *)
{
	std::thread::id me = std::this_thread::get_id();

	{
		std::lock_guard<std::mutex> g(lock);
		CHECK(ids.insert(me).second);
	}
	fiber_yield();
	CHECK(me == std::this_thread::get_id());
	for (int i = 0; i < 100; i++) {
		std::lock_guard<std::recursive_mutex> a(recursive);
		std::lock_guard<std::recursive_mutex> b(recursive);

		under_lock++;
	}
	fiber_yield();
	std::lock_guard<std::mutex> g(lock);
	ids.erase(me);
}

static void thread_ids_are_unique_among_live_threads()
{
	fibers_run(4, 500, use_threads, nullptr);
	CHECK(ids.empty());
	CHECK_EQ(under_lock, 50000);
}

static void quiet_end(void *arg)
{
	*(std::string *)arg += "x";
	/* a kernel thread, made by a user thread */
	std::thread t([arg] { *(std::string *)arg += std::to_string(1.5); });

	t.join();
}

static void a_user_thread_makes_and_joins_a_kernel_thread()
{
	std::string s;

	fiber_run_one(quiet_end, &s);
	CHECK(s == "x1.500000");
}

int main(int argc, char **argv)
{
	int ret = fibers_each_method(argc, argv);

	if (ret >= 0)
		return ret;
	fibers_init();
	RUN(each_thread_makes_and_destroys_its_thread_local_objects);
	RUN(exceptions_cross_yields_and_kernel_threads);
	RUN(streams_and_numbers_work);
	RUN(thread_ids_are_unique_among_live_threads);
	RUN(a_user_thread_makes_and_joins_a_kernel_thread);
	return 0;
}
