package org.ukthreads.pico.sim;

import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.ukthreads.pico.Blocking;
import org.ukthreads.pico.Carrier;
import org.ukthreads.pico.Chaos;
import org.ukthreads.pico.Clock;
import org.ukthreads.pico.Dump;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.PicoRuntime;
import org.ukthreads.pico.PicoThread;
import org.ukthreads.pico.Scheduler;

/*
 * A translated program under a seed: one carrier, a scheduler that draws who runs next,
 * and a clock that stands still while anybody can run and then jumps to the next timer.
 *
 *   run(seed) --> PicoRuntime(1 carrier, this, this)
 *     ready ones --draw--> slice --> ... --> none ready --> clock jumps --> timers expire
 *                                                        \-> no timer: all have ended,
 *                                                            or it is a deadlock
 *
 * The same seed makes the same draws, so a failure that a seed finds is there again.
 * What a seed does not govern: identity hash codes (the order of an IdentityHashMap, of
 * a HashMap of objects without a hashCode), the order of Set.of and Map.of in another JVM,
 * real I/O, and calls on helper threads. With rules() chance and the time of day follow
 * it, too. `trace` tells whether two runs took the same way.
 *
 * Threads change places where the program blocks. A translation with chaos adds the
 * entry of each method: preempt(n) then suspends there once in n times, by the seed.
 *
 * One simulation at a time in a JVM: it is the default runtime while it runs.
 */
public final class Sim {
	/** How a run went. */
	public static final class Outcome {
		public final long seed;
		/** Null: it went well. */
		public final Throwable failure;
		/** Of all draws and jumps of the clock. */
		public final long trace;
		public final long steps;
		/** On the simulated clock. */
		public final long nanos;

		Outcome(long seed, Throwable failure, long trace, long steps, long nanos) {
			this.seed = seed;
			this.failure = failure;
			this.trace = trace;
			this.steps = steps;
			this.nanos = nanos;
		}

		public boolean ok() {
			return failure == null;
		}

		@Override
		public String toString() {
			return "seed " + seed + ": " + (ok() ? "ok" : "" + failure) + ", " + steps
				+ " steps, " + nanos / 1e9 + " s, trace " + Long.toHexString(trace);
		}
	}

	/** Everybody waits, and no timer is set. The message shows who waits where. */
	public static final class DeadlockException extends RuntimeException {
		private static final long serialVersionUID = 1;

		DeadlockException(String dump) {
			super("deadlock\n" + dump);
		}
	}

	/** It ran longer than it may. */
	public static final class LimitException extends RuntimeException {
		private static final long serialVersionUID = 1;

		LimitException(String what) {
			super(what);
		}
	}

	/** The simulated program has called System.exit. */
	static final class ExitException extends RuntimeException {
		private static final long serialVersionUID = 1;
		final int code;

		ExitException(int code) {
			super("System.exit(" + code + ")");
			this.code = code;
		}
	}

	/**
	 * Rules for the translator (Translator.Options.rules): Random, Math.random, UUIDs and
	 * the time of day follow the seed.
	 */
	public static String rules() {
		StringBuilder b = new StringBuilder();
		try (Reader r = new InputStreamReader(Sim.class.getResourceAsStream(
				"/META-INF/pico/sim"), StandardCharsets.UTF_8)) {
			for (int c; (c = r.read()) >= 0;)
				b.append((char) c);
		} catch (IOException e) {
			throw new IllegalStateException(e);
		}
		return b.toString();
	}

	/** To sleep for seventy years is to sleep for ever; the clock must not come round. */
	private static final long NEVER = TimeUnit.DAYS.toNanos(25_567);

	private int preempt;
	private long maxSteps = 50_000_000;
	private long epoch = 946_684_800_000L;

	public Sim() {}

	/** One call in n of a translation with chaos suspends; 0: none. */
	public Sim preempt(int n) {
		preempt = n;
		return this;
	}

	public Sim maxSteps(long n) {
		maxSteps = n;
		return this;
	}

	/** System.currentTimeMillis() at the start; the year 2000 unless told. */
	public Sim startsAt(long millis) {
		epoch = millis;
		return this;
	}

	private static volatile Run current;

	/** Chance that follows the seed; outside of a simulation, any. */
	public static Random random() {
		Run r = current;
		return r == null ? new Random() : r.forProgram;
	}

