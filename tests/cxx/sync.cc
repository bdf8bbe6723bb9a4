/* SPDX-License-Identifier: Apache-2.0 */
/* The locks of uk.hpp: the named requirements of the standard, and what each class
 * does, between user threads and foreign threads. */
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <vector>

#include "bed.hpp"

template <class M>
concept basic_lockable = requires(M m)
{
	m.lock();
	m.unlock();
};
template <class M>
concept lockable = basic_lockable<M> && requires(M m)
{
	{
		m.try_lock()
		} -> std::same_as<bool>;
};
template <class M>
concept timed_lockable = lockable<M> && requires(M m)
{
	{
		m.try_lock_for(1ns)
		} -> std::same_as<bool>;
	{
		m.try_lock_until(std::chrono::system_clock::now())
		} -> std::same_as<bool>;
};
template <class M>
concept shared_timed_lockable = requires(M m)
{
	m.lock_shared();
	m.unlock_shared();
	{
		m.try_lock_shared()
		} -> std::same_as<bool>;
	{
		m.try_lock_shared_for(1ns)
		} -> std::same_as<bool>;
	{
		m.try_lock_shared_until(std::chrono::system_clock::now())
		} -> std::same_as<bool>;
};
/* the requirements of a mutex in [thread.mutex.requirements] */
template <class M>
concept mutex_type = timed_lockable<M> && std::default_initializable<M> &&
		     std::destructible<M> && !std::copyable<M> &&
		     !std::movable<M>;
static_assert(mutex_type<uk::mutex> && mutex_type<uk::timed_mutex>);
static_assert(mutex_type<uk::recursive_mutex> && mutex_type<uk::recursive_timed_mutex>);
static_assert(mutex_type<uk::shared_mutex> && shared_timed_lockable<uk::shared_mutex>);
static_assert(std::is_nothrow_default_constructible_v<uk::mutex>);
static_assert(!std::movable<uk::condition_variable> && !std::movable<uk::latch>);

/* usable before any constructor runs */
constinit uk::mutex early_mutex;
constinit uk::shared_mutex early_shared;
constinit uk::condition_variable early_condition;
constinit uk::counting_semaphore<3> early_semaphore(3);
constinit uk::once_flag early_once;
constinit uk::latch early_latch(2);

constexpr int ROUNDS = 300;

/* f(i) on ten threads; some of them are foreign. */
template <class F> static void crew(F f)
{
	std::vector<uk::thread> user;
	std::vector<std::jthread> kernel;

	for (int i = 0; i < 10; i++)
		if (i % 4 == 3)
			kernel.emplace_back(f, i);
		else
			user.emplace_back(f, i);
}

template <class M> static void excludes()
{
	M m;
	long plain = 0;

	crew([&](int i) {
		for (int n = 0; n < ROUNDS; n++) {
			if (n % 3 == 0) {
				std::lock_guard hold(m);
				plain++;
			} else if (n % 3 == 1) {
				std::unique_lock hold(m, std::defer_lock);
				while (!hold.try_lock())
					uk::this_thread::yield();
				plain++;
			} else {
				std::unique_lock hold(m, never);
				CHECK(hold.owns_lock());
				plain++;
			}
			if (n % 50 == i)
				uk::this_thread::yield();
		}
	});
	CHECK_EQ(plain, 10 * ROUNDS);
}

static void mutexes_exclude()
{
	excludes<uk::mutex>();
	excludes<uk::recursive_mutex>();
	excludes<uk::shared_mutex>();
}

static void several_mutexes_are_locked_in_any_order()
{
	uk::mutex a;
	uk::recursive_mutex b;
	uk::shared_mutex c;
	long plain = 0;

	crew([&](int i) {
		for (int n = 0; n < ROUNDS; n++) {
			if (i % 3 == 0) {
				std::scoped_lock all(a, b, c);
				plain++;
			} else if (i % 3 == 1) {
				std::scoped_lock all(c, b, a);
				plain++;
			} else {
				std::lock(b, a, c);
				std::lock_guard x(a, std::adopt_lock);
				std::lock_guard y(b, std::adopt_lock);
				std::lock_guard z(c, std::adopt_lock);
				plain++;
			}
		}
	});
	CHECK_EQ(plain, 10 * ROUNDS);
}

