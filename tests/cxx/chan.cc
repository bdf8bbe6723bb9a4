/* SPDX-License-Identifier: Apache-2.0 */
/* uk::chan and uk::select: elements are moved, and none is lost or destroyed twice. */
#include <memory>
#include <ranges>
#include <string>
#include <vector>

#include "bed.hpp"

using owned = std::unique_ptr<long>;
using uk::chan_status;

static_assert(std::input_iterator<uk::chan<owned>::iterator>);
static_assert(std::sentinel_for<std::default_sentinel_t, uk::chan<int>::iterator>);
static_assert(std::ranges::input_range<uk::chan<owned> &>);
static_assert(!std::movable<uk::chan<int>>);

static void elements_are_moved_in_order()
{
	for (std::size_t capacity : { 0, 1, 5 }) {
		uk::chan<std::string> words(capacity);
		uk::chan<owned> pointers(capacity);
		uk::chan<counted> numbers(capacity);
		uk::thread t([&] {
			for (long i = 0; i < 50; i++) {
				CHECK(words.send(std::to_string(i)));
				CHECK(pointers.send(std::make_unique<long>(i)));
				CHECK(numbers.send(i));
			}
		});
		for (long i = 0; i < 50; i++) {
			CHECK(words.recv().value() == std::to_string(i));
			CHECK_EQ(*pointers.recv().value(), i);
			CHECK_EQ(numbers.recv().value().value, i);
		}
	}
	CHECK_EQ(counted::alive, 0);
}

static void a_loop_receives_until_the_channel_is_closed()
{
	uk::chan<owned> c(3);
	long sum = 0;

	uk::thread t([&] {
		for (long i = 1; i <= 100; i++)
			c.send(std::make_unique<long>(i));
		CHECK(c.close());
		CHECK(!c.close());
	});
	for (owned &v : c) {
		owned mine = std::move(v);
		sum += *mine;
	}
	CHECK_EQ(sum, 5050);
	CHECK(!c.recv());
	CHECK(!c.send(nullptr));
}

static void a_closed_channel_gives_what_is_left()
{
	uk::chan<counted> c(4);
	std::optional<counted> v;
	counted kept(7);

	CHECK(c.try_recv(v) == chan_status::timeout);
	CHECK(c.send(1) && c.send(2));
	CHECK_EQ(c.size(), 2);
	c.close();
	CHECK(c.try_send(std::move(kept)) == chan_status::closed);
	CHECK(c.send_for(std::move(kept), never) == chan_status::closed);
	CHECK_EQ(kept.value, 7);
	CHECK(c.try_recv(v) == chan_status::ok && v->value == 1);
	CHECK(c.recv_for(v, never) == chan_status::ok && v->value == 2);
	CHECK(c.recv_for(v, never) == chan_status::closed && !v);
	CHECK(c.try_recv(v) == chan_status::closed);
}

static void elements_that_are_left_are_destroyed()
{
	{
		uk::chan<counted> c(10);
		uk::chan<std::string> words(10);

		for (int i = 0; i < 10; i++) {
			CHECK(c.send(i));
			CHECK(words.send(std::string(100, 'x')));
		}
		CHECK_EQ(counted::alive, 10);
		CHECK_EQ(c.recv()->value, 0);
	}
	CHECK_EQ(counted::alive, 0);
}

static void an_element_that_is_not_sent_stays()
{
	on_both([] {
		uk::chan<std::string> c(1);
		std::string v = "a text that is too long for the small buffer";
		std::string same = v;
		auto soon = std::chrono::system_clock::now() + 1ms;

		CHECK(c.try_send("first") == chan_status::ok);
		CHECK(c.try_send(std::move(v)) == chan_status::timeout);
		CHECK(c.send_for(std::move(v), 1ms) == chan_status::timeout);
		CHECK(c.send_until(std::move(v), soon) == chan_status::timeout);
		CHECK(v == same);
		CHECK(!uk::select_for(1ms, c.on_send(std::move(v))));
		CHECK(!uk::try_select(c.on_send(std::move(v))));
		CHECK(v == same);
		std::optional<std::string> got;
		CHECK(uk::select(c.on_send(std::move(v)), c.on_recv(got)) == 1);
		CHECK(got == "first" && v == same);
		CHECK(c.send_for(std::move(v), never) == chan_status::ok);
		CHECK(c.recv() == same);
	});
}

