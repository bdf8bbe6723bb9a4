// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;

/**
 * Workloads on virtual threads: Loom WORKLOAD N [M].
 * -Djdk.virtualThreadScheduler.parallelism chooses the processors. Each workload runs once
 * at reduced size first, for the compiler; the figure is that of the second run.
 */
final class Loom {
	private static boolean silent;

	private Loom() {
	}

	interface Body {
		void run() throws Exception;
	}

	static void result(String metric, double v) {
		if (!silent)
			System.out.printf("result %s %.3f%n", metric, v);
	}

	static void check(long v) {
		if (!silent)
			System.out.println("check " + v);
	}

	static double per(long t0, long n) {
		return (double) (System.nanoTime() - t0) / n;
	}

	static Thread spawn(Body b) {
		return Thread.ofVirtual().start(() -> {
			try {
				b.run();
			} catch (Exception e) {
				throw new IllegalStateException(e);
			}
		});
	}

	static long sumKb(String file, String... keys) throws IOException {
		long sum = 0;
		for (String l : Files.readAllLines(Path.of(file)))
			for (String k : keys)
				if (l.startsWith(k))
					sum += Long.parseLong(l.replaceAll("[^0-9]", "")) * 1024;
		return sum;
	}

	static long memOwn() throws IOException {
		return sumKb("/proc/self/status", "VmRSS:", "VmPTE:");
	}

	static long memKernel() throws IOException {
		return sumKb("/proc/meminfo", "KernelStack:", "Slab:");
	}

	static long cpu() {
		return ((com.sun.management.OperatingSystemMXBean) ManagementFactory
				.getOperatingSystemMXBean()).getProcessCpuTime();
	}

	/**
	 * What n threads count together from the moment at which the last has arrived to that at
	 * which the first is done. One processor: plain numbers.
	 */
	static final class Lap {
		private final int n;
		private volatile int in;
		private int out;
		private long count, from, begun;
		private double cost;

		Lap(int n) {
			this.n = n;
		}

		void count() {
			count++;
		}

		boolean arrive() {
			if (++in != n)
				return false;
			from = count;
			begun = System.nanoTime();
			return true;
		}

		boolean allIn() {
			return in >= n;
		}

		void leave() {
			if (++out == 1)
				cost = per(begun, count - from);
		}
	}

	interface Each {
		void run(int id) throws Exception;
	}

	static void runAll(int n, Each each) throws Exception {
		Thread[] t = new Thread[n];
		for (int i = 0; i < n; i++) {
			int id = i;
			t[i] = spawn(() -> each.run(id));
		}
		for (Thread x : t)
			x.join();
	}

	static void runYield(int n, int total) throws Exception {
		int each = total / n;
		long[] sum = new long[1];
		Lap lap = new Lap(n);
		runAll(n, id -> {
			lap.arrive();
			while (!lap.allIn()) {
				Thread.yield();
				lap.count();
			}
			for (int k = 0; k < each; k++) {
				Thread.yield();
				lap.count();
			}
			lap.leave();
			sum[0] += each;
		});
		result("yield", lap.cost);
		check(sum[0]);
	}

	/** One thread's turn in a ring. */
	static final class Seat {
		private static final long FAR_NS = 300_000_000_000L;
		private volatile Thread waiter;
		private volatile boolean turn;

		void call() {
			turn = true;
			LockSupport.unpark(waiter); // null, before the first turn: nothing
		}

		void await(boolean deadline) {
			if (waiter == null)
				waiter = Thread.currentThread();
			long t0 = deadline ? System.nanoTime() : 0;
			while (!turn) {
				if (!deadline)
					LockSupport.park();
				else if (System.nanoTime() - t0 < FAR_NS)
					LockSupport.parkNanos(FAR_NS);
				else
					throw new IllegalStateException("deadline");
			}
			turn = false;
		}
	}

	/** A baton goes round; with deadlines that are never met. */
	static void ring(int n, int total, boolean deadline) throws Exception {
		Seat[] seats = new Seat[n];
		Arrays.setAll(seats, i -> new Seat());
		Lap lap = new Lap(n);
		runAll(n, id -> {
			if (lap.arrive())
				seats[0].call();
			for (int k = 0; k < total / n; k++) {
				seats[id].await(deadline);
				lap.count();
				seats[(id + 1) % n].call();
			}
			lap.leave();
		});
		result("wake", lap.cost);
		check(lap.count);
	}

	static void runSpawn(int n) throws Exception {
		long[] c = new long[1];
		long t0 = System.nanoTime();
		for (int i = 0; i < n; i++)
			spawn(() -> c[0]++).join();
		result("one", per(t0, n));
		check(c[0]);
	}

	static void spawnManyRound(int n, AtomicLong c) throws Exception {
		Thread[] t = new Thread[n];
		CountDownLatch arrived = new CountDownLatch(n), gate = new CountDownLatch(1);
		for (int i = 0; i < n; i++)
			t[i] = spawn(() -> {
				arrived.countDown();
				gate.await();
				c.incrementAndGet();
			});
		arrived.await();
		gate.countDown();
		for (Thread x : t)
			x.join();
	}

