// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.io.IOException;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
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
import org.ukthreads.pico.Points;
import org.ukthreads.pico.Scheduler;
import org.ukthreads.pico.Transport;

/*
 * One simulation of a program. Which thread goes on is decided in two places:
 *
 *   a point                --leaves()--> the strategy keeps the thread: it runs on, without a
 *                                        suspension
 *                                   \--> the strategy picks another: the thread suspends, and
 *                                        next() returns the other
 *   a wait, a yield, an end --next()-->  the strategy picks one of the ready threads
 *
 * Decisions are counted where there is a choice. In the default schedule a thread at a point goes
 * on, and after a wait the next one in the order of ids runs. A thread that has passed SPIN
 * points without a wait while others were ready is spinning and must make way: no strategy may
 * starve the thread that it waits for.
 *
 * Only the carrier's thread uses it, except for the volatile fields and the ready threads
 * (guarded by this), because helper threads make fibers ready, too.
 */
final class Run
		implements Scheduler, Clock, Points.Watcher, Thread.UncaughtExceptionHandler {
	/**
	 * A sleep of seventy years counts as a sleep without end, so that the clock cannot overflow.
	 */
	private static final long NEVER = TimeUnit.DAYS.toNanos(25_567);
	private static final int SPIN = 5_000;
	/**
	 * A thread that passes this many points while no other is ready waits for one that sleeps:
	 * the clock then moves.
	 */
	private static final int LONE = 1_000_000;
	/** After this many calls for the time at one moment, each further call adds a microsecond. */
	private static final int IMPATIENT = 10_000;

	private final Sim sim;
	private final long seed;
	private final Strategy strategy;
	/** Random numbers of the program, and of the faults around it. */
	final Random forProgram;
	final Random forFaults;
	private final Random forClock;
	private final Runnable program;

	/** Guarded by this. In the order of ids. */
	private final List<Task> ready = new ArrayList<>();
	private final Map<Fiber, Task> tasks = new IdentityHashMap<>();
	private int started;
	/** The task that ran last. */
	private Task last;
	/** The task that runs next, as decided at a point. */
	private Task forced;
	/** The clock is to move although a thread is ready. */
	private boolean jumping;
	private int spun;
	private volatile long now;
	private long trace = 0xcbf29ce484222325L;
	private long steps;
	private int decisions;
	private int preemptions;
	private long pinned;
	private final List<Schedule.Turn> turns = new ArrayList<>();
	/** Describes each turn; null: not wanted. */
	private final List<String> story;
	private volatile Throwable failure;
	private final CountDownLatch over = new CountDownLatch(1);
	private volatile boolean ended;
	private PicoRuntime rt;
	private PicoThread main;
	final Network net;
	/** The first node, which is that of the program itself. */
	final Node home;
	/** The node of the threads that are now being started; null: that of the caller. */
	private Node starting;
	final Set<VirtualSelector> selectors = new LinkedHashSet<>();

	Run(Sim sim, long seed, Strategy strategy, boolean tell, Runnable program) {
		this.sim = sim;
		this.seed = seed;
		this.strategy = strategy;
		this.program = program;
		story = tell ? new ArrayList<>() : null;
		forProgram = new Random(~Sim.mixed(seed));
		forFaults = new Random(Sim.mixed(~seed));
		forClock = new Random(Sim.mixed(seed) * 31);
		net = new Network(this, forFaults);
		home = net.node("main");
	}

	Sim.Outcome go() {
		rt = new PicoRuntime("sim", 1, this, this);
		PicoRuntime old = PicoRuntime.main();
		Thread.UncaughtExceptionHandler handler = Thread.getDefaultUncaughtExceptionHandler();
		PicoRuntime.install(rt);
		Thread.setDefaultUncaughtExceptionHandler(this);
		Chaos.set(sim.preempt, seed * 2 + 1);
		Points.watch(this);
		Sim.current = this;
		if (sim.network)
			Transport.install(new Provider(this), new Names(this));
		try {
			main = new PicoThread(null, program, "main");
			main.start();
			new Patience(this, sim.patience, sim.teller).await(over);
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
			fail(e);
		} finally {
			stop(old, handler);
		}
		return new Sim.Outcome(this);
	}

	private void stop(PicoRuntime old, Thread.UncaughtExceptionHandler handler) {
		boolean interrupted = Thread.interrupted();
		try {
			rt.abandon();
		} catch (InterruptedException e) {
			interrupted = true;
		}
		Transport.install(null, null);
		new ArrayList<>(selectors).forEach(Run::close);
		Sim.current = null;
		Points.watch(null);
		Chaos.set(0, 1);
		Thread.setDefaultUncaughtExceptionHandler(handler);
		PicoRuntime.install(old);
		if (interrupted)
			Thread.currentThread().interrupt();
	}

	private static void close(VirtualSelector s) {
		try {
			s.close();
		} catch (IOException e) {
			throw new IllegalStateException(e);
		}
	}

	/* --- nodes --- */

	/** Returns the node of the running thread. */
	synchronized Node node() {
		return last == null || !Fiber.isFiber() ? home : last.node;
	}

	/** Runs act, which starts a thread of node n. */
	void startOn(Node n, Runnable act) {
		synchronized (this) {
			starting = n;
		}
		try {
			act.run();
		} finally {
			synchronized (this) {
				starting = null;
			}
		}
	}

	/** Marks the threads of node n dead, so that they never run again. */
	synchronized void bury(Node n) {
		n.life++;
		for (Task t : tasks.values())
			t.dead |= t.node == n;
		ready.removeIf(t -> t.dead);
		if (forced != null && forced.dead)
			forced = null;
	}

	/** Tells all selectors that a channel has changed. */
	void changed() {
		for (VirtualSelector v : new ArrayList<>(selectors))
			v.changed();
	}

	/* --- the result --- */

	Sim sim() {
		return sim;
	}

	long seed() {
		return seed;
	}

	Throwable failure() {
		return failure;
	}

	long trace() {
		return trace;
	}

	synchronized long steps() {
		return steps;
	}

	/** Fails the run because one step takes too long. Its thread is left alone. */
	void stuck(long seconds) {
		StackTraceElement[] at = stack();
		fail(new Sim.StuckException(seconds, at));
		rt.unseat();
	}

	/** Returns the stack of the thread that runs. */
	StackTraceElement[] stack() {
		Task t;
		synchronized (this) {
			t = last;
		}
		Thread of = t == null ? main : t.fiber.asThread();
		return of.getStackTrace();
	}

	int decisions() {
		return decisions;
	}

	int preemptions() {
		return preemptions;
	}

	int threads() {
		return started;
	}

	long pinned() {
		return pinned;
	}

	Strategy strategy() {
		return strategy;
	}

	Schedule schedule() {
		return new Schedule(turns);
	}

	List<String> story() {
		return story == null ? new ArrayList<>() : story;
	}

	PicoRuntime runtime() {
		return rt;
	}

	void fail(Throwable e) {
		boolean exit = e instanceof Sim.ExitException && ((Sim.ExitException) e).code == 0;
		if (failure == null && !exit && !ended)
			failure = e;
		end();
	}

	private void end() {
		ended = true;
		over.countDown();
	}

	/** System.exit on a node other than the first ends only that node. */
	@Override
	public void uncaughtException(Thread t, Throwable e) {
		Node n = node();
		if (e instanceof Sim.ExitException && n != home)
			n.stop(true);
		else if (n.up)
			fail(e);
	}

	/* --- decisions --- */

	private void mix(long v) {
		trace = (trace ^ v) * 0x100000001b3L;
	}

	/** The caller holds this. */
	private Task task(Fiber f) {
		Task t = tasks.get(f);
		if (t == null) {
			t = new Task(f, started++, starting != null ? starting : node());
			tasks.put(f, t);
			strategy.started(t);
		}
		return t;
	}

	/**
	 * Decides between several ready threads, or between one and the clock. The caller holds this.
	 */
	private Task decide(Task current) {
		Task plain = current;
		if (current == null || spun > SPIN && !ready.isEmpty()) {
			plain = null;
			for (int k = 0; plain == null && k < ready.size(); k++)
				if (last == null || ready.get(k).id > last.id)
					plain = ready.get(k);
			if (plain == null)
				plain = ready.get(0);
		}
		Task t = sim.hurry > 0 && strategy.isRandom() && forClock.nextInt(sim.hurry) == 0
			? Task.CLOCK : strategy.pick(current, ready, plain, last);
		if (t == current && plain != current)
			t = plain;
		decisions++;
		if (t != plain)
			turn(current, t);
		if (current != null && t != current && plain == current)
			preemptions++;
		mix(t.id + 2);
		if (last != null)
			last.steps++;
		return t;
	}

	private void turn(Task current, Task t) {
		if (last == null)
			return;
		turns.add(new Schedule.Turn(last.id, last.steps, t.id));
		if (story != null)
			story.add(Story.of(last, current != null) + " --> "
				+ (t == Task.CLOCK ? "the clock" : "\"" + t + '"'));
	}

	@Override
	public boolean leaves(Fiber f, int kind, boolean isPinned) {
		synchronized (this) {
			/* Or the thread is stuck since an earlier run. */
			if (ended || f.runtime() != rt)
				return true;
			Task t = task(f);
			if (t.dead)
				return true;
			if (++steps > sim.maxSteps) {
				fail(new Sim.LimitException("more than " + sim.maxSteps + " steps"));
				return true;
			}
			if (isPinned) {
				pinned++;
				return false;
			}
			last = t;
			spun++;
			if (ready.isEmpty() && sim.hurry == 0)
				return spun > LONE && jumpSoon();
			if (spun > SPIN)
				strategy.demote(t);
			Task to = decide(t);
			if (to == t)
				return false;
			if (to == Task.CLOCK)
				return jumpSoon();
			spun = 0;
			forced = to;
			return true;
		}
	}

	private boolean jumpSoon() {
		spun = 0;
		jumping = true;
		return true;
	}

	@Override
	public synchronized void ready(Fiber f) {
		Task t = task(f);
		if (t.dead)
			return;
		int k = ready.size();
		while (k > 0 && ready.get(k - 1).id > t.id)
			k--;
		ready.add(k, t);
	}

	@Override
	public synchronized Fiber next(Carrier c) {
		if (last != null && last.fiber.isDone())
			tasks.remove(last.fiber);
		if (!ended)
			net.due();
		if (ready.isEmpty() || ended || jumping)
			return null;
		if (++steps > sim.maxSteps) {
			fail(new Sim.LimitException("more than " + sim.maxSteps + " steps"));
			return null;
		}
		Task t = forced;
		forced = null;
		if (t == null || !ready.contains(t)) {
			if (last != null && ready.contains(last))
				strategy.demote(last);
			t = ready.size() > 1 || sim.hurry > 0 ? decide(null) : ready.get(0);
			if (t == Task.CLOCK || t == last && ++spun > LONE) {
				jumpSoon();
				return null;
			}
		}
		ready.remove(t);
		if (t != last)
			spun = 0;
		last = t;
		return t.fiber;
	}

	/* --- time --- */

	@Override
	public long nanos() {
		Task t = last;
		if (t == null || !Fiber.isFiber())
			return now;
		if (t.askedAt != now) {
			t.askedAt = now;
			t.asked -= t.asked > IMPATIENT ? 1 : t.asked;
		}
		if (++t.asked > IMPATIENT)
			now += 1_000;
		return now;
	}

	/** Returns the time without advancing the clock. */
	long now() {
		return now;
	}

	@Override
	public long millis() {
		return sim.epoch + TimeUnit.NANOSECONDS.toMillis(nanos());
	}

	@Override
	public boolean idle(long nanos) {
		if (ended)
			return false;
		boolean early;
		synchronized (this) {
			early = jumping;
			jumping = false;
			/* The carrier may start before the first thread is queued. */
			if (started == 0 || !ready.isEmpty() && !early)
				return true;
		}
		return jump(nanos, early);
	}

	/** True if a thread beside the carrier works in real time and may make threads ready. */
	private boolean isHelped() {
		return Blocking.isBusy() || rt.isOutside() || Pools.areBusy();
	}

	/**
	 * Called when no thread is ready and no timer is set. Returns true if that may change, or has
	 * changed.
	 */
	private boolean helped() {
		if (isHelped()) {
			LockSupport.parkNanos(1_000_000);
			return true;
		}
		/*
		 * A helper that has just finished may have made a thread ready, or the program may have
		 * ended.
		 */
		synchronized (this) {
			return !ready.isEmpty() || !alive();
		}
	}

	/** early: a thread could run, but the clock is to move first. */
	private boolean jump(long nap, boolean early) {
		long nanos = Math.min(nap, net.next());
		if (!early && !alive()) {
			end();
			return false;
		}
		if (nanos > NEVER) {
			if (early)
				return true;
			if (helped())
				return true;
			fail(new Sim.DeadlockException(Dump.all()));
			return false;
		}
		if (last != null)
			last.asked = 0;
		now += nanos;
		mix(now);
		net.due();
		return true;
	}

	private synchronized boolean isHome(Fiber f) {
		Task t = tasks.get(f);
		return t == null || t.node == home;
	}

	private boolean alive() {
		if (main.getState() != Thread.State.TERMINATED)
			return true;
		for (PicoThread t : PicoThread.all())
			if (!t.isDaemon() && t.fiber().runtime() == rt && isHome(t.fiber()))
				return true;
		return false;
	}
}
