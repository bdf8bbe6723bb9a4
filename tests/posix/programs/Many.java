// SPDX-License-Identifier: Apache-2.0
// HotSpot with many platform threads: each locks a monitor, waits, is notified and ends.
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;

public class Many {
	public static void main(String[] args) throws Exception {
		int n = Integer.parseInt(args[0]);
		AtomicLong sum = new AtomicLong();
		CountDownLatch all = new CountDownLatch(n), go = new CountDownLatch(1);
		Object monitor = new Object();
		Thread[] threads = new Thread[n];
		for (int i = 0; i < n; i++) {
			int me = i;
			threads[i] = new Thread(null, () -> {
				try {
					all.countDown();
					go.await();
					synchronized (monitor) {
						sum.addAndGet(me);
					}
					Thread.sleep(1);
				} catch (InterruptedException e) {
					sum.addAndGet(-1);
				}
			}, "many-" + i, 128 << 10);
			threads[i].start();
		}
		all.await();
		System.gc();
		go.countDown();
		for (Thread t : threads)
			t.join();
		Thread sleeper = new Thread(() -> {
			try {
				Thread.sleep(1_000_000);
			} catch (InterruptedException e) {
				sum.addAndGet(1);
			}
		});
		sleeper.start();
		sleeper.interrupt();
		sleeper.join();
		ExecutorService pool = Executors.newFixedThreadPool(8);
		long more = 0;
		for (Future<Integer> f : pool.invokeAll(java.util.Collections.nCopies(200,
				(Callable<Integer>) () -> 1)))
			more += f.get();
		pool.shutdown();
		System.out.println(n + " threads: " + sum + " " + more + " "
			+ pool.awaitTermination(600, TimeUnit.SECONDS));
	}
}
