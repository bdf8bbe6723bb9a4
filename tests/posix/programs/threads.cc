// SPDX-License-Identifier: Apache-2.0
// C++: exceptions in threads, thread_local with destructors, std::async, condition variables,
// call_once, shared_mutex, latch and atomic waits.
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <future>
#include <iostream>
#include <latch>
#include <mutex>
#include <numeric>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

static std::atomic<int> made, gone;
struct Local {
	int n = ++made;
	~Local()
	{
		++gone;
	}
};
static thread_local Local local;

static int thrower(int n)
{
	if (n % 3 == 0)
		throw std::runtime_error("n=" + std::to_string(n));
	return n;
}

static void exceptions()
{
	int sum = 0, caught = 0;

	std::vector<std::future<int>> all;
	for (int i = 0; i < 100; i++)
		all.push_back(std::async(std::launch::async, thrower, i));
	for (auto &f : all)
		try {
			sum += f.get();
		} catch (const std::runtime_error &e) {
			caught += e.what()[0] == 'n';
		}
	std::cout << "async " << sum << " caught " << caught << "\n";
}

static void locals()
{
	std::vector<std::thread> all;
	std::atomic<int> sum = 0;

	for (int i = 0; i < 50; i++)
		all.emplace_back([&] {
			int mine = local.n;
			std::this_thread::yield();
			sum += mine == local.n;
		});
	for (auto &t : all)
		t.join();
	std::cout << "locals " << sum << " made " << made << " gone " << gone << "\n";
}

static void queue()
{
	std::mutex m;
	std::condition_variable cv;
	std::vector<int> q;
	bool done = false;
	std::atomic<long> sum = 0;
	std::vector<std::thread> all;

	for (int i = 0; i < 8; i++)
		all.emplace_back([&] {
			std::unique_lock<std::mutex> l(m);
			for (;;) {
				cv.wait(l, [&] { return !q.empty() || done; });
				if (q.empty())
					return;
				sum += q.back();
				q.pop_back();
			}
		});
	for (int i = 1; i <= 10000; i++) {
		std::lock_guard<std::mutex> l(m);
		q.push_back(i);
		cv.notify_one();
	}
	{
		std::lock_guard<std::mutex> l(m);
		done = true;
	}
	cv.notify_all();
	for (auto &t : all)
		t.join();
	std::cout << "queue " << sum << "\n";
}

static void rest()
{
	std::once_flag once;
	std::shared_mutex sm;
	std::latch latch(10);
	std::barrier barrier(10);
	std::counting_semaphore<4> sem(2);
	std::atomic<int> calls = 0, inside = 0, most = 0, turn = 0;
	long shared = 0;
	std::vector<std::jthread> all;

	for (int i = 0; i < 10; i++)
		all.emplace_back([&, i] {
			std::call_once(once, [&] { calls++; });
			latch.arrive_and_wait();
			for (int k = 0; k < 100; k++) {
				std::unique_lock l(sm);
				shared++;
			}
			barrier.arrive_and_wait();
			sem.acquire();
			int now = ++inside, seen = most;
			while (now > seen && !most.compare_exchange_weak(seen, now))
				;
			std::this_thread::sleep_for(std::chrono::microseconds(100));
			--inside;
			sem.release();
			for (int was; (was = turn.load()) != i;)
				turn.wait(was);
			turn++;
			turn.notify_all();
		});
	all.clear();
	std::cout << "rest " << calls << " " << shared << " " << (most <= 2) << " "
		  << turn << "\n";
}

int main()
{
	exceptions();
	locals();
	queue();
	rest();
	std::packaged_task<int()> task([] { return 42; });
	auto f = task.get_future();
	std::thread(std::move(task)).join();
	std::cout << "timed "
		  << (f.wait_for(std::chrono::seconds(600)) ==
		      std::future_status::ready)
		  << " " << f.get() << std::endl;
}