static void a_lock_held_by_another_thread_is_not_got()
{
	uk::mutex m;
	uk::recursive_mutex r;
	uk::shared_mutex s;
	std::scoped_lock hold(m, r);

	CHECK(throws(std::errc::resource_deadlock_would_occur, [&] { m.lock(); }));
	CHECK(r.try_lock());
	r.unlock();
	s.lock_shared();
	on_both([&] {
		auto t = std::chrono::system_clock::now() + 2ms;

		CHECK(!m.try_lock() && !r.try_lock() && !s.try_lock());
		CHECK(!m.try_lock_for(1ms) && !r.try_lock_for(1ms) &&
		      !s.try_lock_for(1ms));
		CHECK(!m.try_lock_until(t) && std::chrono::system_clock::now() >= t);
		std::shared_lock shared(s, never);
		CHECK(shared.owns_lock());
	});
	s.unlock_shared();
	s.lock();
	on_both([&] {
		CHECK(!s.try_lock_shared() && !s.try_lock_shared_for(1ms));
		CHECK(!s.try_lock_shared_until(std::chrono::system_clock::now() + 1ms));
	});
	s.unlock();
}

static void readers_share()
{
	uk::shared_mutex m;
	uk::barrier all_inside(10);
	std::atomic<int> last = 0;

	crew([&](int) {
		std::shared_lock hold(m);
		last += all_inside.arrive_and_wait();
	});
	CHECK_EQ(last, 1);
}

static void conditions_pass_turns()
{
	uk::mutex m;
	uk::condition_variable c;
	std::stop_source stop;
	int turn = 0;

	crew([&](int i) {
		std::unique_lock lock(m);

		for (int n = 0; n < ROUNDS / 10; n++) {
			auto mine = [&] { return turn % 10 == i; };
			if (i % 3 == 0)
				c.wait(lock, mine);
			else if (i % 3 == 1)
				CHECK(c.wait_for(lock, never, mine));
			else
				CHECK(c.wait(lock, stop.get_token(), mine));
			CHECK(lock.owns_lock() && mine());
			turn++;
			c.notify_all();
		}
	});
	CHECK_EQ(turn, ROUNDS);
}

/* Each token wakes one waiter, of either kind. */
static void notify_one_loses_no_waiter()
{
	uk::mutex m;
	uk::condition_variable c;
	std::stop_source stop;
	int tokens = 0, taken = 0;

	uk::thread giver([&] {
		for (int n = 0; n < 10 * ROUNDS; n++) {
			{
				std::lock_guard hold(m);
				tokens++;
			}
			c.notify_one();
			if (n % 7 == 0)
				uk::this_thread::yield();
		}
	});
	crew([&](int i) {
		for (int n = 0; n < ROUNDS; n++) {
			std::unique_lock lock(m);
			auto some = [&] { return tokens > 0; };
			if (i % 2)
				c.wait(lock, some);
			else
				CHECK(c.wait(lock, stop.get_token(), some));
			tokens--;
			taken++;
		}
	});
	CHECK_EQ(taken, 10 * ROUNDS);
}

static void waits_end_at_their_time()
{
	on_both([] {
		uk::mutex m;
		uk::condition_variable c;
		std::unique_lock lock(m);
		auto system = std::chrono::system_clock::now() + 3ms;
		std::stop_source stop;
		auto no = [] { return false; };

		while (c.wait_for(lock, 1ms) != std::cv_status::timeout)
			;
		while (c.wait_until(lock, system) != std::cv_status::timeout)
			;
		CHECK(std::chrono::system_clock::now() >= system);
		CHECK(!c.wait_until(lock, system + 1ms, no));
		CHECK(!c.wait_for(lock, 1ms, no));
		CHECK(c.wait_for(lock, -1s, [] { return true; }));
		CHECK(!c.wait_for(lock, stop.get_token(), 1ms, no));
		CHECK(!c.wait_until(lock, stop.get_token(), system + 5ms, no));
		CHECK(lock.owns_lock());
	});
}

static void a_stop_request_ends_waits()
{
	for (int n = 0; n < ROUNDS; n++) {
		uk::mutex m;
		uk::condition_variable c;
		std::stop_source stop;
		std::atomic<int> waiting = 0;
		auto wait = [&] {
			std::unique_lock lock(m);

			waiting++;
			CHECK(!c.wait(lock, stop.get_token(), [] { return false; }));
			CHECK(lock.owns_lock());
		};
		uk::thread a(wait), b(wait);
		std::jthread foreign(n % 50 ? [] {} : std::function<void()>(wait));

		if (n % 2) /* also by a thread that holds the mutex */
			UNTIL(waiting >= 2);
		std::unique_lock lock(m, std::defer_lock);
		if (n % 3 == 0)
			lock.lock();
		stop.request_stop();
	}
}

