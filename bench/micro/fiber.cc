// SPDX-License-Identifier: Apache-2.0
// fiber.cc - workloads on Boost.Fiber. fiber VPS WORKLOAD N [M].
// One vp: the default round_robin algorithm. More: work_stealing on that many kernel
// threads. Boost.Fiber has no I/O of its own, so pipe does not exist here.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>
#include <boost/fiber/all.hpp>
#include "bench.h"

namespace fib = boost::fibers;

static long arg1, arg2;
static std::atomic<long> counter{ 0 };
static const size_t small_stack = 16 << 10;
static fib::pooled_fixedsize_stack *pool; // used by the main kernel thread only
static long vps;

template <class F> static fib::fiber spawn(F &&f)
{
	// The pool is not thread safe, as Boost documents: with more vps take plain stacks.
	if (vps == 1)
		return fib::fiber(std::allocator_arg, *pool, std::forward<F>(f));
	return fib::fiber(std::allocator_arg, fib::fixedsize_stack(small_stack),
			  std::forward<F>(f));
}

static struct lap lap;

template <class F> static void run_all(F &&each)
{
	std::vector<fib::fiber> t;
	t.reserve(size_t(arg1));
	for (long i = 0; i < arg1; i++)
		t.push_back(spawn([&each, i] { each(i); }));
	for (auto &f : t)
		f.join();
}

static void run_yield()
{
	long each = arg2 / arg1, done = 0;
	lap.n = arg1;
	run_all([&](long) {
		lap_arrive(&lap);
		while (!lap_all_in(&lap)) {
			boost::this_fiber::yield();
			lap.count++;
		}
		for (long k = 0; k < each; k++) {
			boost::this_fiber::yield();
			lap.count++;
		}
		lap_leave(&lap);
		done += each;
	});
	result("yield", lap_cost(&lap));
	check(done);
}

// ring N TURNS; timed
struct alignas(64) seat {
	fib::mutex lock;
	fib::condition_variable cond;
	bool turn = false;
	void call()
	{
		std::unique_lock<fib::mutex> l(lock);
		turn = true;
		cond.notify_one();
	}
	void wait(bool deadline)
	{
		std::unique_lock<fib::mutex> l(lock);
		auto mine = [this] { return turn; };
		if (!deadline)
			cond.wait(l, mine);
		else if (!cond.wait_for(l, std::chrono::nanoseconds(FAR_NS), mine))
			die("wait_for", 110);
		turn = false;
	}
};

static void ring_with(bool deadline)
{
	std::vector<seat> seats(arg1);
	lap.n = arg1;
	run_all([&](long id) {
		seat &own = seats[id], &next = seats[(id + 1) % arg1];
		if (lap_arrive(&lap))
			seats[0].call();
		for (long i = 0; i < arg2 / arg1; i++) {
			own.wait(deadline);
			lap.count++;
			next.call();
		}
		lap_leave(&lap);
	});
	result("wake", lap_cost(&lap));
	check(lap.count);
}

static void run_spawn()
{
	for (long i = 0; i < 1000; i++)
		spawn([] {}).join();
	int64_t t0 = now_ns();
	for (long i = 0; i < arg1; i++)
		spawn([] { counter.fetch_add(1, std::memory_order_relaxed); }).join();
	result("one", double(now_ns() - t0) / double(arg1));
	check(counter);
}

struct gate {
	fib::mutex lock;
	fib::condition_variable cond;
	bool open = false;
	long arrived = 0;
	void wait()
	{
		std::unique_lock<fib::mutex> l(lock);
		arrived++;
		cond.wait(l, [this] { return open; });
	}
	void release(long n)
	{
		for (;;) {
			std::unique_lock<fib::mutex> l(lock);
			if (arrived == n) {
				open = true;
				cond.notify_all();
				return;
			}
			l.unlock();
			boost::this_fiber::yield();
		}
	}
};

static void spawn_many_round()
{
	gate g;
	std::vector<fib::fiber> t;
	t.reserve(arg1);
	for (long i = 0; i < arg1; i++)
		t.push_back(spawn([&g] {
			g.wait();
			counter.fetch_add(1, std::memory_order_relaxed);
		}));
	g.release(arg1);
	for (auto &f : t)
		f.join();
}

