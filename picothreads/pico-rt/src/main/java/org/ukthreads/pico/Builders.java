// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.lang.reflect.InvocationTargetException;
import java.util.concurrent.ThreadFactory;

/*
 * Thread.Builder of Java 21, whose interfaces are sealed: the JVM's own builders keep what
 * the program says, and what they make is taken as the pattern of a pico thread. What a
 * platform thread inherits comes from the thread that calls the builder; a carrier is the
 * wrong one, so that a thread like the calling pico thread does it.
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

	private interface Maker {
		Thread make();
	}

	/** Told by the JVM's builder, if its thread inherits: nobody can ask it. */
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

	private static Thread asCaller(Maker m) {
		Thread me = Threads.currentThread();
		if (!(me instanceof PicoThread))
			return m.make();
		Object[] made = new Object[1];
		Thread t = new Thread(me.getThreadGroup(), null, "pico-builder", 0) {
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

	/** Thread.startVirtualThread. */
	public static Thread startVirtualThread(Runnable r) {
		return start(call(null, Thread.class, "ofVirtual"), r);
	}
}
