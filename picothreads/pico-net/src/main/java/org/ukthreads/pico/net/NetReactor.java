// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;
import org.ukthreads.pico.Carrier;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.NeverBlocks;
import org.ukthreads.pico.Reactor;
import org.ukthreads.pico.Transport;

/*
 * A selector: one per carrier, and one with a thread of its own for platform threads that
 * run translated code.
 *
 * Only the thread that holds the carrier touches the selector and its keys (it polls, or
 * it runs the fiber that asks, and keeps the carrier meanwhile). All other threads queue the
 * port and wake the selector.
 *
 *   a port:  unknown --first wait--> registered --interest follows Port.want--> ...
 *                                        +--closed: its key goes at the next poll
 *
 * A port stays with the reactor of its first wait. The fibers that use it may run on other
 * carriers.
 */
@NeverBlocks
final class NetReactor implements Reactor {
	private static final List<NetReactor> ALL = new CopyOnWriteArrayList<>();

	private final Selector selector;
	/** Ports whose interest has grown, which the selector does not know yet. */
	private final Queue<Port> pending = new ConcurrentLinkedQueue<>();

	private NetReactor() {
		try {
			selector = Transport.provider().openSelector();
		} catch (IOException e) {
			throw new UncheckedIOException(e);
		}
		/* Removes the reactors of simulations that have ended. */
		ALL.removeIf(r -> !r.selector.isOpen());
		ALL.add(this);
	}

	private static final class Maker implements Supplier<Reactor> {
		@Override
		public Reactor get() {
			return new NetReactor();
		}
	}

	private static final Maker MAKER = new Maker();

	/** For platform threads. */
	@NeverBlocks
	private static final class Own implements Daemon.Round {
		static final Own IT = new Own();
		final NetReactor reactor = new NetReactor();

		private Own() {
			Daemon.start("pico-net", this);
		}

		@Override
		public void round() {
			reactor.poll(Long.MAX_VALUE);
		}
	}

	static NetReactor current() {
		return Fiber.isFiber() ? (NetReactor) Carrier.current().reactor(MAKER)
			: Own.IT.reactor;
	}

	/** Keeps and returns the calling fiber's carrier, if this is its reactor; else null. */
	private Carrier keep() {
		Carrier c = Fiber.isFiber() ? Carrier.keep() : null;
		if (c != null && c.reactor() != this) {
			c.release();
			c = null;
		}
		return c;
	}

	/** Called when the port wants more operations than before. */
	void changed(Port p) {
		Carrier c = keep();
		if (c != null) {
			try {
				p.apply(selector);
			} finally {
				c.release();
			}
			return;
		}
		pending.add(p);
		selector.wakeup();
	}

	/** Called after a channel was closed: frees it at once, if this thread may do that. */
	void closed() {
		Carrier c = keep();
		if (c == null) {
			selector.wakeup();
			return;
		}
		try {
			poll(0);
		} finally {
			c.release();
		}
	}

	/** Returns the port that a reactor has for the channel, or null. */
	static Port find(SelectableChannel ch) {
		for (NetReactor r : ALL) {
			SelectionKey k = ch.keyFor(r.selector);
			if (k != null)
				return (Port) k.attachment();
		}
		return null;
	}

	/**
	 * Registers the port at once, also without a carrier: a channel that is non-blocking but
	 * unknown to all reactors is taken for one that the program has made non-blocking.
	 */
	void register(Port p) throws IOException {
		Carrier c = keep();
		if (c == null && OLD) {
			synchronized (gate) {
				selector.wakeup();
				p.key = p.channel.register(selector, 0, p);
			}
			return;
		}
		try {
			p.key = p.channel.register(selector, 0, p);
		} finally {
			if (c != null)
				c.release();
		}
	}

	/** Before Java 11 register() waits while another thread selects. The gate lets it go first. */
	private static final boolean OLD =
		Double.parseDouble(System.getProperty("java.specification.version")) < 11;
	private final Object gate = new Object();

	private void pass() {
		synchronized (gate) {
			/* No thread registers now; a thread that does so later wakes the selector first. */
		}
	}

	@Override
	public void poll(long nanos) {
		try {
			for (Port p; (p = pending.poll()) != null;)
				p.apply(selector);
			if (OLD)
				pass();
			if (nanos == 0)
				selector.selectNow();
			else if (nanos == Long.MAX_VALUE)
				selector.select();
			else
				selector.select(Math.max(1, nanos / 1_000_000));
			/* Includes the keys of an earlier poll that failed half-way. */
			Set<SelectionKey> keys = selector.selectedKeys();
			if (!keys.isEmpty()) {
				for (SelectionKey k : keys)
					((Port) k.attachment()).ready(k);
				keys.clear();
			}
		} catch (IOException e) {
			throw new UncheckedIOException(e);
		} catch (ClosedSelectorException e) {
			/* The runtime is shutting down. */
			return;
		}
	}

	@Override
	public void wakeup() {
		selector.wakeup();
	}

	@Override
	public void close() {
		ALL.remove(this);
		try {
			selector.close();
		} catch (IOException e) {
			throw new UncheckedIOException(e);
		}
	}
}
