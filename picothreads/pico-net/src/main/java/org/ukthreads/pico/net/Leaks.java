// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.IOException;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.ukthreads.pico.NeverBlocks;
import org.ukthreads.pico.Transport;

/**
 * Closes sockets that programs drop without closing them, when they are collected, as the JDK
 * does. A thread that waits in a socket keeps its owner (a Conduit, or a socket of another
 * kind) reachable; the selector references the Port only.
 */
@NeverBlocks
final class Leaks extends PhantomReference<Object> {
	private static final ReferenceQueue<Object> QUEUE = new ReferenceQueue<>();
	private static final Set<Leaks> WATCHED = ConcurrentHashMap.newKeySet();

	private final Port port;

	private Leaks(Object owner, Port port) {
		super(owner, QUEUE);
		this.port = port;
	}

	static void watch(Object owner, Port port) {
		/* In a simulation nothing may depend on the garbage collector. */
		if (!Transport.isReal())
			return;
		Leaks l = new Leaks(owner, port);
		port.watch = l;
		WATCHED.add(l);
		Leak.IT.hashCode();
	}

	/** Called when the port is closed: nothing is left to do. */
	void drop() {
		WATCHED.remove(this);
		clear();
	}

	/** Uses a platform thread, because ReferenceQueue.remove() blocks its OS thread. */
	@NeverBlocks
	private static final class Leak implements Daemon.Round {
		static final Leak IT = new Leak();

		private Leak() {
			Daemon.start("pico-net-cleaner", this);
		}

		@Override
		public void round() throws InterruptedException {
			close((Leaks) QUEUE.remove());
		}
	}

	private static void close(Leaks l) {
		try {
			l.port.close();
		} catch (IOException e) {
			/* Nothing more can be done. */
			return;
		}
	}
}
