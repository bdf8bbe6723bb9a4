// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;

/** The founding paper's two programs (act.c: es, esyield, sum) on virtual threads. */
final class Act {
	private Act() {
	}

	public static void main(String[] args) throws Exception {
		int n = Integer.parseInt(args[1]);
		switch (args[0]) {
			case "es" -> es(n, false);
			case "esyield" -> es(n, true);
			case "sum" -> sum(n);
			default -> throw new IllegalArgumentException(args[0]);
		}
	}

	private static void es(int n, boolean yields) throws Exception {
		Pipe p = Pipe.open();
		p.sink().write(ByteBuffer.allocate(1));
		long t = System.nanoTime();
		Runnable turns = () -> {
			ByteBuffer b = ByteBuffer.allocateDirect(1);
			try {
				for (int i = 0; i < n; i++) {
					p.source().read(b.clear());
					if (yields)
						Thread.yield();
					p.sink().write(b.flip());
				}
			} catch (IOException e) {
				throw new IllegalStateException(e);
			}
		};
		Thread a = Thread.startVirtualThread(turns), b = Thread.startVirtualThread(turns);
		a.join();
		b.join();
		System.out.printf("result turn %.3f%ncheck %d%n", (System.nanoTime() - t) / (2.0 * n), 2 * n);
	}

	private static long sum(long from, long to) {
		if (from == to)
			return from;
		long[] half = new long[2];
		long middle = (from + to) / 2;
		Thread a = Thread.startVirtualThread(() -> half[0] = sum(from, middle));
		Thread b = Thread.startVirtualThread(() -> half[1] = sum(middle + 1, to));
		try {
			a.join();
			b.join();
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
		return half[0] + half[1];
	}

	/** Runs until it is compiled, and then for half a second. */
	private static void sum(int n) throws InterruptedException {
		long[] all = new long[1];
		long t = 0, now = 0;
		int i = -20;
		for (; i < 1 || now - t < 500_000_000; i++) {
			if (i == 0)
				t = System.nanoTime();
			Thread.ofVirtual().start(() -> all[0] = sum(1, n)).join();
			now = System.nanoTime();
		}
		System.out.printf("result thread %.3f%ncheck %d%n", (now - t) / (i * (2.0 * n - 1)), all[0]);
	}
}