static void an_exception_of_a_predicate_leaves_the_wait()
{
	uk::mutex m;
	uk::condition_variable c;
	std::stop_source stop;
	int changes = 0, thrown = 0;

	uk::thread t([&] {
		std::unique_lock lock(m);
		auto pred = [&]() -> bool {
			if (changes)
				throw std::runtime_error("changed");
			return false;
		};
		for (int i = 0; i < 2; i++) {
			try {
				if (i)
					c.wait(lock, pred);
				else
					c.wait(lock, stop.get_token(), pred);
			} catch (const std::runtime_error &) {
				CHECK(lock.owns_lock());
				thrown++;
			}
		}
	});
	m.lock();
	changes = 1;
	m.unlock();
	c.notify_all();
	t.join();
	CHECK_EQ(thrown, 2);
}

static void semaphores_count()
{
	uk::counting_semaphore<3> s(0);
	uk::binary_semaphore b(1);
	std::atomic<int> inside = 0, most = 0;
	static_assert(uk::counting_semaphore<3>::max() >= 3);

	CHECK(b.try_acquire() && !b.try_acquire() && !b.try_acquire_for(1ms));
	CHECK(!b.try_acquire_until(std::chrono::system_clock::now() + 1ms));
	b.release();
	s.release(3);
	crew([&](int i) {
		for (int n = 0; n < ROUNDS / 10; n++) {
			if (i % 2)
				s.acquire();
			else
				CHECK(s.try_acquire_for(never));
			int now = ++inside, seen = most;
			while (now > seen && !most.compare_exchange_weak(seen, now))
				;
			uk::this_thread::yield();
			inside--;
			s.release();
		}
	});
	CHECK(most >= 1 && most <= 3);
	CHECK(throws(std::errc::value_too_large, [&] {
		uk::counting_semaphore<> full(INT_MAX);
		full.release();
	}));
}

static void barriers_and_latches_wait_for_all()
{
	CHECK(throws(std::errc::invalid_argument, [] { uk::barrier none(0); }));
	uk::barrier b(10);
	uk::latch l(10), two(3);
	std::atomic<int> arrived = 0, last = 0;

	crew([&](int i) {
		for (int n = 0; n < 20; n++) {
			arrived++;
			last += b.arrive_and_wait();
			CHECK(arrived >= 10 * (n + 1));
		}
		if (i % 2) {
			l.arrive_and_wait();
		} else {
			l.count_down();
			l.wait();
		}
		CHECK(l.try_wait());
	});
	CHECK_EQ(last, 20);
	two.count_down(2);
	CHECK(!two.try_wait());
	two.count_down();
	two.wait();
}

/* A latch may be destroyed as soon as a wait has returned. */
static void a_latch_ends_with_its_wait()
{
	for (int n = 0; n < ROUNDS; n++) {
		auto l = std::make_unique<uk::latch>(1);
		uk::thread t([p = l.get()] { p->count_down(); });

		l->wait();
		l.reset();
	}
}

static void call_once_calls_again_only_after_an_exception()
{
	uk::once_flag once;
	std::atomic<int> tries = 0, thrown = 0, after = 0;

	crew([&](int) {
		try {
			uk::call_once(
			    once,
			    [&](int fails) {
				    if (tries++ < fails)
					    throw std::runtime_error("not yet");
				    after = 1;
			    },
			    3);
			CHECK(after);
		} catch (const std::runtime_error &) {
			thrown++;
		}
	});
	CHECK_EQ(tries, 4);
	CHECK_EQ(thrown, 3);
}

static void static_objects_work()
{
	std::unique_lock lock(early_mutex);
	early_shared.lock_shared();
	early_shared.unlock_shared();
	CHECK(early_condition.wait_for(lock, 0s) == std::cv_status::timeout);
	early_semaphore.acquire();
	uk::call_once(early_once, [] {});
	early_latch.count_down(2);
	early_latch.wait();
}

int main()
{
	RUN(static_objects_work);
	RUN(mutexes_exclude);
	RUN(several_mutexes_are_locked_in_any_order);
	RUN(a_lock_held_by_another_thread_is_not_got);
	RUN(readers_share);
	RUN(conditions_pass_turns);
	RUN(notify_one_loses_no_waiter);
	RUN(waits_end_at_their_time);
	RUN(a_stop_request_ends_waits);
	RUN(an_exception_of_a_predicate_leaves_the_wait);
	RUN(semaphores_count);
	RUN(barriers_and_latches_wait_for_all);
	RUN(a_latch_ends_with_its_wait);
	RUN(call_once_calls_again_only_after_an_exception);
	return 0;
}
