// SPDX-License-Identifier: Apache-2.0
package demo;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public final class Main {
	private Main() {}

	private static int slow(int k) throws InterruptedException {
		Thread.sleep(1);
		return k * 6;
	}

	public static void main(String[] args) throws Exception {
		ExecutorService x = Executors.newFixedThreadPool(2);
		Future<Integer> f = x.submit(() -> slow(7));
		/* Uses isInstance(), because getClass() would return the JDK's class. */
		Class<?> pico = Class.forName("org.ukthreads.pico.PicoThread");
		Future<String> on = x.submit(() -> pico.isInstance(Thread.currentThread())
			? pico.getSimpleName() : "Thread");
		System.out.println(f.get() + " on a " + on.get());
		x.shutdown();
	}
}
