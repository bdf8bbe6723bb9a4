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
 * One simulation of a program. Who goes on is decided in two places:
 *
 *   a point  --leaves()--> the strategy keeps the thread: it runs on, nothing was suspended
 *                     \--> it picks another: the thread suspends, next() gives the other
 *   a wait, a yield, an end --next()--> the strategy picks among the ready
 *
 * Decisions are counted where there is a choice. The plain way: who stands at a point goes on,
 * and after a wait the next in the order of ids does. Who has passed SPIN points without a
 * wait while others were ready spins, and has to make way (no strategy may starve whom it
 * waits for).
 *
 * The carrier's thread alone touches it, but for what is volatile and what is ready (under
 * this): helper threads make fibers ready, too.
 */
final class Run
		implements Scheduler, Clock, Points.Watcher, Thread.UncaughtExceptionHandler {
	/** To sleep for seventy years is to sleep for ever; the clock must not come round. */
	private static final long NEVER = TimeUnit.DAYS.toNanos(25_567);
	private static final int SPIN = 5_000;
	/** Who alone is ready for so long waits for somebody who sleeps. */
	private static final int LONE = 1_000_000;
	/** Asked so often for the time at one moment, it moves on by a microsecond. */
	private static final int IMPATIENT = 10_000;

	private final Sim sim;
	private final long seed;
	private final Strategy strategy;
	/** Of what the program draws, and of what goes wrong around it. */
	final Random forProgram;
	final Random forFaults;
	private final Random forClock;
	private final Runnable program;

	/** Under this, in the order of ids. */
	private final List<Task> ready = new ArrayList<>();
	private final Map<Fiber, Task> tasks = new IdentityHashMap<>();
	private int started;
	/** Who ran last. */
	private Task last;
	/** Who is to run next: decided at a point. */
	private Task forced;
	/** The clock is to move although somebody is ready. */
	private boolean jumping;
	private int spun;
	private volatile long now;
	private long trace = 0xcbf29ce484222325L;
	private long steps;
	private int decisions;
	private int preemptions;
	private long points;
	private long pinned;
	private final List<Schedule.Turn> turns = new ArrayList<>();
	/** What the deviations were, in words; null: not wanted. */
	private final List<String> story;
	private volatile Throwable failure;
	private final CountDownLatch over = new CountDownLatch(1);
	private volatile boolean ended;
	private PicoRuntime rt;
	private PicoThread main;
	final Network net;
	/** Of the program itself: the first node. */
	final Node home;
	/** Whose next new threads are, before they are known. */
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

	/** Of the thread that runs. */
	synchronized Node node() {
		return last == null || !Fiber.isFiber() ? home : last.node;
	}

	/** A thread of n's is started by what runs in act. */
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

	/** n's threads never run again. */
	synchronized void bury(Node n) {
		n.life++;
		for (Task t : tasks.values())
			t.dead |= t.node == n;
		ready.removeIf(t -> t.dead);
		if (forced != null && forced.dead)
			forced = null;
	}

	/** A channel has something: whoever selects looks. */
	void changed() {
		for (VirtualSelector v : new ArrayList<>(selectors))
			v.changed();
	}

	/* --- what came of it --- */

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

	/** One step takes too long: whoever is in it goes on without us. */
	void stuck(long seconds) {
		StackTraceElement[] at = stack();
		fail(new Sim.StuckException(seconds, at));
		rt.unseat();
	}

	/** Of who runs, as far as the program's own methods reach. */
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

	long points() {
		return points;
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

	/** System.exit on a node but the first ends the node. */
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

	/** Under this. */
	private Task task(Fiber f) {
		Task t = tasks.get(f);
		if (t == null) {
			t = new Task(f, started++, starting != null ? starting : node());
			tasks.put(f, t);
			strategy.started(t);
		}
		return t;
	}

	/** Of several ready ones, or of one and the clock. Under this. */
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
			/* Or it is stuck since an earlier run. */
			if (ended || f.runtime() != rt)
				return true;
			points++;
			Task t = task(f);
			if (t.dead)
				return true;
			if (++steps > sim.maxSteps) {
				fail(new Sim.LimitException(sim.maxSteps + " steps"));
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
			fail(new Sim.LimitException(sim.maxSteps + " steps"));
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

	/** Without moving it. */
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
			/* The carrier may be up before the first thread is queued. */
			if (started == 0 || !ready.isEmpty() && !early)
				return true;
		}
		return jump(nanos, early);
	}

	/** Is anybody at work beside the carrier, in real time, who may make threads ready? */
	private boolean isHelped() {
		return Blocking.isBusy() || rt.isOutside() || Pools.areBusy();
	}

	/** Nobody is ready, no timer is set. True: that may change, or has. */
	private boolean helped() {
		if (isHelped()) {
			LockSupport.parkNanos(1_000_000);
			return true;
		}
		/* Who is at work no more may have made one ready, or have ended, since we looked. */
		synchronized (this) {
			return !ready.isEmpty() || !alive();
		}
	}

	/** early: somebody could run, but the clock was to move first. */
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
