// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.text.SimpleDateFormat;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.Date;
import java.util.List;
import java.util.Map;

/**
 * Dumps in jstack's format, for people and tools that read it. Three things differ. An object is
 * shown by its identity hash, because it has no address that stays. `nid` is unknown: no OS
 * thread belongs to a pico thread. The monitors that a thread holds follow the stack, because it
 * is not known which frame has entered them.
 */
@Internal
public final class Jstack {
	private final StringBuilder b = new StringBuilder();
	private final Map<Fiber, List<Object>> monitors = Monitors.held(null);
	private final Map<Fiber, List<Object>> locks;
	private final List<PicoThread> threads = new ArrayList<>(PicoThread.all());

	private Jstack() {
		threads.sort(Comparator.comparingLong(Thread::getId));
		locks = Observed.locks(threads);
	}

	/** Returns the text of a dump of all live pico threads and their deadlocks. From any thread. */
	public static String all() {
		Jstack j = new Jstack();
		j.head();
		for (PicoThread t : j.threads)
			j.thread(t);
		j.deadlocks();
		return j.b.toString();
	}

	private void head() {
		b.append(new SimpleDateFormat("yyyy-MM-dd HH:mm:ss").format(new Date()))
			.append("\nFull thread dump PicoThreads on ")
			.append(System.getProperty("java.vm.name")).append(" (")
			.append(System.getProperty("java.vm.version")).append(' ')
			.append(System.getProperty("java.vm.info")).append("):\n\n");
	}

	private void thread(PicoThread t) {
		Observed o = Observed.of(t);
		if (!t.alive())
			return;
		b.append('"').append(t.getName()).append("\" #").append(t.getId())
			.append(t.isDaemon() ? " daemon" : "").append(t.virtual ? " virtual" : "")
			.append(" prio=").append(t.getPriority())
			.append(String.format(" tid=0x%016x nid=na ", t.getId())).append(does(o))
			.append("\n   java.lang.Thread.State: ").append(o.state).append(why(o)).append('\n');
		stack(o);
		b.append("\n   Locked ownable synchronizers:\n");
		held(locks.getOrDefault(t.fiber, Collections.emptyList()));
		List<Object> m = Observed.monitors(monitors.get(t.fiber));
		if (!m.isEmpty()) {
			b.append("\n   Locked monitors:\n");
			held(m);
		}
		b.append('\n');
	}

	private void held(List<Object> l) {
		for (Object o : l)
			b.append("\t- ").append(object(o)).append('\n');
		if (l.isEmpty())
			b.append("\t- None\n");
	}

	private static String does(Observed o) {
		return o.state == Thread.State.BLOCKED ? "waiting for monitor entry"
			: o.state == Thread.State.RUNNABLE ? "runnable"
			: o.parked ? "waiting on condition"
			: o.asleep ? "sleeping" : o.on != null ? "in Object.wait()" : "waiting on condition";
	}

	private static String why(Observed o) {
		return o.state == Thread.State.BLOCKED ? " (on object monitor)"
			: o.state == Thread.State.RUNNABLE ? "" : o.parked ? " (parking)"
			: o.asleep ? " (sleeping)" : o.on != null ? " (on object monitor)" : "";
	}

	private void stack(Observed o) {
		StackTraceElement[] st = o.stack();
		for (int k = 0; k < st.length; k++) {
			b.append("\tat ").append(st[k]).append('\n');
			if (k == 0)
				awaited(o);
		}
	}

	private void awaited(Observed o) {
		if (o.on != null && o.state != Thread.State.RUNNABLE)
			b.append("\t- ").append(o.parked ? "parking to wait for  "
				: o.state == Thread.State.BLOCKED ? "waiting to lock " : "waiting on ")
				.append(object(o.on)).append('\n');
	}

	private static String object(Object o) {
		return String.format("<0x%016x> (a %s%s)", System.identityHashCode(o), Observed.type(o),
			o instanceof Class ? " for " + ((Class<?>) o).getName() : "");
	}

	private void deadlocks() {
		List<Fiber> all = new ArrayList<>(KeptFiber.LIVE);
		for (PicoThread t : threads)
			all.add(t.fiber);
		List<List<Fiber>> found = Deadlocks.among(all, Deadlocks.ANY);
		for (List<Fiber> c : found)
			deadlock(c);
		if (!found.isEmpty())
			b.append("Found ").append(found.size())
				.append(found.size() == 1 ? " deadlock.\n" : " deadlocks.\n");
	}

	private void deadlock(List<Fiber> circle) {
		b.append("Found one Java-level deadlock:\n=============================\n");
		for (int k = 0; k < circle.size(); k++) {
			Fiber f = circle.get(k);
			Observed o = f.thread == null ? null : Observed.of(f.thread);
			b.append('"').append(Dump.name(f)).append("\":\n  ");
			if (o == null || o.on == null)
				b.append("waiting");
			else
				b.append(o.parked ? "waiting for ownable synchronizer "
					: o.on instanceof Thread && o.state != Thread.State.BLOCKED
					? "waiting for the end of " : "waiting to lock monitor ").append(object(o.on));
			b.append(",\n  which is held by \"")
				.append(Dump.name(circle.get((k + 1) % circle.size()))).append("\"\n");
		}
		b.append("\nJava stack information for the threads listed above:\n"
			+ "===================================================\n");
		for (Fiber f : circle) {
			b.append('"').append(Dump.name(f)).append("\":\n");
			if (f.thread != null)
				stack(Observed.of(f.thread));
		}
		b.append('\n');
	}
}
