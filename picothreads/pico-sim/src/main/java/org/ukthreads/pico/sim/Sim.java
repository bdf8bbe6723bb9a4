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
 * Runs a translated program under a seed: with one carrier, a scheduler that decides which thread
 * runs next, and a clock that stands still while a thread can run and then jumps to the next
 * timer.
 *
 * <p>The same seed makes the same decisions, so a failure that a seed finds can be repeated
 * ({@link Outcome#token}). A seed does not govern identity hash codes (the order of an
 * IdentityHashMap, or of a HashMap of objects without a hashCode), the order of Set.of and Map.of
 * in another JVM, real processes, and calls on helper threads. With {@link #rules} random numbers
 * and the time of day follow it, too.
 *
 * <p>Threads change places where the program waits, and at scheduling points. A translation with
 * {@code Options.points} puts a point before each act that other threads can see.
 *
 * <p>A JVM runs one simulation at a time, because it is the default runtime while it runs. A Sim
 * belongs to one thread.
 */
public final class Sim {
	/** A program that can be run again, each time with new classes or objects. */
	public interface Program {
		/**
		 * Returns the program for one run. Called before it, on the platform thread that runs it.
		 */
		Runnable fresh() throws Exception;
	}

	/** Makes a class loader with the translated program, for each start of a node. */
	public interface Loader {
		ClassLoader make() throws Exception;
	}

	/** The result of a run. */
	public static final class Outcome {
		public final long seed;
		/** Null: the run did not fail. */
		public final Throwable failure;
		/**
		 * A hash of all decisions and clock jumps. Runs with equal traces took the same schedule.
		 */
		public final long trace;
		/** The number of slices and points. */
		public final long steps;
		/** The time on the simulated clock. */
		public final long nanos;
		/** The number of decisions: places where there was a choice. */
		public final int decisions;
		/** How often a thread made way that could have gone on. */
		public final int preemptions;
		/** The number of threads that were started. */
		public final int threads;
		/** Points below untranslated code, where the thread could not make way. */
		public final long pinned;
		/** The depth of PCT; 0: another strategy. */
		public final int depth;
		/** The number of decisions that PCT assumed. */
		public final int length;
		/** The schedule of the run. */
		public final Schedule schedule;
		/** Describes each turn of a shrunk schedule; otherwise empty. */
		public final List<String> story;
		/** All schedules with fewer preemptions were tried, and none fails in this way. */
		public final boolean shortest;
		private final String strategy;
		private final boolean exact;
		/** The number of runs that shrinking took. */
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
		 * Returns what {@link Sim#replay} needs to repeat the run in any JVM: the seed; for PCT
		 * also the length that it assumed, 32/481; for a shrunk run the schedule, 32@0.3:2+2.1:0.
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

		/** Returns the message without the dump of a deadlock. */
		private static String line(Throwable e) {
			String s = e.toString();
			int k = s.indexOf('\n');
			return k < 0 ? s : s.substring(0, k);
		}

		/** Returns how short the schedule is, and one line for each of its turns. */
		public String told() {
			StringBuilder b = new StringBuilder();
			b.append(schedule.length()).append(schedule.length() == 1 ? " turn" : " turns")
				.append(" off the default schedule, ").append(preemptions)
				.append(preemptions == 1 ? " preemption" : " preemptions");
			if (tried > 0)
				b.append(shortest
					? " (all schedules with fewer were tried: none fails in this way), "
					: " (not all with fewer were tried), ").append(tried).append(" runs to shrink");
			b.append('\n');
			for (String s : story)
				b.append("  ").append(s).append('\n');
			return b.toString();
		}
	}

	/** All threads wait, and no timer is set. The message shows where each thread waits. */
	public static final class DeadlockException extends RuntimeException {
		private static final long serialVersionUID = 1;

		DeadlockException(String dump) {
			super("deadlock\n" + dump, null, false, false);
		}
	}

	/** The run took more steps than it may. */
	public static final class LimitException extends RuntimeException {
		private static final long serialVersionUID = 1;

		LimitException(String what) {
			super(what);
		}
	}

	/** A step took more real time than it may. The stack trace is that of the thread in it. */
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
	 * Returns rules for the translator (Translator.Options.rules). With them, Random,
	 * Math.random, UUIDs and the time of day follow the seed, and sockets and files are those of
	 * the simulation.
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

	/* --- settings --- */

	/** True: sockets, or files, are those of the simulation. */
	boolean network = true;
	boolean files = true;
	/** Makes the classes of a node's program; null: nodes cannot start a main class by its name. */
	Loader loader;
	int preempt;
	int hurry;
	long maxSteps = 50_000_000;
	long epoch = 946_684_800_000L;
	long patience = 60;
	/** Receives the progress of a long run; null: it is not reported. */
	Consumer<String> teller;
	/** The depth of PCT; 0: uniform; -1: uniform and all depths in turn. */
	private int depth = -1;
	/** The largest number of decisions in a run so far. */
	private int longest;
	/** The length that PCT assumed for each seed, so that the same seed gets the same run again. */
	private final Map<Long, Integer> lengths = new HashMap<>();
	private Coverage coverage = new Coverage();

	public Sim() {}

	/** Uses the system's sockets and files. A seed does not govern them. */
	public Sim realWorld() {
		network = false;
		files = false;
		return this;
	}

	/** Sets where nodes (see {@link Cluster}) get the classes of their main programs from. */
	public Sim loader(Loader l) {
		loader = l;
		return this;
	}

	/** Suspends at one method entry in n, of a translation with chaos; 0: at none. */
	public Sim preempt(int n) {
		preempt = n;
		return this;
	}

	/** Lets the clock jump at one decision in n although a thread could run; 0: at none. */
	public Sim hurry(int n) {
		hurry = n;
		return this;
	}

	/** Each seed draws which thread goes on, all with the same probability. */
	public Sim uniform() {
		depth = 0;
		return this;
	}

	/**
	 * Each seed draws priorities, and d - 1 places at which they change. With n threads and k
	 * decisions a run finds a bug of depth d with a probability of at least 1 / (n k^(d-1)). By
	 * default, seeds are uniform and PCT with depths 1 to 4 in turn.
	 */
	public Sim pct(int d) {
		if (d < 1 || d > Coverage.DEPTHS)
			throw new IllegalArgumentException("depth: " + d);
		depth = d;
		return this;
	}

	/** Sets the largest number of slices and points of a run; the default is 50 million. */
	public Sim maxSteps(long n) {
		maxSteps = n;
		return this;
	}

	/**
	 * Sets how many seconds of real time one step may take, from one point or wait to the next,
	 * before the run fails; 0: no limit. The default is 60.
	 */
	public Sim patience(long seconds) {
		patience = seconds;
		return this;
	}

	/** Passes c a line of progress for each ten seconds of a run; null: nobody gets it. */
	public Sim teller(Consumer<String> c) {
		teller = c;
		return this;
	}

	/** Sets System.currentTimeMillis() at the start; the default is the year 2000. */
	public Sim startsAt(long millis) {
		epoch = millis;
		return this;
	}

	static volatile Run current;

	/** Returns random numbers that follow the seed; outside of a simulation, any. */
	public static Random random() {
		Run r = current;
		return r == null ? new Random() : r.forProgram;
	}

	/** Mixes a seed, because neighbouring seeds of Random begin with similar numbers. */
	static long mixed(long seed) {
		long s = (seed + 0x9e3779b97f4a7c15L) * 0xbf58476d1ce4e5b9L;
		return s ^ s >>> 31;
	}

	/* --- runs --- */

	/**
	 * Runs a program under one seed until its threads that are no daemons have ended. An
	 * exception that no thread catches is a failure. Call it from a platform thread.
	 */
	public Outcome run(long seed, Runnable p) {
		return go(seed, strategy(seed, lengths.getOrDefault(seed, reckoned())), p);
	}

	/** Returns how many decisions PCT assumes for the next run. */
	private int reckoned() {
		return longest == 0 ? 64 : longest + longest / 4 + 1;
	}

	private Outcome go(long seed, Strategy s, Runnable p) {
		if (Fiber.isFiber())
			throw new IllegalStateException("call this from a platform thread, not from a"
				+ " pico thread");
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
		/* Every second seed is uniform. */
		if (d < 0)
			d = (seed & 1) != 0 ? 0 : 1 + (int) Long.remainderUnsigned(seed / 2, 4);
		return d == 0 ? new Strategy.Uniform(draw) : new Strategy.Pct(draw, d, length);
	}

	/** Repeats the run that a token names (see {@link Outcome#token}). */
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

	/**
	 * Tries n seeds from first on, with one program object. Returns the first run that fails, or
	 * the last.
	 */
	public Outcome search(long first, int n, Runnable p) {
		try {
			return check(first, n, () -> p);
		} catch (RuntimeException e) {
			throw e;
		} catch (Exception e) {
			throw new IllegalStateException(e);
		}
	}

	/**
	 * Tries n seeds from first on; n is at least 1. Returns the first run that fails, or the
	 * last.
	 */
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
	 * Tries all schedules with at most `bound` preemptions, with the random numbers of one seed,
	 * in at most `most` runs. Returns the run that fails, or null. Then {@link #complete} says
	 * whether all schedules were tried.
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

	/** True if the last explore() has tried all schedules. */
	public boolean complete() {
		return complete;
	}

	/**
	 * Returns the shortest schedule that fails as this run did, with its story. It makes at most
	 * `most` runs. Returns the run itself if it was stuck or does not fail again. Runs that fail
	 * by their number of steps are long, so no new one begins after a minute.
	 */
	public Outcome shrink(Outcome failed, int most, Program p) throws Exception {
		if (failed.failure instanceof StuckException)
			return failed;
		synchronized (Sim.class) {
			return new Shrinker(this, failed, p, most).shrink();
		}
	}

	/** Returns what the runs of this object, or of the last check() or explore(), have covered. */
	public Coverage coverage() {
		return coverage;
	}
}
