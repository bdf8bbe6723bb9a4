// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.ukthreads.pico.Dump;
import org.ukthreads.pico.Monitors;
import org.ukthreads.pico.PicoThread;

/** What a dump says of who waits for whom. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class DumpTest {
	private static void join(CountDownLatch l) {
		try {
			l.await();
		} catch (InterruptedException e) {
			throw new AssertionError(e);
		}
	}

	private static String dumped(String has) throws Exception {
		for (;;) {
			String d = Dump.all();
			if (d.contains(has))
				return d;
			Thread.sleep(5);
		}
	}

	/** One by a monitor, one by a lock of java.util.concurrent, one by join(). */
	@Test
	void a_dead_lock_is_told_and_a_wait_is_not() throws Exception {
		Object monitor = new Object();
		PicoReentrantLock lock = new PicoReentrantLock();
		CountDownLatch both = new CountDownLatch(2);
		PicoThread one = new PicoThread(null, () -> {
			Monitors.enter(monitor);
			both.countDown();
			join(both);
			try {
				lock.lockInterruptibly();
				lock.unlock();
			} catch (InterruptedException e) {
				/* The test ends it. */
			}
			Monitors.exit(monitor);
		}, "one");
		PicoThread two = new PicoThread(null, () -> {
			lock.lock();
			both.countDown();
			join(both);
			Monitors.enter(monitor);
			Monitors.exit(monitor);
			lock.unlock();
		}, "two");
		PicoThread third = new PicoThread(null, () -> {
			lock.lock();
			lock.unlock();
		}, "third");
		one.start();
		two.start();
		String d = dumped("deadlock of 2 threads");
		assertTrue(d.matches("(?s).*\"one\"[^\n]*PicoReentrantLock[^\n]*held by \"two\".*"), d);
		assertTrue(d.matches("(?s).*\"two\"[^\n]*to lock [^\n]*held by \"one\".*"), d);
		third.start();
		d = dumped("\"third\"");
		one.interrupt();
		for (PicoThread t : new PicoThread[] {one, two, third})
			while (t.getState() != Thread.State.TERMINATED)
				Thread.sleep(1);
		assertFalse(Dump.all().contains("deadlock"), "it was over");
	}

	/** A thread that holds a lock and sleeps is in no cycle. */
	@Test
	void who_waits_for_a_lock_is_told_its_owner() throws Exception {
		PicoReentrantLock lock = new PicoReentrantLock();
		lock.lock();
		PicoThread t = new PicoThread(null, () -> {
			lock.lock();
			lock.unlock();
		}, "waits");
		String me = Thread.currentThread().getName();
		t.start();
		String d = dumped("held by \"" + me + '"');
		assertFalse(d.contains("deadlock"), d);
		lock.unlock();
		while (t.getState() != Thread.State.TERMINATED)
			Thread.sleep(1);
	}
}
