// SPDX-License-Identifier: Apache-2.0
// threads.d - D: tasks and messages; the collector stops all threads by signals
import core.atomic, core.memory, core.sync.mutex, core.thread;
import std.algorithm, std.concurrency, std.parallelism, std.range, std.stdio;

shared int made;

void allocate()
{
	foreach (k; 0 .. 2000) {
		auto a = new int[](100);
		a[0] = k;
		atomicOp!"+="(made, a[0] == k);
		if (k % 500 == 0)
			GC.collect();
	}
}

void echo()
{
	for (bool more = true; more;)
		receive((int x) { ownerTid.send(x * 2); }, (string _) { more = false; });
}

void main()
{
	auto threads = iota(20).map!(i => new Thread(&allocate).start()).array;
	foreach (t; threads)
		t.join();
	writeln(made);
	writeln(taskPool.reduce!"a + b"(iota(1_000_000L)));
	auto tids = iota(8).map!(i => spawn(&echo)).array;
	foreach (i; 0 .. 800)
		tids[i % 8].send(i);
	int sum;
	foreach (i; 0 .. 800)
		sum += receiveOnly!int();
	foreach (t; tids)
		t.send("end");
	writeln(sum);
}