	/**
	 * Runs a program under one seed: to the end of its threads that are no daemons. What
	 * any thread throws and nobody catches is a failure. Call it from a platform thread;
	 * after a failure, threads that are left never run again but keep the JVM alive until
	 * System.exit.
	 */
	public Outcome run(long seed, Runnable p) {
		if (Fiber.isFiber())
			throw new IllegalStateException("a simulation within a pico thread");
		synchronized (Sim.class) {
			return new Run(seed).go(p);
		}
	}

	/** Tries n seeds from first on. The first that fails, or the last. */
	public Outcome search(long first, int n, Runnable p) {
		Outcome o = null;
		for (int k = 0; k < n; k++) {
			o = run(first + k, p);
			if (!o.ok())
				return o;
		}
		return o;
	}

	/** One simulation; the carrier's thread alone touches it, but for what is volatile. */
	private final class Run implements Scheduler, Clock, Thread.UncaughtExceptionHandler {
		private final long seed;
		private final Random draw;
		final Random forProgram;
		/** Under this. */
		private final List<Fiber> ready = new ArrayList<>();
		private volatile long now;
		private long trace = 0xcbf29ce484222325L;
		private long steps;
		private volatile Throwable failure;
		private final CountDownLatch over = new CountDownLatch(1);
		private volatile boolean ended;
		private PicoRuntime rt;
		private PicoThread main;

		Run(long seed) {
			this.seed = seed;
			/* Neighbouring seeds of Random draw alike at first. */
			long s = (seed + 0x9e3779b97f4a7c15L) * 0xbf58476d1ce4e5b9L;
			draw = new Random(s ^ s >>> 31);
			forProgram = new Random(~s);
		}

		Outcome go(Runnable p) {
			rt = new PicoRuntime("sim", 1, this, this);
			PicoRuntime old = PicoRuntime.main();
			Thread.UncaughtExceptionHandler handler =
				Thread.getDefaultUncaughtExceptionHandler();
			PicoRuntime.install(rt);
			Thread.setDefaultUncaughtExceptionHandler(this);
			Chaos.set(preempt, seed * 2 + 1);
			current = this;
			try {
				main = new PicoThread(null, p, "main");
				main.start();
				over.await();
			} catch (InterruptedException e) {
				Thread.currentThread().interrupt();
				fail(e);
			} finally {
				current = null;
				Chaos.set(0, 1);
				rt.shutdown();
				Thread.setDefaultUncaughtExceptionHandler(handler);
				PicoRuntime.install(old);
			}
			return new Outcome(seed, failure, trace, steps, now);
		}

		private void fail(Throwable e) {
			boolean exit = e instanceof ExitException && ((ExitException) e).code == 0;
			if (failure == null && !exit && !ended)
				failure = e;
			end();
		}

		private void end() {
			ended = true;
			over.countDown();
		}

		@Override
		public void uncaughtException(Thread t, Throwable e) {
			fail(e);
		}

		private void mix(long v) {
			trace = (trace ^ v) * 0x100000001b3L;
		}

		@Override
		public synchronized void ready(Fiber f) {
			ready.add(f);
		}

		@Override
		public synchronized Fiber next(Carrier c) {
			int n = ready.size();
			if (n == 0 || ended)
				return null;
			if (++steps > maxSteps) {
				fail(new LimitException(maxSteps + " steps"));
				return null;
			}
			int k = n == 1 ? 0 : draw.nextInt(n);
			mix(n * 31L + k);
			return ready.remove(k);
		}

		@Override
		public long nanos() {
			return now;
		}

		@Override
		public long millis() {
			return epoch + TimeUnit.NANOSECONDS.toMillis(now);
		}

		@Override
		public boolean idle(long nanos) {
			if (ended)
				return false;
			synchronized (this) {
				/* The carrier may be up before the first thread is queued. */
				if (!ready.isEmpty() || steps == 0)
					return true;
			}
			boolean alive = main.getState() != Thread.State.TERMINATED;
			for (PicoThread t : PicoThread.all())
				alive |= !t.isDaemon() && t.fiber().runtime() == rt;
			if (!alive) {
				end();
				return false;
			}
			if (nanos > NEVER) {
				if (Blocking.isBusy()) {
					/* A helper is at work (a process to wait for): in real time. */
					LockSupport.parkNanos(1_000_000);
					return true;
				}
				fail(new DeadlockException(Dump.all()));
				return false;
			}
			now += nanos;
			mix(now);
			return true;
		}
	}
}
