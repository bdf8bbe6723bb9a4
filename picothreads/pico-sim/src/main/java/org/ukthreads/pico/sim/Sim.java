// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Consumer;
import org.ukthreads.pico.Fiber;

/**
 * A translated program under a seed: one carrier, a scheduler that decides who runs next, and a
 * clock that stands still while anybody can run and then jumps to the next timer.
 *
 * <p>The same seed makes the same decisions, so a failure that a seed finds is there again
 * ({@link Outcome#token}). What a seed does not govern: identity hash codes (the order of an
 * IdentityHashMap, of a HashMap of objects without a hashCode), the order of Set.of and Map.of
 * in another JVM, real processes, and calls on helper threads. With {@link #rules} chance and
 * the time of day follow it, too.
 *
 * <p>Threads change places where the program waits, and at scheduling points, which a
 * translation with {@code Options.points} puts before each act that other threads can see.
 *
 * <p>One simulation at a time in a JVM: it is the default runtime while it runs. The object
 * itself belongs to one thread.
 */
public final class Sim {
	/** A program that can be run again: with classes or objects of its own each time. */
	public interface Program {
		/** Called before each run, on the platform thread that asks for it. */
		Runnable fresh() throws Exception;
	}

	/** Makes a class loader with the translated program, for each start of a node. */
	public interface Loader {
		ClassLoader make() throws Exception;
	}

	/** How a run went. */
	public static final class Outcome {
		public final long seed;
		/** Null: it went well. */
		public final Throwable failure;
		/** Of all decisions and jumps of the clock: equal ones took the same way. */
		public final long trace;
		/** Slices and points. */
		public final long steps;
		/** On the simulated clock. */
		public final long nanos;
		/** Where there was a choice. */
		public final int decisions;
		/** Where a thread made way that could have gone on. */
		public final int preemptions;
		/** Started in all. */
		public final int threads;
		/** Points below untranslated code, where nobody could make way. */
		public final long pinned;
		/** Of PCT, 0: another strategy. */
		public final int depth;
		/** Decisions that PCT reckoned with. */
		public final int length;
		/** The way it took. */
		public final Schedule schedule;
		/** Each deviation of the schedule in words; of shrunk ones. */
		public final List<String> story;
		/** No schedule with fewer preemptions fails in this way: all were tried. */
		public final boolean shortest;
		private final String strategy;
		private final boolean exact;
		/** Runs that it took to shrink it. */
		private final int tried;

		Outcome(Run r) {
			seed = r.seed();
			failure = r.failure();
			trace = r.trace();
			steps = r.steps();
			nanos = r.now();
			decisions = r.decisions();
			preemptions = r.preemptions();
			threads = r.threads();
			pinned = r.pinned();
			depth = r.strategy().depth();
			length = r.strategy().length();
			strategy = r.strategy().name();
			exact = !r.strategy().isRandom();
			schedule = r.schedule();
			story = Collections.unmodifiableList(r.story());
			shortest = false;
			tried = 0;
		}

		private Outcome(Outcome o, boolean shortest, int tried) {
			seed = o.seed;
			failure = o.failure;
			trace = o.trace;
			steps = o.steps;
			nanos = o.nanos;
			decisions = o.decisions;
			preemptions = o.preemptions;
			threads = o.threads;
			pinned = o.pinned;
			depth = o.depth;
			length = o.length;
			strategy = o.strategy;
			exact = o.exact;
			schedule = o.schedule;
			story = o.story;
			this.shortest = shortest;
			this.tried = tried;
		}

		Outcome shrunk(boolean proven, int runs) {
			return new Outcome(this, proven, runs);
		}

		public boolean ok() {
			return failure == null;
		}

		/**
		 * What {@link Sim#replay} needs, in any JVM: the seed; with PCT the length that it
		 * reckoned with, 32/481; of a shrunk run the schedule, 32@0.3:2+2.1:0.
		 */
		public String token() {
			return exact ? seed + "@" + schedule : depth > 0 ? seed + "/" + length
				: "" + seed;
		}

		@Override
		public String toString() {
			return "seed " + seed + ": " + (ok() ? "ok" : line(failure)) + ", " + steps
				+ " steps, " + nanos / 1e9 + " s, trace " + Long.toHexString(trace) + " ("
				+ strategy + ")";
		}

