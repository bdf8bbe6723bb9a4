// SPDX-License-Identifier: Apache-2.0
// threads.cs - Mono: pools, tasks, interrupts; collector and debugger stop threads by signals
using System;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

class Threads {
	static int sum;

	static void Allocate() {
		for (int k = 0; k < 10000; k++) {
			Interlocked.Increment(ref sum);
			if (k % 1000 == 0)
				GC.KeepAlive(new byte[100000]);
		}
	}

	static void Main() {
		var threads = Enumerable.Range(0, 30).Select(i => new Thread(Allocate)).ToList();
		threads.ForEach(t => t.Start());
		threads.ForEach(t => t.Join());
		Console.WriteLine(sum);
		GC.Collect();
		Console.WriteLine(Enumerable.Range(0, 100).AsParallel().Select(x => x * x).Sum());
		var mutex = new object();
		int count = 0;
		Parallel.For(0, 1000, i => { lock (mutex) count++; });
		Console.WriteLine(count);
		Console.WriteLine(Task.Run(async () => { await Task.Delay(100); return 7; }).Result);
		var sleeper = new Thread(() => {
			try {
				Thread.Sleep(Timeout.Infinite);
			} catch (ThreadInterruptedException) {
				Console.WriteLine("interrupted");
			}
		});
		sleeper.Start();
		do { // Mono loses an interrupt that comes just before the sleep
			sleeper.Interrupt();
		} while (!sleeper.Join(10));
	}
}
