/* SPDX-License-Identifier: Apache-2.0 */
/* flows.cc - TBB: loops, sums, sorts, task groups, a pipeline. Also stop tokens of
 * std::jthread. */
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <numeric>
#include <stop_token>
#include <thread>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/concurrent_queue.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_sort.h>
#include <tbb/task_group.h>

static long fib(int n)
{
	long a = 0, b = 0;

	if (n < 12)
		return n < 2 ? n : fib(n - 1) + fib(n - 2);
	tbb::task_group g;
	g.run([&] { a = fib(n - 1); });
	g.run([&] { b = fib(n - 2); });
	g.wait();
	return a + b;
}

static long pipeline()
{
	int next = 0;
	long sum = 0;

	tbb::parallel_pipeline(
	    16, tbb::make_filter<void, int>(tbb::filter_mode::serial_in_order,
					    [&](tbb::flow_control &fc) {
						    if (next == 10000)
							    fc.stop();
						    return next++;
					    }) &
		    tbb::make_filter<int, long>(tbb::filter_mode::parallel,
						[](int x) { return (long)x * x; }) &
		    tbb::make_filter<long, void>(tbb::filter_mode::serial_in_order,
						 [&](long x) { sum += x; }));
	return sum;
}

int main()
{
	tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 8);
	std::vector<long> v(1 << 20);

	tbb::parallel_for(size_t(0), v.size(),
			  [&](size_t i) { v[i] = (long)(i * 7919 % 1000003); });
	printf("%ld\n", tbb::parallel_reduce(
			    tbb::blocked_range<size_t>(0, v.size()), 0L,
			    [&](const auto &r, long s) {
				    return std::accumulate(&v[r.begin()], &v[r.end()],
							   s);
			    },
			    std::plus<long>()));
	tbb::parallel_sort(v);
	printf("%d %ld %ld\n", std::is_sorted(v.begin(), v.end()), fib(24), pipeline());

	std::mutex m;
	std::condition_variable_any c;
	std::atomic<int> stopped = 0;
	{
		std::vector<std::jthread> sleepers;
		for (int i = 0; i < 20; i++)
			sleepers.emplace_back([&](std::stop_token stop) {
				std::unique_lock lock(m);
				c.wait(lock, stop, [] { return false; });
				stopped++;
			});
	}
	printf("%d\n", stopped.load());
}