static void plain_elements_need_no_move()
{
	struct alignas(64) wide {
		long n;
	};
	uk::chan<int> c(2);
	uk::chan<wide> w(2);
	const int n = 3;

	CHECK(c.try_send(n) == chan_status::ok);
	CHECK(uk::select(c.on_send(n)) == 0);
	CHECK_EQ(c.recv().value() + c.recv().value(), 6);
	CHECK(w.send({ 8 }));
	CHECK_EQ(w.recv()->n, 8);
}

static void select_calls_the_handler_of_one_case()
{
	uk::chan<owned> a(1), b(1), full(0);
	uk::chan<int> never_ready;
	int calls = 0;
	auto got = [&](std::optional<owned> v) { calls += v ? 1 : 100; };

	CHECK(!uk::try_select(a.on_recv(got), b.on_recv(got)));
	b.send(std::make_unique<long>(1));
	CHECK(uk::select(a.on_recv(got), b.on_recv(got)) == 1);
	CHECK_EQ(calls, 1);
	CHECK(uk::select_for(never,
			     a.on_send(std::make_unique<long>(2),
				       [&](bool sent) { calls += sent ? 10 : 0; }),
			     never_ready.on_recv([](auto) { CHECK(false); }))
		  .value() == 0);
	CHECK_EQ(calls, 11);
	std::optional<owned> v;
	CHECK(uk::try_select(a.on_recv(v)) == 0);
	CHECK_EQ(**v, 2);
	a.close();
	CHECK(uk::select(b.on_recv(got), a.on_recv(got)) == 1);
	CHECK_EQ(calls, 111);
	CHECK(uk::select(a.on_send(nullptr, [&](bool sent) { calls += sent; })) == 0);
	CHECK_EQ(calls, 111);
	uk::thread t([&] { full.send(std::make_unique<long>(5)); });
	CHECK(uk::select(b.on_recv(v), full.on_recv(v)) == 1);
	CHECK_EQ(**v, 5);
}

static void an_exception_leaves_a_handler()
{
	uk::chan<counted> c(1);
	bool thrown = false;

	c.send(4);
	try {
		uk::select(c.on_recv([](std::optional<counted> v) { throw v->value; }));
	} catch (long v) {
		thrown = v == 4;
	}
	CHECK(thrown);
	CHECK_EQ(counted::alive, 0);
}

/* Each case has an element of its own. */
static void send_somewhere(uk::chan<counted> &a, uk::chan<counted> &b, long n)
{
	counted x(n), y(n);

	if (uk::select(a.on_send(std::move(x)), b.on_send(std::move(y))) == 0)
		CHECK(y.value == n && x.value != n);
	else
		CHECK(x.value == n && y.value != n);
}

static void many_threads_lose_no_element()
{
	uk::chan<counted> a(0), b(2);
	std::atomic<long> sum = 0, count = 0;
	std::vector<uk::thread> senders, receivers;

	for (int i = 0; i < 4; i++) {
		senders.emplace_back([&, i] {
			for (long n = 1; n <= 200; n++) {
				counted v(n);
				if (i == 0)
					a.send(std::move(v));
				else if (i == 1)
					while (b.send_for(std::move(v), 50us) !=
					       chan_status::ok)
						CHECK_EQ(v.value, n);
				else
					send_somewhere(a, b, n);
			}
		});
		receivers.emplace_back([&, i] {
			bool open[] = { true, true };
			auto take = [&](int from, std::optional<counted> v) {
				open[from] = v.has_value();
				sum += v ? v->value : 0;
				count += v.has_value();
			};
			while (open[0] || open[1]) {
				if (i % 2 && open[0]) {
					take(0, a.recv());
				} else if (open[0] && open[1]) {
					uk::select(a.on_recv([&](auto v) {
						take(0, std::move(v));
					}),
						   b.on_recv([&](auto v) {
							   take(1, std::move(v));
						   }));
				} else {
					take(!open[0], (open[0] ? a : b).recv());
				}
			}
		});
	}
	senders.clear();
	a.close();
	b.close();
	receivers.clear();
	CHECK_EQ(count, 800);
	CHECK_EQ(sum, 4 * 200 * 201 / 2);
	CHECK_EQ(counted::alive, 0);
}

int main()
{
	RUN(elements_are_moved_in_order);
	RUN(a_loop_receives_until_the_channel_is_closed);
	RUN(a_closed_channel_gives_what_is_left);
	RUN(elements_that_are_left_are_destroyed);
	RUN(an_element_that_is_not_sent_stays);
	RUN(plain_elements_need_no_move);
	RUN(select_calls_the_handler_of_one_case);
	RUN(an_exception_leaves_a_handler);
	RUN(many_threads_lose_no_element);
	return 0;
}
