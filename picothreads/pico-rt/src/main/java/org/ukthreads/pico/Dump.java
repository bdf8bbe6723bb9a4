package org.ukthreads.pico;

import java.util.ArrayList;
import java.util.List;

/** Thread dumps: frames of parked threads with their lines and the live locals. */
public final class Dump {
	private Dump() {}

	/** Of a fiber that runs, or blocks an OS thread: that thread's stack. */
	static StackTraceElement[] trace(Fiber f) {
		Thread os = f.rt.carrying(f);
		List<StackTraceElement> st = new ArrayList<>();
		if (os != null) {
			StackTraceElement[] running = os.getStackTrace();
			/* It may have gone on to another one. */
			if (f.rt.carrying(f) == os)
				st = Traces.running(running);
		}
		Traces.callers(waiting(f, os), st);
		return st.toArray(new StackTraceElement[0]);
	}

	/** All frames, or of a fiber that runs on an OS thread those that are not on its stack. */
	private static Frame waiting(Fiber f, Thread os) {
		return os instanceof CarrierThread ? ((CarrierThread) os).context.callers() : f.top;
	}

	/** All live pico threads, like jstack. */
	public static String all() {
		StringBuilder b = new StringBuilder();
		List<PicoThread> ts = new ArrayList<>(PicoThread.all());
		ts.sort((p, q) -> p.getName().compareTo(q.getName()));
		for (PicoThread t : ts)
			of(t, b);
		List<KeptFiber> ks = new ArrayList<>(KeptFiber.LIVE);
		ks.sort((p, q) -> p.toString().compareTo(q.toString()));
		for (KeptFiber k : ks) {
			b.append(k).append(' ').append(PicoThread.state(k));
			stack(k, b);
		}
		PicoRuntime rt = PicoRuntime.main();
		b.append(ts.size()).append(" pico threads; carriers: ").append(rt.carriers())
			.append(", OS threads made for them: ").append(rt.osThreads())
			.append(", spare now: ").append(rt.spares()).append("; pins that blocked: ")
			.append(Pins.blocked()).append("; calls by helpers: ").append(Blocking.helped())
			.append("; lost frames: ").append(Pins.lostFrames())
			.append('\n');
		Pins.report().forEach((k, v) -> b.append("  pinned ").append(v).append(" times: ")
			.append(k).append('\n'));
		return b.toString();
	}

	static void of(PicoThread t, StringBuilder b) {
		b.append('"').append(t.getName()).append("\" #").append(t.getId())
			.append(t.isDaemon() ? " daemon " : " ").append(t.getState());
		stack(t.fiber, b);
	}

	private static void stack(Fiber fiber, StringBuilder b) {
		waits(fiber, b);
		b.append('\n');
		Thread os = fiber.rt.carrying(fiber);
		if (os != null) {
			b.append("\t(on ").append(os.getName()).append(")\n");
			for (StackTraceElement e : Traces.running(os.getStackTrace()))
				b.append("\tat ").append(e).append('\n');
		}
		for (Frame f : Packed.frames(waiting(fiber, os)))
			frame(f, b);
		b.append('\n');
	}

	private static void waits(Fiber f, StringBuilder b) {
		int s = f.state;
		Waiter w = f.waiter;
		if (s != Fiber.PARKED && s != Fiber.STOPPING)
			return;
		Object on = Monitors.awaited(w);
		if (on != null) {
			Thread o = Monitors.owner(on);
			b.append(f.waitKind == Fiber.W_ENTER ? ", to lock " : ", in wait() of ")
				.append(show(on));
			if (o != null)
				b.append(", held by \"").append(o.getName()).append('"');
		} else if (f.waitKind == Fiber.W_JOIN && PicoThread.joined(w) != null) {
			b.append(", for the end of \"").append(PicoThread.joined(w).getName())
				.append('"');
		} else {
			b.append(f.waitKind == Fiber.W_SLEEP ? ", asleep"
				: f.waitKind == Fiber.W_PARK ? ", parked" : "");
		}
		if (w instanceof Timers.Entry && ((Timers.Entry) w).pending())
			b.append(", ").append((((Timers.Entry) w).at - f.rt.clock.nanos()) / 1_000_000)
				.append(" ms left");
	}

	private static void frame(Frame f, StringBuilder b) {
		b.append("\tat ").append(f.site.element()).append('\n');
		for (Site.Variable v : f.site.variables()) {
			if (v.name.trim().isEmpty())
				continue;
			b.append("\t\t").append(v.name).append(" = ").append(show(v.in(f)))
				.append('\n');
		}
	}

	/** Without calling the program's toString. */
	private static String show(Object o) {
		if (o == null || o instanceof Number || o instanceof Boolean
				|| o instanceof Character)
			return String.valueOf(o);
		if (o instanceof String) {
			String s = (String) o;
			return '"' + (s.length() > 80 ? s.substring(0, 80) + "..." : s) + '"';
		}
		return o.getClass().getName() + '@'
			+ Integer.toHexString(System.identityHashCode(o));
	}
}
