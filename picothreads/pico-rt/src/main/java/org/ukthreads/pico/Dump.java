package org.ukthreads.pico;

import java.util.ArrayList;
import java.util.List;

/** Thread dumps: frames of parked threads with their lines and the live locals. */
public final class Dump {
	private Dump() {}

	static StackTraceElement[] trace(Fiber f) {
		List<StackTraceElement> st = new ArrayList<>();
		for (Frame x : Packed.frames(f.top))
			st.add(x.site.element());
		return st.toArray(new StackTraceElement[0]);
	}

	/** All live pico threads, like jstack. */
	public static String all() {
		StringBuilder b = new StringBuilder();
		List<PicoThread> ts = new ArrayList<>(PicoThread.all());
		ts.sort((p, q) -> p.getName().compareTo(q.getName()));
		for (PicoThread t : ts)
			of(t, b);
		b.append(ts.size()).append(" pico threads; pins that blocked: ")
			.append(Pins.blocked()).append("; lost frames: ").append(Pins.lostFrames())
			.append('\n');
		Pins.report().forEach((k, v) -> b.append("  pinned ").append(v).append(" times: ")
			.append(k).append('\n'));
		return b.toString();
	}

	static void of(PicoThread t, StringBuilder b) {
		b.append('"').append(t.getName()).append("\" ").append(t.getState()).append('\n');
		for (Frame f : Packed.frames(t.fiber.top))
			frame(f, b);
		b.append('\n');
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
