// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.bench.jmh;

import java.lang.reflect.Method;
import java.util.concurrent.ThreadFactory;
import java.util.function.Consumer;
import org.ukthreads.bench.work.Parked;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.PicoRuntime;

/**
 * <code>Memory SYSTEM DEPTH N</code>: parks N threads and measures the heap that each takes
 * (after garbage collections), and the time to start and park one. Prints "result UNIT VALUE"
 * lines.
 */
public final class Memory {
	private Memory() {}

	public static void main(String[] a) throws Throwable {
		int depth = Integer.parseInt(a[1]);
		int n = Integer.parseInt(a[2]);
		boolean pico = a[0].startsWith("pico");
		Class<?> parked = pico ? new Translated().loader.loadClass(Parked.class.getName())
			: Parked.class;
		ThreadFactory f = a[0].equals("virtual") ? Translated.virtual() : null;
		Method task = parked.getMethod("task", int.class);
		Method start = parked.getMethod("start", ThreadFactory.class, int.class, Object[].class);
		Method down = parked.getMethod("down");
		Method up = parked.getMethod("up");
		Method release = parked.getMethod("release", Object[].class, Consumer.class);
		Method reset = parked.getMethod("reset");
		boolean light = a[0].equals("pico");
		int[] sizes = {Math.min(n, 20_000), n};
		for (int size : sizes) {
			reset.invoke(null);
			Object[] all = new Object[size];
			long before = used();
			long t = System.nanoTime();
			if (light)
				for (int k = 0; k < size; k++) {
					Fiber x = PicoRuntime.main().fiber((Runnable) task.invoke(null, depth));
					all[k] = x;
					x.start();
				}
			else
				start.invoke(null, f, depth, all);
			while ((int) down.invoke(null) < size)
				Thread.sleep(1);
			t = System.nanoTime() - t;
			Thread.sleep(50);
			long bytes = used() - before;
			release.invoke(null, all, light ? (Consumer<Object>) x -> ((Fiber) x).unpark()
				: null);
			while ((int) up.invoke(null) < size)
				Thread.sleep(1);
			if (size == n) {
				System.out.println("result ns " + (double) t / size);
				System.out.println("result B " + (double) bytes / size);
				System.out.println("check " + up.invoke(null));
			}
		}
		System.exit(0);
	}

	private static long used() throws InterruptedException {
		Runtime r = Runtime.getRuntime();
		for (int k = 0; k < 3; k++) {
			System.gc();
			Thread.sleep(20);
		}
		return r.totalMemory() - r.freeMemory();
	}
}