		/** Without the dump of a deadlock. */
		private static String line(Throwable e) {
			String s = e.toString();
			int k = s.indexOf('\n');
			return k < 0 ? s : s.substring(0, k);
		}

		/** How short the schedule is, and its turns, a line each. */
		public String told() {
			StringBuilder b = new StringBuilder();
			b.append(schedule.length()).append(schedule.length() == 1 ? " turn" : " turns")
				.append(" off the plain way, ").append(preemptions)
				.append(preemptions == 1 ? " preemption" : " preemptions");
			if (tried > 0)
				b.append(shortest ? " (no schedule with fewer fails so: all were tried), "
					: " (not all with fewer were tried), ").append(tried).append(" runs to shrink");
			b.append('\n');
			for (String s : story)
				b.append("  ").append(s).append('\n');
			return b.toString();
		}
	}

	/** Everybody waits, and no timer is set. The message shows who waits where. */
	public static final class DeadlockException extends RuntimeException {
		private static final long serialVersionUID = 1;

		DeadlockException(String dump) {
			super("deadlock\n" + dump, null, false, false);
		}
	}

	/** It ran longer than it may. */
	public static final class LimitException extends RuntimeException {
		private static final long serialVersionUID = 1;

		LimitException(String what) {
			super(what);
		}
	}

	/**
	 * It does not come back: a step took longer than it may, in real time. Its stack is that of
	 * who was in it.
	 */
	public static final class StuckException extends RuntimeException {
		private static final long serialVersionUID = 1;

