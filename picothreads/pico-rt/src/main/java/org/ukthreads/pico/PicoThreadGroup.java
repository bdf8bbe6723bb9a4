// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.util.concurrent.atomic.AtomicInteger;

/*
 * The JVM's groups take their parent from the JVM's thread, which is a carrier, and know only
 * the JVM's threads. Before Java 19 a daemon group is destroyed when its last thread has ended
 * and its last subgroup is destroyed. The JVM counts each pico thread of the group as one that
 * was never started, and so never does it.
 */
/** A group that the program makes. Without a parent it is below the calling thread's group. */
@Internal
public class PicoThreadGroup extends ThreadGroup {
	/** True: this JVM has a daemon group destroyed. */
	static final boolean DESTROYED =
		Double.parseDouble(System.getProperty("java.specification.version")) < 19;

	/** Number of pico threads that were made in this group and have not ended. */
	private final AtomicInteger threads = new AtomicInteger();

	public PicoThreadGroup(String name) {
		super(Threads.getThreadGroup(Threads.currentThread()), name);
	}

	public PicoThreadGroup(ThreadGroup parent, String name) {
		super(parent, name);
	}

	void made() {
		threads.incrementAndGet();
	}

	void ended() {
		if (threads.decrementAndGet() == 0)
			left(this);
	}

	/** Called when a thread or a subgroup has left g. Destroys a daemon group that is empty. */
	static void left(ThreadGroup g) {
		if (!DESTROYED || !(g instanceof PicoThreadGroup) || !g.isDaemon() || g.isDestroyed()
				|| ((PicoThreadGroup) g).threads.get() > 0 || g.activeGroupCount() > 0)
			return;
		try {
			g.destroy();
		} catch (IllegalThreadStateException e) {
			/* It has a thread of the JVM, or another thread has just destroyed it. */
			return;
		}
		left(g.getParent());
	}

	@Override
	public String toString() {
		return Members.named(this, super.toString());
	}
}
