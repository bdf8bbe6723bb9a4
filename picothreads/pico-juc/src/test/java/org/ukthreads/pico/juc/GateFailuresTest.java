// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.juc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInputStream;
import java.io.InputStream;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingDeque;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.ukthreads.pico.Failing;
import org.ukthreads.pico.Failing.Body;
import org.ukthreads.pico.Fiber;

/** A thread that cannot wait (no memory for its frames, no stack) leaves no trace at a Gate. */
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class GateFailuresTest {
	private static void held(Lock lock, Body b) throws Throwable {
		Thread[] t = new Thread[1];
		boolean[] may = new boolean[1];
		boolean[] has = new boolean[1];
		t[0] = new Thread(() -> {
			lock.lock();
			synchronized (may) {
				has[0] = true;
				may.notifyAll();
				while (!may[0])
					waitFor(may);
			}
			lock.unlock();
		});
		t[0].start();
		synchronized (may) {
			while (!has[0])
				may.wait();
		}
		b.run();
		end(may, t[0]);
	}

	private static void waitFor(Object o) {
		try {
			o.wait();
		} catch (InterruptedException e) {
			throw new AssertionError(e);
		}
	}

	private static void end(boolean[] may, Thread t) throws InterruptedException {
		synchronized (may) {
			may[0] = true;
			may.notifyAll();
		}
		t.join();
	}

	private static void free(Lock lock) throws Exception {
		boolean[] got = new boolean[1];
		Thread t = new Thread(() -> {
			got[0] = lock.tryLock();
			if (got[0])
				lock.unlock();
		});
		t.start();
		t.join();
		assertTrue(got[0], "the lock is free, but tryLock() failed");
	}

	private static void leaves(Lock lock, Body wait) throws Throwable {
		held(lock, () -> Failing.onFiber(() -> assertTrue(Failing.call(wait, () -> {}))));
		free(lock);
	}

	@Test
	void who_cannot_wait_is_not_queued() throws Throwable {
		for (boolean fair : new boolean[] {false, true}) {
			ReentrantLock l = new PicoReentrantLock(fair);
			leaves(l, l::lock);
			leaves(l, l::lockInterruptibly);
			leaves(l, () -> l.tryLock(1, TimeUnit.HOURS));
			assertFalse(l.hasQueuedThreads());
			ReentrantReadWriteLock rw = new PicoReentrantReadWriteLock(fair);
			leaves(rw.writeLock(), rw.readLock()::lock);
			leaves(rw.writeLock(), rw.writeLock()::lock);
			assertFalse(rw.hasQueuedThreads());
			assertEquals(0, rw.getReadLockCount());
		}
	}

	/** A fair lock, unlocked meanwhile, is handed to a thread that then cannot wait. */
	@Test
	void what_was_handed_over_goes_back() throws Throwable {
		Semaphore s = new PicoSemaphore(0, true);
		Failing.onFiber(() -> {
			assertTrue(Failing.call(s::acquire, s::release));
			assertEquals(1, s.availablePermits());
		});
		PicoReentrantReadWriteLock rw = new PicoReentrantReadWriteLock(true);
		PicoStampedLock st = new PicoStampedLock();
		Lock l = new PicoReentrantLock(true);
		for (Lock[] of : new Lock[][] {{l, l}, {rw.writeLock(), rw.readLock()}, {st.asReadLock(),
			st.asWriteLock()}, {st.asWriteLock(), st.asReadLock()}}) {
			boolean[] may = new boolean[1];
			Thread t = holder(of[0], may);
			Failing.onFiber(() -> assertTrue(Failing.call(of[1]::lock, () -> end(may, t))));
			free(of[0]);
		}
	}

	private static Thread holder(Lock l, boolean[] may) throws InterruptedException {
		Thread t = new Thread(() -> {
			l.lock();
			synchronized (may) {
				may.notifyAll();
				while (!may[0])
					waitFor(may);
			}
			l.unlock();
		});
		synchronized (may) {
			t.start();
			may.wait();
		}
		return t;
	}

	/** The partner has gone with the failed thread's item; its own goes to the next thread. */
	@Test
	void what_was_exchanged_with_who_failed_is_not_lost() throws Throwable {
		for (boolean waits : new boolean[] {false, true}) {
			PicoExchanger<String> x = new PicoExchanger<>();
			List<String> got = new ArrayList<>();
			Thread third = new Thread(() -> {
				try {
					got.add(x.exchange("third"));
				} catch (InterruptedException e) {
					throw new AssertionError(e);
				}
			});
			Failing.onFiber(() -> {
				assertTrue(Failing.call(() -> x.exchange("first"), () -> {
					got.add(x.exchange("second"));
					if (waits)
						third.start();
					while (waits && ((Gate) x.room()).waiting(0) == 0)
						Thread.yield();
				}));
				third.join();
				got.add(x.exchange("fourth", 0, TimeUnit.SECONDS));
				got.add(x.exchange("fifth", 0, TimeUnit.SECONDS));
			});
			assertEquals(waits ? List.of("first", "second", "third", "fourth")
				: List.of("first", "second", "fourth"), got);
		}
	}

	/** As Object.wait(), a failed await() ends with the lock; it takes no signal. */
	@Test
	void a_condition_that_fails_ends_with_the_lock() throws Throwable {
		for (boolean fair : new boolean[] {false, true}) {
			PicoReentrantLock l = new PicoReentrantLock(fair);
			Condition c = l.newCondition();
			for (Body wait : new Body[] {c::await, () -> c.await(1, TimeUnit.HOURS),
				c::awaitUninterruptibly})
				Failing.onFiber(() -> {
					l.lock();
					l.lock();
					assertTrue(Failing.call(wait, () -> {}));
					assertEquals(2, l.getHoldCount());
					assertFalse(l.hasWaiters(c));
					l.unlock();
					l.unlock();
				});
			free(l);
		}
	}

	@Test
	void a_condition_that_fails_waits_for_who_has_the_lock() throws Throwable {
		PicoReentrantLock l = new PicoReentrantLock();
		Condition c = l.newCondition();
		Failing.onFiber(() -> {
			Fiber me = Fiber.current();
			boolean[] in = new boolean[1];
			Thread[] t = new Thread[1];
			l.lock();
			assertTrue(Failing.call(c::await, () -> {
				t[0] = new Thread(() -> {
					l.lock();
					c.signal();
					synchronized (in) {
						in[0] = true;
						in.notifyAll();
					}
					while (!Failing.isBlocked(me))
						Thread.yield();
					l.unlock();
				});
				t[0].start();
				synchronized (in) {
					while (!in[0])
						in.wait();
				}
			}));
			assertTrue(l.isHeldByCurrentThread());
			l.unlock();
			t[0].join();
		});
		free(l);
	}

	/** Each call overflows or suspends; none stays in a queue. */
	@Test
	void an_overflow_leaves_nobody_queued() throws Throwable {
		overflow();
	}

	/** Compiled code needs less stack than code that it calls and that is not compiled. */
	@Test
	@Tag("long")
	void nor_one_in_compiled_code() throws Throwable {
		for (int k = 0; k < 100; k++) {
			PicoThreadPoolExecutor p = new PicoThreadPoolExecutor(4, 4, 1, TimeUnit.SECONDS,
				new PicoLinkedBlockingQueue<>());
			CountDownLatch ran = new PicoCountDownLatch(50);
			for (int j = 0; j < 50; j++)
				p.execute(ran::countDown);
			ran.await();
			p.shutdown();
			assertTrue(p.awaitTermination(100, TimeUnit.SECONDS));
		}
		overflow();
	}

	private static void overflow() throws Throwable {
		PicoReentrantLock l = new PicoReentrantLock(true);
		PicoReentrantLock mine = new PicoReentrantLock();
		Condition c = mine.newCondition();
		PicoExchanger<Integer> x = new PicoExchanger<>();
		/* Made here, because deep() leaves no stack for it. */
		Body none = () -> {};
		Body lock = l::lock;
		Body tryLock = () -> l.tryLock(1, TimeUnit.HOURS);
		Body await = c::await;
		Body meet = () -> x.exchange(1);
		int[] times = new int[1];
		Body all = () -> {
			if (times[0] > 300)
				return;
			Failing.call(lock, none);
			Failing.call(tryLock, none);
			Failing.call(await, none);
			Failing.call(meet, none);
			times[0]++;
		};
		held(l, () -> Failing.onFiber(() -> {
			mine.lock();
			all.run();
			Failing.deep(all);
			assertFalse(l.hasQueuedThreads(), "still queued");
			assertEquals(0, ((Gate) x.room()).waiting(0));
			assertFalse(mine.hasWaiters(c));
			assertEquals(1, mine.getHoldCount());
			mine.unlock();
		}));
		free(l);
	}

	/** A failed tryLock() takes nothing, a failed unlock() keeps the lock; waiters are woken. */
	@Test
	void an_overflow_takes_and_gives_a_lock_whole() throws Throwable {
		for (boolean fair : new boolean[] {false, true})
			for (boolean contended : new boolean[] {false, true}) {
				PicoReentrantLock l = new PicoReentrantLock(fair);
				boolean[] over = new boolean[1];
				Thread other = new Thread(() -> {
					while (contended && !over[0]) {
						l.lock();
						l.unlock();
					}
				});
				other.start();
				int[] times = new int[2];
				Body pair = () -> {
					if (times[1] < 20 && l.tryLock()) {
						times[0]++;
						l.unlock();
						times[0]--;
						times[1]++;
					}
				};
				Failing.onFiber(() -> {
					for (int k = 0; k < 4; k++) {
						times[1] = 0;
						Failing.deep(pair);
					}
					assertEquals(times[0], l.getHoldCount());
					for (; times[0] > 0; times[0]--)
						l.unlock();
				});
				over[0] = true;
				other.join();
				free(l);
			}
	}

	/** A program's own lock: a wait at its condition ends with it, or never gave it up. */
	private static final class Mutex extends PicoAbstractQueuedSynchronizer {
		private static final long serialVersionUID = 1L;

		@Override
		protected boolean tryAcquire(int n) {
			return compareAndSetState(0, 1);
		}

		@Override
		protected boolean tryRelease(int n) {
			setState(0);
			return true;
		}

		/* Only one thread uses it. */
		@Override
		protected boolean isHeldExclusively() {
			return getState() == 1;
		}
	}

	@Test
	void an_overflow_leaves_a_programs_own_lock_whole() throws Throwable {
		Mutex m = new Mutex();
		Condition c = new PicoAbstractQueuedSynchronizer.On(m);
		int[] count = new int[2];
		Body none = () -> {};
		Body wait = () -> Conditions.await(c);
		Body await = () -> {
			if (count[0]++ > 60)
				return;
			try {
				Failing.call(wait, none);
			} finally {
				if (!m.isHeldExclusively())
					count[1]++;
			}
		};
		Failing.onFiber(() -> {
			PicoAbstractQueuedSynchronizer.acquire(m, 1);
			await.run();
			Failing.deep(await);
			assertEquals(0, count[1], "ended without the lock");
			assertTrue(m.isHeldExclusively());
			PicoAbstractQueuedSynchronizer.release(m, 1);
			assertFalse(PicoAbstractQueuedSynchronizer.hasQueuedThreads(m));
		});
	}

	@Test
	void an_overflow_ends_a_phase_or_does_not_arrive() throws Throwable {
		PicoPhaser p = new PicoPhaser(1);
		int[] times = new int[1];
		Body arrive = () -> {
			if (times[0]++ <= 60)
				p.arrive();
		};
		Body none = () -> {};
		PicoPhaser never = new PicoPhaser(1);
		Body wait = () -> never.awaitAdvance(0);
		int[] waits = new int[1];
		Body await = () -> {
			if (waits[0]++ <= 60)
				Failing.call(wait, none);
		};
		Failing.onFiber(() -> {
			for (int k = 0; k < 2; k++) {
				times[0] = 0;
				Failing.deep(arrive);
				int before = PicoPhaser.getPhase(p);
				assertEquals(1, p.getUnarrivedParties());
				p.arrive();
				assertEquals(before + 1, PicoPhaser.getPhase(p));
				assertEquals(before + 1, p.register());
				p.arriveAndDeregister();
				waits[0] = 0;
				Failing.deep(await);
				assertEquals(0, ((Gate) never.room()).waiting(1));
			}
		});
	}

	/** Each task is done or was not begun. */
	@Test
	void an_overflow_ends_a_task_or_does_not_begin_it() throws Throwable {
		List<PicoFutureTask<Integer>> all = new ArrayList<>();
		Callable<Integer> one = () -> 1;
		int[] next = new int[1];
		Body run = () -> {
			if (next[0] < all.size())
				all.get(next[0]++).run();
		};
		for (int k = 0; k < 5; k++) {
			while (all.size() < next[0] + 60)
				all.add(new PicoFutureTask<>(one));
			Failing.onFiber(() -> Failing.deep(run));
		}
		for (PicoFutureTask<Integer> t : all) {
			t.run();
			assertTrue(t.isDone(), "the task never completes");
		}
	}

	@Test
	void who_waits_hears_of_an_end_that_throws() throws Throwable {
		PicoFutureTask<Integer> t = new PicoFutureTask<Integer>(() -> 1) {
			@Override
			protected void done() {
				throw new IllegalStateException("done");
			}
		};
		Failing.onFiber(() -> {
			boolean[] heard = new boolean[1];
			Thread w = new Thread(() -> {
				try {
					t.get();
				} catch (InterruptedException | ExecutionException e) {
					throw new AssertionError(e);
				}
				heard[0] = true;
			});
			w.start();
			while (w.getState() != Thread.State.WAITING)
				Thread.yield();
			assertThrows(IllegalStateException.class, t::run);
			w.join();
			assertTrue(heard[0]);
		});
	}

	@Test
	@Tag("long")
	void an_overflow_gives_and_takes_an_element_whole() throws Throwable {
		PicoLinkedTransferQueue<Integer> q = new PicoLinkedTransferQueue<>();
		int[] count = new int[2];
		Body put = () -> {
			if (count[0] < 60) {
				q.put(1);
				count[0]++;
			}
		};
		Body take = () -> {
			if (q.poll() != null)
				count[1]++;
		};
		Body none = () -> {};
		Body transfer = () -> q.transfer(2);
		int[] waits = new int[1];
		Body wait = () -> {
			if (waits[0]++ <= 60)
				Failing.call(transfer, none);
		};
		Failing.onFiber(() -> {
			for (int k = 0; k < 2; k++) {
				count[0] = 0;
				count[1] = 0;
				Failing.deep(put);
				assertEquals(count[0], q.size());
				Failing.deep(take);
				assertEquals(count[0] - count[1], q.size());
				q.clear();
				waits[0] = 0;
				Failing.deep(wait);
				assertEquals(0, q.size(), "the element is still there");
			}
		});
	}

	private static void puts(BlockingQueue<Integer> q) {
		for (int k = 1; k <= 3; k++)
			assertTrue(q.offer(k));
	}

	/** Back to its place, if the thread that was given it cannot wait; the next gets it. */
	@Test
	void what_was_taken_from_a_queue_goes_back() throws Throwable {
		List<BlockingQueue<Integer>> all = List.of(new PicoLinkedBlockingQueue<>(2),
			new PicoArrayBlockingQueue<>(2), new PicoLinkedBlockingDeque<>(2),
			new PicoPriorityBlockingQueue<>(), new PicoLinkedTransferQueue<>());
		for (BlockingQueue<Integer> q : all)
			for (Body take : new Body[] {q::take, () -> q.poll(1, TimeUnit.HOURS)})
				Failing.onFiber(() -> {
					assertTrue(Failing.call(take, () -> puts(q)));
					for (Integer k : new Integer[] {1, 2, 3, null})
						assertEquals(k, q.poll(), q.getClass().getName());
				});
		BlockingDeque<Integer> d = new PicoLinkedBlockingDeque<>(2);
		SynchronousQueue<Integer> s = new PicoSynchronousQueue<>();
		Failing.onFiber(() -> {
			assertTrue(Failing.call(d::takeLast, () -> puts(d)));
			for (Integer k : new Integer[] {1, 3, 2, null})
				assertEquals(k, d.pollLast());
			assertTrue(Failing.call(s::take, () -> assertTrue(s.offer(1))));
			assertEquals(1, s.poll());
			assertEquals(null, s.poll());
		});
	}

	/** The guards: a method that locks one with our monitors might suspend there. */
	@Test
	void a_gate_locks_with_the_jvms_monitors() throws Exception {
		assertTrue(Modifier.isSynchronized(
			Gate.class.getDeclaredMethod("enter", Gate.Node.class).getModifiers()));
		for (Class<?> k : new Class<?>[] {Gate.class, Gate.Node.class, GateCondition.class,
			QueueGate.class, Line.class, Line.Waiters.class, PicoReentrantLock.class,
			PicoReentrantReadWriteLock.class, PicoSemaphore.class, PicoStampedLock.class})
			assertFalse(text(k).contains("org/ukthreads/pico/Monitors"), k.getName());
	}

	private static String text(Class<?> k) throws Exception {
		String name = k.getName();
		try (InputStream in = k.getResourceAsStream(
				name.substring(name.lastIndexOf('.') + 1) + ".class")) {
			byte[] b = new byte[in.available()];
			new DataInputStream(in).readFully(b);
			return new String(b, StandardCharsets.ISO_8859_1);
		}
	}
}
