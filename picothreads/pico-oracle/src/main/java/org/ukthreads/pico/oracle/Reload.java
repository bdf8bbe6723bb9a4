// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.oracle;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.ukthreads.pico.Carrier;
import org.ukthreads.pico.Continuation;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.Freezer;
import org.ukthreads.pico.Scheduler;
import org.ukthreads.pico.Stopped;
import org.ukthreads.pico.durable.Codec;
import org.ukthreads.pico.durable.Filter;
import org.ukthreads.pico.durable.Parting;

/*
 * The fourth mode: no fiber continues with the frames that it stopped with. Before it runs again,
 * whatever made it stop (chaos, a lock, a sleep),
 *
 *   frames    are written to bytes and read back: sites by name, values by their bits; the
 *             objects that they refer to stay
 *   objects   that only the frames reach (Parting) are also in the bytes, at the 1st, 16th,
 *             256th... stop of a test's call; the copies replace them
 *
 * This is done in a scheduler: between ready() and next() a fiber is complete, and the runtime
 * needs no interface for tests.
 */
final class Reload implements Scheduler {
	private static final int LARGEST = 20_000;
	/** Classes whose static fields refer to nothing that a test's frames reach. */
	private static final Pattern MACHINERY = Pattern.compile(
		"org\\.junit\\.|junit\\.|org\\.opentest4j\\.|net\\.bytebuddy\\.|org\\.assertj\\.");

	private final ArrayDeque<Fiber> queue = new ArrayDeque<>();
	/** Begun and, as far as is known, not ended. */
	private final Set<Fiber> fibers = new LinkedHashSet<>();
	private final Loader loader;
	/** Those of the loader's first `seen` classes that have static fields to examine. */
	private final List<Class<?>> statics = new ArrayList<>();
	private int seen;
	private final Filter filter = new Filter("*");
	/** Of this call; reset by JUnit's thread, counted by the carrier. */
	private volatile long stops;
	private volatile long nextDeep = 1;
	private final Map<String, Long> counts = new HashMap<>();
	private final Map<String, Long> named = new TreeMap<>();

	Reload(Loader loader) {
		this.loader = loader;
	}

	/** Called before a call of a test's method. */
	void begin() {
		stops = 0;
		nextDeep = 1;
	}

	@Override
	public void ready(Fiber f) {
		synchronized (queue) {
			queue.add(f);
			fibers.add(f);
		}
	}

	@Override
	public Fiber next(Carrier c) {
		Fiber f;
		synchronized (queue) {
			f = queue.poll();
		}
		if (f != null && Stopped.hasFrames(f) && loader != null)
			reload(f);
		return f;
	}

	private void reload(Fiber f) {
		boolean deep = ++stops >= nextDeep;
		if (deep)
			nextDeep *= 16;
		count("reloads", 1);
		count("frames", Stopped.depth(f));
		try {
			if (deep && deep(f))
				return;
			List<Object> all = new ArrayList<>();
			Stopped.refs(f, all);
			replace(f, codec(all));
		} catch (Freezer.ChangedException e) {
			name("frames of a class that has no name: " + e.method);
		}
	}

	private Codec codec(List<Object> outside) {
		Codec c = new Codec(loader, filter).wholeObjects();
		for (int k = 0; k < outside.size(); k++)
			c.external("" + k, outside.get(k));
		return c;
	}

	private void replace(Fiber f, Codec c) {
		byte[] b = c.save(Stopped.frames(f));
		Continuation k = c.load(b);
		Stopped.replace(f, k);
		count("bytes", b.length);
	}

	/** False: the objects must stay, and the reason is counted. */
	private boolean deep(Fiber f) {
		Parting p = new Parting(codec(List.of()), loader.literals());
		List<Object> roots = new ArrayList<>();
		Stopped.refs(f, roots);
		Stopped.without(f, () -> shareOutside(f, p));
		count("walked", p.walked());
		try {
			p.part(roots);
			if (p.size() > LARGEST) {
				name("more than " + LARGEST + " objects");
				return false;
			}
			p.refused.forEach(this::name);
			List<Object> shared = p.sharedOnes();
			replace(f, codec(shared));
			count("deep", 1);
			count("own", p.own());
			count("shared", shared.size());
			return true;
		} catch (RuntimeException | LinkageError | VirtualMachineError e) {
			String s = String.valueOf(e.getMessage());
			name("a serial form that fails: " + e.getClass().getSimpleName() + ' ' + s.replaceAll(
				"(; reached|\\n).*", "").replaceAll("[@0-9]+", "#"));
			return false;
		}
	}

	private void shareOutside(Fiber f, Parting p) {
		for (Class<?> c : loader.classes(seen)) {
			seen++;
			if (!MACHINERY.matcher(c.getName()).lookingAt() && Parting.hasStatics(c))
				statics.add(c);
		}
		statics.forEach(p::shareStatics);
		synchronized (queue) {
			fibers.removeIf(Fiber::isDone);
			fibers.forEach(p::share);
		}
		for (Object o : Stopped.held(f))
			p.share(o);
		for (Object o : new Object[] {System.in, System.out, System.err,
				Thread.getDefaultUncaughtExceptionHandler(), java.util.TimeZone.getDefault()})
			if (o != null)
				p.share(o);
		Calls.outside(p::share);
	}

	private synchronized void count(String what, long n) {
		counts.merge(what, n, Long::sum);
	}

	private synchronized void name(String what) {
		named.merge(what, 1L, Long::sum);
	}

	synchronized Map<String, Long> counts() {
		return new TreeMap<>(counts);
	}

	/** What stayed and why, to how often. */
	synchronized Map<String, Long> named() {
		return new TreeMap<>(named);
	}
}
