// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.lang.reflect.InvocationTargetException;
import java.util.concurrent.ThreadFactory;

/*
 * Replaces Thread.Builder of Java 21. Its interfaces are sealed, so the JVM's own builders keep
 * what the program sets, and the thread that such a builder makes is the pattern for a pico
 * thread.
 *
 * A platform thread inherits from the thread that calls the builder. Here that would be a
 * carrier, so a temporary thread with the group, daemon flag and priority of the calling pico
 * thread calls the builder instead.
 */
@Internal
public final class Builders {
	private Builders() {}

	private static Object call(Object on, Class<?> in, String name, Object... args) {
		try {
			Class<?>[] types = args.length == 0 ? new Class<?>[0]
				: new Class<?>[] {Runnable.class};
			return in.getMethod(name, types).invoke(on, args);
		} catch (InvocationTargetException e) {
			throw Builders.<RuntimeException>sneak(e.getCause());
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException(e);
		}
	}

	@SuppressWarnings("unchecked")
	private static <T extends Throwable> T sneak(Throwable e) throws T {
		throw (T) e;
	}

	private static Class<?> builder(String kind) {
		try {
			return Class.forName("java.lang.Thread$Builder" + kind);
		} catch (ClassNotFoundException e) {
			throw new IllegalStateException(e);
		}
	}

	interface Maker {
		Thread make();
	}

	/**
	 * Detects whether a builder's thread inherits thread locals: then the JVM calls
	 * childValue(). The builder has no method that tells.
	 */
	private static final class Probe extends InheritableThreadLocal<boolean[]> {
		@Override
		protected boolean[] childValue(boolean[] inherits) {
			inherits[0] = true;
			return null;
		}
	}

	private static final Probe PROBE = new Probe();

	private static Thread probed(Maker m, boolean[] inherits) {
		PROBE.set(inherits);
		try {
			return m.make();
		} finally {
			PROBE.remove();
		}
	}

	private static PicoThread pico(boolean virtual, Runnable r, Maker m) {
		java.util.Objects.requireNonNull(r);
		boolean[] inherits = new boolean[1];
		Maker p = () -> probed(m, inherits);
		return new PicoThread(virtual ? p.make() : asCaller(p), r, virtual, inherits[0]);
	}

	/** What m makes in a thread that has what a new thread inherits from the calling one. */
	static Thread asCaller(Maker m) {
		Thread me = Threads.currentThread();
		if (!(me instanceof PicoThread))
			return m.make();
		Object[] made = new Object[1];
		Thread t = new Thread(Threads.getThreadGroup(me), null, "pico-builder", 0) {
			@Override
			public void run() {
				try {
					made[0] = m.make();
				} catch (RuntimeException e) {
					made[0] = e;
				}
			}
		};
		t.setDaemon(me.isDaemon());
		t.setPriority(me.getPriority());
		t.start();
		boolean interrupted = false;
		for (;;) {
			try {
				t.join();
				break;
			} catch (InterruptedException e) {
				interrupted = true;
			}
		}
		if (interrupted)
			Thread.currentThread().interrupt();
		if (made[0] instanceof RuntimeException)
			throw (RuntimeException) made[0];
		return (Thread) made[0];
	}

	public static Thread unstarted(Object b, Runnable r) {
		boolean virtual = builder("$OfVirtual").isInstance(b);
		return pico(virtual, r, () -> (Thread) call(b, builder(""), "unstarted", r));
	}

	public static Thread start(Object b, Runnable r) {
		Thread t = unstarted(b, r);
		t.start();
		return t;
	}

	public static ThreadFactory factory(Object b) {
		boolean virtual = builder("$OfVirtual").isInstance(b);
		ThreadFactory f = (ThreadFactory) call(b, builder(""), "factory");
		return r -> pico(virtual, r, () -> f.newThread(r));
	}

	/** Replaces Thread.startVirtualThread. */
	public static Thread startVirtualThread(Runnable r) {
		return start(call(null, Thread.class, "ofVirtual"), r);
	}
}
