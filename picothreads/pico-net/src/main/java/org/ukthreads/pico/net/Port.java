// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.IOException;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.ukthreads.pico.Device;
import org.ukthreads.pico.Fiber;

/*
 * A channel at its reactor, with the fibers that wait for it.
 *
 * One fiber waits in each direction (the caller holds the direction's lock), in a slot:
 *
 *   slot  want    what happens                                                 slot  want
 *   -     -       await: slot first, then want, then the reactor's interest    me    op
 *   me    op      ready (on the reactor's thread): want, interest, unpark me   me    -
 *   me    -       me goes on                                                   -     -
 *   me    op      timeout, interrupt, wake: me goes on; the interest stays     -     op
 *   -     op      await: the interest is there, the reactor need not be told   me    op
 *   -     op      ready: no fiber to wake, the next await sets want again      -     -
 *   any   any     close: the channel first, then want, then unpark             any   -
 *
 * await fills the slot before it reads `want`, ready clears `want` before it reads the
 * slot: one of them sees the other. In the same way await checks the channel after it fills
 * the slot, and close wakes the slot after it closes the channel. An event may come before the
 * park: unpark is sticky. All wake-ups may be spurious: the caller tries the channel again.
 */
final class Port implements Device {
	static final long NEVER = Long.MAX_VALUE;
	private static final int IN = SelectionKey.OP_READ | SelectionKey.OP_ACCEPT;

	final SelectableChannel channel;
	/** The reactor of the first wait. */
	private NetReactor reactor;
	/** Only for the reactor's thread. */
	SelectionKey key;
	private final AtomicInteger want = new AtomicInteger();
	private volatile Fiber in;
	private volatile Fiber out;
	/** For SocketChannel and its like: the program takes the channel for blocking. */
	volatile boolean blocking = true;
	/** Held by a reader, and by a writer. */
	final Object inLock = new Object();
	final Object outLock = new Object();
	/** Closes the channel when its owner is unreachable; or null. */
	volatile Leaks watch;
	/** The socket that socket() of the channel has returned, or null. */
	volatile Object face;

	Port(SelectableChannel channel) {
		this.channel = channel;
	}

	/** Returns the end of a wait of that many milliseconds; 0: no end. */
	static long end(long millis) {
		return millis == 0 ? NEVER : System.nanoTime() + millis * 1_000_000;
	}

	/**
	 * Chooses the reactor at the first wait, and registers the channel there for a fiber.
	 * Synchronized, so that only one thread does it.
	 */
	synchronized void open() throws IOException {
		if (reactor != null)
			return;
		NetReactor r = NetReactor.current();
		if (Fiber.isFiber())
			r.register(this);
		reactor = r;
	}

	/**
	 * Parks until the operation may succeed or the port is closed; false: the time is over. An
	 * interrupt does not end the wait; `interrupted` records it.
	 */
	boolean await(int op, long end) throws IOException {
		boolean interrupted = false;
		boolean in = (op & IN) != 0;
		long left = 0;
		try {
			open();
		} catch (ClosedChannelException e) {
			return true; // closed meanwhile: the caller checks that again
		}
		if (end != NEVER) {
			left = end - System.nanoTime();
			if (left <= 0)
				return false;
		}
		if (in)
			this.in = Fiber.current();
		else
			out = Fiber.current();
		arm(op);
		try {
			do {
				if (!channel.isOpen())
					break;
				if (end == NEVER)
					LockSupport.park(this);
				else
					LockSupport.parkNanos(this, left);
				/* An interrupt does not end this wait. Clear the flag, or park returns at once. */
				if (!Thread.interrupted())
					break;
				interrupted = true;
				if (end != NEVER)
					left = end - System.nanoTime();
			} while ((want.get() & op) != 0 && (end == NEVER || left > 0));
		} finally {
			if (in)
				this.in = null;
			else
				out = null;
			if (interrupted)
				Thread.currentThread().interrupt();
		}
		return true;
	}

	/** Waits like await, for channels: an interrupt ends the wait, and true is returned. */
	boolean awaitInterruptibly(int op) throws IOException {
		open();
		boolean in = (op & IN) != 0;
		if (in)
			this.in = Fiber.current();
		else
			out = Fiber.current();
		arm(op);
		if (channel.isOpen() && !Thread.currentThread().isInterrupted())
			LockSupport.park(this);
		if (in)
			this.in = null;
		else
			out = null;
		return Thread.currentThread().isInterrupted();
	}

	private void arm(int op) {
		for (;;) {
			int w = want.get();
			if ((w & op) == op)
				return;
			if (want.compareAndSet(w, w | op))
				break;
		}
		try {
			reactor.changed(this);
		} catch (Throwable e) {
			/* No event will wake us, so the next wait must tell the reactor again. */
			for (;;) {
				int w = want.get();
				if (want.compareAndSet(w, w & ~op))
					throw e;
			}
		}
	}

	/** Called on the reactor's thread. */
	void apply(Selector s) {
		try {
			if (key == null)
				key = channel.register(s, want.get(), this);
			else
				key.interestOps(want.get());
		} catch (CancelledKeyException | ClosedChannelException e) {
			wake();
		}
	}

	/** Called on the reactor's thread. */
	void ready(SelectionKey k) {
		int r;
		try {
			r = k.readyOps();
			int w;
			do
				w = want.get();
			while (!want.compareAndSet(w, w & ~r));
			k.interestOps(w & ~r);
		} catch (CancelledKeyException e) {
			wake();
			return;
		}
		if ((r & IN) != 0)
			unpark(in);
		if ((r & ~IN) != 0)
			unpark(out);
	}

	private static void unpark(Fiber f) {
		if (f != null)
			f.unpark();
	}

	/** Makes the waiting fibers look again. */
	void wake() {
		unpark(in);
		unpark(out);
	}

	void close() throws IOException {
		Leaks l = watch;
		if (l != null)
			l.drop();
		try {
			Channels.rawClose(channel);
		} finally {
			NetReactor r;
			synchronized (this) {
				r = reactor;
			}
			want.set(0);
			wake();
			if (r != null)
				r.closed();
		}
	}
}