	static void runSpawnMany(int n, int rounds) throws Exception {
		AtomicLong c = new AtomicLong();
		long t0 = System.nanoTime();
		spawnManyRound(n, c);
		result("first", per(t0, n));
		int again = Math.max(rounds - 1, 1);
		t0 = System.nanoTime();
		for (int i = 0; i < again; i++)
			spawnManyRound(n, c);
		result("again", per(t0, (long) again * n));
		check(c.get());
	}

	static long sum(long lo, long hi) throws Exception {
		if (lo == hi)
			return lo;
		long mid = (lo + hi) / 2;
		long[] out = new long[2];
		Thread a = spawn(() -> out[0] = sum(lo, mid));
		Thread b = spawn(() -> out[1] = sum(mid + 1, hi));
		a.join();
		b.join();
		return out[0] + out[1];
	}

	static void runTree(int n) throws Exception {
		long s = 0;
		for (String name : List.of("first", "again")) {
			long t0 = System.nanoTime();
			s = sum(1, n);
			result(name, per(t0, 2L * n - 2));
		}
		check(s);
	}

	static void runPipe(int n) throws Exception {
		Pipe p = Pipe.open(), q = Pipe.open();
		Thread e = spawn(() -> {
			ByteBuffer b = ByteBuffer.allocateDirect(1);
			while (p.source().read(b.clear()) == 1)
				q.sink().write(b.flip());
		});
		ByteBuffer b = ByteBuffer.allocateDirect(1), c = ByteBuffer.allocateDirect(1);
		long ok = 0, t0 = System.nanoTime();
		for (int i = 0; i < n; i++) {
			byte v = (byte) (i & 0x7f);
			p.sink().write(b.clear().put(v).flip());
			q.source().read(c.clear());
			if (c.get(0) == v)
				ok++;
		}
		result("round", per(t0, n) / 1000);
		p.sink().close();
		e.join();
		check(ok);
	}

	/** The heap is collected before both readings: the figure is what must stay. */
	static void runMemory(int n) throws Exception {
		CountDownLatch arrived = new CountDownLatch(n), gate = new CountDownLatch(1);
		AtomicLong c = new AtomicLong();
		Thread[] t = new Thread[n];
		System.gc();
		long m0 = memOwn(), k0 = memKernel();
		for (int i = 0; i < n; i++)
			t[i] = spawn(() -> {
				arrived.countDown();
				gate.await();
				c.incrementAndGet();
			});
		arrived.await();
		Thread.sleep(200);
		System.gc();
		long m1 = memOwn(), k1 = memKernel();
		result("bytes", (double) (m1 - m0) / n);
		result("kernel", (double) (k1 - k0) / n);
		gate.countDown();
		for (Thread x : t)
			x.join();
		check(c.get());
	}

	static void runChan(int n) throws Exception {
		SynchronousQueue<Integer> a = new SynchronousQueue<>(), b = new SynchronousQueue<>();
		Thread e = spawn(() -> {
			for (int i = 0; i < n; i++)
				b.put(a.take());
		});
		long ok = 0, t0 = System.nanoTime();
		for (int i = 0; i < n; i++) {
			a.put(i);
			if (b.take() == i)
				ok++;
		}
		result("round", per(t0, n));
		e.join();
		check(ok);
	}

	/**
	 * Threads in pairs, each with two channels; after each trip there and back a pair stands
	 * behind the others.
	 */
	static void pairs(int n, int total) throws Exception {
		List<SynchronousQueue<Integer>> c =
				Stream.generate(SynchronousQueue<Integer>::new).limit(n).toList();
		Lap lap = new Lap(n);
		runAll(n, id -> {
			SynchronousQueue<Integer> there = c.get(id & ~1), back = c.get(id | 1);
			lap.arrive();
			while (!lap.allIn())
				Thread.yield();
			for (int i = 0; i < total / (n / 2); i++) {
				if ((id & 1) == 1) {
					back.put(there.take());
					continue;
				}
				there.put(i);
				if (back.take() != i)
					throw new IllegalStateException("channel");
				lap.count();
				Thread.yield();
			}
			lap.leave();
		});
		result("trip", lap.cost);
		check(lap.count);
	}

	static void runMutex(int n, int rounds, boolean held) throws Exception {
		ReentrantLock m = new ReentrantLock();
		long[] c = new long[1];
		Thread[] t = new Thread[n];
		long t0 = System.nanoTime();
		for (int i = 0; i < n; i++)
			t[i] = spawn(() -> {
				for (int k = 0; k < rounds; k++) {
					m.lock();
					c[0]++;
					if (held)
						Thread.yield();
					m.unlock();
				}
			});
		for (Thread x : t)
			x.join();
		result("lock", per(t0, (long) n * rounds));
		check(c[0]);
	}