static void run_spawn_many()
{
	long again = arg2 > 2 ? arg2 - 1 : 1;
	int64_t t0 = now_ns();
	spawn_many_round();
	int64_t t1 = now_ns();
	for (long i = 0; i < again; i++)
		spawn_many_round();
	result("again", double(now_ns() - t1) / double(again * arg1));
	result("first", double(t1 - t0) / double(arg1));
	check(counter);
}

static long sum_range(long lo, long hi)
{
	if (lo == hi)
		return lo;
	long mid = (lo + hi) / 2, a = 0, b = 0;
	fib::fiber fa = spawn([&a, lo, mid] { a = sum_range(lo, mid); });
	fib::fiber fb = spawn([&b, mid, hi] { b = sum_range(mid + 1, hi); });
	fa.join();
	fb.join();
	return a + b;
}

static void run_tree()
{
	const char *names[2] = { "first", "again" };
	long sum = 0;
	for (const char *name : names) {
		int64_t t0 = now_ns();
		sum = sum_range(1, arg1);
		result(name, double(now_ns() - t0) / double(2 * arg1 - 2));
	}
	check(sum);
}

static void run_memory()
{
	gate g;
	std::vector<fib::fiber> t;
	t.resize(arg1);
	long long m0 = mem_own(), k0 = mem_kernel();
	for (long i = 0; i < arg1; i++)
		t[i] = fib::fiber(std::allocator_arg, fib::fixedsize_stack(small_stack),
				  [&g] {
					  g.wait();
					  counter++;
				  });
	while (g.arrived != arg1)
		boost::this_fiber::yield();
	long long m1 = mem_own(), k1 = mem_kernel();
	result("bytes", double(m1 - m0) / double(arg1));
	result("kernel", double(k1 - k0) / double(arg1));
	g.release(arg1);
	for (auto &f : t)
		f.join();
	check(counter);
}

static void run_chan()
{
	fib::unbuffered_channel<long> a, b;
	fib::fiber e = spawn([&] {
		long v;
		while (a.pop(v) == fib::channel_op_status::success)
			b.push(v);
	});
	long sum = 0;
	int64_t t0 = now_ns();
	for (long i = 0; i < arg1; i++) {
		long v = -1;
		a.push(i);
		b.pop(v);
		sum += v == i;
	}
	result("round", double(now_ns() - t0) / double(arg1));
	a.close();
	e.join();
	check(sum);
}

// pairs N TRIPS
static void pairs()
{
	using channel = fib::unbuffered_channel<long>;
	std::vector<std::unique_ptr<channel>> c;
	for (long i = 0; i < arg1; i++)
		c.push_back(std::make_unique<channel>());
	lap.n = arg1;
	run_all([&](long id) {
		channel &there = *c[id & ~1L], &back = *c[id | 1];
		lap_arrive(&lap);
		while (!lap_all_in(&lap))
			boost::this_fiber::yield();
		for (long i = 0, v = -1; i < arg2 / (arg1 / 2); i++) {
			if (id & 1) {
				there.pop(v);
				back.push(v);
				continue;
			}
			there.push(i);
			back.pop(v);
			if (v != i)
				die("channel", 5);
			lap.count++;
			boost::this_fiber::yield();
		}
		lap_leave(&lap);
	});
	result("trip", lap_cost(&lap));
	check(lap.count);
}

static void run_mutex(bool held)
{
	fib::mutex m;
	long n = 0;
	std::vector<fib::fiber> t;
	int64_t t0 = now_ns();
	for (long i = 0; i < arg1; i++)
		t.push_back(spawn([&] {
			for (long k = 0; k < arg2; k++) {
				std::unique_lock<fib::mutex> l(m);
				n++;
				if (held)
					boost::this_fiber::yield();
			}
		}));
	for (auto &f : t)
		f.join();
	result("lock", double(now_ns() - t0) / double(arg1 * arg2));
	check(n);
}