		StuckException(long seconds, StackTraceElement[] at) {
			super("no step for " + seconds + " s", null, false, true);
			setStackTrace(at);
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

	/* --- what is asked of it --- */

	/** Sockets and files are those of the simulation. */
	boolean network = true;
	boolean files = true;
	/** Makes the classes of a node's program; null: nodes run what they are given. */
	Loader loader;
	int preempt;
	int hurry;
	long maxSteps = 50_000_000;
	long epoch = 946_684_800_000L;
	long patience = 60;
	/** Is told how far a run is that takes long; null: nobody. */
	Consumer<String> teller;
	/** 0: uniform; -1: in turn. */
	private int depth = -1;
	/** Most decisions that a run had. */
	private int longest;
	/** Which length a seed's PCT run had: so that it is the same again. */
	private final Map<Long, Integer> lengths = new HashMap<>();
	private Coverage coverage = new Coverage();

	public Sim() {}

	/** Sockets are the system's, and files too: a seed does not govern them. */
	public Sim realWorld() {
		network = false;
		files = false;
		return this;
	}

	/** Where nodes (see {@link Cluster}) take the classes of their main programs from. */
	public Sim loader(Loader l) {
		loader = l;
		return this;
	}

	/** One call in n of a translation with chaos suspends; 0: none. */
	public Sim preempt(int n) {
		preempt = n;
		return this;
	}

	/** One decision in n lets the clock jump although somebody could run; 0: none. */
	public Sim hurry(int n) {
		hurry = n;
		return this;
	}

	/** Each seed draws who goes on, all with the same probability. */
	public Sim uniform() {
		depth = 0;
		return this;
	}

	/**
	 * Each seed draws priorities and d - 1 places at which they change: with n threads and k
	 * decisions a bug of depth d is met by a run with a probability of at least
	 * 1 / (n k^(d-1)). Not told: seeds are uniform and PCT with depths 1 to 4 in turn.
	 */
	public Sim pct(int d) {
		if (d < 1 || d > Coverage.DEPTHS)
			throw new IllegalArgumentException("depth: " + d);
		depth = d;
		return this;
	}

	/** Slices and points, at most; 50 million unless told. */
	public Sim maxSteps(long n) {
		maxSteps = n;
		return this;
	}

	/**
	 * Seconds of real time that one step may take, from one point or wait to the next, before
	 * the run has failed; 0: any. A minute unless told.
	 */
	public Sim patience(long seconds) {
		patience = seconds;
		return this;
	}

	/** c gets a line each ten seconds of a run; null: nobody does. */
	public Sim teller(Consumer<String> c) {
		teller = c;
		return this;
	}

	/** System.currentTimeMillis() at the start; the year 2000 unless told. */
	public Sim startsAt(long millis) {
		epoch = millis;
		return this;
	}

	static volatile Run current;

	/** Chance that follows the seed; outside of a simulation, any. */
	public static Random random() {
		Run r = current;
		return r == null ? new Random() : r.forProgram;
	}

	/** Neighbouring seeds of Random draw alike at first. */
	static long mixed(long seed) {
		long s = (seed + 0x9e3779b97f4a7c15L) * 0xbf58476d1ce4e5b9L;
		return s ^ s >>> 31;
	}

	/* --- runs --- */

	/**
	 * Runs a program under one seed: to the end of its threads that are no daemons. What
	 * any thread throws and nobody catches is a failure. Call it from a platform thread.
	 */
	public Outcome run(long seed, Runnable p) {
		return go(seed, strategy(seed, lengths.getOrDefault(seed, reckoned())), p);
	}

	/** Decisions that the next run may have. */
	private int reckoned() {
		return longest == 0 ? 64 : longest + longest / 4 + 1;
	}

	private Outcome go(long seed, Strategy s, Runnable p) {
		if (Fiber.isFiber())
			throw new IllegalStateException("a simulation within a pico thread");
		synchronized (Sim.class) {
			if (s.depth() > 0)
				lengths.put(seed, s.length());
			Outcome o = new Run(this, seed, s, false, p).go();
			longest = Math.max(longest, o.decisions);
			coverage.add(o);
			return o;
		}
	}

	private Strategy strategy(long seed, int length) {
		Random draw = new Random(mixed(seed));
		int d = depth;
		/* Every second one is uniform. */
		if (d < 0)
			d = (seed & 1) != 0 ? 0 : 1 + (int) Long.remainderUnsigned(seed / 2, 4);
		return d == 0 ? new Strategy.Uniform(draw) : new Strategy.Pct(draw, d, length);
	}

	/** The run that a token names (see {@link Outcome#token}), once more. */
	public Outcome replay(String token, Runnable p) {
		int at = token.indexOf('@');
		if (at >= 0)
			return go(Long.parseLong(token.substring(0, at)),
				new Strategy.Follow(Schedule.parse(token.substring(at + 1))), p);
		int slash = token.indexOf('/');
		long seed = Long.parseLong(slash < 0 ? token : token.substring(0, slash));
		int length = slash < 0 ? 64 : Integer.parseInt(token.substring(slash + 1));
		return go(seed, strategy(seed, length), p);
	}

	/** Tries n seeds from first on, on one object. The first that fails, or the last. */
	public Outcome search(long first, int n, Runnable p) {
		try {
			return check(first, n, () -> p);
		} catch (RuntimeException e) {
			throw e;
		} catch (Exception e) {
			throw new IllegalStateException(e);
		}
	}

	/** Tries n seeds from first on. The first that fails, or the last; n is at least 1. */
	public Outcome check(long first, long n, Program p) throws Exception {
		coverage = new Coverage();
		Outcome o = null;
		for (long k = 0; k < n; k++) {
			o = run(first + k, p.fresh());
			if (!o.ok())
				return o;
		}
		return o;
	}

	/**
	 * Tries all schedules with at most `bound` preemptions, with the chance of one seed, but no
	 * more than `most`. The one that fails, or null; then {@link #complete} says whether
	 * these were all.
	 */
	public Outcome explore(long seed, int bound, int most, Program p) throws Exception {
		coverage = new Coverage();
		synchronized (Sim.class) {
			Explorer e = new Explorer(this, seed, p);
			e.all(bound, most, null, coverage);
			complete = e.complete;
			return e.failed;
		}
	}

	private boolean complete;

	/** Has the last explore() made all runs that there are? */
	public boolean complete() {
		return complete;
	}

	/**
	 * The shortest schedule that fails as this run did, found by at most `most` runs, with its
	 * story. The run itself, if it does not fail again, or was stuck. Runs that fail by their
	 * number of steps are long: no new one begins after a minute of them.
	 */
	public Outcome shrink(Outcome failed, int most, Program p) throws Exception {
		if (failed.failure instanceof StuckException)
			return failed;
		synchronized (Sim.class) {
			return new Shrinker(this, failed, p, most).shrink();
		}
	}

	/** Of the runs of this object, or of the last check() or explore(). */
	public Coverage coverage() {
		return coverage;
	}
}