	static void sky(SynchronousQueue<Long> up, long num, int size) throws Exception {
		if (size == 1) {
			up.put(num);
			return;
		}
		SynchronousQueue<Long> c = new SynchronousQueue<>();
		for (int i = 0; i < 10; i++) {
			long first = num + (long) i * (size / 10);
			spawn(() -> sky(c, first, size / 10));
		}
		long s = 0;
		for (int i = 0; i < 10; i++)
			s += c.take();
		up.put(s);
	}

	static void runSkynet(int leaves) throws Exception {
		long s = 0;
		for (String name : List.of("first", "again")) {
			SynchronousQueue<Long> c = new SynchronousQueue<>();
			long t0 = System.nanoTime();
			spawn(() -> sky(c, 0, leaves));
			s = c.take();
			result(name, per(t0, leaves));
		}
		check(s);
	}

	static long next(long[] s) {
		s[0] ^= s[0] >>> 12;
		s[0] ^= s[0] << 25;
		s[0] ^= s[0] >>> 27;
		return s[0] * 0x2545F4914F6CDD1DL;
	}

	static void runTimers(int n, int rounds) throws Exception {
		long[] late = new long[n * rounds];
		Arrays.fill(late, Long.MIN_VALUE);
		Thread[] t = new Thread[n];
		long c = cpu();
		for (int i = 0; i < n; i++) {
			int id = i;
			t[i] = spawn(() -> {
				long[] seed = { (id + 1) * 0x9E3779B97F4A7C15L };
				for (int k = 0; k < rounds; k++) {
					long span = 1000000 + Long.remainderUnsigned(next(seed), 99000001);
					long due = System.nanoTime() + span;
					Thread.sleep(Duration.ofNanos(span));
					late[id * rounds + k] = System.nanoTime() - due;
				}
			});
		}
		for (Thread x : t)
			x.join();
		c = cpu() - c;
		long done = Arrays.stream(late).filter(v -> v != Long.MIN_VALUE).count();
		Arrays.sort(late);
		result("late", late[(int) ((long) late.length * 99 / 100)] / 1000.0);
		result("cpu", (double) c / late.length / 1000);
		check(done);
	}

	/**
	 * Sleepers, whose spans grow with their number, so that as many wake in a second. Once all
	 * are there, n wake-ups pass, and then they are counted. One processor.
	 */
	static void runTimersSteady(int n, int wakes) throws Exception {
		long[] late = new long[wakes];
		int[] in = new int[1], woken = { -n };
		long[] cpu = new long[2];
		runAll(n, id -> {
			long[] seed = { (id + 1) * 0x9E3779B97F4A7C15L };
			in[0]++;
			while (woken[0] < wakes) {
				long span = (1000000 + Long.remainderUnsigned(next(seed), 99000001))
						* n / 10000;
				long due = System.nanoTime() + span;
				Thread.sleep(Duration.ofNanos(span));
				if (in[0] < n || woken[0] >= wakes)
					continue;
				if (woken[0] == 0)
					cpu[0] = cpu();
				if (woken[0] >= 0)
					late[woken[0]] = System.nanoTime() - due;
				if (++woken[0] == wakes)
					cpu[1] = cpu();
			}
		});
		Arrays.sort(late);
		result("late", late[(int) ((long) wakes * 99 / 100)] / 1000.0);
		result("cpu", (double) (cpu[1] - cpu[0]) / wakes / 1000);
		check(woken[0]);
	}

	static void run(String w, int n, int m) throws Exception {
		switch (w) {
		case "yield" -> runYield(n, m);
		case "spawn" -> runSpawn(n);
		case "spawn-many" -> runSpawnMany(n, m);
		case "tree" -> runTree(n);
		case "pipe" -> runPipe(n);
		case "memory" -> runMemory(n);
		case "chan" -> runChan(n);
		case "mutex" -> runMutex(n, m, false);
		case "mutex-held" -> runMutex(n, m, true);
		case "skynet" -> runSkynet(n);
		case "pairs" -> pairs(n, m);
		case "timers-steady" -> runTimersSteady(n, m);
		case "ring" -> ring(n, m, false);
		case "timed" -> ring(n, m, true);
		case "timers" -> runTimers(n, m);
		default -> throw new IllegalArgumentException(w);
		}
	}

	/** Reduced size, for the compiler. */
	static void warmUp(String w, int n, int m) throws Exception {
		silent = true;
		int some = Math.min(n, 1000);
		switch (w) {
		case "memory" -> {
		}
		case "yield", "ring", "timed", "pairs", "timers-steady" ->
			run(w, some, Math.max(m / 10, 20 * some));
		case "spawn-many" -> run(w, Math.max(n / 10, 10), Math.min(m, 100));
		case "mutex", "mutex-held", "timers" -> run(w, n, m / 10 + 1);
		default -> run(w, Math.max(n / 10, 10), 0);
		}
		silent = false;
	}

	public static void main(String[] a) throws Exception {
		int n = Integer.parseInt(a[1]), m = a.length > 2 ? Integer.parseInt(a[2]) : 0;
		spawn(() -> {
			warmUp(a[0], n, m);
			run(a[0], n, m);
		}).join();
	}
}
