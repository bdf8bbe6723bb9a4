/* SPDX-License-Identifier: Apache-2.0 */
/* uk::thread, uk::this_thread, deadlines and cancellation. */
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <unordered_set>
#include <vector>

#include "bed.hpp"

static_assert(std::is_nothrow_move_constructible_v<uk::thread>);
static_assert(std::is_nothrow_move_assignable_v<uk::thread>);
static_assert(!std::is_copy_constructible_v<uk::thread>);
static_assert(std::is_nothrow_default_constructible_v<uk::thread>);
static_assert(std::is_nothrow_swappable_v<uk::thread>);
static_assert(std::totally_ordered<uk::thread::id>);
static_assert(std::is_trivially_copyable_v<uk::thread::id>);
static_assert(!std::is_convertible_v<void (*)(), uk::thread>);

struct account {
	int sum = 0;
	void add(int n)
	{
		sum += n;
	}
};

static void takes_references(int &out, const std::string &text, const char *more)
{
	out = static_cast<int>(text.size() + strlen(more));
}

static void a_thread_calls_anything_with_decayed_arguments()
{
	auto owned = std::make_unique<int>(7);
	char text[] = "abc";
	std::string word = "seven77";
	account a;
	int out = 0;

	uk::thread([&out](std::unique_ptr<int> p) { out = *p; }, std::move(owned))
	    .join();
	CHECK_EQ(out, 7);
	CHECK(!owned);
	uk::thread(takes_references, std::ref(out), word, text).join();
	CHECK_EQ(out, 10);
	CHECK(word == "seven77");
	uk::thread(&account::add, &a, 3).join();
	uk::thread(&account::add, std::ref(a), 4).join();
	CHECK_EQ(a.sum, 7);
	uk::thread([held = std::make_unique<int>(5), &out]() mutable {
		out = *held;
		held.reset();
	}).join();
	CHECK_EQ(out, 5);
	{
		uk::thread t([](counted c) { CHECK_EQ(c.value, 9); }, counted(9));
	}
	CHECK_EQ(counted::alive, 0);
}

static void a_destroyed_thread_is_asked_to_stop_and_joined()
{
	std::atomic<bool> runs = false, ended = false;

	{
		uk::thread t(
		    [&](std::stop_token stop, int n) {
			    runs = true;
			    UNTIL(stop.stop_requested());
			    ended = n == 3;
		    },
		    3);
		CHECK(t.get_stop_source() == t.get_stop_source());
		CHECK(!t.get_stop_token().stop_requested());
		UNTIL(runs);
	}
	CHECK(ended);
	uk::thread none;
	CHECK(!none.joinable() && !none.get_stop_source().stop_possible());
	CHECK(!none.request_stop());
	none.cancel();
}

static void threads_move()
{
	std::vector<uk::thread> all;
	std::atomic<int> ran = 0, stopped = 0;

	for (int i = 0; i < 20; i++)
		all.emplace_back([&ran] { ran++; });
	uk::thread t([&](std::stop_token stop) {
		UNTIL(stop.stop_requested());
		stopped++;
	});
	auto id = all[3].get_id();
	t = std::move(all[3]); /* stops and joins the one before */
	CHECK_EQ(stopped, 1);
	CHECK(t.get_id() == id && !all[3].joinable());
	swap(t, all[4]);
	CHECK(all[4].get_id() == id);
	uk::thread &same = t;
	t = std::move(same);
	CHECK(t.joinable());
	all.clear();
	t.join();
	CHECK_EQ(ran, 20);
}

static void joins_that_cannot_be_are_errors()
{
	uk::thread t([] {}), none;
	std::atomic<uk::thread *> self = nullptr;
	std::atomic<bool> refused = false, gone = false;

	t.join();
	CHECK(!t.joinable() && t.get_id() == uk::thread::id());
	CHECK(throws(std::errc::invalid_argument, [&] { t.join(); }));
	CHECK(throws(std::errc::invalid_argument, [&] { none.detach(); }));
	uk::thread u([&] {
		UNTIL(self.load());
		refused = throws(std::errc::resource_deadlock_would_occur,
				 [&] { self.load()->join(); });
	});
	self = &u;
	UNTIL(refused);
	u.join();
	uk::thread v([&] { gone = true; });
	v.detach();
	CHECK(!v.joinable());
	UNTIL(gone);
}

