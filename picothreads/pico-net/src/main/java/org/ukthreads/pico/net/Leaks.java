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
 * Sockets that programs drop without closing them are closed when they are collected, as
 * the JDK's are. Whoever waits in one holds its owner (a Conduit, or a socket of the other
 * kinds); the selector holds the Port alone.
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
		/* In a simulation the collector decides nothing. */
		if (!Transport.isReal())
			return;
		Leaks l = new Leaks(owner, port);
		port.watch = l;
		WATCHED.add(l);
		Leak.IT.hashCode();
	}

	/** The port is closed: nothing is left to do. */
	void drop() {
		WATCHED.remove(this);
		clear();
	}

	/** A platform thread: the references' queue can only block one. */
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
			/* It was closed as far as it could be. */
			return;
		}
	}
}