static void sky(fib::unbuffered_channel<long> &up, long num, long size)
{
	if (size == 1) {
		up.push(num);
		return;
	}
	fib::unbuffered_channel<long> c;
	for (long i = 0; i < 10; i++)
		spawn([&c, num, size, i] {
			sky(c, num + i * (size / 10), size / 10);
		}).detach();
	long sum = 0;
	for (int i = 0; i < 10; i++) {
		long v = 0;
		c.pop(v);
		sum += v;
	}
	up.push(sum);
}

static void run_skynet()
{
	const char *names[2] = { "first", "again" };
	long sum = 0;
	for (const char *name : names) {
		fib::unbuffered_channel<long> c;
		int64_t t0 = now_ns();
		fib::fiber f = spawn([&c] { sky(c, 0, arg1); });
		c.pop(sum);
		result(name, double(now_ns() - t0) / double(arg1));
		f.join();
	}
	check(sum);
}

static void run_timers()
{
	size_t n = size_t(arg1 * arg2);
	std::vector<int64_t> late(n, INT64_MIN);
	std::vector<fib::fiber> t;
	int64_t c0 = cpu_ns();
	for (long id = 0; id < arg1; id++)
		t.push_back(spawn([&late, id] {
			uint64_t seed = rng_seed(uint64_t(id));
			for (long i = 0; i < arg2; i++) {
				int64_t due = now_ns() + rng_sleep(&seed);
				boost::this_fiber::sleep_until(
				    std::chrono::steady_clock::time_point(
					std::chrono::nanoseconds(due)));
				late[id * arg2 + i] = now_ns() - due;
			}
		}));
	for (auto &f : t)
		f.join();
	int64_t c1 = cpu_ns();
	long done = 0;
	for (int64_t v : late)
		done += v != INT64_MIN;
	result("late", p99_us(late.data(), n));
	result("cpu", double(c1 - c0) / double(n) / 1000.0);
	check(done);
}

// timers-steady N WAKES
static void run_timers_steady()
{
	static struct dozers dozers;
	dozers_init(&dozers, arg1, arg2);
	run_all([](long id) {
		uint64_t seed = rng_seed(uint64_t(id));
		dozers_arrive(&dozers);
		while (!dozers_over(&dozers)) {
			int64_t due = now_ns() + rng_span(&seed, arg1);
			boost::this_fiber::sleep_until(
			    std::chrono::steady_clock::time_point(
				std::chrono::nanoseconds(due)));
			dozers_woke(&dozers, now_ns() - due);
		}
	});
	dozers_tell(&dozers);
}

static void run(const std::string &w)
{
	static const struct {
		const char *name;
		void (*fn)();
	} table[] = { { "yield", run_yield },
		      { "spawn", run_spawn },
		      { "spawn-many", run_spawn_many },
		      { "tree", run_tree },
		      { "memory", run_memory },
		      { "chan", run_chan },
		      { "mutex", [] { run_mutex(false); } },
		      { "mutex-held", [] { run_mutex(true); } },
		      { "skynet", run_skynet },
		      { "pairs", pairs },
		      { "timers", run_timers },
		      { "timers-steady", run_timers_steady },
		      { "ring", [] { ring_with(false); } },
		      { "timed", [] { ring_with(true); } } };
	for (auto &t : table)
		if (w == t.name)
			return t.fn();
	die(w.c_str(), 22);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	vps = atol(argv[1]);
	arg1 = atol(argv[3]);
	arg2 = argc > 4 ? atol(argv[4]) : 0;
	fib::pooled_fixedsize_stack stacks(small_stack);
	pool = &stacks;
	if (vps == 1) {
		run(argv[2]);
		return 0;
	}
	// work_stealing: every kernel thread registers, the others wait for the end
	std::vector<std::thread> workers;
	fib::mutex m;
	fib::condition_variable_any done;
	bool over = false;
	for (long i = 1; i < vps; i++)
		workers.emplace_back([&] {
			fib::use_scheduling_algorithm<fib::algo::work_stealing>(
			    uint32_t(vps), false);
			std::unique_lock<fib::mutex> l(m);
			done.wait(l, [&] { return over; });
		});
	fib::use_scheduling_algorithm<fib::algo::work_stealing>(uint32_t(vps), false);
	run(argv[2]);
	{
		std::unique_lock<fib::mutex> l(m);
		over = true;
	}
	done.notify_all();
	for (auto &t : workers)
		t.join();
	return 0;
}
