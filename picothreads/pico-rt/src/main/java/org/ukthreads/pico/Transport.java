// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.channels.spi.SelectorProvider;

/**
 * Where channels and selectors come from: the system's provider, or for a simulation one in
 * memory. Set between runs, by whoever installs the runtime.
 */
@Internal
public final class Transport {
	/** A selector whose select() does not block: whoever waits for it parks. */
	public interface Parkable {
		/** Unparks f when a channel is ready or wakeup() is called; null: nobody waits. */
		void waiter(Fiber f);

		/** wakeup() was called since the last time this was asked. */
		boolean woken();
	}

	/** Who has which name, in the provider's network. */
	public interface Names {
		InetAddress[] find(String host) throws UnknownHostException;

		InetAddress local();

		String name(InetAddress a);

		boolean isReachable(InetAddress a);
	}

	private static volatile SelectorProvider provider;
	private static volatile Names names;

	private Transport() {}

	/** Null: the system's. */
	public static void install(SelectorProvider p, Names n) {
		names = n;
		provider = p;
	}

	public static SelectorProvider provider() {
		SelectorProvider p = provider;
		return p != null ? p : SelectorProvider.provider();
	}

	/** Null with the system's provider. */
	public static Names names() {
		return names;
	}

	/** Is it the system's? */
	public static boolean isReal() {
		return provider == null;
	}
}
