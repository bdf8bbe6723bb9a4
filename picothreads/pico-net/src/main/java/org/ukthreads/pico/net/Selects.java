// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import org.ukthreads.pico.Blocking;
import org.ukthreads.pico.Device;
import org.ukthreads.pico.Fiber;
import org.ukthreads.pico.Transport;

/*
 * Selector.select for a program's own selector: a helper thread selects while the fiber is
 * parked, and Blocking.helped counts it. wakeup(), close(), timeouts and interrupts work as
 * the selector implements them; interrupts are passed on to the helper.
 *
 * Rejected: selectNow(), and then the carrier's reactor for the channels of the keys. It would
 * consume a wakeup() without saying so, and each wait would cost a registration per key.
 */
public final class Selects {
	private Selects() {}

	/** Selector.select(Consumer, long); null before Java 11. */
	private static final MethodHandle LISTING = listing();

	private static MethodHandle listing() {
		try {
			return MethodHandles.lookup().findVirtual(Selector.class, "select",
				MethodType.methodType(int.class, Consumer.class, long.class));
		} catch (ReflectiveOperationException e) {
			return null;
		}
	}

	/** One call, made by the helper thread. */
	private static final class Selection implements Callable<Integer>, Consumer<SelectionKey>,
			Device {
		private final Selector selector;
		private final long millis;
		/** If not null, the keys found are listed here instead of being marked as selected. */
		private final List<SelectionKey> found;

		Selection(Selector selector, long millis, List<SelectionKey> found) {
			this.selector = selector;
			this.millis = millis;
			this.found = found;
		}

		@Override
		public Integer call() throws Exception {
			return Selects.raw(selector, millis, found == null ? null : this);
		}

		@Override
		public void accept(SelectionKey k) {
			found.add(k);
		}
	}

	private static int raw(Selector s, long millis, Consumer<SelectionKey> list)
			throws Exception {
		if (list == null)
			return s.select(millis);
		try {
			return (int) LISTING.invoke(s, list, millis);
		} catch (Exception | Error e) {
			throw e;
		} catch (Throwable e) {
			throw new AssertionError(e);
		}
	}

	/** For a selector that never blocks: parks until it has something. */
	private static int parked(Selector s, long millis) throws IOException {
		Transport.Parkable p = (Transport.Parkable) s;
		long end = millis == 0 ? 0 : System.nanoTime() + millis * 1_000_000;
		p.waiter(Fiber.current());
		try {
			for (;;) {
				int n = s.selectNow();
				long left = end - System.nanoTime();
				if (n > 0 || p.woken() || Thread.currentThread().isInterrupted()
						|| millis > 0 && left <= 0)
					return n;
				if (millis == 0)
					Fiber.park();
				else
					Fiber.parkNanos(left);
				if (!s.isOpen())
					return 0;
			}
		} finally {
			p.waiter(null);
		}
	}

	private static int helped(Selection x) throws IOException {
		if (x.selector instanceof Transport.Parkable) {
			int n = parked(x.selector, x.millis);
			if (x.found != null) {
				x.found.addAll(x.selector.selectedKeys());
				x.selector.selectedKeys().clear();
			}
			return n;
		}
		try {
			return (Integer) Blocking.interruptibly(x);
		} catch (IOException | RuntimeException e) {
			throw e;
		} catch (Exception e) {
			throw new IOException(e);
		}
	}

	public static int select(Selector s) throws IOException {
		return select(s, 0);
	}

	public static int select(Selector s, long millis) throws IOException {
		return helped(new Selection(s, millis, null));
	}

	public static int select(Selector s, Consumer<SelectionKey> act) throws IOException {
		return select(s, act, 0);
	}

	/** Calls the program's function here, when the selector is no longer in use. */
	public static int select(Selector s, Consumer<SelectionKey> act, long millis)
			throws IOException {
		if (act == null)
			throw new NullPointerException();
		List<SelectionKey> found = new ArrayList<>();
		int n = helped(new Selection(s, millis, found));
		for (SelectionKey k : found)
			act.accept(k);
		return n;
	}
}