static void ids_are_ordered_hashed_and_printed()
{
	std::vector<uk::thread> all;
	std::vector<uk::thread::id> seen(20);
	std::unordered_set<uk::thread::id> set{ uk::thread::id() };
	std::map<uk::thread::id, int> map;
	std::ostringstream out, none, me;
	uk::thread::id main = uk::this_thread::get_id(), other;

	set.insert(main);
	for (int i = 0; i < 20; i++)
		all.emplace_back([&, i] { seen[i] = uk::this_thread::get_id(); });
	for (int i = 0; i < 20; i++) {
		CHECK(set.insert(all[i].get_id()).second);
		map[all[i].get_id()] = i;
		out << all[i].get_id() << ' ';
		CHECK(std::to_string(uk_thread_id(all[i].native_handle())) + ' ' ==
		      out.str());
		out.str("");
		uk::thread::id id = all[i].get_id();
		all[i].join();
		CHECK(seen[i] == id);
	}
	CHECK_EQ(map.size(), 20);
	CHECK((map.begin()->first <=> std::next(map.begin())->first) < 0);
	std::thread([&] { other = uk::this_thread::get_id(); }).join();
	CHECK(other != main && main == uk::this_thread::get_id());
	none << uk::thread::id();
	me << main;
	CHECK(none.str() != me.str() && !me.str().empty());
}

static void a_thread_that_cannot_be_made_is_an_error()
{
	counted c(3);
	auto start = [](const counted &) {};

	CHECK(throws(std::errc::invalid_argument, [&] {
		uk::thread({ .stack_size = std::size_t{ 1 } << 50 }, start,
			   std::move(c));
	}));
	CHECK_EQ(counted::alive, 1);
}

static void attributes_are_those_of_the_thread()
{
	uk_vpset *set = nullptr, *in = nullptr;
	char name[32] = "";
	std::size_t size = 0;
	void *base;

	CHECK_EQ(uk_vpset_create(&set, "cxx", 1, nullptr, 0), 0);
	uk::thread t({ .stack_size = 512 << 10, .set = set, .name = "named" }, [&] {
		uk_thread_get_name(uk_thread_self(), name, sizeof(name));
		CHECK_EQ(uk_thread_stack(uk_thread_self(), &base, &size), 0);
		in = uk_vpset_self();
	});
	t.join();
	CHECK(std::string(name) == "named");
	CHECK_EQ(size, 512 << 10);
	CHECK(in == set);
	CHECK_EQ(uk::thread::hardware_concurrency(), uk_vp_count());
}

