/* SPDX-License-Identifier: Apache-2.0 */
/* Everything of uk.hpp at once, at random: accounts under two mutexes, elements that
 * circulate in channels, conditions with stop tokens, short threads, exceptions, while
 * one thread cancels the others. At the end all money and all elements are there. */
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "bed.hpp"

constexpr int WORKERS = 8, ROUNDS = 2000, ACCOUNTS = 4, ELEMENTS = 6;
constexpr long MONEY = 1000;

struct account {
	uk::mutex m;
	uk::condition_variable changed;
	long money = MONEY;
};

static account accounts[ACCOUNTS];
static uk::shared_mutex world;
static uk::counting_semaphore<> places(3);
static std::atomic<long> cancelled, stopped;

struct broke {
	long missing;
};

static void move_money(account &from, account &to, long sum)
{
	std::shared_lock shared(world);
	std::scoped_lock both(from.m, to.m);

	if (from.money < sum)
		throw broke{ sum - from.money };
	from.money -= sum;
	to.money += sum;
	to.changed.notify_all();
}

static void check_all()
{
	std::unique_lock all(world);
	long sum = 0;

	for (account &a : accounts)
		sum += a.money;
	CHECK_EQ(sum, ACCOUNTS * MONEY);
}

static void wait_for_money(account &a, std::mt19937 &random)
{
	std::stop_source stop;
	uk::thread stopper([&] { stop.request_stop(); });
	std::unique_lock lock(a.m);
	long least = static_cast<long>(random() % (2 * MONEY));

	if (!a.changed.wait(lock, stop.get_token(), [&] { return a.money >= least; }))
		stopped++;
	CHECK(lock.owns_lock());
}

static void pass_an_element(uk::chan<counted> &in, uk::chan<counted> &out)
{
	std::optional<counted> v;

	if (in.recv_for(v, 100us) != uk::chan_status::ok)
		return;
	/* cancelled or late, the element is still here */
	for (bool sent = false; !sent;) {
		try {
			sent =
			    out.send_for(std::move(*v), 100us) == uk::chan_status::ok ||
			    in.try_send(std::move(*v)) == uk::chan_status::ok;
		} catch (const std::system_error &e) {
			CHECK(e.code() == std::errc::operation_canceled);
			cancelled++;
		}
		uk_thread_cancel_clear();
	}
}

static void one_step(std::mt19937 &random, uk::chan<counted> &a, uk::chan<counted> &b)
{
	unsigned from = random() % ACCOUNTS,
		 to = (from + 1 + random() % (ACCOUNTS - 1));

	switch (random() % 8) {
	case 0:
	case 1:
	case 2:
		move_money(accounts[from], accounts[to % ACCOUNTS],
			   static_cast<long>(random() % MONEY));
		break;
	case 3:
		wait_for_money(accounts[from], random);
		break;
	case 4:
		pass_an_element(a, b);
		break;
	case 5:
		pass_an_element(b, a);
		break;
	case 6:
		if (places.try_acquire_for(1ms)) {
			uk::thread([c = counted(3)] { CHECK_EQ(c.value, 3); });
			places.release();
		}
		break;
	default:
		check_all();
	}
}

static void work(unsigned seed, uk::chan<counted> &a, uk::chan<counted> &b,
		 uk::latch &ended)
{
	std::mt19937 random(seed);

	for (int n = 0; n < ROUNDS; n++) {
		long missing = 0;
		try {
			one_step(random, a, b);
		} catch (const broke &e) {
			missing = e.missing;
			CHECK(missing > 0);
			if (!SANITIZED) /* all threads are light: a handler must not wait */
				check_all();
			CHECK_EQ(missing, e.missing);
		} catch (const std::system_error &e) {
			CHECK(e.code() == std::errc::operation_canceled);
			cancelled++;
		}
		uk_thread_cancel_clear();
	}
	ended.count_down();
}

static void everything_at_once_loses_nothing()
{
	const char *given = getenv("SEED");
	unsigned seed =
	    given ? static_cast<unsigned>(atoi(given)) : std::random_device()();
	uk::chan<counted> a(ELEMENTS), b(2);
	std::vector<uk::thread> workers;
	uk::latch ended(WORKERS);
	std::optional<counted> v;

	printf("SEED=%u\n", seed);
	fflush(stdout);
	for (int i = 0; i < ELEMENTS; i++)
		CHECK(a.send(i));
	for (int i = 0; i < WORKERS; i++)
		workers.emplace_back(work, seed + static_cast<unsigned>(i), std::ref(a),
				     std::ref(b), std::ref(ended));
	{
		uk::thread canceller([&](std::stop_token stop) {
			while (!stop.stop_requested()) {
				for (auto &w : workers)
					w.cancel();
				uk::this_thread::sleep_for(20us);
			}
		});
		ended.wait();
	}
	workers.clear();
	check_all();
	CHECK_EQ(a.size() + b.size(), ELEMENTS);
	for (int i = 0; i < ELEMENTS; i++)
		CHECK((a.size() ? a : b).try_recv(v) == uk::chan_status::ok);
	v.reset();
	CHECK_EQ(counted::alive, 0);
	printf("%ld calls cancelled, %ld waits stopped\n", cancelled.load(),
	       stopped.load());
}

int main()
{
	RUN(everything_at_once_loses_nothing);
	return 0;
}