/* In a child, before there are threads. */
static void an_exception_that_leaves_the_function_terminates()
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid) {
		std::set_terminate([] { _Exit(42); });
		uk::thread([] { throw std::runtime_error("unhandled"); }).join();
		_Exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

static void exceptions_and_results_pass_run_blocking()
{
	on_both([] {
		int n = 0;
		int &same = uk::this_thread::run_blocking([&]() -> int & { return n; });
		auto p = uk::this_thread::run_blocking(
		    [](int v) { return std::make_unique<int>(v); }, 8);
		bool thrown = false;

		CHECK(&same == &n && *p == 8);
		uk::this_thread::run_blocking([&] { usleep(100); });
		for (int i = 0; i < 3; i++) {
			try {
				uk::this_thread::run_blocking([] {
					uk::this_thread::run_blocking(
					    [] { throw std::out_of_range("deep"); });
				});
			} catch (const std::out_of_range &e) {
				thrown = std::string(e.what()) == "deep";
			}
			CHECK(std::exchange(thrown, false));
			uk::this_thread::yield();
		}
	});
}

struct slow_clock { /* each look is 10 ms later */
	using duration = std::chrono::milliseconds;
	using rep = duration::rep;
	using period = duration::period;
	using time_point = std::chrono::time_point<slow_clock>;
	static constexpr bool is_steady = true;
	static inline std::atomic<int> looks;
	static time_point now()
	{
		return time_point(duration(looks++ * 10));
	}
};

static void sleeps_end_at_any_clocks_time()
{
	on_both([] {
		auto steady = std::chrono::steady_clock::now();
		auto system = std::chrono::system_clock::now();

		uk::this_thread::sleep_for(2ms);
		uk::this_thread::sleep_for(0.001s);
		CHECK(std::chrono::steady_clock::now() - steady >= 3ms);
		uk::this_thread::sleep_for(-1h);
		uk::this_thread::sleep_for(std::chrono::hours::min());
		uk::this_thread::sleep_until(system + 5ms);
		CHECK(std::chrono::system_clock::now() - system >= 5ms);
		uk::this_thread::sleep_until(
		    std::chrono::steady_clock::time_point::min());
		slow_clock::looks = 0;
		uk::this_thread::sleep_until(slow_clock::time_point(25ms));
		CHECK(slow_clock::looks >= 3);
	});
}

static void a_deadline_bounds_the_scope()
{
	on_both([] {
		uk::deadline_scope outer(1h);
		{
			uk::deadline_scope inner(3ms);
			uk::deadline_scope later(
			    2h); /* not later than the one outside */
			uk::mutex m;
			std::unique_lock lock(m);
			uk::condition_variable c;
			uk::chan<int> chan;
			uk::counting_semaphore<> s(0);

			CHECK(throws(std::errc::timed_out,
				     [&] { uk::this_thread::sleep_for(never); }));
			CHECK(throws(std::errc::timed_out, [&] { c.wait(lock); }));
			CHECK(lock.owns_lock() && !m.try_lock());
			CHECK(throws(std::errc::timed_out,
				     [&] { c.wait_for(lock, never); }));
			CHECK(throws(std::errc::timed_out, [&] { chan.recv(); }));
			CHECK(throws(std::errc::timed_out,
				     [&] { s.try_acquire_for(never); }));
			CHECK(!s.try_acquire_for(0s));
			std::optional<int> v;
			CHECK(chan.recv_for(v, 0s) == uk::chan_status::timeout);
		}
		uk::this_thread::sleep_for(4ms);
		uk::deadline_scope past(std::chrono::system_clock::now() - 1s);
		CHECK(throws(std::errc::timed_out,
			     [] { uk::this_thread::sleep_for(1ms); }));
	});
}

/* Runs f on a thread that is cancelled before or while it waits. */
template <class F> static void cancelled(F f)
{
	std::atomic<bool> right = false;
	uk::thread t([&] {
		right = throws(std::errc::operation_canceled, f);
		CHECK(uk_thread_is_cancelled());
	});

	t.cancel();
	t.join();
	CHECK(right);
}

static void a_cancelled_thread_gets_exceptions_from_its_waits()
{
	uk::mutex m;
	uk::condition_variable c;
	uk::chan<counted> chan;
	uk::counting_semaphore<> s(0);
	uk::barrier b(2);
	uk::latch l(1);
	std::stop_source stop;
	uk::thread other([](std::stop_token t) { UNTIL(t.stop_requested()); });

	cancelled([] { uk::this_thread::sleep_for(never); });
	cancelled([&] {
		std::unique_lock lock(m);
		c.wait(lock, [] { return false; });
	});
	cancelled([&] {
		std::unique_lock lock(m);
		c.wait(lock, stop.get_token(), [] { return false; });
	});
	CHECK(m.try_lock());
	m.unlock();
	cancelled([&] { chan.recv(); });
	cancelled([&] { chan.send(counted(1)); });
	cancelled([&] {
		counted v(5);
		CHECK(throws(std::errc::operation_canceled,
			     [&] { chan.send_for(std::move(v), never); }));
		CHECK_EQ(v.value, 5);
		std::optional<counted> got;
		uk::select(chan.on_recv(got));
	});
	cancelled([&] { s.acquire(); });
	cancelled([&] { b.arrive_and_wait(); });
	cancelled([&] { l.wait(); });
	cancelled([&] { other.join(); });
	CHECK(other.joinable());
	other.request_stop();
	other.join();
	CHECK_EQ(counted::alive, 0);
}

static void locks_and_destructors_wait_in_a_cancelled_thread()
{
	uk::mutex m;
	uk::shared_mutex sm;
	std::atomic<bool> waits = false, other_ended = false, right = false;

	m.lock();
	sm.lock();
	uk::thread t([&] {
		uk::deadline_scope past(0s);
		while (!uk_thread_is_cancelled())
			uk::this_thread::yield();
		waits = true;
		std::scoped_lock both(m);
		std::shared_lock shared(sm);
		{
			uk::thread other([&] {
				uk::this_thread::sleep_for(2ms);
				other_ended = true;
			});
		}
		right = other_ended && uk_thread_is_cancelled() &&
			throws(std::errc::operation_canceled,
			       [] { uk::this_thread::sleep_for(never); });
		uk_thread_cancel_clear();
		right = right && throws(std::errc::timed_out,
					[] { uk::this_thread::sleep_for(never); });
	});
	t.cancel();
	UNTIL(waits);
	uk::this_thread::sleep_for(2ms);
	t.cancel();
	CHECK(!other_ended);
	m.unlock();
	uk::this_thread::sleep_for(1ms);
	sm.unlock();
	t.join();
	CHECK(right);
}

static void a_stop_request_cancels_if_asked()
{
	std::atomic<bool> right = false;
	{
		uk::thread t([&](std::stop_token stop) {
			uk::cancel_on_stop end(stop);
			right = throws(std::errc::operation_canceled,
				       [] { uk::this_thread::sleep_for(never); });
		});
	}
	CHECK(right);
}

int main()
{
	RUN(an_exception_that_leaves_the_function_terminates);
	RUN(a_thread_calls_anything_with_decayed_arguments);
	RUN(a_destroyed_thread_is_asked_to_stop_and_joined);
	RUN(threads_move);
	RUN(joins_that_cannot_be_are_errors);
	RUN(ids_are_ordered_hashed_and_printed);
	RUN(a_thread_that_cannot_be_made_is_an_error);
	RUN(attributes_are_those_of_the_thread);
	RUN(exceptions_and_results_pass_run_blocking);
	RUN(sleeps_end_at_any_clocks_time);
	RUN(a_deadline_bounds_the_scope);
	RUN(a_cancelled_thread_gets_exceptions_from_its_waits);
	RUN(locks_and_destructors_wait_in_a_cancelled_thread);
	RUN(a_stop_request_cancels_if_asked);
	return 0;
}
